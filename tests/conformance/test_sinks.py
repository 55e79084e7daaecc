"""Every sink of ours against the suite for sinks; webhooks over a real socket, and with a sender that is killed."""

import io
import os
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import msgspec
import pytest

from comity.connect.connectors.memory.sink import MemorySink, SinkFault
from comity.connect.connectors.stdout import StdoutSink
from comity.connect.connectors.webhook.sink import WebhookOutOptions, WebhookSink
from comity.testing.receiver import PlannedReply, WebhookReceiver
from comity.testing.sink_conformance import SinkConformance, notification, publish

SOURCE = Path(__file__).parents[2] / "src"


class MemoryBench:
    faults = frozenset({"busy", "refuse", "lose-answer", "down"})

    def __init__(self):
        self._faults = deque()
        self._sinks = []
        self._down = False

    def open(self):
        sink = MemorySink(iter(self._next, None), down=self._down)
        self._sinks.append(sink)
        return sink

    def received(self):
        return [message.line for sink in self._sinks for message in sink.taken]

    distinct = received

    def fail(self, fault, times):
        self._down = fault == "down"
        self._faults.extend([SinkFault(fault)] * times if times else [])

    def mend(self):
        for sink in self._sinks:
            sink.down = False

    def _next(self):
        return self._faults.popleft() if self._faults else SinkFault.NONE


class TestMemory(SinkConformance):
    @pytest.fixture
    def bench(self):
        return MemoryBench()


class StdoutBench:
    faults = frozenset()

    def __init__(self):
        self._stream = io.BytesIO()

    def open(self):
        return StdoutSink(self._stream)

    def received(self):
        return self._stream.getvalue().splitlines()

    distinct = received


class TestStdout(SinkConformance):
    @pytest.fixture
    def bench(self):
        return StdoutBench()


class WebhookBench:
    faults = frozenset({"busy", "refuse", "lose-answer", "down"})

    def __init__(self, receiver, batch_size):
        self._receiver, self._batch_size = receiver, batch_size
        self._sinks = []

    def open(self):
        sink = WebhookSink(WebhookOutOptions(url=self._receiver.url, batch_size=self._batch_size, timeout_s=5))
        self._sinks.append(sink)
        return sink

    def received(self):
        return [one.body for one in self._receiver.received]

    def distinct(self):
        return list({one.headers["idempotency-key"]: one.body for one in self._receiver.received}.values())

    def fail(self, fault, times):
        if fault == "down":
            self._receiver.stop()
        else:
            self._receiver.answers.extend([PlannedReply(fault)] * times)

    def mend(self):
        self._receiver.start()

    def close(self):
        for sink in self._sinks:
            sink.close()


class TestWebhook(SinkConformance):
    @pytest.fixture
    def bench(self):
        with WebhookReceiver() as receiver:
            bench = WebhookBench(receiver, 1)
            yield bench
            bench.close()


class BatchedWebhookBench(WebhookBench):
    faults = frozenset({"busy", "down"})  # the others meet a request, and not a message

    def received(self):
        return [msgspec.json.encode(event) for event in self._receiver.events()]

    distinct = received


class TestBatchedWebhook(SinkConformance):
    @pytest.fixture
    def bench(self):
        with WebhookReceiver() as receiver:
            bench = BatchedWebhookBench(receiver, 4)
            yield bench
            bench.close()


SENDER = """
import sys
from pathlib import Path
from comity.connect.outbox import Outbox
from comity.connect.connectors.webhook.sink import WebhookOutOptions, WebhookSink

out, url, in_flight = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sink = WebhookSink(WebhookOutOptions(url=url))
print(Outbox(out, {"house_a": {"screen": sink}}, in_flight=in_flight).send()[0].taken, flush=True)
"""


def start_sender(out, url, in_flight):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", SENDER, str(out), url, str(in_flight)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.002)


def test_webhook_sender_killed_again_and_again(tmp_path):
    """The batch is rewritten after each kill; the receiver has everything, and repeats are only what was in flight."""
    lines, in_flight, kills = [notification(number) for number in range(400)], 10, (60, 150, 290)
    with WebhookReceiver(delay_s=0.002) as receiver:
        publish(tmp_path, lines, files=3)
        for after in kills:
            sender = start_sender(tmp_path, receiver.url, in_flight)
            wait_for(lambda after=after: len(receiver.received) >= after)
            sender.send_signal(signal.SIGKILL)
            sender.communicate()
            lines = lines[1::2] + lines[::2]
            publish(tmp_path, lines, files=2 + after % 3)
        sender = start_sender(tmp_path, receiver.url, in_flight)
        taken, err = sender.communicate(timeout=30)
        assert (sender.returncode, err) == (0, b"")
        assert 0 < int(taken) <= 400 - kills[-1] + len(kills) * in_flight
        assert len(set(receiver.keys())) == 400
        assert sorted({one.body for one in receiver.received}) == sorted(lines)
        assert len(receiver.received) <= 400 + len(kills) * in_flight
        assert not (tmp_path / "dead-letters").exists()
