"""Results as Parquet with types: the columns and the rows that tables with types have, once, by runs and streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession
from tests.pipeline.test_frame_stream import FEDERATION
from tests.pipeline.test_tables import BATCHES, event, rows_in, stream_of, take

from comity.connect.folder import Results
from comity.connect.published import stored_keys
from comity.connect.tables.parts import TableLayout
from comity.connect.target import FolderTarget
from comity.errors import Misuse
from comity.pipeline.frame_stream import FixedFederation
from comity.pipeline.run import run_on_spark
from comity.pipeline.stream import StreamRun
from comity.plan import compile_plan
from comity.plan.loading import federation_of
from comity.storage.place import LocalStorage

pytestmark = pytest.mark.spark


def typed(out: Path) -> FolderTarget:
    return FolderTarget(out, Results.PARQUET, lambda: ["office"], layout=TableLayout({}))


def typed_stream(out: Path) -> StreamRun:
    return StreamRun(FixedFederation(federation_of(FEDERATION)), out=out, results=Results.PARQUET, target=typed(out))


def rows_of(out: Path, profile: str) -> list[dict[str, Any]]:
    return ds.dataset(out / "profiles" / profile, partitioning="hive").to_table().to_pylist()


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(({**row, "day": None} for row in rows), key=lambda row: str(row["id"]))


def test_a_stream_writes_what_tables_with_types_have(spark: SparkSession, tmp_path: Path) -> None:
    out, tables, events = tmp_path / "out", LocalStorage(tmp_path / "tables"), tmp_path / "events"
    for lines in BATCHES:  # with a start of its own for each, and an end after each
        take(spark, typed_stream(out), events, [lines])
    take(spark, stream_of(tables, tables.folder, typed=True), events)
    for profile in ("hot", "twice"):
        assert by_id(rows_of(out, profile)) == by_id(rows_in(tables, f"profiles/{profile}")), profile
    hot = duckdb.sql(
        f"select id, machine, round(heat, 3), day from read_parquet('{out}/profiles/hot/*/*.parquet') order by id"
    ).fetchall()
    assert [row[:3] for row in hot] == [("1", "m1", 148.889), ("2", "m1", 121.111), ("4", "m1", 260.0)]
    assert str(hot[0][3]) == "2026-11-15"
    assert spark.read.parquet(str(out / "profiles" / "hot")).schema["heat"].dataType.simpleString() == "double"
    assert len(list((out / "rejected").glob("*.jsonl"))) == 2


def test_a_run_is_gone_on_with_by_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    out, events = tmp_path / "out", tmp_path / "events"
    events.mkdir()
    (events / "0.jsonl").write_text("".join(f"{line}\n" for line in BATCHES[0]))
    plan = compile_plan(federation_of(FEDERATION))
    summary = run_on_spark(plan, [str(events / "0.jsonl")], out, spark, target=typed(out))
    assert (summary.delivered, summary.rejected) == ({"hot": 2, "twice": 1}, 1)
    assert [path.name for path in (out / "profiles" / "hot").glob("*/*")] == ["part-00000.parquet"]
    assert {key for key, _ in stored_keys(out, ["office"]) if '"hot"' in key} == {
        f'["hot","/p","{id}"]' for id in "12"
    }, "a stream in one process knows them"
    assert not (out / ".staging").exists()
    take(spark, typed_stream(out), events, [[event(2, 3, 250.0), event(4, 6, 500)]])
    assert sorted(row["id"] for row in rows_of(out, "hot")) == ["1", "2", "4"]
    with pytest.raises(Misuse) as refused:
        take(spark, StreamRun(FixedFederation(federation_of(FEDERATION)), out=out), events)
    assert refused.value.code == "other-layout"
