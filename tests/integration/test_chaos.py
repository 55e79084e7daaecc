"""A stream among kills, a full disk and broken files: nothing is lost, nothing comes twice, and what is broken is told.

The driver, its Java, its workers and all of them together are killed at moments that a seed decides, and the disk
becomes full, for which the system's bound on the size of files stands in, as it needs no rights. The same stream goes
on after each, and what is in its folder at the end is compared with what `chaos.expected` says.
"""

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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.integration.chaos import LATENESS_S, Plant, Sent, differences, expected, told_by
from tests.integration.test_run_live import free_port

from comity.testing.receiver import WebhookReceiver

NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"
KILLS = 200 if NIGHTLY else 5
SEED = int(os.environ.get("COMITY_CHAOS_SEED", "13"))
PATIENCE_S = 300
VICTIMS = ("driver", "java", "workers", "disk", "all")
FULL = ("File too large", "disk is full", "disk I/O error")
"""What the system, Java and SQLite say when they cannot write."""
CODES = {"driver": {-9}, "all": {-9}, "java": {1}, "disk": {1}, "workers": {None, 1}}
"""How the program ends by it; None when it goes on."""


@dataclass
class Running:
    """A stream that runs, and what it said."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, plant: Plant, *options: str) -> Running:
        command = [sys.executable, "-m", "comity", "run", str(plant.federation), "--out", str(plant.out), "--stream"]
        environment = {**os.environ, "COMITY_LATE_AFTER_S": str(LATENESS_S)}
        process = subprocess.Popen(
            [*command, "--trigger", "0", *options],
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


def wait_until(is_so: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < limit, "it does not come"
        time.sleep(0.05)


def post(port: int, some: list[Sent]) -> list[Sent]:
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


def descendants(pid: int) -> Iterator[tuple[int, bytes]]:
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


def disturb(running: Running, victim: str) -> None:
    """Kill a part of a stream, or fill its disk."""
    pid = running.process.pid
    if victim == "all":
        os.killpg(pid, signal.SIGKILL)
        return
    if victim == "driver":
        os.kill(pid, signal.SIGKILL)
        return
    below = list(descendants(pid))
    if victim == "disk":
        for one in [pid, *(each for each, _ in below)]:
            with suppress(ProcessLookupError):
                _, hard = resource.prlimit(one, resource.RLIMIT_FSIZE)
                resource.prlimit(one, resource.RLIMIT_FSIZE, (0, hard))
        return
    name = b"java" if victim == "java" else b"pyspark.daemon"
    for one, command in below:
        if name in (command if victim == "workers" else command.split(b"\0")[0]):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.spark
def test_a_stream_in_chaos_loses_and_repeats_nothing(tmp_path: Path) -> None:
    chance, port = Random(SEED), free_port()
    plant = Plant(tmp_path, chance)
    victims = [victim for _ in range(KILLS // len(VICTIMS) + 1) for victim in chance.sample(VICTIMS, len(VICTIMS))]
    with WebhookReceiver() as receiver:
        plant.set_up(port, receiver.url)
        left: list[Sent] = []
        with ExitStack() as stack:
            # What outlives a driver that was killed goes on for a while beside the next one, as it would for a user.
            started = [Running.of(plant)]
            stack.callback(lambda: [one.end() for one in started])
            for number, victim in enumerate(victims[:KILLS]):
                if started[-1].is_over():
                    started.append(Running.of(plant))
                left = one_round(plant, started[-1], port, number, victim, left)
            if started[-1].is_over():
                started.append(Running.of(plant))
            send_again(started[-1], port, left)
            started[-1].end()
            started.append(Running.of(plant, "--until-empty"))
            assert started[-1].wait() == 0, "".join(started[-1].errors)
        check(plant, receiver)


def send_again(running: Running, port: int, left: list[Sent]) -> None:
    """What a sender does who got no answer."""
    wait_until(lambda: running.is_over() or is_listening(port))
    assert not post(port, left), f"the webhook does not listen: {''.join(running.errors)}"


def one_round(plant: Plant, running: Running, port: int, number: int, victim: str, left: list[Sent]) -> list[Sent]:
    """Send, and disturb in the middle of it; gives what the webhook did not say that it keeps."""
    send_again(running, port, left)  # what was not taken before comes before what is newer
    batches = len(running.said)
    posted = plant.write_round(number)
    if plant.chance.random() < 0.5 or victim in ("workers", "disk"):  # these are there when a batch was done
        wait_until(lambda: running.is_over() or len(running.said) > batches)
    time.sleep(plant.chance.uniform(0, 1.5))
    half = len(posted) // 2
    left = post(port, posted[:half])
    disturb(running, victim)
    left += post(port, posted[half:])
    settle(running, victim, port, number, plant)
    assert not any("Traceback" in line for line in running.errors), "".join(running.errors)
    return left


def settle(running: Running, victim: str, port: int, number: int, plant: Plant) -> None:
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
        post(port, plant.draw(number, "after", 1))
        wait_until(lambda: running.is_over() or len(running.said) > done)
    if running.is_over():
        assert running.wait() in allowed, "".join(running.errors)


def is_listening(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def check(plant: Plant, receiver: WebhookReceiver) -> None:
    """What is in the folder, what the subscriber was sent, and what was refused."""
    wanted = expected(plant.sent)
    assert len(wanted) > 10 * KILLS
    assert {profile for profile, _ in wanted} == {"high", "rising", "unanswered"}
    notified = lines(plant.out / "plant")
    assert differences(wanted, told_by(notified)) == []
    taken = {(event["profile"], event["id"]) for one in receiver.received for event in one.events}
    assert taken == {(line["profile"], line["id"]) for line in notified}
    refused = lines(plant.out / "rejected")
    whole = Counter(Path(one["file"]).name for one in refused if Path(one["file"] or "").name in plant.poison)
    assert whole == Counter(dict.fromkeys(plant.poison, 1))
    assert sum(one["faults"][0]["code"] == "bad-json" for one in refused) == plant.broken_lines
    assert len(refused) == plant.broken_lines + len(plant.poison)
    notes = [json.loads(path.read_text()) for path in (plant.out / "quarantine").glob("[0-9]*.json")]
    assert {Path(one["file"]).name: one["code"] for one in notes} == plant.poison
    assert all(one["reason"] and one["kept"] for one in notes)


def test_the_check_of_the_chaos_test_can_fail(tmp_path: Path) -> None:
    """The canary: a loss and a repetition are noticed, in each profile."""
    plant = Plant(tmp_path, Random(1))
    for number in range(5):
        plant.draw(number, "a", 40)
    wanted = expected(plant.sent)
    for profile in ("high", "rising", "unanswered"):
        one = next(each for each in wanted if each[0] == profile)
        assert differences(wanted, wanted - Counter([one])) == [f"lost: {one}"]
        assert differences(wanted, wanted + Counter([one])) == [f"too much: {one}"]
    assert differences(wanted, wanted) == []


def test_what_is_expected_of_few_events() -> None:
    sent = [
        Sent("a", "Sensed", 0, "m", 1.0),
        Sent("b", "Sensed", 3, "m", 7.0),
        Sent("c", "Cleared", 8, "m"),
        Sent("d", "Sensed", 4, "n", 9.0),
        Sent("d", "Sensed", 4, "n", 9.0),
    ]
    assert expected(sent) == Counter(
        {("high", ("b",)): 1, ("high", ("d",)): 1, ("rising", ("a", "b")): 1, ("unanswered", ("d",)): 1}
    )
