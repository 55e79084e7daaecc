"""What a batch of a stream looks at does not grow with what was delivered before, neither in files nor in batches."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.test_frame_stream import FEDERATION, at

from comity.pipeline.frame_stream import FixedFederation
from comity.pipeline.stream import StreamRun
from comity.plan.loading import federation_of

OLD_RESULTS = 2_000
LISTING = ("os.listdir", "os.scandir")

_listed: Counter[str] = Counter()
_is_on: list[bool] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _is_on and event in LISTING:
        _listed[str(arguments[0])] += 1


sys.addaudithook(_note)  # there is no way to remove one


def write_event(folder: Path, number: int) -> str:
    data = {"machine": f"m{number}", "heat": 300.0}
    record = {"id": str(number), "source": "/p", "type": "plant.Reading", "time": at(number), "data": data}
    path = folder / f"{number}.jsonl"
    path.write_text(json.dumps(record) + "\n")
    return str(path)


def looked_at(stream: StreamRun, spark: SparkSession, file: str, number: int) -> Counter[str]:
    """The folders that this process lists for a batch, with how many names are in each."""
    _listed.clear()
    _is_on.append(True)
    try:
        stream.take_batch(spark, [file], number)
    finally:
        _is_on.clear()
    return Counter({folder: sum(1 for _ in Path(folder).iterdir()) for folder in _listed if Path(folder).is_dir()})


def test_a_batch_lists_nothing_that_grows(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    events.mkdir()
    federation = federation_of({**FEDERATION, "profiles": {"hot": FEDERATION["profiles"]["hot"]}})
    stream = StreamRun(FixedFederation(federation), out=out)
    try:
        looked = [looked_at(stream, spark, write_event(events, number), number) for number in range(20)]
        results = out / "office"
        assert len(list(results.glob("batch-*"))) == 20
        for number in range(OLD_RESULTS):
            (results / f"batch-{number + 100:08d}-00000.jsonl").touch()
        looked.append(looked_at(stream, spark, write_event(events, 20), 20))
    finally:
        stream.close()
    assert all(str(results) not in one and str(events) not in one for one in looked)
    names = [sum(one.values()) for one in looked]
    assert max(names[10:]) <= 1.5 * max(names[2:10]), names
    stream = StreamRun(FixedFederation(federation), out=out)
    try:
        first, second = (looked_at(stream, spark, write_event(events, number), number) for number in (20, 21))
    finally:
        stream.close()
    assert str(results) in first, "the first batch of a process looks for what an earlier one may have left"
    assert str(results) not in second


@pytest.mark.nightly
def test_names_of_keys_grow_with_the_logarithm_of_batches(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    events.mkdir()
    federation = federation_of({**FEDERATION, "profiles": {"hot": FEDERATION["profiles"]["hot"]}})
    stream = StreamRun(FixedFederation(federation), out=out)
    most = 0
    try:
        for number in range(300):
            stream.take_batch(spark, [write_event(events, number % 60)], number)
            most = max(most, len(list((out / ".delivered").iterdir())))
    finally:
        stream.close()
    assert most < 100, most
