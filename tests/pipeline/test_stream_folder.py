"""What a stream makes of its folders: those it must not touch, and files that are old or broken."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from comity.errors import Misuse
from comity.federation.watch import WatchedFederation
from comity.pipeline.batches import CHECKPOINT
from comity.pipeline.stream import StreamRun

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
EVENT = {
    "id": "1",
    "source": "house_a/x",
    "type": "house_a.FireDetected",
    "time": "2026-11-10T10:00:00Z",
    "data": {"room": "hall", "heat": 250.0},
}


def write(path: Path, **changes: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**EVENT, **changes}) + "\n")
    return path


def start(spark: SparkSession, stream: StreamRun, events: Path) -> None:
    stream.start(spark, [events], trigger_s=0, until_empty=True, files_per_batch=10).awaitTermination()


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]


def test_a_folder_is_for_one_stream_and_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "events" / "1.jsonl")
    first = StreamRun(WatchedFederation(EXAMPLE), tmp_path / "out")
    start(spark, first, tmp_path / "events")
    second = StreamRun(WatchedFederation(EXAMPLE), tmp_path / "out")
    with pytest.raises(Misuse) as refused:
        start(spark, second, tmp_path / "events")
    assert refused.value.code == "folder-in-use"
    first.close()
    shutil.rmtree(tmp_path / "out" / CHECKPOINT)
    with pytest.raises(Misuse) as refused:
        start(spark, second, tmp_path / "events")
    assert refused.value.code == "no-checkpoint"
    second.close()
    assert len(lines(tmp_path / "out" / "fire_station")) == 2


def test_a_file_that_is_older_than_the_others_is_read(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    write(events / "1.jsonl")
    stream = StreamRun(WatchedFederation(EXAMPLE), out)
    start(spark, stream, events)
    stream.close()
    old = write(events / "2.jsonl", id="2")
    month_ago = time.time() - 30 * 86_400
    os.utime(old, (month_ago, month_ago))
    start(spark, stream, events)
    stream.close()
    assert {line["id"] for line in lines(out / "fire_station")} == {"1", "2"}


def test_a_broken_parquet_file_is_rejected_and_the_rest_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    write(events / "1.jsonl")
    (events / "2.parquet").write_bytes(b"PAR1 and no more")
    stream = StreamRun(WatchedFederation(EXAMPLE), out)
    start(spark, stream, events)
    stream.close()
    assert len(lines(out / "fire_station")) == 2
    (refused,) = lines(out / "rejected")
    assert refused["faults"][0]["code"] == "broken-parquet"
    assert refused["file"].endswith("2.parquet")


def test_a_batch_of_nothing_but_an_empty_file_is_done(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    events.mkdir()
    (events / "1.jsonl").touch()
    batches: list[int] = []
    stream = StreamRun(WatchedFederation(EXAMPLE), out, lambda number, summary: batches.append(summary.records))
    start(spark, stream, events)
    stream.close()
    write(events / "2.jsonl")
    start(spark, stream, events)
    stream.close()
    assert batches == [0, 1]
    assert len(lines(out / "fire_station")) == 2


def test_a_batch_of_nothing_but_broken_files_is_done(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    events.mkdir()
    (events / "1.parquet").write_bytes(b"no Parquet")
    stream = StreamRun(WatchedFederation(EXAMPLE), out)
    start(spark, stream, events)
    stream.close()
    assert [one["faults"][0]["code"] for one in lines(out / "rejected")] == ["broken-parquet"]
