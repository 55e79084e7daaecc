"""Runs on a real cluster, as commands of their own: the same notifications and rejected records as the engine gives."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.integration.chaos import Plant
from tests.integration.disturbed import Running
from tests.integration.test_table_kills import check as check_tables
from tests.integration.test_table_kills import put, set_up
from tests.s3 import ObjectStore

from comity.engine import run_into_folder
from comity.errors import Permanent
from comity.event import read_events
from comity.federation import load
from comity.plan import compile_plan
from comity.testing.cluster import LocalCluster, session_members

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.alone]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "two_houses"
FILES, EVENTS_IN_FILE = 6, 60
TIMEOUT_S = 400


def write_events(folder: Path) -> None:
    """Files of events in which some do not fit, and the first events of a file come again in the next."""
    folder.mkdir()
    for number in range(FILES):
        identifiers = [number * EVENTS_IN_FILE + at - min(number, 1) * 5 for at in range(EVENTS_IN_FILE)]
        lines = [*map(_event_line, identifiers), "{broken"]
        (folder / f"{number}.jsonl").write_text("".join(f"{line}\n" for line in lines))


def _event_line(number: int) -> str:
    data: dict[str, Any] = {"room": f"room {number % 7}", "heat": 80.0 + number}
    data |= {"heat": "hot"} if number % 11 == 0 else {}
    time = f"2026-11-{1 + number % 14:02d}T10:{number % 60:02d}:00Z"
    return json.dumps(
        {"id": str(number), "source": "house_a/x", "type": "house_a.FireDetected", "time": time, "data": data}
    )


def rows(out: Path) -> list[tuple[str, str]]:
    """All results: for whom, and what, as JSON that can be compared."""
    return sorted(
        (file.parent.name, _comparable(json.loads(line)))
        for file in out.glob("[!.]*/*.jsonl")
        for line in file.read_text().splitlines()
    )


def _comparable(row: dict[str, Any]) -> str:
    # The engine and Spark spell the place of a record in their own ways.
    return json.dumps({key: value for key, value in row.items() if key not in ("file", "line")}, sort_keys=True)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    write_events(tmp_path / "events")
    return tmp_path / "events"


@pytest.fixture
def expected(events: Path, tmp_path: Path) -> list[tuple[str, str]]:
    federation = load(EXAMPLE)
    run_into_folder(
        compile_plan(federation), read_events(events, federation.find_type, require_time=True), tmp_path / "engine"
    )
    found = rows(tmp_path / "engine")
    assert len({to for to, _ in found}) == 2
    return found


@contextmanager
def comity_run(events: Path, out: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`comity run` as a process, which does not outlive the block."""
    command = [sys.executable, "-m", "comity", "run", str(EXAMPLE), "--events", str(events), "--out", str(out)]
    process = subprocess.Popen(
        [*command, *options],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def assert_done(process: subprocess.Popen[str]) -> None:
    said, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, said


def executors(cluster: LocalCluster) -> list[int]:
    """How many executors each worker was asked for."""
    return [worker.log.read_text().count("Asked to launch executor") for worker in cluster.workers]


def assert_nothing_is_left(cluster: LocalCluster, folder: Path) -> None:
    assert [session_members(daemon.process.pid) for daemon in cluster.daemons] == [[]] * (1 + len(cluster.workers))
    assert not list(folder.glob("comity-cluster-*"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, which shows what is left of them."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


@pytest.fixture
def without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no Java is found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, path in {path.name: path for place in ("/usr/bin", "/bin") for path in Path(place).iterdir()}.items():
        if name != "java":
            (folder / name).symlink_to(path)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.usefixtures("without_java")
def test_a_run_on_a_cluster_without_java_gives_what_the_engine_gives(
    events: Path, expected: list[tuple[str, str]], tmp_path: Path, temporary: Path
) -> None:
    with LocalCluster() as cluster, comity_run(events, tmp_path / "out", "--master", cluster.url) as process:
        assert_done(process)
        assert executors(cluster) == [1, 1]
    assert rows(tmp_path / "out") == expected
    assert_nothing_is_left(cluster, temporary)


def test_a_stream_gives_what_the_engine_gives_though_a_worker_is_killed(
    events: Path, expected: list[tuple[str, str]], tmp_path: Path, temporary: Path
) -> None:
    options = ("--stream", "--until-empty", "--files-per-batch", "1", "--format", "json")
    with LocalCluster() as cluster:
        with comity_run(events, tmp_path / "out", "--master", cluster.url, *options) as process:
            assert process.stdout is not None
            assert '"batch"' in process.stdout.readline()
            cluster.kill_worker(0)
            assert process.poll() is None
            assert_done(process)
        assert executors(cluster) == [1, 1]
        assert session_members(cluster.workers[1].process.pid)
    assert rows(tmp_path / "out") == expected
    assert_nothing_is_left(cluster, temporary)


def test_a_stream_with_patterns_delivers_into_an_object_store(s3: ObjectStore, tmp_path: Path, temporary: Path) -> None:
    plant, out = Plant(tmp_path / "plant", Random(7)), f"{s3.bucket()}/alarms"
    set_up(plant)
    for number in range(4):
        put(plant, f"{number}.jsonl", [*plant.draw(number, "a", 12), *plant.sent[-2:]])
        os.utime(plant.events / f"{number}.jsonl", (time.time() - 60 + number,) * 2)  # Spark takes the older one first
    with LocalCluster() as cluster:
        options = ("--master", cluster.url, "--files-per-batch", "1", "--until-empty", "--state", str(plant.out))
        running = Running.of(plant, "--results", "delta", *options, *s3.options, out=out)
        try:
            assert running.wait() == 0, "".join(running.errors)
        finally:
            running.end()
        assert executors(cluster) == [1, 1]
    check_tables(s3.storage(out), plant, rounds=2)
    assert_nothing_is_left(cluster, temporary)


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A Python with all packages but Comity, as on the nodes of a cluster on which nobody installed it."""
    packages = next(path for path in sys.path if (Path(path) / "pyspark").is_dir())
    script = tmp_path / "python"
    script.write_text(
        f"""#!{sys.executable} -S
import os, sys
kept = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not os.path.isdir(one + "/comity")]
os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, kept), {packages!r}])
os.execv({sys.executable!r}, [{sys.executable!r}, "-S", *sys.argv[1:]])
"""
    )
    script.chmod(0o755)
    return script


def test_comity_goes_to_nodes_that_do_not_have_it(
    events: Path, expected: list[tuple[str, str]], tmp_path: Path, bare_python: Path
) -> None:
    shutil.make_archive(str(tmp_path / "comity"), "zip", ROOT / "src", "comity")
    shipped = ("--spark-config", f"spark.submit.pyFiles={tmp_path / 'comity.zip'}")
    with LocalCluster() as cluster:
        bare = ("--master", cluster.url, "--spark-config", f"spark.pyspark.python={bare_python}")
        with comity_run(events, tmp_path / "without", *bare) as process:
            said, _ = process.communicate(timeout=TIMEOUT_S)
            assert process.returncode == 1
            assert "No module named 'comity'" in said
        with comity_run(events, tmp_path / "with", *bare, *shipped) as process:
            assert_done(process)
    assert rows(tmp_path / "with") == expected


@pytest.mark.nightly
def test_a_run_gives_what_the_engine_gives_though_a_worker_is_killed(
    events: Path, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    with LocalCluster() as cluster, comity_run(events, tmp_path / "out", "--master", cluster.url) as process:
        # The executor has begun its work when it has started Python.
        await_python(cluster.workers[0].process.pid)
        cluster.kill_worker(0)
        assert_done(process)
    assert rows(tmp_path / "out") == expected


@pytest.mark.nightly
def test_a_run_on_a_cluster_that_is_not_there_says_so(events: Path, tmp_path: Path) -> None:
    with comity_run(events, tmp_path / "out", "--master", "spark://127.0.0.1:9") as process:
        said, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert said == (
        "error: Spark did not start on spark://127.0.0.1:9: All masters are unresponsive! Giving up. [spark-start]\n"
    )


def await_python(session: int) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not any("pyspark.daemon" in command_of(one) for one in session_members(session)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def test_a_cluster_ends_when_its_block_fails(temporary: Path) -> None:
    cluster = LocalCluster(worker_count=1)
    with pytest.raises(ZeroDivisionError), cluster:
        raise ZeroDivisionError
    assert_nothing_is_left(cluster, temporary)


def test_a_cluster_that_cannot_start_says_why(temporary: Path) -> None:
    cluster = LocalCluster(worker_count=1, memory_mb=0)
    with pytest.raises(Permanent, match="cluster did not start") as failure, cluster:
        pass
    assert "memory" in (failure.value.excerpt or "").lower()
    assert_nothing_is_left(cluster, temporary)
