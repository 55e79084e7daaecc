"""`comity.spark` on a session of Spark Connect, which has neither a context nor Java beside it: the same results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyarrow import parquet
from tests.pipeline.test_frame_stream import FEDERATION, at
from tests.pipeline.test_tables import BATCHES, rows_in

from comity.engine import run
from comity.event import read_events
from comity.event.window import Window
from comity.federation import load
from comity.pipeline.java import find_java
from comity.plan import compile_plan
from comity.plan.loading import federation_of
from comity.storage.place import LocalStorage
from comity.testing.federations import federation_texts, write_texts
from comity.testing.outcomes import Outcome, outcome_of_rejected, outcomes_in, outcomes_of
from comity.testing.records import good_events, lines
from comity.testing.tables import parquet_table

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).with_name("connect_job.py")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("grpc") is None, reason="the extra `connect` is not installed"),
]

STREAM_JOB = Path(__file__).with_name("connect_stream_job.py")


def job(*given: Path, script: Path = JOB) -> list[dict[str, Any]]:
    """What the job says. It starts the server with the Java that we found, which need not be on the PATH."""
    home = find_java().home
    places = [str(ROOT / "src"), str(ROOT), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places)), "PYSPARK_PYTHON": sys.executable}
    environment |= {} if home is None else {"JAVA_HOME": str(home)}
    command = [sys.executable, str(script), *map(str, given)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-5_000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def outcome(said: dict[str, Any]) -> Outcome:
    if "notification" in said:
        return said["to"], json.dumps(said["notification"], sort_keys=True, ensure_ascii=False)
    record = said["rejected"]
    faults = [{name: value for name, value in one.items() if value is not None} for one in record["faults"]]
    return outcome_of_rejected({**record, "faults": faults})


def test_a_session_of_spark_connect_gives_what_the_engine_gives(tmp_path: Path) -> None:
    chance = Random(2)
    folder = write_texts(federation_texts(chance), tmp_path / "generated")
    federation = load(folder)
    plan = compile_plan(federation)
    events = good_events(chance, plan.types, 40)
    texts, rows = tmp_path / "lines.jsonl", tmp_path / "rows.parquet"
    texts.write_bytes(b"".join(line + b"\n" for line in lines(chance, events, plan.types, 25)))
    parquet.write_table(parquet_table(chance, events, chance.choice(plan.types), 6), rows)
    said = job(folder, texts, rows)
    assert said[0]["code"] == "session-settings"
    assert 'spark.conf.set("spark.sql.session.timeZone", "UTC")' in said[0]["hint"]
    window = Window.of_history(datetime.now(UTC))
    for form, file in {"lines": texts, "columns": rows, "kernel": rows}.items():
        records = read_events(file, federation.find_type, require_time=True, window=window)
        found = sorted(outcome(one) for one in said if one.get("form") == form)
        assert found == outcomes_of(run(plan, records)), form
    assert ["any"] in said[-1]["names"]


def test_streams_deliver_each_notification_once_by_a_process_at_the_server(tmp_path: Path) -> None:
    for name in ("batches", "events", "rows"):
        (tmp_path / name).mkdir()
    (tmp_path / "federation.json").write_text(json.dumps(FEDERATION))
    for number, some in enumerate(BATCHES):
        (tmp_path / "batches" / f"{number}.txt").write_text("".join(f"{one}\n" for one in some))
    for number, some in enumerate(([(1, 300.0), (2, 50.0)], [(1, 300.0), (4, 310.0)])):
        rows = [{"nr": nr, "machine": "m1", "heat": heat, "at": at(nr)} for nr, heat in some]
        (tmp_path / "rows" / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = job(tmp_path / "federation.json", tmp_path, script=STREAM_JOB)
    assert [one["code"] for one in said] == ["folder-in-use", "other-layout"]
    plan = compile_plan(federation_of(FEDERATION))
    events = tmp_path / "all.jsonl"
    events.write_text("".join(f"{one}\n" for some in BATCHES for one in some))
    notified = [
        told
        for told in outcomes_of(run(plan, read_events(events, federation_of(FEDERATION).find_type, require_time=True)))
        if told[0] == "office"
    ]
    assert [told for told in outcomes_in(tmp_path / "out", ["office"]) if told[0] == "office"] == notified
    hot = {row["id"]: round(row["heat"], 2) for row in rows_in(LocalStorage(tmp_path / "tables"), "profiles/hot")}
    assert hot == {"1": 148.89, "4": 154.44}
    reported = [json.loads(row["data"]) for row in rows_in(LocalStorage(tmp_path / "tables"), "profiles/twice")]
    pairs = sorted((one["events"]["a"]["id"], one["events"]["b"]["id"]) for one in reported)
    assert pairs == [("1", "2"), ("1", "4"), ("2", "4")]
