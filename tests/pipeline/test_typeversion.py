"""An event that says another version than its type has is rejected, by every reader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.document import parse_document
from comity.engine import run
from comity.engine.outcome import Notification
from comity.errors import Faults
from comity.event import Taxonomy, read_events
from comity.event.formats.jsonlines import Rejected, decode
from comity.event.schemas.domain_file import write_domain_file
from comity.event.window import Window
from comity.federation import Federation, load
from comity.limits import limits
from comity.pipeline.run import run_on_spark
from comity.pipeline.worker import LineWorker, Work
from comity.plan import compile_plan

DOMAIN = "domain: d\ntypes: {T: {version: 2, attributes: {x: int}}, Free: {extends: T}}\n"
MOMENT = datetime(2026, 3, 1, 10, tzinfo=UTC)
GIVEN = {"same": ("d.T", "2"), "none": ("d.T", None), "other": ("d.T", "1"), "free": ("d.Free", "7")}


def rows() -> list[dict[str, Any]]:
    common = {"source": "/s", "time": "2026-03-01T10:00:00Z"}
    return [{"id": id, "type": type, "typeversion": version, **common} for id, (type, version) in GIVEN.items()]


def lines() -> list[bytes]:
    said = [{name: value for name, value in row.items() if value is not None} for row in rows()]
    return [json.dumps({**row, "data": {"x": 1}}).encode() for row in said]


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "d.yaml").write_text(DOMAIN)
    (tmp_path / "f" / "profiles.yaml").write_text("profiles: {all: {domain: d, on: T}}\n")
    return load(tmp_path / "f")


@dataclass
class Held:
    value: Work


def test_decode_rejects_another_version(federation: Federation) -> None:
    found = {json.loads(line)["id"]: decode(line, federation.find_type) for line in lines()}
    refused = {id: one.faults[0].code for id, one in found.items() if isinstance(one, Rejected)}
    assert refused == {"other": "wrong-version"}


@pytest.mark.parametrize("scanned", [1, 10**9])
def test_scanned_lines_are_checked_too(federation: Federation, scanned: int) -> None:
    columns: dict[str, Sequence[Any]] = {"line": lines(), "size": [len(one) for one in lines()], "file": [None] * 4}
    schema = pa.schema([("line", pa.binary()), ("size", pa.int32()), ("file", pa.string())])
    work = Held(Work.of(compile_plan(federation)))
    worker = LineWorker(work, Window.around(MOMENT), limits(), scanned=scanned)
    found = list(worker.batches(iter([pa.RecordBatch.from_pydict(columns, schema=schema)])))
    told = [row for batch in found for row in batch.to_pylist()]
    assert sorted(row["id"] for row in told if row["id"]) == ["free", "none", "same"]
    (refused,) = [row["rejected"] for row in told if row["rejected"]]
    assert "wrong-version" in refused["reason"]


@pytest.mark.spark
def test_rows_are_checked_too(spark: SparkSession, federation: Federation, tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    parquet.write_table(pa.Table.from_pylist([{**row, "time": MOMENT, "x": 1} for row in rows()]), file)
    plan = compile_plan(federation)
    outcomes = list(run(plan, read_events(file, federation.find_type, require_time=True)))
    assert sorted(one.event.id for one in outcomes if isinstance(one, Notification)) == ["free", "none", "same"]
    summary = run_on_spark(plan, [str(file)], tmp_path / "out", spark, now=MOMENT)
    assert (summary.rejected_by_code, summary.delivered) == ({"wrong-version": 1}, {"all": 3})


def test_a_version_is_written_and_read_again(federation: Federation) -> None:
    taxonomy = federation.domains["d"].taxonomy
    assert [one.version for one in taxonomy.types] == ["2", None]
    again = Taxonomy.from_document(parse_document(write_domain_file(taxonomy)))
    assert again.types == taxonomy.types


@pytest.mark.parametrize("version", ["''", "[2]", "true", "1.5"])
def test_a_version_is_a_text_or_a_whole_number(version: str) -> None:
    with pytest.raises(Faults):
        Taxonomy.from_document(parse_document(f"domain: d\ntypes: {{T: {{version: {version}}}}}\n"))
