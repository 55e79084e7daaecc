"""Patterns on Spark: what the reference reports, however events and traces are spread."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from tests.pattern.cases import NIGHTLY, PROFILES, an_end, bound_profiles, drawn, expected, one_trace

from comity.event.event import Event
from comity.event.formats.jsonlines import decode, encode
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType, EventType
from comity.pipeline.detect.run import SparkReports, detect_on_spark
from comity.testing.patterns import composites

CASES = range(500) if NIGHTLY else range(5)
"""Traces, each with 40 profiles."""


def write(path: Path, events: Sequence[Event], *others: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in [*map(encode, events), *others]))
    return path


def reported_ids(reports: SparkReports) -> list[str]:
    """The identities in the lines of reports; these are in order, and none comes twice."""
    reports.find()
    found = [json.loads(line) for lines in reports.lines() for line in lines.splitlines()]
    assert Counter(one["profile"] for one in found) == reports.counts
    ends = [(one["end"].replace("Z", ""), one["profile"]) for one in found if one["end"].endswith("Z")]
    assert ends == sorted(ends)
    return sorted(one["id"] for one in found)


@pytest.mark.parametrize("number", CASES)
def test_stored_events_give_what_the_reference_reports(spark: SparkSession, tmp_path: Path, number: int) -> None:
    patterns, trace, chance = bound_profiles(number), one_trace(number), Random(number)
    cut = chance.randint(0, len(trace))
    files = [write(tmp_path / "1.jsonl", trace[:cut], b"{broken"), write(tmp_path / "2.jsonl", trace[cut:])]
    until = an_end(number, trace)
    found = detect_on_spark(
        patterns, [str(file) for file in files], None, spark, until=until, buckets=chance.choice((1, 3, 7))
    )
    assert reported_ids(found) == expected(patterns, trace, until)
    assert (found.events, len(found.rejected)) == (len(trace), 1)


ATTRIBUTES = {name: AttributeType(Kind.INT, optional=True) for name in ("x", "k")}
TAXONOMY = Taxonomy("t", [EventType(name, "t", own=ATTRIBUTES) for name in "ABCDE"])


def typed(events: Sequence[Event]) -> list[Event]:
    """The events as those of the types, but for those that do not fit these."""
    read = [decode(encode(one.replace(type=f"t.{one.type}")), TAXONOMY) for one in events]
    return [one for one in read if isinstance(one, Event)]


@pytest.mark.parametrize("number", CASES[: len(CASES) // 2])
def test_typed_events_give_what_the_reference_reports(spark: SparkSession, tmp_path: Path, number: int) -> None:
    """Lines and rows, by columns of Spark."""
    patterns = [one.bind(f"p{at}", TAXONOMY) for at, one in enumerate(drawn(composites(), PROFILES, 300 + number))]
    trace, chance = typed(one_trace(300 + number)), Random(number)
    cut = chance.randint(0, len(trace))
    files = [write(tmp_path / "1.jsonl", trace[:cut], b"{broken"), as_rows(tmp_path / "2.parquet", trace[cut:])]
    found = detect_on_spark(patterns, [str(file) for file in files], TAXONOMY, spark, buckets=chance.choice((1, 3, 7)))
    assert reported_ids(found) == expected(patterns, trace)
    assert (found.events, len(found.rejected)) == (len(trace), 1)


def as_rows(path: Path, events: Sequence[Event]) -> Path:
    rows = [{**msgspec.structs.asdict(one), "data": {"x": None, "k": None, **one.data}} for one in events]
    data = pa.struct([("x", pa.int64()), ("k", pa.int64())])
    fields = [("id", pa.string()), ("source", pa.string()), ("type", pa.string())]
    schema = pa.schema([*fields, ("time", pa.timestamp("us", "UTC")), ("sequence", pa.int64()), ("data", data)])
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path
