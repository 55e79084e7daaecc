"""One plan, many ways to run it, one answer: generated federations and records on every runner and in every form."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.connect.folder import Results
from comity.engine import run, run_into_folder
from comity.event import Event, Rejected, read_events
from comity.event.window import Window
from comity.federation import Federation
from comity.federation.watch import WatchedFederation
from comity.limits import limited, limits
from comity.pipeline.run import run_on_spark
from comity.pipeline.stream import StreamRun
from comity.pipeline.worker import LineWorker, Work
from comity.plan import Plan, Summary, compile_plan
from comity.testing.federations import federation_texts, load_texts, write_texts
from comity.testing.outcomes import Outcome, outcomes_in, outcomes_of
from comity.testing.records import NOW, good_events, lines
from comity.testing.reference import run_reference
from comity.testing.tables import csv_lines, parquet_table

NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"
CASES = range(200) if NIGHTLY else range(4)
"""Seeds of what runs on Spark."""
GOOD, ODD = 40, 25
WINDOW = Window.around(NOW)


@pytest.fixture(autouse=True)
def short_lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lines that are too long need not be very long."""
    monkeypatch.setenv("COMITY_MAX_RECORD_BYTES", "20000")  # for the threads in which streams take their batches
    with limited(max_record_bytes=20_000):
        yield


@dataclass(frozen=True)
class Case:
    """A federation, its plan, events that fit it, and a source of chance for what is done with them."""

    federation: Federation
    plan: Plan
    events: list[Event]
    chance: Random
    texts: Any

    @classmethod
    def of(cls, chance: Random, count: int = GOOD) -> Case:
        texts = federation_texts(chance)
        federation = load_texts(texts)
        plan = compile_plan(federation)
        return cls(federation, plan, good_events(chance, plan.types, count), chance, texts)

    def lines(self, odd: int = ODD) -> list[bytes]:
        return lines(self.chance, self.events, self.plan.types, odd)

    def from_source(self, prefix: str) -> list[Event]:
        """The events, as events of other sources."""
        return [msgspec.structs.replace(event, source=prefix + event.source) for event in self.events]

    def read(self, files: Iterable[Path], window: Window = WINDOW) -> list[Event | Rejected]:
        """The records of files, as the reader in this process takes them."""
        types = self.federation.find_type
        return [one for file in files for one in read_events(file, types, require_time=True, window=window)]


def as_file(folder: Path, name: str, found: Sequence[bytes]) -> Path:
    path = folder / name
    path.write_bytes(b"".join(line + b"\n" for line in found))
    return path


# In this process


@given(chance=st.randoms(use_true_random=False))
def test_the_engine_gives_what_the_plan_means(chance: Random, tmp_path_factory: pytest.TempPathFactory) -> None:
    case = Case.of(chance, 10)
    records = case.read([as_file(tmp_path_factory.mktemp("lines"), "lines.jsonl", case.lines(10))])
    assert outcomes_of(run(case.plan, records)) == outcomes_of(run_reference(case.plan, records))


@dataclass
class Held:
    """The work, as a broadcast would hold it."""

    value: Work


def hits(case: Case, found: Sequence[bytes], scanned: int) -> tuple[Counter[str], int]:
    """What a worker makes of lines, and how many records it counts."""
    columns = {"line": found, "size": [len(one) for one in found], "file": [None] * len(found)}
    types = pa.schema([("line", pa.binary()), ("size", pa.int32()), ("file", pa.string())])
    batch = pa.RecordBatch.from_pydict(columns, schema=types)
    worker = LineWorker(Held(Work.of(case.plan)), WINDOW, limits(), scanned=scanned)
    rows = [row for one in worker.batches(iter([batch])) for row in one.to_pylist()]
    counted = sum(row["counted"] or 0 for row in rows)
    for row in rows:
        row["found"] = sorted(row["found"] or [], key=repr)
    return Counter(repr(row) for row in rows if row["counted"] is None), counted


@settings(max_examples=1_000 if NIGHTLY else 40)
@given(chance=st.randoms(use_true_random=False))
def test_scanned_lines_hit_what_decoded_lines_hit(chance: Random) -> None:
    case = Case.of(chance, 20)
    found = [line for line in case.lines(15) if len(line) <= limits().max_record_bytes]  # longer ones are not scanned
    assert hits(case, found, 1) == hits(case, found, 10**9)


# On Spark


@contextmanager
def settings_of(spark: SparkSession, **changes: str) -> Iterator[None]:
    keys = {f"spark.sql.{name.replace('__', '.')}": value for name, value in changes.items()}
    before = {key: spark.conf.get(key) for key in keys}
    for key, value in keys.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def json_file(case: Case, folder: Path) -> list[Path]:
    return [as_file(folder, "lines.jsonl", case.lines())]


def csv_file(case: Case, folder: Path) -> list[Path]:
    return [as_file(folder, "rows.csv", csv_lines(case.chance, case.from_source("/csv"), case.plan.types, 10))]


def parquet_files(case: Case, folder: Path) -> list[Path]:
    """Files of two types, in pieces; each has other columns, and is a table of its own."""
    found: list[Path] = []
    for number, type in enumerate(case.chance.sample(case.plan.types, min(2, len(case.plan.types)))):
        table = parquet_table(case.chance, case.from_source("/parquet"), type, 6)
        found.append(folder / f"{number}.parquet")
        parquet.write_table(table, found[-1], row_group_size=case.chance.randint(1, 50))
    return found


def by_batch(spark: SparkSession, case: Case, files: Sequence[Path], out: Path, results: Results) -> Summary:
    """What a batch says that it did, with partitions of some size and number."""
    pieces, number = str(case.chance.choice((1_000, 10_000_000))), str(case.chance.randint(1, 4))
    with settings_of(spark, files__maxPartitionBytes=pieces, shuffle__partitions=number):
        summary = run_on_spark(case.plan, [str(file) for file in files], out, spark, now=NOW, results=results)
    return replace(summary, seconds={})


def by_stream(spark: SparkSession, case: Case, events: Path, out: Path, results: Results) -> list[Outcome]:
    """What a stream gives, with batches of some size."""
    federation = WatchedFederation(write_texts(case.texts, out.parent / f"{out.name}-federation"))
    stream = StreamRun(federation, out=out, results=results, clock=lambda: NOW)
    with settings_of(spark, shuffle__partitions=str(case.chance.randint(1, 4))):
        pace = case.chance.randint(2, 4)
        query = stream.start(spark, [events], trigger_s=0, until_empty=True, files_per_batch=pace)
        query.awaitTermination()
    stream.close()
    return outcomes_in(out, case.plan.subscribers)


@pytest.mark.parametrize("seed", CASES)
def test_a_batch_of_every_form_gives_what_the_plan_means(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    case = Case.of(Random(seed))
    files = [file for write in (json_file, csv_file, parquet_files) for file in write(case, tmp_path)]
    with limited(max_column_profiles=(256, 1)[seed % 2]):  # by columns, or by the kernel
        told = by_batch(spark, case, files, tmp_path / "out", [Results.JSONL, Results.PARQUET][seed // 2 % 2])
    records = case.read(files, Window.of_history(NOW))
    assert outcomes_in(tmp_path / "out", case.plan.subscribers) == outcomes_of(run_reference(case.plan, records))
    counted = run_into_folder(case.plan, records, tmp_path / "counted")
    assert (told.records, told.rejected, told.delivered) == (counted.records, counted.rejected, counted.delivered)
    assert told.rejected_by_code == counted.rejected_by_code


@pytest.mark.parametrize("most_bytes", [1, limits().max_small_batch_bytes], ids=["spread", "in one task"])
@pytest.mark.parametrize("seed", CASES[: len(CASES) // 2])
def test_a_stream_gives_what_the_plan_means_however_it_is_cut(
    spark: SparkSession, tmp_path: Path, seed: int, most_bytes: int
) -> None:
    case = Case.of(Random(1_000 + seed))
    events = tmp_path / "events"
    events.mkdir()
    whole = case.lines()
    cuts = sorted(case.chance.sample(range(len(whole)), 2))
    for number, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(whole)], strict=True)):
        as_file(events, f"{number}.jsonl", whole[begin:end])
    csv_file(case, events)
    parquet_files(case, events)
    with limited(max_small_batch_bytes=most_bytes):
        found = by_stream(spark, case, events, tmp_path / "out", [Results.JSONL, Results.PARQUET][seed % 2])
    assert found == outcomes_of(run_reference(case.plan, case.read(sorted(events.iterdir()))))
