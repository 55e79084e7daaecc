"""Topics as sources of domains: read by Spark from a real broker, in runs and in streams, once each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from comity import ComityError
from comity.engine import run_into_folder
from comity.federation import load
from comity.plan import compile_plan
from comity.run.observer import Silent
from comity.run.request import RunRequest, StreamPace
from comity.run.sources import event_sources, stored_files
from comity.run.stored import events_of, run_stored
from comity.run.stream import run_stream
from comity.testing.outcomes import outcomes_in
from tests.kafka.broker import Kafka

pytestmark = pytest.mark.spark

PLANT = """\
domain: plant
types:
  Sensed: {attributes: {machine: string, level: float}}
sources:
"""
PROFILES = """\
profiles:
  high: {domain: plant, on: Sensed, where: level > 5}
  rising:
    domain: plant
    on: Sensed low ; Sensed high within 60 s
    where: low.machine = high.machine and high.level > low.level + 90
"""


def federation(folder: Path, *sources: str, profiles: str = PROFILES) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "plant.yaml").write_text(PLANT + "".join(f"  {one}\n" for one in sources))
    (folder / "profiles.yaml").write_text(profiles)
    return folder


def line(number: int, level: float, type: str = "plant.Sensed") -> str:
    time = f"2026-11-15T12:{number // 60 % 60:02d}:{number % 60:02d}Z"
    event = {"id": str(number), "source": "/p", "type": type, "time": time}
    return json.dumps({**event, "data": {"machine": f"m{number % 7}", "level": level}})


def asked(folder: Path, out: Path) -> RunRequest:
    found = load(folder)
    return RunRequest(folder, found, event_sources(found, folder, None), out)


def until_empty(folder: Path, out: Path) -> int:
    return run_stream(asked(folder, out), StreamPace(until_empty=True)).records


def by_engine(root: Path, lines: Sequence[str]) -> list[tuple[str, str]]:
    """What the engine makes of the same lines, from a file."""
    root.mkdir()
    (root / "events.jsonl").write_text("".join(one.replace("\n", " ") + "\n" for one in lines))
    folder = federation(root / "federation", "events: {files: ../events.jsonl}")
    found = load(folder)
    files = stored_files(event_sources(found, folder, None), folder, Silent())
    run_into_folder(compile_plan(found), events_of(files, found.find_type), root / "out")
    return told(root / "out")


def told(out: Path) -> list[tuple[str, str]]:
    """What is in a folder of results, without where rejected records stood."""
    return sorted((where, _placeless(json.loads(text))) for where, text in outcomes_in(out, ["plant"]))


def _placeless(record: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in record.items() if key not in ("file", "line")}, sort_keys=True)


def test_a_topic_gives_what_its_lines_give_to_the_engine(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.topic()
    lines = [line(number, number * 37 % 100) for number in range(300)]
    lines += ["{broken", line(7, 59), line(400, 50.0, "bank.Paid"), json.dumps(json.loads(line(401, 90.0)), indent=1)]
    kafka.send(topic, [*lines, None])
    folder = federation(tmp_path / "federation", f"line: {{kafka: {{topics: {topic}, servers: '{kafka.servers}'}}}}")
    wanted = by_engine(tmp_path / "engine", lines)
    assert len(wanted) > 280
    done = run_stored(asked(folder, tmp_path / "stored"))
    assert done.summary.records == len(lines)
    assert told(tmp_path / "stored") == wanted
    assert until_empty(folder, tmp_path / "out") == len(lines)
    assert told(tmp_path / "out") == wanted


def test_a_rejected_record_tells_topic_partition_and_offset(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    topic, out = kafka.topic(), tmp_path / "out"
    kafka.send(topic, [line(number, 1.0) for number in range(5)] + ["{broken"], partition=2)
    folder = federation(tmp_path / "federation", f"line: {{kafka: {{topics: {topic}, servers: '{kafka.servers}'}}}}")
    run_stored(asked(folder, out))
    (record,) = [json.loads(text) for file in (out / "rejected").glob("*.jsonl") for text in file.open()]
    assert (record["file"], record["line"]) == (f"plant.line/{topic}/2", 5)


def test_a_stream_goes_on_where_it_was_and_tells_of_what_was_removed(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    topic, out = kafka.topic(), tmp_path / "out"
    source = f"line: {{kafka: {{topics: [{topic}], servers: '{kafka.servers}', records_per_batch: 40}}}}"
    folder = federation(tmp_path / "federation", source)
    kafka.send(topic, [line(number, 10.0) for number in range(100)])
    assert until_empty(folder, out) == 100
    assert len(list((out / ".checkpoint" / "commits").glob("[0-9]*"))) >= 3
    kafka.send(topic, [line(number, 10.0) for number in range(90, 110)])
    assert until_empty(folder, out) == 20
    high = [json.loads(text)["id"] for where, text in outcomes_in(out, ["plant"]) if '"high"' in text]
    assert sorted(map(int, high)) == list(range(110))
    kafka.send(topic, [line(number, 10.0) for number in range(110, 120)])
    kafka.delete_records(topic)
    with pytest.raises(ComityError) as lost:
        until_empty(folder, out)
    assert lost.value.code == "source-gap"


def test_values_that_are_no_cloudevents_are_mapped_by_columns(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    topic = kafka.topic()
    values = [json.dumps({"machine": "m1", "level": level}) for level in (1.5, 7.5, 9.5)]
    kafka.send(topic, values, partition=1, timestamp=1_700_000_000_000, headers={"shift": b"night"})
    data = "from_json(string(value), 'machine string, level double')"
    columns = f'id: {{sql: "concat(partition, \'-\', offset)"}}, type: Sensed, time: timestamp, data: {{sql: "{data}"}}'
    subject = 'subject: {sql: "string(headers[0].value)"}'
    source = f"line: {{kafka: {{topics: {topic}, servers: '{kafka.servers}', columns: {{{columns}, {subject}}}}}}}"
    folder = federation(tmp_path / "federation", source, profiles=PROFILES.partition("  rising")[0])
    for number, out in enumerate((tmp_path / "stored", tmp_path / "out")):
        assert (run_stored(asked(folder, out)).summary.records if number == 0 else until_empty(folder, out)) == 3
        found = [json.loads(text) for _, text in outcomes_in(out, ["plant"])]
        assert sorted((one["id"], one["subject"], one["source"], one["time"]) for one in found) == [
            ("1-1", "night", "/plant/line", "2023-11-14T22:13:20Z"),
            ("1-2", "night", "/plant/line", "2023-11-14T22:13:20Z"),
        ]
