"""Rows that Spark does not vouch for, and that workers decode: they count in a run as they do in a stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.engine import run_into_folder
from comity.event import read_events
from comity.federation import load
from comity.federation.watch import WatchedFederation
from comity.pipeline.run import run_on_spark
from comity.pipeline.stream import StreamRun
from comity.plan import Summary, compile_plan
from comity.testing.outcomes import outcomes_in

pytestmark = pytest.mark.spark

PLANT = """\
domain: plant
types:
  Sensed: {attributes: {level: float, tags: {kind: list, of: string, optional: true}}}
"""
PROFILES = "profiles:\n  high: {domain: plant, on: Sensed, where: level > 1}\n"
NOON = datetime(2026, 1, 10, 12, tzinfo=UTC)
SURE = pa.schema([*((name, pa.string()) for name in ("id", "source", "type")), ("time", pa.timestamp("us", "UTC"))])
SURE = SURE.append(pa.field("level", pa.float64())).append(pa.field("tags", pa.list_(pa.string())))


def row(id: str, level: float | None, *, hours: int = 0, tags: list[str] | None = None) -> dict[str, Any]:
    """A row, which is in doubt if it has tags (Spark vouches for no lists) or lacks its level."""
    common = {"id": id, "source": "/p", "type": "plant.Sensed", "time": NOON + timedelta(hours=hours)}
    return {**common, "level": level, "tags": tags}


def write(path: Path, rows: list[dict[str, Any]], schema: pa.Schema = SURE) -> str:
    path.parent.mkdir(exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return str(path)


def federation(folder: Path) -> Path:
    (folder / "federation").mkdir()
    (folder / "federation" / "plant.yaml").write_text(PLANT)
    (folder / "federation" / "profiles.yaml").write_text(PROFILES)
    return folder / "federation"


def figures(summary: Summary) -> tuple[Any, ...]:
    return summary.records, summary.rejected, summary.matched, summary.delivered, summary.rejected_by_code


def test_doubtful_rows_count_in_a_stream_as_in_a_run_and_in_the_engine(spark: SparkSession, tmp_path: Path) -> None:
    home, events = federation(tmp_path), tmp_path / "events"
    rows = [row("1", 2.0), row("2", 3.0, tags=["a"]), row("3", 0.5, tags=[]), row("4", None), row("5", 0.0)]
    wider = SURE.append(pa.field("subject", pa.string()))  # other columns, so that it is another table
    files = [
        write(events / "a.parquet", rows),
        write(events / "b.parquet", [row("6", 9.0, tags=["b"])], wider),
    ]
    plan = compile_plan(load(home))
    by_run = run_on_spark(plan, files, tmp_path / "run", spark)
    told: list[Summary] = []
    stream = StreamRun(
        WatchedFederation(home), out=tmp_path / "stream", on_batch=lambda _, summary: told.append(summary)
    )
    stream.take_batch(spark, files, 0)
    stream.close()
    by_engine = run_into_folder(plan, read_events(events, load(home).find_type, require_time=True), tmp_path / "engine")
    assert figures(by_run) == (6, 1, 3, {"high": 3}, {"missing": 1})
    assert figures(by_run) == figures(told[0]) == figures(by_engine)
    wanted = outcomes_in(tmp_path / "engine", ["plant"])
    assert outcomes_in(tmp_path / "run", ["plant"]) == outcomes_in(tmp_path / "stream", ["plant"]) == wanted


def test_an_event_that_is_in_doubt_in_two_tables_is_delivered_once(spark: SparkSession, tmp_path: Path) -> None:
    home, same = federation(tmp_path), row("1", 2.0, tags=["a"])
    wider = SURE.append(pa.field("subject", pa.string()))
    files = [write(tmp_path / "events" / "a.parquet", [same]), write(tmp_path / "events" / "b.parquet", [same], wider)]
    summary = run_on_spark(compile_plan(load(home)), files, tmp_path / "out", spark)
    assert (summary.records, summary.delivered) == (2, {"high": 1})
    assert len(outcomes_in(tmp_path / "out", ["plant"])) == 1


def test_doubtful_rows_are_late_and_make_others_late(spark: SparkSession, tmp_path: Path) -> None:
    told: list[Summary] = []
    stream = StreamRun(
        WatchedFederation(federation(tmp_path)), out=tmp_path / "out", on_batch=lambda _, summary: told.append(summary)
    )
    events = tmp_path / "events"
    newest = write(events / "a.parquet", [row("1", 2.0), row("2", 2.0, hours=9, tags=["newest"])])
    older = write(events / "b.parquet", [row("3", 2.0), row("4", 2.0, tags=["late"]), row("5", 2.0, hours=9)])
    stream.take_batch(spark, [newest], 0)
    stream.take_batch(spark, [older], 1)
    stream.close()
    assert [one.late for one in told] == [0, 2]
