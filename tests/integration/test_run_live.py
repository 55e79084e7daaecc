"""A federation as people run it: webhooks in, a stream on Spark or in this process, webhooks out, a profile added."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from comity.testing.receiver import WebhookReceiver

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
COMITY = [sys.executable, "-m", "comity"]
PATIENCE_S = 180


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def federation_with_webhooks(folder: Path, port: int, url: str) -> Path:
    """The example, whose house takes events by a webhook and whose fire station gets them by another."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("events"))
    house, station = folder / "domains" / "house_a.yaml", folder / "domains" / "fire_station.yaml"
    house.write_text(house.read_text() + f"sources:\n  door: {{webhook: {{port: {port}}}}}\n")
    station.write_text(station.read_text() + f'deliver:\n  engine: {{webhook: {{url: "{url}"}}}}\n')
    return folder


@contextmanager
def stream(federation: Path, out: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`comity run --stream`, which does not outlive the block."""
    command = [*COMITY, "run", str(federation), "--out", str(out), "--stream", "--trigger", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def fire(identifier: str, heat: float) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": identifier,
        "source": "house_a/hall",
        "type": "house_a.FireDetected",
        "time": "2026-11-15T18:02:11Z",
        "data": {"room": "hall", "heat": heat},
    }


def post(port: int, event: dict[str, Any]) -> int:
    body, headers = json.dumps(event).encode(), {"Content-Type": "application/cloudevents+json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/events", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return int(answer.status)


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not is_so():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit, "it does not come"
        time.sleep(0.1)


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def received(receiver: WebhookReceiver) -> list[tuple[str, str]]:
    return sorted((event["profile"], event["id"]) for one in receiver.received for event in one.events)


ENGINES = ["local", pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.spark])]


@pytest.mark.parametrize("engine", ENGINES)
def test_events_come_by_webhook_and_leave_by_webhook(engine: str, tmp_path: Path) -> None:
    port = free_port()
    with WebhookReceiver() as receiver:
        federation = federation_with_webhooks(tmp_path / "federation", port, receiver.url)
        metrics = tmp_path / "metrics.prom"
        with stream(federation, tmp_path / "out", "--engine", engine, "--metrics", str(metrics)) as running:
            wait_until(lambda: is_listening(port), running)
            assert post(port, fire("1", 250.0)) == 202
            wait_until(lambda: len(received(receiver)) == 2, running)
            assert received(receiver) == [("main_street", "1"), ("serious_fires", "1")]

            added = [*COMITY, "profiles", "add", str(federation), "warm", "--domain", "fire_station"]
            added += ["--on", "Incident", "--where", "temperature > 20 degC"]
            subprocess.run(added, check=True, capture_output=True)
            assert post(port, fire("1", 250.0)) == 202  # again: it was delivered already, but for the new profile
            assert post(port, fire("2", 90.0)) == 202
            wait_until(lambda: ("warm", "2") in received(receiver), running)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=PATIENCE_S)
            assert running.returncode == 0, errors
            assert "Traceback" not in errors
        assert received(receiver) == [
            ("main_street", "1"),
            ("main_street", "2"),
            ("serious_fires", "1"),
            ("warm", "1"),
            ("warm", "2"),
        ]
        assert 'comity_delivered_total{profile="warm"} 2.0' in metrics.read_text()
        assert "comity_remembered_notifications 5.0" in metrics.read_text()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sink_that_is_down_gets_its_notifications_by_replay(engine: str, tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    (events / "1.jsonl").write_text(json.dumps(fire("1", 250.0)) + "\n")
    receiver = WebhookReceiver()
    receiver.start()
    receiver.stop()
    federation = federation_with_webhooks(tmp_path / "federation", free_port(), receiver.url)
    run = [*COMITY, "run", str(federation), "--events", str(events), "--out", str(tmp_path / "out")]
    environment = {**os.environ, "COMITY_MAX_DELIVERY_ATTEMPTS": "2", "COMITY_MAX_DELIVERY_SECONDS": "2"}
    options = ["--engine", engine, "--stream", "--until-empty"]
    done = subprocess.run([*run, *options], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out/dead-letters/fire_station/engine.jsonl").read_text().splitlines()) == 2
    receiver.start()
    try:
        again = subprocess.run([*COMITY, "replay", str(tmp_path / "out")], capture_output=True, text=True)
        assert again.returncode == 0, again.stderr
        assert received(receiver) == [("main_street", "1"), ("serious_fires", "1")]
    finally:
        receiver.stop()
