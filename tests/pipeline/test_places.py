"""Rejected records name their file and line, whatever the form of the file, in both engines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.cli.rejected import describe
from comity.connect.folder import REJECTED
from comity.engine import run_into_folder
from comity.event import read_events
from comity.event.event import Event
from comity.event.formats.avro import write_avro_events
from comity.event.window import Window
from comity.federation import load
from comity.match.match import bind_profiles
from comity.pipeline.detect.run import detect_on_spark
from comity.pipeline.line_numbers import LineNumbers
from comity.pipeline.match import match_on_spark
from comity.pipeline.run import run_on_spark
from comity.plan import Plan, compile_plan
from comity.profile.patterns import bind_patterns
from comity.profile.profile import Profile
from comity.testing.records import NOW

pytestmark = pytest.mark.spark

DOMAIN = "domain: plant\ntypes:\n  Reading: {attributes: {heat: float, room: string?}}\n"
PROFILES = "profiles:\n  all: {domain: plant, on: Reading}\n"
COLUMNS = ("id", "source", "type", "time", "heat")
BAD = (3, 4, 40, 77, 120)
"""Records that have no heat; the others have."""
COUNT = 120


def record(number: int) -> dict[str, Any]:
    heat = {} if number in BAD else {"heat": 1.5}
    time = "2150-01-01T00:00:00Z" if number == 50 else "2026-06-01T00:00:00Z"
    return {"id": str(number), "source": "/a", "type": "plant.Reading", "time": time, "data": heat}


RECORDS = [record(number) for number in range(1, COUNT + 1)]
EXPECTED = {*((number, "missing") for number in BAD), (50, "from-the-future")}


def lines() -> bytes:
    """A blank line stands before each record, so the record n is in line 2 n."""
    return b"".join(b"\n" + json.dumps(one).encode() + b"\n" for one in RECORDS)


def rows() -> list[dict[str, Any]]:
    return [{**{name: one[name] for name in COLUMNS[:-1]}, "heat": one["data"].get("heat")} for one in RECORDS]


def write_csv(path: Path) -> None:
    told = [",".join("" if one is None else str(one) for one in row.values()) for row in rows()]
    text = "\n".join([",".join(COLUMNS), *told])
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_parquet(path: Path) -> None:
    parquet.write_table(pa.Table.from_pylist(rows()), path, row_group_size=32)


def write_xml(path: Path) -> None:
    events = [
        f'<Event type="plant.Reading"><id>{row["id"]}</id><src>/a</src><ts>{row["time"]}</ts>'
        + (f"<heat>{row['heat']}</heat>" if row["heat"] is not None else "")
        + "</Event>"
        for row in rows()
    ]
    path.write_text("\n".join(["<all>", *events, "</all>"]))


def write_avro(path: Path) -> None:
    types = load(path.parent / "federation").domains["plant"].taxonomy
    as_optional = DOMAIN.replace("float,", "float?,")
    (path.parent / "optional").mkdir()
    (path.parent / "optional" / "plant.yaml").write_text(as_optional)
    types = load(path.parent / "optional").domains["plant"].taxonomy
    found = read_events(path.parent / "all.jsonl", types)
    with path.open("wb") as stream:
        write_avro_events([one for one in found if isinstance(one, Event)], types.types, stream)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "federation").mkdir()
    (tmp_path / "federation" / "plant.yaml").write_text(DOMAIN)
    (tmp_path / "federation" / "profiles.yaml").write_text(PROFILES)
    (tmp_path / "all.jsonl").write_bytes(lines())
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(lines()))
    for name in ("all.csv", "packed.csv.gz"):
        write_csv(tmp_path / name)
    write_parquet(tmp_path / "all.parquet")
    write_xml(tmp_path / "all.xml")
    write_avro(tmp_path / "all.avro")
    return tmp_path


FILES = {
    "all.jsonl": lambda number: 2 * number,
    "packed.jsonl.gz": lambda number: 2 * number,
    "all.csv": lambda number: number + 1,
    "packed.csv.gz": lambda number: number + 1,
    "all.parquet": lambda number: number,
    "all.xml": lambda number: number + 1,
    "all.avro": lambda number: number,
}
"""By file, at which line or row a record stands."""


def places(folder: Path) -> set[tuple[str, int, str]]:
    return {(str(folder / name), at(number), code) for name, at in FILES.items() for number, code in EXPECTED}


def told(out: Path) -> set[tuple[str, int, str]]:
    found = [json.loads(line) for file in (out / REJECTED).glob("*.jsonl") for line in file.open()]
    return {(one["file"], one["line"], one["faults"][0]["code"]) for one in found}


@pytest.fixture
def small_parts(spark: SparkSession) -> Iterator[None]:
    """Spark hands files out in parts of some lines."""
    name = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(name)
    spark.conf.set(name, "1500")
    yield
    spark.conf.set(name, before or "128MB")


def plan_of(folder: Path) -> Plan:
    return compile_plan(load(folder / "federation"))


def test_places_in_process(folder: Path) -> None:
    types, window = load(folder / "federation").find_type, Window.of_history(NOW)
    files = [folder / name for name in FILES]
    events = (one for file in files for one in read_events(file, types, require_time=True, window=window))
    summary = run_into_folder(plan_of(folder), events, folder / "out")
    assert told(folder / "out") == places(folder)
    assert summary.rejected_by_code == {"missing": 7 * len(BAD), "from-the-future": 7}


def test_places_on_spark(spark: SparkSession, folder: Path, small_parts: None) -> None:
    files = [str(folder / name) for name in FILES]
    summary = run_on_spark(plan_of(folder), files, folder / "out", spark, now=NOW)
    assert told(folder / "out") == places(folder)
    assert summary.rejected_by_code == {"missing": 7 * len(BAD), "from-the-future": 7}
    assert {code: one["faults"][0]["code"] for code, one in summary.rejected_examples.items()} == {
        "missing": "missing",
        "from-the-future": "from-the-future",
    }


def test_places_of_match_on_spark(spark: SparkSession, folder: Path, small_parts: None) -> None:
    taxonomy = load(folder / "federation").domains["plant"].taxonomy
    bound = bind_profiles([Profile.of("hot", "heat > 1", on="Reading")], taxonomy)
    matches = match_on_spark(bound, [str(folder / "all.jsonl")], taxonomy, spark)
    assert len(list(matches.pairs())) == COUNT - len(BAD)
    assert sorted(one["line"] for one in matches.rejected) == [2 * number for number in BAD]


@pytest.mark.parametrize("name", ["all.jsonl", "all.parquet", "all.csv"])
def test_places_of_detect_on_spark(spark: SparkSession, folder: Path, name: str) -> None:
    taxonomy = load(folder / "federation").domains["plant"].taxonomy
    bound, _ = bind_patterns([Profile.of("hot", "heat > 1", on="Reading")], taxonomy)
    reports = detect_on_spark(bound, [str(folder / name)], taxonomy, spark)
    reports.find()
    assert reports.counts == {"hot": COUNT - len(BAD)}
    assert sorted(one["line"] for one in reports.rejected) == [FILES[name](number) for number in BAD]


def test_line_numbers_go_on_over_batches_and_parts(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\n2\n3\n4\n5\n")
    file, other = str(tmp_path / "a"), f"file:{tmp_path / 'a'}"
    numbers = LineNumbers()

    def of(*parts: tuple[str, int]) -> list[int | None]:
        files, begins = pa.array([part[0] for part in parts]), pa.array([part[1] for part in parts])
        number_of = numbers.of(pa.RecordBatch.from_arrays([files, begins], names=["file", "begin"]))
        return [number_of(at) for at in range(len(parts))]

    assert of((file, 0), (file, 0)) == [1, 2]
    assert of((file, 0), (file, 4), (file, 4)) == [3, 4, 5]
    assert of((other, 5)) == [4]
    assert of(("/nowhere", 0), ("/nowhere", 9)) == [1, None]


def test_records_of_a_live_source_name_it(spark: SparkSession, folder: Path) -> None:
    landed = folder / "out" / ".landing" / "plant-door" / "000001.jsonl"
    landed.parent.mkdir(parents=True)
    landed.write_bytes(lines())
    run_on_spark(plan_of(folder), [str(landed)], folder / "out", spark, now=NOW)
    found = [json.loads(line) for file in (folder / "out" / REJECTED).glob("*.jsonl") for line in file.open()]
    assert {one["origin"] for one in found} == {"plant.door"}
    types = load(folder / "federation").find_type
    summary = run_into_folder(plan_of(folder), read_events(landed, types, require_time=True), folder / "here")
    assert summary.rejected_examples["missing"]["origin"] == "plant.door"
    assert describe(summary.rejected_examples["missing"]).startswith("source plant.door: heat ")
