"""A stream that is disturbed: a command that is sent events and killed in parts, at moments that a seed decides."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pyarrow import parquet
from tests.integration.chaos import LATENESS_S, Plant, Sent, differences, expected, told_by
from tests.integration.test_run_live import free_port

from comity.testing.receiver import WebhookReceiver

PATIENCE_S = 300
STALL_S = 4.0
FULL = ("File too large", "disk is full", "disk I/O error")
"""What the system, Java and SQLite say when they cannot write."""
CODES: dict[str, set[int | None]] = {
    "driver": {-9},
    "all": {-9},
    "java": {1},
    "disk": {1},
    "workers": {None, 1},
    "executor": {None},
    "stalled": {None},
}
"""How the program ends by it; None when it goes on."""
NEED_A_BATCH = ("workers", "disk", "executor", "stalled")
"""What is disturbed is there when a batch was done."""


@dataclass
class Running:
    """A stream that runs, and what it said."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, plant: Plant, *options: str, out: str | None = None) -> Running:
        """A stream that begins, or goes on, in the folder of the plant or in another place."""
        command = [sys.executable, "-m", "comity", "run", str(plant.federation), "--out", out or str(plant.out)]
        environment = {**os.environ, "COMITY_LATE_AFTER_S": str(LATENESS_S), "PYTHONFAULTHANDLER": "1"}
        process = subprocess.Popen(
            [*command, "--stream", "--trigger", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        found = cls(process)
        for stream, lines in ((process.stdout, found.said), (process.stderr, found.errors)):
            threading.Thread(target=_read, args=(stream, lines), daemon=True).start()
        return found

    def is_over(self) -> bool:
        return self.process.poll() is not None

    def wait(self) -> int:
        return self.process.wait(PATIENCE_S)

    def end(self) -> None:
        """Nothing of it outlives this."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _read(stream: Any, lines: list[str]) -> None:
    lines.extend(stream)


def stream_among_faults(root: Path, seed: int, victims: Sequence[str], kills: int, *options: str) -> None:
    """Send to a stream in so many rounds, each of which a fault disturbs, and compare what came of all of it."""
    chance, port = Random(seed), free_port()
    plant = Plant(root, chance)
    drawn = [victim for _ in range(kills // len(victims) + 1) for victim in chance.sample(victims, len(victims))]
    with WebhookReceiver() as receiver:
        plant.set_up(port, receiver.url)
        left: list[Sent] = []
        with ExitStack() as stack:
            # What outlives a driver that was killed goes on for a while beside the next one, as it would for a user.
            started = [Running.of(plant, *options)]
            stack.callback(lambda: [one.end() for one in started])
            for number, victim in enumerate(drawn[:kills]):
                if started[-1].is_over():
                    started.append(Running.of(plant, *options))
                left = _one_round(plant, started[-1], port, number, victim, left)
            if started[-1].is_over():
                started.append(Running.of(plant, *options))
            _send_again(started[-1], port, left)
            started[-1].end()
            started.append(Running.of(plant, *options, "--until-empty"))
            assert started[-1].wait() == 0, "".join(started[-1].errors)
        _check(plant, receiver, kills)


def _one_round(plant: Plant, running: Running, port: int, number: int, victim: str, left: list[Sent]) -> list[Sent]:
    """Send, and disturb in the middle of it; gives what the webhook did not say that it keeps."""
    _send_again(running, port, left)  # what was not taken before comes before what is newer
    batches = len(running.said)
    posted = plant.write_round(number)
    if plant.chance.random() < 0.5 or victim in NEED_A_BATCH:
        wait_until(lambda: running.is_over() or len(running.said) > batches)
    time.sleep(plant.chance.uniform(0, 1.5))
    half = len(posted) // 2
    left = _post(port, posted[:half])
    disturb(running, victim)
    left += _post(port, posted[half:])
    _settle(running, victim, port, number, plant)
    assert not any("Traceback" in line for line in running.errors), "".join(running.errors)
    return left


def _send_again(running: Running, port: int, left: list[Sent]) -> None:
    """What a sender does who got no answer."""
    wait_until(lambda: running.is_over() or _is_listening(port))
    assert not _post(port, left), f"the webhook does not listen: {''.join(running.errors)}"


def disturb(running: Running, victim: str) -> None:
    """Kill or stop a part of a stream, or fill its disk."""
    pid = running.process.pid
    if victim == "all":
        os.killpg(pid, signal.SIGKILL)
    elif victim == "driver":
        os.kill(pid, signal.SIGKILL)
    elif victim == "disk":
        _fill_disk([pid, *(one for one, _ in _descendants(pid))])
    elif victim == "stalled":
        _stall(_parts(pid, "workers"))
    else:
        _signal(_parts(pid, victim), signal.SIGKILL)


def _parts(pid: int, victim: str) -> list[int]:
    """The processes that a name stands for: Spark's Java, the first of its executors, or the Python workers."""
    below = list(_descendants(pid))
    if victim == "executor":
        return [one for one, command in below if b"CoarseGrainedExecutorBackend" in command][:1]
    if victim == "java":
        return [one for one, command in below if b"java" in command.split(b"\0")[0]]
    return [one for one, command in below if b"pyspark.daemon" in command]


def _stall(workers: Collection[int]) -> None:
    """Let tasks hang for a while, so that Spark begins doubles of them, and then go on beside these."""
    _signal(workers, signal.SIGSTOP)
    try:
        time.sleep(STALL_S)
    finally:
        _signal(workers, signal.SIGCONT)


def _signal(some: Collection[int], number: signal.Signals) -> None:
    for one in some:
        with suppress(ProcessLookupError):
            os.kill(one, number)


def _fill_disk(some: Collection[int]) -> None:
    for one in some:
        with suppress(ProcessLookupError):
            _, hard = resource.prlimit(one, resource.RLIMIT_FSIZE)
            resource.prlimit(one, resource.RLIMIT_FSIZE, (0, hard))


def _descendants(pid: int) -> Iterator[tuple[int, bytes]]:
    """The processes below one, each with its command."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
        if one != pid:
            with suppress(OSError):
                yield one, Path(f"/proc/{one}/cmdline").read_bytes()


def _settle(running: Running, victim: str, port: int, number: int, plant: Plant) -> None:
    """Wait until it has ended by what was done to it, or has gone on."""
    allowed = CODES[victim]
    if None not in allowed:
        assert running.wait() in allowed, "".join(running.errors)
        if victim == "disk":
            told = "".join(running.errors)
            assert any(cause in told for cause in FULL), told
        return
    done = len(running.said)
    if not running.is_over():
        _post(port, plant.draw(number, "after", 1))
        wait_until(lambda: running.is_over() or len(running.said) > done)
    if running.is_over():
        assert running.wait() in allowed, "".join(running.errors)


def wait_until(is_so: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < limit, "it does not come"
        time.sleep(0.05)


def _post(port: int, some: list[Sent]) -> list[Sent]:
    """Send events by the webhook; gives those of which nobody said that they are kept."""
    left = []
    for one in some:
        headers = {"Content-Type": "application/cloudevents+json"}
        url = f"http://127.0.0.1:{port}/events"
        request = urllib.request.Request(url, json.dumps(one.as_json()).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.status == 202
        except (urllib.error.URLError, OSError):
            left.append(one)
    return left


def _is_listening(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _check(plant: Plant, receiver: WebhookReceiver, kills: int) -> None:
    """What is in the folder, what the subscriber was sent, and what was refused."""
    wanted = expected(plant.sent)
    assert len(wanted) > 10 * kills
    assert {profile for profile, _ in wanted} == {"high", "rising", "unanswered"}
    notified = [*_lines(plant.out / "plant"), *_rows(plant.out, "plant")]
    assert differences(wanted, told_by(notified)) == []
    taken = {(event["profile"], event["id"]) for one in receiver.received for event in one.events}
    assert taken == {(line["profile"], line["id"]) for line in notified}
    refused = _lines(plant.out / "rejected")
    whole = Counter(Path(one["file"]).name for one in refused if Path(one["file"] or "").name in plant.poison)
    assert whole == Counter(dict.fromkeys(plant.poison, 1))
    assert sum(one["faults"][0]["code"] == "bad-json" for one in refused) == plant.broken_lines
    assert len(refused) == plant.broken_lines + len(plant.poison)
    notes = [json.loads(path.read_text()) for path in (plant.out / "quarantine").glob("[0-9]*.json")]
    assert {Path(one["file"]).name: one["code"] for one in notes} == plant.poison
    assert all(one["reason"] and one["kept"] for one in notes)


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]


def _rows(out: Path, subscriber: str) -> list[dict[str, Any]]:
    """Results in Parquet, as lines would tell them."""
    files = sorted(out.glob(f"day=*/subscriber={subscriber}/*.parquet"))
    found = [row for file in files for row in parquet.ParquetFile(file).read().to_pylist()]
    return [{"profile": row["profile"], "id": row["id"], "data": json.loads(row["data"])} for row in found]
