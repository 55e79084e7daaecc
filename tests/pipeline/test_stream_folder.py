"""What a stream makes of its folders: those it must not touch, and files that are old or broken."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import time
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.connect.folder import CHECKPOINT
from comity.errors import Misuse
from comity.event import Event, decode, encode
from comity.event.formats.table import FORMATS, FileFormat
from comity.event.formats.xml.write import HEAD, TAIL, encode_xml
from comity.federation import load
from comity.federation.watch import WatchedFederation
from comity.pipeline.stream import StreamRun
from comity.plan.stages import Summary
from comity.testing.power_cut import strict_disk
from comity.testing.tables import encode_avro

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
    first = StreamRun(WatchedFederation(EXAMPLE), out=tmp_path / "out")
    start(spark, first, tmp_path / "events")
    second = StreamRun(WatchedFederation(EXAMPLE), out=tmp_path / "out")
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
    stream = StreamRun(WatchedFederation(EXAMPLE), out=out)
    start(spark, stream, events)
    stream.close()
    old = write(events / "2.jsonl", id="2")
    month_ago = time.time() - 30 * 86_400
    os.utime(old, (month_ago, month_ago))
    start(spark, stream, events)
    stream.close()
    assert {line["id"] for line in lines(out / "fire_station")} == {"1", "2"}


def test_files_are_read_once_whatever_their_names_are(spark: SparkSession, tmp_path: Path) -> None:
    """Spark names files as they are: neither as parts of an address, nor as patterns."""
    events, out = tmp_path / "events", tmp_path / "out"
    names = ["a.jsonl", "b%41.jsonl", "c#1.jsonl", "d?x=1&y.jsonl", "[a-d]*.jsonl", "e f+ü.jsonl"]
    for name in names:
        write(events / name, id=name)
        write(events / f"not {name}", id=name, type="house_a.Nothing")
    stream = StreamRun(WatchedFederation(EXAMPLE), out=out)
    stream.start(spark, [events], trigger_s=0, until_empty=True, files_per_batch=20).awaitTermination()
    stream.close()
    assert sorted(line["id"] for line in lines(out / "fire_station")) == sorted(names * 2)
    refused = [Path(line["file"]).name for line in lines(out / "rejected")]
    assert sorted(refused) == sorted(f"not {name}" for name in names)


def test_a_broken_parquet_file_is_rejected_and_the_rest_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    write(events / "1.jsonl")
    (events / "2.parquet").write_bytes(b"PAR1 and no more")
    stream = StreamRun(WatchedFederation(EXAMPLE), out=out)
    start(spark, stream, events)
    stream.close()
    assert len(lines(out / "fire_station")) == 2
    (refused,) = lines(out / "rejected")
    assert refused["faults"][0]["code"] == "broken-parquet"
    assert refused["file"].endswith("2.parquet")


def write_as(folder: Path, format: FileFormat, number: int) -> None:
    """A file of one event in a format."""
    types = load(EXAMPLE)
    event = decode(json.dumps({**EVENT, "id": str(number)}).encode(), types.find_type)
    assert isinstance(event, Event)
    declared = types.find_type(event.type)
    assert declared is not None
    columns = {"id": event.id, "source": event.source, "type": event.type, "time": EVENT["time"], **event.data}
    match format.suffix.removesuffix(".gz"):
        case ".jsonl":
            content = encode(event)
        case ".csv":
            content = "\n".join(",".join(map(str, row)) for row in (columns, columns.values())).encode()
        case ".xml":
            content = HEAD + encode_xml(event, declared) + TAIL
        case ".avro":
            content = encode_avro([event], declared)
        case ".parquet":
            stream = io.BytesIO()
            parquet.write_table(pa.Table.from_pylist([columns]), stream)
            content = stream.getvalue()
    content = gzip.compress(content) if format.is_compressed else content
    (folder / f"{number}{format.suffix}").write_bytes(content)


def test_a_stream_reads_every_format_that_a_run_reads(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    events.mkdir()
    for number, format in enumerate(FORMATS):
        write_as(events, format, number)
    (events / "notes.json").write_text("{}")
    (events / "_half.json").write_text("{")
    unknown: list[list[str]] = []
    stream = StreamRun(
        WatchedFederation(EXAMPLE), out=out, on_unknown=lambda files: unknown.append([file.name for file in files])
    )
    start(spark, stream, events)
    stream.close()
    assert {line["id"] for line in lines(out / "fire_station")} == {str(number) for number in range(len(FORMATS))}
    assert lines(out / "rejected") == []
    assert unknown == [["notes.json"]]


def test_a_batch_of_nothing_but_an_empty_file_is_done(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    events.mkdir()
    (events / "1.jsonl").touch()
    batches: list[int] = []
    stream = StreamRun(
        WatchedFederation(EXAMPLE), out=out, on_batch=lambda number, summary: batches.append(summary.records)
    )
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
    stream = StreamRun(WatchedFederation(EXAMPLE), out=out)
    start(spark, stream, events)
    stream.close()
    assert [one["faults"][0]["code"] for one in lines(out / "rejected")] == ["broken-parquet"]


def test_what_spark_noted_of_a_batch_is_on_the_disk_before_its_results_count(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Else a loss of power could give the number of a batch to other files, which take the place of its results."""
    events, out = tmp_path / "events", tmp_path / "out"
    write(events / "1.jsonl")
    lost: list[str] = []

    def look(number: int, summary: Summary) -> None:
        notes = [path for path in (out / CHECKPOINT).rglob("*") if path.is_file() and "commits" not in path.parts]
        assert {"offsets", "sources"} <= {path.relative_to(out).parts[1] for path in notes}
        results = (path for path in out.rglob("batch-*") if path.is_file())
        lost.extend(disk.lost(chain(notes, results), out))

    with strict_disk() as disk:
        stream = StreamRun(WatchedFederation(EXAMPLE), out=out, on_batch=look)
        start(spark, stream, events)
        stream.close()
    assert lines(out / "fire_station")
    assert lost == []


class Killed(BaseException):
    """The program ends here; the Spark that it started does not."""


class KilledStream(StreamRun):
    """Dies when its batch is staged."""

    staged: dict[Path, bytes]

    def _is_again(self, number: int) -> bool:
        staged = [path for folder in self.out.glob(".work-*") for path in folder.rglob("*") if path.is_file()]
        KilledStream.staged = {path: path.read_bytes() for path in staged}
        raise Killed


class NextStream(StreamRun):
    """Does the batch again, while the Spark of the one before comes to the end of its job."""

    def _match(self, *arguments: Any) -> Any:
        matched = super()._match(*arguments)
        for path, content in KilledStream.staged.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return matched


def test_what_a_spark_writes_that_outlived_its_program_is_not_published(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    broken = write(tmp_path / "events" / "1.jsonl")
    broken.write_text(broken.read_text() + "{broken\n")
    with pytest.raises(Killed):
        KilledStream(WatchedFederation(EXAMPLE), out=out).take_batch(spark, [str(broken)], 0)
    assert KilledStream.staged
    stream = NextStream(WatchedFederation(EXAMPLE), out=out)
    stream.take_batch(spark, [str(broken)], 0)
    assert len(lines(out / "rejected")) == 1
    assert len(lines(out / "fire_station")) == 2
    StreamRun(WatchedFederation(EXAMPLE), out=out).take_batch(spark, [], 1)
    assert not list(out.glob(".work-*"))
