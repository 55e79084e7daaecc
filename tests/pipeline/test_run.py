"""The Spark runner against the engine: the same notifications, the same rejected records."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.engine import Notification, run
from comity.event import Event, Rejected, encode, read_events
from comity.federation import Federation, load
from comity.pipeline.run import run_on_spark
from comity.plan import compile_plan

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"

ALL_KINDS = """\
domain: plant
types:
  Sensed:
    attributes:
      flag: bool?
      count: int?
      level: float?
      name: string?
      seen: timestamp?
      lasted: duration?
      raw: bytes?
      where: point?
      tags: {kind: list, of: string, optional: true}
      spans: {kind: list, of: duration, optional: true}
      inner: {kind: struct, optional: true, attributes: {deep: int, until: timestamp?}}
"""
OFFICE = ALL_KINDS.replace("domain: plant", "domain: office").replace("Sensed", "Record")
NAMES = ("flag", "count", "level", "name", "seen", "lasted", "raw", "where", "tags", "spans", "inner")
SAME = "{" + ", ".join(f"{name}: {name}" for name in NAMES) + "}"
CONTRACT = (
    ALL_KINDS.replace("domain: plant", "contract: shared").replace("Sensed", "Common")
    + f"members:\n  plant: {{type: Sensed, map: {SAME}}}\nobservers:\n  office: {{type: Record, map: {SAME}}}\n"
)
PROFILES = """\
profiles:
  everything: {domain: office, on: Record}
  counted: {domain: office, on: Record, where: not count > 2}
  local: {domain: plant, on: Sensed, where: exists inner and inner.deep > 1}
"""
VALUES: list[dict[str, Any]] = [
    {},
    {"flag": True, "count": 3, "level": 1.5, "name": 'Ünïcode "quoted" 😀'},
    {"count": 2, "seen": "2026-03-01T10:00:00.000001+02:00", "lasted": "P1DT0.5S", "raw": "AAECAw=="},
    {
        "where": {"x": 1.0, "y": -2.5},
        "tags": ["a", "b"],
        "spans": ["PT1S", "-P2D", "PT3H25M7.25S", "PT59.999999S", "-PT10M"],
        "inner": {"deep": 2},
    },
    {"inner": {"deep": 1, "until": "0001-01-01T00:00:00Z"}, "level": 1e300},
    {"level": -0.0, "lasted": "PT0S", "tags": []},
    {"inner": {}},
    {"count": 9223372036854775808},
]


def as_json(outcome: Notification | Rejected) -> dict[str, Any]:
    if isinstance(outcome, Notification):
        return {**json.loads(encode(outcome.event)), "profile": outcome.profile}
    return outcome.as_dict()


def by_engine(federation: Federation, events: Path) -> list[str]:
    outcomes = run(compile_plan(federation), read_events(events, federation.find_type, require_time=True))
    return sorted(json.dumps(_comparable(as_json(outcome)), sort_keys=True) for outcome in outcomes)


def by_spark(out: Path) -> list[str]:
    rows = [json.loads(line) for file in out.rglob("*.jsonl") for line in file.read_text().splitlines()]
    return sorted(json.dumps(_comparable(row), sort_keys=True) for row in rows)


def _comparable(row: dict[str, Any]) -> dict[str, Any]:
    """Without what only one of them knows, and with a rejected record's JSON compared as JSON where it is some."""
    row = {key: value for key, value in row.items() if key not in ("file", "line")}
    with suppress(KeyError, ValueError):
        row["raw"] = json.loads(row["raw"])
    return row


def write_federation(folder: Path, **texts: str) -> Federation:
    (folder / "federation").mkdir()
    for name, text in texts.items():
        (folder / "federation" / f"{name}.yaml").write_text(text)
    return load(folder / "federation")


def write_events(folder: Path, values: list[dict[str, Any]]) -> Path:
    """Events of the plant."""
    lines = [
        {
            "id": str(at),
            "source": "/p",
            "type": "plant.Sensed",
            "time": "2026-01-01T00:00:00Z",
            "sequence": "7",
            "data": data,
        }
        for at, data in enumerate(values)
    ]
    (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "events.jsonl"


def test_run_on_spark_gives_what_the_engine_gives(spark: SparkSession, tmp_path: Path) -> None:
    federation = load(EXAMPLE)
    summary = run_on_spark(compile_plan(federation), [str(EXAMPLE / "events")], tmp_path, spark)
    assert by_spark(tmp_path) == by_engine(federation, EXAMPLE / "events")
    assert (summary.records, summary.rejected, summary.delivered) == (9, 3, {"main_street": 2, "serious_fires": 2})


def test_run_on_spark_reads_the_files_of_a_folder_each_in_its_form(spark: SparkSession, tmp_path: Path) -> None:
    federation = load(EXAMPLE)
    lines = [one for one in read_events(EXAMPLE / "events", federation.find_type) if isinstance(one, Event)]
    (tmp_path / "events").mkdir()
    rows = [{"id": one.id, "source": one.source, "type": one.type, "time": one.time, **one.data} for one in lines[:1]]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "events" / "first.parquet")
    (tmp_path / "events" / "rest.jsonl").write_bytes(b"".join(encode(one) + b"\n" for one in lines[1:]))
    summary = run_on_spark(compile_plan(federation), [str(tmp_path / "events")], tmp_path / "out", spark)
    assert (summary.records, summary.rejected) == (len(lines), 1)
    assert by_spark(tmp_path / "out") == by_engine(federation, tmp_path / "events")


def test_run_on_spark_carries_every_kind_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    federation = write_federation(tmp_path, plant=ALL_KINDS, office=OFFICE, contract=CONTRACT, profiles=PROFILES)
    events = write_events(tmp_path, VALUES)
    run_on_spark(compile_plan(federation), [str(events)], tmp_path / "out", spark)
    assert by_spark(tmp_path / "out") == by_engine(federation, events)
    assert len(by_spark(tmp_path / "out")) == 2 + 6 + 5 + 1


def test_run_on_spark_makes_a_folder_for_each_subscriber_even_an_empty_one(spark: SparkSession, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_bytes(encode(Event("1", "/a", "house_a.WaterLeak")) + b"\n")
    run_on_spark(compile_plan(load(EXAMPLE)), [str(events)], tmp_path / "out", spark)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["fire_station", "rejected"]
    assert len(by_spark(tmp_path / "out")) == 1


TABLED = """\
contract: tabled
types:
  Level:
    attributes: {number: int, kelvin: float kelvin, tags: {kind: list, of: string, optional: true}}
tables:
  numbers: {low: 1, high: 2}
members:
  plant: {type: Sensed, map: {number: "lookup('numbers', name)", kelvin: "quantity(level, 'degC')", tags: tags}}
observers:
  office: {type: Shown, map: {text: text(number), celsius: kelvin}}
"""
SENSED = """\
domain: plant
types:
  Sensed: {attributes: {name: string?, level: float?, tags: {kind: list, of: string, optional: true}}}
"""
SHOWN = """\
domain: office
types:
  Shown: {attributes: {text: string, celsius: float degC}}
"""


def test_a_plan_that_is_run_again_is_not_compiled_again(spark: SparkSession, tmp_path: Path) -> None:
    profiles = "profiles:\n  warm: {domain: office, on: Shown, where: celsius > 20 degC}\n"
    federation = write_federation(tmp_path, plant=SENSED, office=SHOWN, contract=TABLED, profiles=profiles)
    values = [{"name": "low", "level": 21.5}, {"name": "high", "level": 1.0}, {"name": "unknown", "level": 30.0}]
    events, plan = write_events(tmp_path, values), compile_plan(federation)
    metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics  # type: ignore[union-attr]
    counts = []
    for run_number in range(3):
        summary = run_on_spark(plan, [str(events)], tmp_path / f"out{run_number}", spark)
        assert (summary.delivered, summary.rejected) == ({"warm": 1}, 1)
        counts.append(metrics.METRIC_COMPILATION_TIME().getCount())
    assert counts[1] == counts[2]
