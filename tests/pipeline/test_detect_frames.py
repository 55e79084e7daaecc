"""Composite profiles over DataFrames of somebody's session: what the reference reports, and what the command prints."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.pattern.cases import PROFILES, an_end, drawn, expected, one_trace
from tests.pipeline.test_detect import TAXONOMY, as_rows, typed, write
from tests.pipeline.test_frames import CASES, ELSEWHERE, settings_of

import comity.spark as cs
from comity import Faults, Misuse, Profile
from comity.cli.main import run as run_command
from comity.event.event import Event
from comity.pattern.occurrence import microseconds
from comity.profile.blocks import parse_composites
from comity.profile.patterns import bind_patterns
from comity.testing.patterns import START, composites

pytestmark = pytest.mark.spark

EPOCH = START - timedelta(microseconds=microseconds(START))


def profiles(number: int) -> list[Profile]:
    return [Profile(f"p{at}", one.where, composite=one) for at, one in enumerate(drawn(composites(), PROFILES, number))]


def ids(reports: DataFrame) -> list[str]:
    rows = reports.collect()
    assert all(json.loads(row["report"])["id"] == row["id"] for row in rows)
    return sorted(row["id"] for row in rows)


@pytest.mark.parametrize("number", CASES)
def test_lines_give_what_the_reference_reports(spark: SparkSession, tmp_path: Path, number: int) -> None:
    given, trace = profiles(number), one_trace(number)
    patterns, _ = bind_patterns(given)
    until = an_end(number, trace)
    lines = spark.read.text(str(write(tmp_path / "1.jsonl", trace, b"{broken", b" "))).repartition(3)
    moment = None if until is None else EPOCH + timedelta(microseconds=until)
    with settings_of(spark, ELSEWHERE):
        told = cs.detect(lines, given, until=moment, lines="value")
    assert ids(told) == expected(patterns, trace, until)


@pytest.mark.parametrize("number", CASES)
@pytest.mark.parametrize("has_named_parts", [False, True])
def test_columns_give_what_the_reference_reports(
    spark: SparkSession, tmp_path: Path, number: int, has_named_parts: bool
) -> None:
    given, trace = profiles(600 + number), typed(one_trace(600 + number))
    patterns, _ = bind_patterns(given, TAXONOMY)
    table = spark.read.parquet(str(as_rows(tmp_path / "1.parquet", trace)))
    with settings_of(spark, ELSEWHERE):
        if has_named_parts:
            told = cs.detect(table.withColumnRenamed("id", "number"), given, types=TAXONOMY, id="number")
        else:
            told = cs.detect(table.select("*", "data.*").drop("data"), given, types=TAXONOMY)
    assert ids(told) == expected(patterns, trace)


def event(id: str, type: str, at_s: float, **data: object) -> Event:
    return Event(id, "/s", type, START + timedelta(seconds=at_s), dict(data))


EVENTS = [
    event("a1", "A", 0, k="x", l=1),
    event("a2", "A", 1, k="y", l=1),
    event("b1", "B", 2, k="x", l=1),
    event("b2", "B", 3, k="y", l=2),
]
TEXT = "profile pair\non A a ; B b within 10 s"


def pairs(told: DataFrame) -> list[str]:
    events = [json.loads(row["report"])["events"] for row in told.collect()]
    return sorted(f"{one['a']}{one['b']}" for one in events)


def test_a_key_is_what_all_events_of_a_report_have_in_common(spark: SparkSession, tmp_path: Path) -> None:
    lines = spark.read.text(str(write(tmp_path / "1.jsonl", EVENTS)))
    assert pairs(cs.detect(lines, TEXT, lines="value")) == ["a1b1", "a1b2", "a2b1", "a2b2"]
    assert pairs(cs.detect(lines, TEXT, key="k", lines="value")) == ["a1b1", "a2b2"]
    assert pairs(cs.detect(lines, TEXT, key=["k", "l"], lines="value")) == ["a1b1"]
    assert pairs(cs.detect(lines, parse_composites(f"{TEXT}\nwhere b.l > 1"), key="k", lines="value")) == ["a2b2"]


def test_rows_are_what_the_command_prints(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, text = write(tmp_path / "1.jsonl", EVENTS), f"{TEXT}\n\nprofile quiet\non not C c within 2 s\n"
    (tmp_path / "p.txt").write_text(text)
    with pytest.raises(SystemExit) as left:
        run_command(["detect", str(tmp_path / "p.txt"), str(file)])
    assert not left.value.code
    printed = capsys.readouterr().out.splitlines()
    told = cs.detect(spark.read.text(str(file)), tmp_path / "p.txt", lines="value")
    in_order = told.orderBy("end", "profile", "start", "id").select("report", "profile", F.unix_micros("end"))
    rows = in_order.collect()
    assert [row["report"] for row in rows] == printed
    assert {row["profile"] for row in rows} == {"pair", "quiet"}


def test_nothing_is_reported_of_nothing(spark: SparkSession) -> None:
    lines = spark.createDataFrame([], "value string")
    assert cs.detect(lines, f"{TEXT}\n\nprofile quiet\non not C c within 2 s", lines="value").collect() == []


def test_what_is_wrong_with_profiles_is_told_at_once(spark: SparkSession) -> None:
    lines = spark.createDataFrame([], "value string")
    with pytest.raises(Faults, match="within"):
        cs.detect(lines, "profile p\non A a ; B b within soon", lines="value")
    with pytest.raises(Misuse) as told:
        cs.detect(lines, TEXT)
    assert told.value.code == "no-envelope"
