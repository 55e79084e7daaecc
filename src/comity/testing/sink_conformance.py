"""What every sink must do, written once: a connector's tests inherit it and bind it to a real system.

A test class derives from `SinkConformance` and has a fixture `bench` that gives a `SinkBench`. What a system cannot be
made to do is left out of `bench.faults`, and those tests are skipped.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import pytest

from comity.connect.courier import Courier
from comity.connect.dead_letters import dead_letter_path, read_dead_letters
from comity.connect.outbox import Outbox, SinkCount
from comity.connect.port import Message, Sink
from comity.connect.published import as_message
from comity.connect.replay import Replayed, replay_sink
from comity.connect.retry import RetryPolicy

SUBSCRIBER, SINK = "house_a", "screen"
QUICK = RetryPolicy(attempts=3, first_delay_s=0.001, longest_delay_s=0.002)


class SinkBench(Protocol):
    """A system to send to, and the hand on its faults: `busy`, `refuse`, `lose-answer`, `down`."""

    faults: frozenset[str]

    def open(self) -> Sink:
        """A new sink on the same system."""
        ...

    def received(self) -> list[bytes]:
        """The lines that the system took, in their order, repeated ones too."""
        ...

    def distinct(self) -> list[bytes]:
        """The same without those that the system itself can tell to be repeated."""
        ...

    def fail(self, fault: str, times: int) -> None:
        """Let the next `times` messages meet a fault; `down` lasts until `mend`."""
        ...

    def mend(self) -> None:
        """End all faults."""
        ...


def notification(number: int, *, text: str = "warm", profile: str = "fires") -> bytes:
    """A line as a run publishes it."""
    record = {"specversion": "1.0", "id": f"e{number}", "source": "/a", "type": "house_a.Fire", "profile": profile}
    return msgspec.json.encode({**record, "time": "2026-01-31T12:00:00Z", "data": {"text": text}})


def publish(out: Path, lines: Iterable[bytes], *, batch: int = 0, files: int = 2, subscriber: str = SUBSCRIBER) -> None:
    """Write a batch of a stream, in place of an earlier attempt at it; lines keep their order."""
    folder = out / subscriber
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob(f"batch-{batch:08d}-*.jsonl"):
        stale.unlink()
    every = list(lines)
    size = -(-len(every) // files) or 1
    for number in range(files):
        part = every[number * size : (number + 1) * size]
        (folder / f"batch-{batch:08d}-{number:05d}.jsonl").write_bytes(b"".join(line + b"\n" for line in part))


def message(line: bytes) -> Message:
    """The message that a line is sent as."""
    found = as_message(line, SUBSCRIBER)
    assert isinstance(found, Message)
    return found


def dead_keys(out: Path, subscriber: str = SUBSCRIBER, sink: str = SINK) -> list[str]:
    """The keys of all dead letters of a sink."""
    return [letter.key for letter in read_dead_letters(dead_letter_path(out, subscriber, sink))]


class SinkConformance:
    """Inherit it."""

    def test_deliver_nothing_does_nothing(self, bench: SinkBench) -> None:
        bench.open().deliver([])
        assert bench.received() == []

    def test_deliver_keeps_every_byte(self, bench: SinkBench) -> None:
        lines = [notification(1, text="é 🔥 \u2028 \\n"), notification(2, text="x" * 200_000)]
        bench.open().deliver([message(line) for line in lines])
        assert bench.received() == lines

    def test_close_twice(self, bench: SinkBench) -> None:
        sink = bench.open()
        sink.deliver([message(notification(1))])
        sink.close()
        sink.close()

    def test_send_everything_once_in_order(self, bench: SinkBench, tmp_path: Path) -> None:
        lines = [notification(number) for number in range(90)]
        for batch in range(3):
            publish(tmp_path, lines[batch * 30 : (batch + 1) * 30], batch=batch)
        sink = bench.open()
        assert _send(tmp_path, sink) == SinkCount(SUBSCRIBER, SINK, 90, 0, complete=True)
        assert _send(tmp_path, sink).taken == 0
        assert bench.received() == lines

    def test_send_goes_on_after_busy(self, bench: SinkBench, tmp_path: Path) -> None:
        _need(bench, "busy")
        lines = _published(tmp_path, 20)
        bench.fail("busy", 2)
        assert _send(tmp_path, bench.open()).taken == 20
        assert bench.received() == lines
        assert dead_keys(tmp_path) == []

    def test_send_puts_a_refused_message_aside(self, bench: SinkBench, tmp_path: Path) -> None:
        _need(bench, "refuse")
        lines = _published(tmp_path, 10)
        bench.fail("refuse", 1)
        assert _send(tmp_path, bench.open()) == SinkCount(SUBSCRIBER, SINK, 9, 1, complete=True)
        assert bench.received() == lines[1:]
        assert dead_keys(tmp_path) == [message(lines[0]).key]

    def test_send_after_a_lost_answer_repeats_what_can_be_told(self, bench: SinkBench, tmp_path: Path) -> None:
        _need(bench, "lose-answer")
        lines = _published(tmp_path, 10)
        bench.fail("lose-answer", 1)
        assert _send(tmp_path, bench.open()).taken == 10
        assert bench.received()[:2] == [lines[0]] * 2
        assert not bench.open().capability.idempotent or bench.distinct() == lines

    def test_down_then_up_then_replay(self, bench: SinkBench, tmp_path: Path) -> None:
        _need(bench, "down")
        lines = [notification(number) for number in range(30)]
        publish(tmp_path, lines[:20])
        bench.fail("down", 0)
        sink = bench.open()
        assert _send(tmp_path, sink) == SinkCount(SUBSCRIBER, SINK, 0, 20, complete=True)
        assert dead_keys(tmp_path) == [message(line).key for line in lines[:20]]
        bench.mend()
        publish(tmp_path, lines[20:], batch=1)
        assert _send(tmp_path, sink).taken == 10
        assert _replay(tmp_path, sink) == Replayed(SUBSCRIBER, SINK, 20, 0)
        assert sorted(bench.received()) == sorted(lines)
        assert not dead_letter_path(tmp_path, SUBSCRIBER, SINK).exists()

    def test_restart_in_the_middle_with_other_files(self, bench: SinkBench, tmp_path: Path) -> None:
        """The batch is written again in another order and another number of files, as a stream does after a crash."""
        lines = [notification(number) for number in range(40)]
        publish(tmp_path, lines, files=3)
        _send(tmp_path, _DyingSink(bench.open(), after=17))
        publish(tmp_path, reversed(lines), files=2)
        assert _send(tmp_path, bench.open()).complete
        assert sorted(set(bench.received())) == sorted(lines)
        assert len(bench.received()) <= len(lines) + _IN_FLIGHT


_IN_FLIGHT = 5


class _Killed(BaseException):
    """The death of the sender."""


class _DyingSink:
    """Takes some messages and then dies in the middle of a delivery, without an answer."""

    def __init__(self, inner: Sink, after: int) -> None:
        self._inner, self._left = inner, after
        self.capability = inner.capability

    def deliver(self, messages: Sequence[Message]) -> None:
        for one in messages:
            self._inner.deliver([one])
            self._left -= 1
            if not self._left:
                raise _Killed

    def close(self) -> None:
        self._inner.close()


def _send(out: Path, sink: Sink) -> SinkCount:
    outbox = Outbox(out, {SUBSCRIBER: {SINK: sink}}, policy=QUICK, in_flight=_IN_FLIGHT)
    try:
        return outbox.send()[0]
    except _Killed:
        return SinkCount(SUBSCRIBER, SINK, 0, 0, complete=False)


def _replay(out: Path, sink: Sink) -> Replayed:
    return replay_sink(out, SUBSCRIBER, SINK, Courier(sink, QUICK, time.time, time.sleep))


def _published(out: Path, count: int) -> list[bytes]:
    lines = [notification(number) for number in range(count)]
    publish(out, lines)
    return lines


def _need(bench: SinkBench, fault: str) -> None:
    if fault not in bench.faults:
        pytest.skip(f"it cannot be made to be {fault}")
