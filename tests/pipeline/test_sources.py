"""Sources that Spark reads itself: tables, databases and made-up rows as sources of domains, in runs and in streams."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from comity import Misuse, Permanent
from comity.connect.registry import frame_source, read_options
from comity.connect.specs import SourceSpec
from comity.errors import ComityError, Faults
from comity.federation import load
from comity.pipeline.sources import read, tables_of
from comity.run.live import run_live
from comity.run.request import Engine, RunRequest, StreamPace
from comity.run.sources import event_sources
from comity.run.stored import run_stored
from comity.run.stream import run_stream

pytestmark = pytest.mark.spark

PROFILES = "profiles:\n  hot: {domain: plant, on: Reading, where: heat > 40}\n"
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
ROWS = "number long, room string, heat double, at timestamp"
COLUMNS = "{id: number, type: Reading, time: at}"


@pytest.fixture
def federation(tmp_path: Path) -> Callable[..., Path]:
    """Writes a federation of one domain with these sources, and more files."""

    def write(sources: str, **more: str) -> Path:
        folder = tmp_path / "federation"
        folder.mkdir(exist_ok=True)
        types = "domain: plant\ntypes:\n  Reading: {attributes: {room: string, heat: float}}\nsources:\n"
        (folder / "plant.yaml").write_text(types + textwrap.indent(textwrap.dedent(sources), "  "))
        for name, text in {"profiles": PROFILES, **more}.items():
            (folder / f"{name}.yaml").write_text(text)
        return folder

    return write


def asked(folder: Path, out: Path, **more: Any) -> RunRequest:
    found = load(folder)
    return RunRequest(folder, found, event_sources(found, folder, None), out, **more)


def told(out: Path, where: str = "plant") -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted((out / where).glob("*.jsonl")) for line in file.open()]


def stored(spark: SparkSession, folder: Path, *rows: tuple[Any, ...]) -> None:
    spark.createDataFrame(list(rows), ROWS).coalesce(1).write.mode("append").parquet(str(folder))


def until_empty(folder: Path, out: Path) -> int:
    return run_stream(asked(folder, out), StreamPace(until_empty=True)).records


def test_a_table_at_a_path_is_read_in_runs_and_streams(
    spark: SparkSession, tmp_path: Path, federation: Callable[..., Path]
) -> None:
    stored(spark, tmp_path / "lake", (1, "hall", 50.0, NOON), (2, "attic", 20.0, NOON), (3, "cellar", None, NOON))
    folder = federation(f"lake: {{table: {{path: ../lake, columns: {COLUMNS}}}}}")
    done = run_stored(asked(folder, tmp_path / "stored"))
    assert (done.summary.records, done.summary.rejected) == (3, 1)
    assert [(one["id"], one["source"], one["type"]) for one in told(tmp_path / "stored")] == [
        ("1", "/plant/lake", "plant.Reading")
    ]
    assert [one["faults"][0]["code"] for one in told(tmp_path / "stored", "rejected")] == ["missing"]
    out = tmp_path / "out"
    assert until_empty(folder, out) == 3
    stored(spark, tmp_path / "lake", (1, "hall", 50.0, NOON), (4, "attic", 60.0, NOON))
    assert until_empty(folder, out) == 2
    assert sorted(one["id"] for one in told(out)) == ["1", "4"]


def test_columns_that_no_type_has_are_not_read(
    spark: SparkSession, tmp_path: Path, federation: Callable[..., Path]
) -> None:
    stored(spark, tmp_path / "lake", (1, "hall", 50.0, NOON))
    wide = spark.read.parquet(str(tmp_path / "lake")).selectExpr("*", "'x' as photograph", "1 as size")
    wide.write.parquet(str(tmp_path / "wide"))
    folder = federation(f"lake: {{table: {{path: ../wide, columns: {COLUMNS}, where: number > 0}}}}")
    found = load(folder)
    (rows,) = tables_of(spark, [frame_source(found.sources[0], folder)], found.local_types()).rows
    plan = rows.table._jdf.queryExecution().executedPlan().toString()
    assert "photograph" not in plan
    assert "PushedFilters: [IsNotNull(number), GreaterThan(number,0)]" in plan
    assert run_stored(asked(folder, tmp_path / "out")).summary.delivered == {"hot": 1}


def in_delta(table: Path, *rows: tuple[int, str, float | None], **more: Any) -> None:
    names = [(number, room, heat, NOON) for number, room, heat in rows]
    columns = {name: list(values) for name, values in zip(("number", "room", "heat", "at"), zip(*names, strict=True))}
    write_deltalake(str(table), pa.table(columns), mode="append", **more)


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_delta_table_is_read_as_it_is_and_followed_by_its_versions(
    spark: SparkSession, tmp_path: Path, federation: Callable[..., Path], partitioned: bool
) -> None:
    table, out = tmp_path / "lake", tmp_path / "out"
    by = {"partition_by": ["room"]} if partitioned else {}
    in_delta(table, (1, "ha ll/ü", 50.0), (2, "attic", 20.0), **by)
    in_delta(table, (3, "cellar", 60.0))
    DeltaTable(str(table)).delete("number = 3")
    folder = federation(f"lake: {{table: {{path: ../lake, format: delta, columns: {COLUMNS}}}}}")
    done = run_stored(asked(folder, tmp_path / "stored"))
    assert (done.summary.records, done.summary.delivered) == (2, {"hot": 1})
    assert [one["data"]["room"] for one in told(tmp_path / "stored")] == ["ha ll/ü"]
    assert until_empty(folder, out) == 2
    in_delta(table, (1, "ha ll/ü", 50.0), (4, "attic", 70.0))
    in_delta(table, (5, "attic", None))
    DeltaTable(str(table)).optimize.compact()
    assert until_empty(folder, out) == 3
    assert sorted((one["id"], one["data"]["room"]) for one in told(out)) == [("1", "ha ll/ü"), ("4", "attic")]
    assert [one["faults"][0]["code"] for one in told(out, "rejected")] == ["missing"]
    in_delta(table, (6, "attic", 80.0))
    DeltaTable(str(table)).delete("number = 1")
    with pytest.raises(ComityError) as changed:
        until_empty(folder, out)
    assert changed.value.code == "source-changed"


def test_delta_tables_whose_files_do_not_stand_for_themselves_are_refused(
    spark: SparkSession, tmp_path: Path, federation: Callable[..., Path]
) -> None:
    folder = federation(f"lake: {{table: {{path: ../lake, format: delta, columns: {COLUMNS}}}}}")
    with pytest.raises(Misuse) as absent:
        run_stored(asked(folder, tmp_path / "out"))
    assert (absent.value.code, str(absent.value.place)) == ("unreadable-source", "plant.lake")
    in_delta(tmp_path / "lake", (1, "hall", 50.0))
    log = tmp_path / "lake" / "_delta_log" / f"{0:020d}.json"
    mapped = '"configuration":{"delta.columnMapping.mode":"name","delta.columnMapping.maxColumnId":"4"}'
    log.write_text(log.read_text().replace('"configuration":{}', mapped))
    for run in (lambda: run_stored(asked(folder, tmp_path / "out")), lambda: until_empty(folder, tmp_path / "stream")):
        with pytest.raises(Misuse) as refused:
            run()
        assert refused.value.code == "delta-feature"


def test_files_and_several_sources_of_spark_are_one_stream(
    spark: SparkSession, tmp_path: Path, federation: Callable[..., Path]
) -> None:
    for name, number in (("east", 1), ("west", 2)):
        stored(spark, tmp_path / name, (number, name, 50.0, NOON), (number + 10, name, None, NOON))
    (tmp_path / "events").mkdir()
    line = {"id": "3", "source": "/f", "type": "plant.Reading", "time": "2026-11-15T12:00:00Z"}
    whole = {**line, "data": {"room": "files", "heat": 70}}
    (tmp_path / "events" / "1.jsonl").write_text(json.dumps(whole) + "\n{broken\n")
    spark.createDataFrame([(json.dumps({**whole, "id": "4"}),)], "event string").write.parquet(str(tmp_path / "lines"))
    sources = f"""\
        east: {{table: {{path: ../east, columns: {COLUMNS}}}}}
        west: {{table: {{path: ../west, columns: {COLUMNS}}}}}
        lines: {{table: {{path: ../lines, lines: event}}}}
        folder: {{files: ../events}}
        """
    folder, out = federation(sources), tmp_path / "out"
    assert until_empty(folder, out) == 7
    assert sorted(one["id"] for one in told(out)) == ["1", "2", "3", "4"]
    assert sorted(one["faults"][0]["code"] for one in told(out, "rejected")) == ["bad-json", "missing", "missing"]
    done = run_stored(asked(folder, tmp_path / "stored"))
    assert (done.summary.records, done.summary.rejected, done.summary.delivered) == (7, 3, {"hot": 4})


def test_a_source_brings_events_of_its_own_domain_only(
    spark: SparkSession, tmp_path: Path, federation: Callable[..., Path]
) -> None:
    bank = """\
        domain: bank
        types: {Paid: {attributes: {room: string, heat: float}}}
        sources:
          rows: {table: {path: ../rows, columns: {id: number, type: kind, time: at}}}
          lines: {table: {path: ../lines, lines: event}}
        """
    paid = "  paid: {domain: bank, on: Paid, where: heat > 40}\n"
    folder = federation("idle: {files: .}", bank=textwrap.dedent(bank), profiles=PROFILES + paid)
    rows = [(1, "plant.Reading", "a", 50.0, NOON), (2, "bank.Paid", "a", 50.0, NOON)]
    spark.createDataFrame(rows, f"number long, kind string, {ROWS.partition(', ')[2]}").write.parquet(
        str(tmp_path / "rows")
    )
    event = {"id": "3", "source": "/", "time": "2026-11-15T12:00:00Z", "data": {"room": "b", "heat": 50}}
    lines = [(json.dumps({**event, "type": type}),) for type in ("plant.Reading", "bank.Paid")]
    spark.createDataFrame(lines, "event string").write.parquet(str(tmp_path / "lines"))
    (folder / "plant.yaml").write_text((folder / "plant.yaml").read_text().partition("sources:")[0])
    for out in (tmp_path / "stored", tmp_path / "out"):
        if out.name == "stored":
            run_stored(asked(folder, out))
        else:
            until_empty(folder, out)
        assert told(out, "plant") == []
        assert sorted(one["id"] for one in told(out, "bank")) == ["2", "3"]
        assert [one["faults"][0]["code"] for one in told(out, "rejected")] == ["foreign-type"] * 2


def test_a_database_is_read_in_parts_and_its_password_is_told_to_nobody(
    spark: SparkSession, tmp_path: Path, federation: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"jdbc:derby:{tmp_path / 'base'}"
    rows = [(number, "hall", 30.0 + number, NOON) for number in range(20)]
    spark.createDataFrame(rows, ROWS).write.jdbc(
        f"{url};create=true", "readings", properties={"createTableColumnTypes": "room varchar(20)"}
    )
    parts = "part_by: number, between: [0, 20], parts: 3"
    columns = "{id: number, type: Reading, time: at}"
    source = f"table: APP.readings, {parts}, user: reader, password: {{env: BASE_PASSWORD}}, columns: {columns}"
    folder = federation(f"base: {{jdbc: {{url: '{url}', {source}}}}}")
    request = asked(folder, tmp_path / "out")
    with pytest.raises(Misuse) as unset:
        run_stored(request)
    assert unset.value.code == "missing-secret"
    monkeypatch.setenv("BASE_PASSWORD", "PSSWRD1")
    assert run_stored(request).summary.delivered == {"hot": 9}
    found = load(folder)
    spec = found.sources[0]
    assert (
        tables_of(spark, [frame_source(spec, folder)], list(found.local_types())).rows[0].table.rdd.getNumPartitions()
        == 3
    )
    assert "PSSWRD1" not in f"{request!r}{frame_source(spec, folder)!r}"
    with pytest.raises(Misuse) as no_stream:
        run_stream(asked(folder, tmp_path / "stream"), StreamPace(until_empty=True))
    assert no_stream.value.code == "stored-source"
    (folder / "plant.yaml").write_text((folder / "plant.yaml").read_text().replace("APP.readings", "APP.PSSWRD1"))
    with pytest.raises(ComityError) as failed:
        run_stored(asked(folder, tmp_path / "failed"))
    assert isinstance(failed.value, Permanent | Misuse)
    assert "PSSWRD1" not in str(failed.value)
    assert "(hidden)" in str(failed.value)


def test_rows_that_are_made_up_are_a_stream_and_nothing_else(
    spark: SparkSession, tmp_path: Path, federation: Callable[..., Path]
) -> None:
    columns = "{id: value, type: Reading, time: timestamp, data: {sql: \"struct('x' as room, 50d as heat)\"}}"
    folder = federation(f"made: {{rate: {{rows_per_second: 1000, columns: {columns}}}}}")
    with pytest.raises(Misuse) as live:
        run_stored(asked(folder, tmp_path / "stored"))
    assert live.value.code == "live-source"
    spec = frame_source(load(folder).sources[0], folder)
    assert read(spark, spec, is_stream=True).isStreaming


def test_a_stream_keeps_to_the_sources_that_it_began_with(
    spark: SparkSession, tmp_path: Path, federation: Callable[..., Path]
) -> None:
    stored(spark, tmp_path / "lake", (1, "hall", 50.0, NOON))
    lake = f"lake: {{table: {{path: ../lake, columns: {COLUMNS}}}}}\n"
    assert until_empty(federation(lake), tmp_path / "out") == 1
    with pytest.raises(Misuse) as other:
        until_empty(federation(lake + lake.replace("lake:", "again:", 1)), tmp_path / "out")
    assert other.value.code == "other-sources"


def test_the_local_engine_refuses_them(tmp_path: Path, federation: Callable[..., Path]) -> None:
    folder = federation(f"lake: {{table: {{path: ../lake, columns: {COLUMNS}}}}}")
    with pytest.raises(Misuse) as refused:
        run_stored(asked(folder, tmp_path / "out"), Engine.LOCAL)
    assert refused.value.code == "read-by-spark"
    assert "plant.lake (table)" in refused.value.message
    with pytest.raises(Misuse) as live:
        run_live(asked(folder, tmp_path / "out"), StreamPace(until_empty=True))
    assert live.value.code == "read-by-spark"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{table: {path: ../none, format: nonesuch, lines: value}}", "no-connector"),
        ("{table: {path: ../none, lines: value}}", "unreadable-source"),
        ("{table: {name: nowhere, lines: value}}", "unreadable-source"),
        ("{jdbc: {url: 'jdbc:nonesuch://host/base', table: x, lines: value}}", "no-connector"),
    ],
)
def test_what_spark_cannot_read_is_told_with_its_name(
    spark: SparkSession, tmp_path: Path, federation: Callable[..., Path], source: str, code: str
) -> None:
    folder = federation(f"lake: {source}")
    with pytest.raises(Misuse) as refused:
        run_stored(asked(folder, tmp_path / "out"))
    assert refused.value.code == code
    assert str(refused.value.place) == "plant.lake"


@pytest.mark.parametrize(
    ("kind", "options", "path"),
    [
        ("kafka", {"servers": "a:1"}, None),
        ("kafka", {"servers": "a:1", "topics": "x", "pattern": "y"}, None),
        ("kafka", {"servers": "a:1", "topics": "x", "lines": "value", "columns": {"id": "key"}}, None),
        ("kafka", {"servers": "a:1", "topics": "x", "columns": {"key": "key"}}, "columns"),
        ("table", {}, None),
        ("table", {"name": "a", "path": "b"}, None),
        ("jdbc", {"url": "jdbc:postgresql://h/b?user=a&password=b", "table": "t"}, "url"),
        ("jdbc", {"url": "jdbc:postgresql://a:b@h/b", "table": "t"}, "url"),
        ("jdbc", {"url": "jdbc:postgresql://h/b", "table": "t", "part_by": "x"}, None),
        ("jdbc", {"url": "jdbc:postgresql://h/b", "table": "t", "password": "secret"}, "password"),
        ("rate", {"rows_per_second": 0}, "rows_per_second"),
    ],
)
def test_options_that_do_not_go_together_are_refused_without_spark(
    kind: str, options: dict[str, Any], path: str | None
) -> None:
    with pytest.raises(Faults) as refused:
        read_options(kind, options)
    assert {one.place.path if one.place else None for one in refused.value.errors} == {path}


def test_secrets_come_from_files_too(tmp_path: Path) -> None:
    (tmp_path / "jaas").write_text("org.example.Login required password='x y';\n")
    options = {"servers": "a:1", "topics": ["a", "b"], "options": {"kafka.sasl.jaas.config": {"file": "jaas"}}}
    found = frame_source(SourceSpec("line", "plant", "kafka", options), tmp_path)
    assert found.options["kafka.sasl.jaas.config"] == "org.example.Login required password='x y';"
    assert found.options["subscribe"] == "a,b"
    assert "x y" not in repr(found)
