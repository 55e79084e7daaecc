"""Federations over DataFrames of a session that somebody else has: the same as in this process."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import comity.spark as cs
from comity import Misuse, Notification
from comity.engine import run
from comity.event import Event, Rejected, read_events
from comity.event.formats.jsonlines import encode
from comity.event.window import Window
from comity.federation import Federation
from comity.limits import limited
from comity.plan import Plan, compile_plan
from comity.testing.federations import federation_texts, load_texts
from comity.testing.outcomes import Outcome, outcome_of_rejected, outcomes_of
from comity.testing.records import good_events, lines
from comity.testing.tables import parquet_table

pytestmark = pytest.mark.spark

CASES = range(100) if os.environ.get("COMITY_PROFILE") == "nightly" else range(2)
ELSEWHERE = {"spark.sql.session.timeZone": "America/New_York", "spark.sql.caseSensitive": "false"}
"""What sessions of others may be set to."""


@contextmanager
def settings_of(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
        assert {name: spark.conf.get(name) for name in settings} == settings
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "")


def generated(seed: int) -> tuple[Random, Federation, Plan, list[Event]]:
    chance = Random(seed)
    federation = load_texts(federation_texts(chance))
    plan = compile_plan(federation)
    return chance, federation, plan, good_events(chance, plan.types, 40)


def read(federation: Federation, *files: Path) -> list[Event | Rejected]:
    window, types = Window.of_history(datetime.now(UTC)), federation.find_type
    return [one for file in files for one in read_events(file, types, require_time=True, window=window)]


def told(found: DataFrame) -> list[Outcome]:
    """The notifications of a DataFrame as outcomes; what its columns say is what the whole says."""
    outcomes: list[Outcome] = []
    for row in found.collect():
        whole = json.loads(row["notification"])
        assert json.loads(row["data"]) == whole["data"]
        parts = ("id", "source", "type", "subject", "mode", "typeversion", "profile")
        assert {name: row[name] for name in parts} == {name: whole.get(name) for name in parts}
        outcomes.append((row["subscriber"], json.dumps(whole, sort_keys=True, ensure_ascii=False)))
    return outcomes


def refused(found: DataFrame) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for row in found.collect():
        record = row.asDict(recursive=True)
        faults = [{name: value for name, value in one.items() if value is not None} for one in record["faults"]]
        assert (record["code"], record["reason"]) == (faults[0]["code"], faults[0]["reason"])
        outcomes.append(outcome_of_rejected({**record, "faults": faults}))
    return outcomes


@pytest.mark.parametrize("seed", CASES)
def test_lines_give_what_the_engine_gives(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance, federation, plan, events = generated(seed)
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in lines(chance, events, plan.types, 25)))
    given = spark.read.text(str(file), lineSep="\n").select("value")
    with settings_of(spark, ELSEWHERE):
        found = sorted(
            [*told(cs.deliver(given, plan, lines="value")), *refused(cs.rejected(given, plan, lines="value"))]
        )
    assert found == outcomes_of(run(plan, read(federation, file)))


@pytest.mark.parametrize("seed", CASES)
def test_raw_columns_give_what_the_engine_gives(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance, federation, plan, events = generated(500 + seed)
    type = chance.choice(plan.types)
    table, file = parquet_table(chance, events, type, 6), tmp_path / "rows.parquet"
    parquet.write_table(pa.concat_tables([table, table]), file)
    given = spark.read.parquet(str(file))
    # Spark itself reads no such file without regard to case.
    settings = {} if has_clash([*type.attributes, *given.columns]) else ELSEWHERE
    with settings_of(spark, settings), limited(max_column_profiles=(256, 1)[seed % 2]):
        found = sorted([*told(cs.deliver(given, plan)), *refused(cs.rejected(given, plan))])
    assert found == outcomes_of(run(plan, read(federation, file)))


def has_clash(names: list[str]) -> bool:
    return len({name.lower() for name in names}) < len(set(names))
