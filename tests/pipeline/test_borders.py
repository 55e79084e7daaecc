"""Files at the borders of their forms: the Spark runner takes and refuses what the engine takes and refuses."""

from __future__ import annotations

import datetime as dt
import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.engine import run
from comity.event import read_events
from comity.event.window import Window
from comity.federation import load
from comity.pipeline.run import run_on_spark
from comity.plan import compile_plan
from comity.testing.outcomes import outcomes_in, outcomes_of
from comity.testing.records import NOW

pytestmark = pytest.mark.spark

DOMAIN = """\
domain: plant
types:
  Base: {abstract: true, attributes: {n: int?}}
  Reading:
    extends: Base
    attributes:
      span: duration?
      seen: timestamp?
      f: float?
      tags: {kind: list, of: string, optional: true}
"""
PROFILES = """\
profiles:
  all: {domain: plant, on: Reading}
  some: {domain: plant, on: Reading, where: span > 5 min or f > 1}
"""
MOMENT = pa.timestamp("us", "UTC")


def check(spark: SparkSession, folder: Path, *files: Path) -> None:
    """Both runners give the same, and read the same number of records."""
    texts = folder / "federation"
    texts.mkdir()
    (texts / "plant.yaml").write_text(DOMAIN)
    (texts / "profiles.yaml").write_text(PROFILES)
    federation = load(texts)
    plan = compile_plan(federation)
    types, window = federation.find_type, Window.of_history(NOW)
    records = [one for file in files for one in read_events(file, types, require_time=True, window=window)]
    summary = run_on_spark(plan, [str(file) for file in files], folder / "out", spark, now=NOW)
    assert outcomes_in(folder / "out", plan.subscribers) == outcomes_of(run(plan, records))
    assert summary.records == len(records)


def line(identifier: str, type: str = "plant.Reading") -> bytes:
    text = '{"id":"%s","source":"/a","type":"%s","time":"2026-01-01T00:00:00Z","data":{"n":1}}\n'
    return (text % (identifier, type)).encode()


HEADER = b"id,source,type,time,n\n"
ROW = b"1,/a,plant.Reading,2026-01-01T00:00:00Z,3\n"


TEXT_FILES = [
    ("mark.jsonl", b"\xef\xbb\xbf" + line("1") + line("2")),
    ("ends.jsonl", (line("1") + line("2")).replace(b"\n", b"\r\n")),
    ("no end.jsonl", (line("1") + line("2")).rstrip()),
    ("ß %20 #.jsonl", line("1")),
    ("ß %20 #.csv", HEADER + ROW),
    ("ends.csv", (HEADER + ROW + b"\n2,/a,plant.Reading,x,y\n").replace(b"\n", b"\r\n")),
    ("empty.jsonl", b""),
    ("empty.csv", b""),
    ("header.csv", HEADER),
    ("whole.jsonl.gz", gzip.compress(line("1"), mtime=0)),
    ("simple.jsonl", line("1", "Reading")),
    ("abstract.jsonl", line("1", "plant.Base")),
    ("mark.csv", b"\xef\xbb\xbf" + HEADER + ROW),
    ("late.csv", b"\n\n" + HEADER + ROW),
    ("twice.csv", HEADER + ROW + HEADER),
    ("[1]{2}.jsonl", line("1")),
    ("cut.jsonl.gz", gzip.compress(line("1") * 1_000, mtime=0)[:-20]),
]


@pytest.mark.parametrize(("name", "content"), TEXT_FILES)
def test_files_of_text(spark: SparkSession, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    check(spark, tmp_path, tmp_path / name)


def test_a_name_like_a_pattern_beside_others(spark: SparkSession, tmp_path: Path) -> None:
    """Spark by itself reads the others twice then, which what is rejected shows."""
    rows = {"id": ["5"], "source": ["/a"], "type": ["plant.None"], "time": pa.array([NOW], MOMENT)}
    files = [tmp_path / name for name in ("[1]{2}.jsonl", "a.jsonl", "[1].parquet", "b.parquet")]
    files[0].write_bytes(line("1"))
    files[1].write_bytes(line("2") + line("3", "plant.None"))
    for file in files[2:]:
        parquet.write_table(pa.table(rows), file)
    check(spark, tmp_path, *files)


def column(name: str, values: list[Any], type: pa.DataType | None = None) -> Any:
    """A column of three rows, and how the case is named."""
    array = pa.array(values, type)
    return pytest.param({name: array}, id=f"{name}: {array.type}")


COLUMNS = [
    column("n", [1, 2, None], pa.int8()),
    column("n", [1, 2**63, None], pa.uint64()),
    column("n", [1.0, 2.5, None]),
    column("n", ["1", "x", None]),
    column("n", [None] * 3),
    column("f", [1.5, float("nan"), None], pa.float32()),
    column("f", [1, 2**53 + 1, None], pa.int64()),
    column("f", [Decimal("1.5"), Decimal(2), None], pa.decimal128(10, 2)),
    column("f", [True, False, None]),
    column("tags", [["a"], [], None], pa.large_list(pa.large_string())),
    column("tags", [["a", None], [], None]),
    column("seen", [dt.date(2026, 1, 1)] * 3),
    column("seen", [dt.datetime(1, 1, 1), dt.datetime(1500, 1, 1), dt.datetime(9999, 12, 31)], pa.timestamp("us")),
    column("seen", [400 * 10**15, 0, -400 * 10**15], MOMENT),
    column("seen", [NOW] * 3, pa.timestamp("ms", "UTC")),
    column("time", [400 * 10**15, 0, 1_767_225_600_000_000], MOMENT),
    column("time", ["2026-01-01T00:00:00Z", "x", None]),
    column("sequence", ["1", "x", None]),
    column("mode", ["live", "x", None]),
    column("subject", ["a", "", None]),
    column("data", ['{"n": 1, "f": 2}', '{"n": "x"}', None]),
    column("data", [[("n", 1)], [], None], pa.map_(pa.string(), pa.int64())),
    column("data", [5, 6, None], pa.int64()),
    column("N", ["a", "b", "c"]),
    column("a.b `c`", ["a", "b", "c"]),
    column("span", [dt.timedelta(minutes=6), dt.timedelta(0), None], pa.duration("us")),
    column("seen", [NOW] * 3, pa.timestamp("ns", "UTC")),
    column("seen", [dt.time(1, 2)] * 3),
]


@pytest.mark.parametrize("columns", COLUMNS)
def test_columns_of_parquet(spark: SparkSession, tmp_path: Path, columns: dict[str, pa.Array]) -> None:
    envelope = {"id": ["1", "2", "3"], "source": ["/a"] * 3, "type": ["plant.Reading"] * 3}
    table = pa.table({**envelope, "time": pa.array([NOW] * 3, MOMENT), **columns})
    parquet.write_table(table, tmp_path / "a.parquet")
    check(spark, tmp_path, tmp_path / "a.parquet")


@pytest.mark.xfail(reason="Spark reads it with marks in the place of what is wrong", strict=True)
def test_a_text_that_is_not_utf_8_in_parquet(spark: SparkSession, tmp_path: Path) -> None:
    subject = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"a"], pa.binary()).buffers())
    columns = {"id": ["1", "2"], "source": ["/a"] * 2, "type": ["plant.Reading"] * 2, "subject": subject}
    parquet.write_table(pa.table({**columns, "time": pa.array([NOW] * 2, MOMENT)}), tmp_path / "a.parquet")
    check(spark, tmp_path, tmp_path / "a.parquet")


def test_files_with_other_columns_are_read_together(spark: SparkSession, tmp_path: Path) -> None:
    columns = {"source": ["/a"] * 2, "type": ["plant.Reading"] * 2, "time": pa.array([NOW] * 2, MOMENT)}
    parquet.write_table(pa.table({"id": ["1", "2"], "n": [1, None], **columns}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"id": ["3", "2"], "f": [1.5, None], **columns}), tmp_path / "b.parquet")
    parquet.write_table(pa.table({"id": ["4", "5"], "f": ["x", None], **columns}), tmp_path / "c.parquet")
    (tmp_path / "d.csv").write_bytes(HEADER + ROW)
    check(spark, tmp_path, *(tmp_path / name for name in ("a.parquet", "b.parquet", "c.parquet", "d.csv")))
