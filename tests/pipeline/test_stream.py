"""Streams: the same notifications as in one batch, across batch cuts, restarts, kills and changes of profiles."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from comity.connect.folder import Results
from comity.engine import Notification, run
from comity.event import read_events
from comity.federation import load
from comity.federation.watch import WatchedFederation
from comity.limits import limited, limits
from comity.pipeline.run import run_on_spark
from comity.pipeline.stream import StreamRun
from comity.plan import compile_plan
from comity.testing.outcomes import told_in

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"
KILLS = {Results.JSONL: 25, Results.PARQUET: 25} if NIGHTLY else {Results.JSONL: 2, Results.PARQUET: 1}
VICTIMS = {Results.JSONL: ("all", "workers", "driver"), Results.PARQUET: ("driver", "workers", "all")}
"""What is killed, in turns."""


@pytest.fixture(params=[1, limits().max_small_batch_bytes], ids=["spread", "in one task"])
def batches_of_both_sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Batches that Spark plans, and batches that one task takes as a whole."""
    with limited(max_small_batch_bytes=request.param):
        yield


def write_events(folder: Path, files: int, *, first: int = 0) -> None:
    """Files of fires and floods, good and bad, in which every third event comes again in the next file."""
    folder.mkdir(exist_ok=True)
    for number in range(first, first + files):
        ids = [f"{number}-{at}" for at in range(6)] + [f"{number - 1}-{at}" for at in (0, 3) if number]
        lines = [json.dumps(_event(one)) for one in ids] + ["{broken"]
        partial = folder / f".{number}.partial"
        partial.write_text("\n".join(lines) + "\n")
        partial.rename(folder / f"{number:03d}.jsonl")


def _event(identifier: str) -> dict[str, Any]:
    number, at = map(int, identifier.split("-"))
    heat: Any = "hot" if at == 5 else 100.0 + 30 * at
    time_of = f"2026-01-{10 + number % 15:02d}T1{at}:00:00Z"  # not in the future, whenever this runs
    data = {"room": f"room {at}", "heat": heat}
    return {"id": identifier, "source": "house_a/x", "type": "house_a.FireDetected", "time": time_of, "data": data}


def expected(folder: Path, federation: Path = EXAMPLE) -> list[tuple[str, str, str]]:
    found = load(federation)
    outcomes = run(compile_plan(found), read_events(folder, found.find_type, require_time=True))
    return sorted((one.profile, one.event.id, one.event.type) for one in outcomes if isinstance(one, Notification))


def delivered(out: Path) -> list[tuple[str, str, str]]:
    rows = [json.loads(text) for _, text in told_in(out, ["fire_station"])]
    return sorted((row["profile"], row["id"], row["type"]) for row in rows)


def rejected(out: Path) -> int:
    return sum(len(file.read_text().splitlines()) for file in (out / "rejected").glob("*.jsonl"))


def take_all(
    spark: SparkSession, out: Path, events: Path, *, files_per_batch: int = 100, results: Results = Results.JSONL
) -> int:
    batches: list[int] = []
    stream = StreamRun(
        WatchedFederation(EXAMPLE), out=out, on_batch=lambda number, _: batches.append(number), results=results
    )
    query = stream.start(spark, [events], trigger_s=0, until_empty=True, files_per_batch=files_per_batch)
    query.awaitTermination()
    stream.close()
    return len(batches)


@pytest.mark.spark
@pytest.mark.usefixtures("batches_of_both_sizes")
@pytest.mark.parametrize("files_per_batch", [1, 100])
def test_a_stream_delivers_what_a_batch_delivers_however_it_is_cut(
    spark: SparkSession, tmp_path: Path, files_per_batch: int
) -> None:
    write_events(tmp_path / "events", 3)
    batches = take_all(spark, tmp_path / "out", tmp_path / "events", files_per_batch=files_per_batch)
    assert batches == (3 if files_per_batch == 1 else 1)
    assert delivered(tmp_path / "out") == expected(tmp_path / "events")
    assert rejected(tmp_path / "out") == 3 * 2


@pytest.mark.spark
def test_a_stream_goes_on_where_it_stopped(spark: SparkSession, tmp_path: Path) -> None:
    write_events(tmp_path / "events", 2)
    take_all(spark, tmp_path / "out", tmp_path / "events", files_per_batch=100)
    write_events(tmp_path / "events", 1, first=2)
    assert take_all(spark, tmp_path / "out", tmp_path / "events", files_per_batch=100) == 1
    assert delivered(tmp_path / "out") == expected(tmp_path / "events")


@pytest.mark.spark
@pytest.mark.usefixtures("batches_of_both_sizes")
def test_a_batch_that_is_taken_again_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    write_events(tmp_path / "events", 1)
    stream = StreamRun(WatchedFederation(EXAMPLE), out=tmp_path / "out")
    files = [str(path) for path in (tmp_path / "events").glob("*.jsonl")]
    for _ in range(2):
        stream.take_batch(spark, files, 0)
    assert delivered(tmp_path / "out") == expected(tmp_path / "events")
    stream.take_batch(spark, files, 1)
    assert delivered(tmp_path / "out") == expected(tmp_path / "events")


@pytest.mark.spark
def test_a_changed_profile_counts_from_the_next_batch(spark: SparkSession, tmp_path: Path) -> None:
    federation = tmp_path / "federation"
    shutil.copytree(EXAMPLE, federation, ignore=shutil.ignore_patterns("events"))
    faults: list[str] = []
    stream = StreamRun(WatchedFederation(federation, lambda error: faults.append(error.code)), out=tmp_path / "out")
    write_events(tmp_path / "events", 1)
    files = [str(path) for path in (tmp_path / "events").glob("*.jsonl")]
    stream.take_batch(spark, files, 0)
    before = delivered(tmp_path / "out")

    extra = federation / "profiles" / "extra.yaml"
    extra.write_text("profiles:\n  everything: {domain: fire_station, on: Incident}\n")
    stream.take_batch(spark, files, 1)
    added = [row for row in delivered(tmp_path / "out") if row not in before]
    assert {profile for profile, _, _ in added} == {"everything"}
    assert len(added) == 5

    extra.write_text("profiles:\n  everything: {domain: fire_station, on: Nothing}\n")
    stream.take_batch(spark, files, 2)
    assert faults == ["faults"]
    assert len(delivered(tmp_path / "out")) == len(before) + 5


@pytest.mark.spark
@pytest.mark.parametrize("results", [Results.JSONL, Results.PARQUET])
def test_a_stream_does_not_send_again_what_a_run_has_sent(
    spark: SparkSession, tmp_path: Path, results: Results
) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    write_events(events, 2)
    run_on_spark(compile_plan(load(EXAMPLE)), [str(events)], out, spark, results=results)
    history = delivered(out)
    assert history == expected(events)
    take_all(spark, out, events, results=results)
    assert delivered(out) == history
    write_events(events, 1, first=2)
    take_all(spark, out, events, results=results)
    assert delivered(out) == expected(events)
    assert len(delivered(out)) > len(history)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("results", [Results.JSONL, Results.PARQUET])
def test_a_stream_that_is_killed_loses_and_repeats_nothing(tmp_path: Path, results: Results) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    chance = random.Random(11)
    command = [sys.executable, "-m", "comity", "run", str(EXAMPLE), "--stream", "--until-empty"]
    command += ["--events", str(events), "--out", str(out), "--files-per-batch", "1", "--results", results]
    files = 0
    for number in range(KILLS[results] + 1):
        write_events(events, 4, first=files)
        files += 4
        victim = VICTIMS[results][number % 3] if number < KILLS[results] else None
        code, output, errors = _run_disturbed(command, victim, chance)
        assert b"Traceback" not in errors
        assert code in _CODES[victim], errors.decode()
    assert b"batch" in output
    assert delivered(out) == expected(events)
    assert rejected(out) == files * 2


_CODES = {"all": (-signal.SIGKILL,), "driver": (-signal.SIGKILL,), "workers": (0, 1), None: (0,)}
"""How the program ends. Spark may try again what a killed worker did; else the run fails, and the next one goes on."""


def _run_disturbed(command: list[str], victim: str | None, chance: random.Random) -> tuple[int, bytes, bytes]:
    """Run it, and in the middle of that kill a part of it."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as running:
        assert running.stdout is not None
        first = running.stdout.readline()  # it has published a batch
        time.sleep(chance.uniform(0, 1.5))
        if victim == "all":
            os.killpg(running.pid, signal.SIGKILL)
        elif victim == "driver":
            running.kill()
        elif victim == "workers":
            _kill_workers(running.pid)
        output, errors = running.communicate(timeout=600)
    return running.returncode, first + output, errors


def _kill_workers(pid: int) -> None:
    """Kill the Python processes of Spark below a process: the one that forks the others, and those."""
    workers = [one for one in _descendants(pid) if b"pyspark.daemon" in Path(f"/proc/{one}/cmdline").read_bytes()]
    assert workers
    for one in workers:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[1:]


@pytest.mark.spark
def test_what_small_batches_delivered_is_known_to_large_ones_and_the_other_way_round(
    spark: SparkSession, tmp_path: Path
) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    write_events(events, 2)
    first, second = (str(file) for file in sorted(events.glob("*.jsonl")))
    stream = StreamRun(WatchedFederation(EXAMPLE), out=out)
    for number, (files, most_bytes) in enumerate([([first], 1), ([first, second], 1_000_000), ([first, second], 1)]):
        with limited(max_small_batch_bytes=most_bytes):
            stream.take_batch(spark, files, number)
    assert delivered(out) == expected(events)
    assert not [*out.glob("fire_station/batch-00000002-*")]
