"""Composite profiles of a federation on Spark: what the engine gives, in one run and on a stream."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.connect.folder import Results
from comity.engine import run_into_folder
from comity.event import read_events
from comity.federation import load
from comity.federation.watch import WatchedFederation
from comity.limits import limited
from comity.pipeline.run import run_on_spark
from comity.pipeline.stream import StreamRun
from comity.plan import compile_plan
from comity.testing.outcomes import told_in

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
COMPOSITES = """
profiles:
  spreading:
    domain: fire_station
    on: Incident a ; Incident b within 10 min
    where: a.where_inside = b.where_inside and b.temperature > 60 degC
  spreading_at_a:
    domain: fire_station
    on: Incident a ; Incident b within 10 min
    where: a.where_inside = b.where_inside and b.temperature > 60 degC
    scope: [house_a]
  hotter:
    domain: fire_station
    on: Incident a ; Incident b within 10 min
    where: b.temperature > a.temperature + 20 and a.level >= 2
    duplicates: first
  unanswered:
    domain: house_a
    on: FireDetected f ; not WaterLeak w within 5 min
    where: f.room = w.room
  quiet:
    domain: house_a
    on: not WaterLeak w within 10 min
"""
BEGIN = datetime(2026, 1, 10, tzinfo=UTC)


@pytest.fixture
def federation(tmp_path: Path) -> Path:
    folder = tmp_path / "federation"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("events"))
    (folder / "profiles" / "composite.yaml").write_text(COMPOSITES)
    return folder


def events(chance: Random, count: int) -> list[dict[str, Any]]:
    """Fires and leaks in both houses, every 20 seconds or so, a few of which cannot be mapped."""
    rooms = ("hall", "attic", "cellar")
    found = []
    for number in range(count):
        time = BEGIN + timedelta(seconds=20 * number + chance.randint(0, 15))
        place = {"floor": 0, "room": chance.choice(rooms)}
        severity = chance.choice(("niedrig", "mittel", "hoch", "hoch", "unbekannt"))
        type, data = chance.choice(
            [
                ("house_a.FireDetected", {"room": chance.choice(rooms), "heat": float(chance.randint(100, 300))}),
                ("house_a.WaterLeak", {"room": chance.choice(rooms), "litres": 1.5}),
                ("house_b.Brand", {"place": place, "celsius": float(chance.randint(30, 150)), "severity": severity}),
            ]
        )
        told = time.isoformat().replace("+00:00", "Z")
        found.append({"id": str(number), "source": type.split(".")[0], "type": type, "time": told, "data": data})
    return found


def write(path: Path, some: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in some))
    return path


def write_rows(path: Path, some: list[dict[str, Any]]) -> Path:
    data = pa.struct([("room", pa.string()), ("litres", pa.float64())])
    fields = [(name, pa.string()) for name in ("id", "source", "type")]
    rows = [{**one, "time": datetime.fromisoformat(one["time"])} for one in some]
    schema = pa.schema([*fields, ("time", pa.timestamp("us", "UTC")), ("data", data)])
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


def told(out: Path) -> list[tuple[str, str, str]]:
    """Profile, id and data of every notification."""
    rows = [json.loads(line) for _, line in told_in(out, ["fire_station", "house_a"])]
    return sorted((row["profile"], row["id"], json.dumps(row["data"], sort_keys=True)) for row in rows)


def by_the_engine(federation: Path, files: list[Path], out: Path) -> Any:
    found = load(federation)
    records = (one for file in files for one in read_events(file, found.find_type, require_time=True))
    return run_into_folder(compile_plan(found), records, out)


@pytest.mark.parametrize("results", [Results.JSONL, Results.PARQUET])
def test_a_run_reports_what_the_engine_reports(
    spark: SparkSession, tmp_path: Path, federation: Path, results: Results
) -> None:
    some = events(Random(1), 120)
    leaks = [one for one in some if one["type"] == "house_a.WaterLeak"]
    files = [
        write(tmp_path / "events" / "1.jsonl", [one for one in some if one not in leaks]),
        write_rows(tmp_path / "events" / "2.parquet", leaks),
    ]
    wanted = by_the_engine(federation, files, tmp_path / "wanted")
    plan = compile_plan(load(federation))
    found = run_on_spark(plan, [str(file) for file in files], tmp_path / "found", spark, results=results)
    assert told(tmp_path / "found") == told(tmp_path / "wanted")
    assert all(wanted.delivered[name] for name in ("spreading", "hotter", "unanswered", "quiet"))
    assert (found.delivered, found.rejected, found.records) == (wanted.delivered, wanted.rejected, wanted.records)
    assert not list((tmp_path / "found").glob(".staging*"))


def test_a_stream_reports_what_the_engine_reports_once_time_has_passed_or_it_ends(
    spark: SparkSession, tmp_path: Path, federation: Path
) -> None:
    some = events(Random(2), 120)
    last = {**some[0], "id": "last", "time": "2026-01-12T00:00:00Z", "type": "house_a.WaterLeak"}
    last["data"] = {"room": "none", "litres": 0.5}
    files = [write(tmp_path / "events" / f"{at}.jsonl", some[40 * at : 40 * at + 40]) for at in range(3)]
    wanted = tmp_path / "wanted"
    by_the_engine(federation, [*files, write(tmp_path / "events" / "9.jsonl", [last])], wanted)
    stream = StreamRun(WatchedFederation(federation), out=tmp_path / "found", results=Results.JSONL)
    with limited(late_after_s=60):
        for number, file in enumerate([*files, tmp_path / "events" / "9.jsonl"]):
            for _ in range(1 + number % 2):
                stream.take_batch(spark, [str(file)], number)
        decided_in_time = told(tmp_path / "found")
        stream.finish(spark)
    stream.close()
    decided = [one for one in told(wanted) if json.loads(one[2]).get("end", "") < "2026-01-11T23:59"]
    assert decided_in_time == decided
    assert told(tmp_path / "found") == told(wanted)  # when it ends, it is as stored events
    assert {profile for profile, _, _ in decided} >= {"spreading", "hotter", "unanswered", "quiet", "serious_fires"}
