"""Events in XML and Avro: a run on Spark gives what the engine gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.event import hostile

from comity.engine import Notification, run
from comity.event import Event, encode, read_events
from comity.event.formats.avro import write_avro_events
from comity.event.formats.xml.write import HEAD, TAIL, encode_xml
from comity.federation import load
from comity.pipeline.run import run_on_spark
from comity.plan import compile_plan

pytestmark = pytest.mark.spark

PLANT = """\
domain: plant
types:
  Sensed: {attributes: {level: float, lasted: duration?, tags: {kind: list, of: string}}}
"""
PROFILES = "profiles: {high: {domain: plant, on: Sensed, where: level > 2}}"
DATA = [
    {"level": 1.5, "tags": []},
    {"level": 2.5, "lasted": "PT5M", "tags": ["a", "b"]},
    {"level": 3.5, "tags": ["c"]},
]


def _line(outcome: Any) -> str:
    if isinstance(outcome, Notification):
        return json.dumps({**json.loads(encode(outcome.event)), "profile": outcome.profile}, sort_keys=True)
    return json.dumps(outcome.as_dict(), sort_keys=True)


def test_run_on_spark_equals_the_engine(spark: SparkSession, tmp_path: Path) -> None:
    folder, events = tmp_path / "plant", tmp_path / "events"
    folder.mkdir()
    events.mkdir()
    (folder / "plant.yaml").write_text(PLANT)
    (folder / "profiles.yaml").write_text(PROFILES)
    federation = load(folder)
    (type,) = federation.domains["plant"].taxonomy.types
    lines = [
        {"id": str(n), "source": "/a", "type": "plant.Sensed", "time": "2026-03-01T10:00:00Z", "data": data}
        for n, data in enumerate(DATA)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    given = [one for one in read_events(tmp_path / "a.jsonl", federation.find_type) if isinstance(one, Event)]
    bad = encode_xml(given[0], type).replace(b">1.5<", b">hot<")
    elements = [encode_xml(one.replace(id=f"x{one.id}"), type) for one in given]
    (events / "a.xml").write_bytes(HEAD + b"\n".join([*elements, bad]) + b"\n<broken>" + TAIL)
    with (events / "b.avro").open("wb") as stream:
        write_avro_events(given, [type], stream)
    (events / "c.avro").write_bytes(hostile.AVRO["contains-itself"]())
    plan = compile_plan(federation)
    found = run(plan, read_events(events, federation.find_type, require_time=True))
    expected = sorted(_line(one) for one in found)
    assert sum('"profile"' in one for one in expected) == 4
    assert sum('"faults"' in one for one in expected) == 3
    files = [str(path) for path in sorted(events.iterdir())]
    run_on_spark(plan, files, tmp_path / "out", spark)
    rows = [json.loads(line) for file in (tmp_path / "out").rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert sorted(json.dumps(row, sort_keys=True) for row in rows) == expected
