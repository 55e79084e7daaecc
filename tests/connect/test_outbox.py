"""The outbox: everything published reaches the sink or the dead letters, whatever dies in between."""

import os
import shutil
import tempfile
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.connect.connectors.memory.sink import MemorySink, SenderKilled, SinkFault
from comity.connect.courier import Courier
from comity.connect.outbox import Outbox, SinkCount, open_sinks
from comity.connect.replay import replay_sink
from comity.connect.retry import RetryPolicy
from comity.connect.specs import SinkSpec
from comity.limits import limited
from comity.testing.sink_conformance import dead_keys, message, notification, publish

POLICY = RetryPolicy(attempts=2, first_delay_s=0.0)
IN_FLIGHT = 3


def outbox(out, sink, **more):
    options = {"policy": POLICY, "sleep": lambda seconds: None, "in_flight": IN_FLIGHT, **more}
    return Outbox(out, {"house_a": {"screen": sink}}, **options)


def keys(lines):
    return [message(line).key for line in lines]


def test_send_the_files_of_a_run_that_is_no_stream(tmp_path):
    (tmp_path / "house_a").mkdir()
    (tmp_path / "house_a" / "part-00000.jsonl").write_bytes(notification(1) + b"\n" + notification(2) + b"\n")
    sink = MemorySink()
    assert outbox(tmp_path, sink).send() == [SinkCount("house_a", "screen", 2, 0, complete=True)]
    assert outbox(tmp_path, sink).send()[0].taken == 0
    assert [one.line for one in sink.taken] == [notification(1), notification(2)]


def test_send_only_what_is_new(tmp_path):
    sink = MemorySink()
    one = outbox(tmp_path, sink)
    for batch in range(3):
        publish(tmp_path, [notification(batch)], batch=batch)
        assert one.send()[0].taken == 1
    publish(tmp_path, [notification(2)], batch=2, files=1)  # a batch that is done, written again after a crash
    assert one.send()[0].taken == 0


def test_send_the_rest_of_a_batch_that_was_published_in_part(tmp_path):
    """A stream dies while it publishes; the next one sends what is there, and then publishes the batch again."""
    sink = MemorySink()
    lines = [notification(number) for number in range(6)]
    publish(tmp_path, lines[:2])
    assert outbox(tmp_path, sink).send()[0].taken == 2
    again = outbox(tmp_path, sink)
    assert again.send()[0].taken == 0
    publish(tmp_path, reversed(lines), files=3)
    assert again.send()[0].taken == 4
    assert sorted(one.line for one in sink.taken) == lines


def test_send_does_not_read_again_what_it_has_read(tmp_path, monkeypatch):
    publish(tmp_path, [notification(number) for number in range(6)])
    box, reads = outbox(tmp_path, MemorySink()), []
    box.send()
    monkeypatch.setattr("comity.connect.outbox.read_messages", lambda files, who: reads.append(files) or iter(()))
    box.send()
    assert reads == []


def test_send_keeps_keys_of_the_last_batch_only(tmp_path):
    box = outbox(tmp_path, MemorySink())
    for batch in range(4):
        publish(tmp_path, [notification(batch)], batch=batch)
        box.send()
    assert [path.name for path in (tmp_path / ".sent/house_a/screen").glob("*.keys")] == ["batch-00000003.keys"]


def test_send_knows_no_files_of_others(tmp_path):
    for name in ("rejected", "house_b"):
        publish(tmp_path, [notification(1)], subscriber=name)
    sink = MemorySink()
    assert outbox(tmp_path, sink).send()[0].taken == 0


def test_send_puts_a_broken_line_aside(tmp_path):
    publish(tmp_path, [notification(1), b"{}", notification(2)], files=1)
    sink = MemorySink()
    assert outbox(tmp_path, sink).send() == [SinkCount("house_a", "screen", 2, 1, complete=True)]
    assert dead_keys(tmp_path) == ['[null,null,"{}"]']


def test_send_tells_what_happens(tmp_path):
    publish(tmp_path, [notification(number) for number in range(6)], files=1)
    events = []
    sink = MemorySink([SinkFault.NONE, *[SinkFault.BUSY] * 3])
    outbox(tmp_path, sink, on_event=events.append).send()
    assert [(event.kind, event.count) for event in events] == [
        ("taken", 1),
        ("retry", 0),
        ("down", 0),
        ("dead-letter", 1),
        ("dead-letter", 1),
        ("dead-letter", 1),
        ("up", 0),
        ("taken", 1),
        ("taken", 1),
    ]
    assert (events[1].subscriber, events[1].sink, events[1].reason) == ("house_a", "screen", "the sink is busy")


def test_send_holds_at_most_so_many_in_flight(tmp_path):
    publish(tmp_path, [notification(number) for number in range(30)])
    sizes = []

    class Measuring(MemorySink):
        def deliver(self, messages):
            sizes.append(len(messages))
            super().deliver(messages)

    with limited(max_messages_in_flight=6):
        Outbox(tmp_path, {"house_a": {"screen": Measuring()}}).send()
    assert max(sizes) == 6
    assert sum(sizes) == 30


def test_send_a_sink_that_hangs_delays_nobody_else(tmp_path):
    publish(tmp_path, [notification(1)])
    publish(tmp_path, [notification(2)], subscriber="house_b")
    others_done = threading.Event()

    class Hanging(MemorySink):
        def deliver(self, messages):
            assert others_done.wait(10), "the other sink was not served"
            super().deliver(messages)

    class Signalling(MemorySink):
        def deliver(self, messages):
            super().deliver(messages)
            others_done.set()

    sinks = {"house_a": {"slow": Hanging()}, "house_b": {"quick": Signalling()}}
    assert [one.taken for one in Outbox(tmp_path, sinks).send()] == [1, 1]


def test_two_sinks_of_one_subscriber_have_their_own_progress(tmp_path):
    lines = [notification(number) for number in range(4)]
    publish(tmp_path, lines)
    good, bad = MemorySink(), MemorySink(down=True)
    box = Outbox(tmp_path, {"house_a": {"good": good, "bad": bad}}, policy=POLICY, parallel=1)
    assert [(one.taken, one.dead_letters) for one in box.send()] == [(4, 0), (0, 4)]
    assert dead_keys(tmp_path, sink="bad") == keys(lines)
    assert dead_keys(tmp_path, sink="good") == []


def test_stop_ends_a_wait_and_loses_nothing(tmp_path):
    publish(tmp_path, [notification(number) for number in range(4)])
    waiting = threading.Event()
    sink = MemorySink(down=True)
    patient = RetryPolicy(first_delay_s=60.0, jitter=0.0, longest_delay_s=60.0, deadline_s=1_000.0)
    box = Outbox(tmp_path, {"house_a": {"screen": sink}}, policy=patient, on_event=lambda event: waiting.set())
    found = []
    sending = threading.Thread(target=lambda: found.extend(box.send()))
    sending.start()
    assert waiting.wait(10)
    box.close()
    sending.join(10)
    assert found == [SinkCount("house_a", "screen", 0, 0, complete=False)]
    sink.down = False
    assert outbox(tmp_path, sink).send()[0].taken == 4


def test_send_raises_what_breaks_a_sink_and_stops_the_others(tmp_path):
    publish(tmp_path, [notification(1)])
    publish(tmp_path, [notification(2)], subscriber="house_b")

    class Broken(MemorySink):
        def deliver(self, messages):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Outbox(tmp_path, {"house_a": {"one": Broken()}, "house_b": {"two": MemorySink()}}, policy=POLICY).send()


def test_open_sinks_by_domain_and_name(tmp_path):
    specs = [SinkSpec("screen", "house_a", "stdout"), SinkSpec("other", "house_a", "memory", {"down": True})]
    found = open_sinks(specs, tmp_path)
    assert {name: list(own) for name, own in found.items()} == {"house_a": ["screen", "other"]}


# A history: what is published, how the sink behaves, and where the sender dies.

FAULTS = st.lists(st.sampled_from(list(SinkFault)), max_size=8)
STEPS = st.one_of(
    st.tuples(st.just("publish"), st.integers(1, 9), st.integers(1, 3)),
    st.tuples(st.just("publish in part"), st.integers(1, 9), st.integers(0, 5)),
    st.tuples(st.just("send"), FAULTS, st.none() | st.integers(0, 20)),
    st.tuples(st.just("send down"), st.just([]), st.none() | st.integers(0, 20)),
    st.tuples(st.just("replay"), FAULTS, st.none() | st.integers(0, 20)),
)


class History:
    """Runs steps on a folder and keeps what the outside world saw."""

    def __init__(self, out, chance):
        self.out, self.chance = out, chance
        self.batches = []
        self.taken = []
        self.unsure = set()

    def publish(self, count, files):
        start = sum(len(batch) for batch in self.batches)
        self.batches.append([notification(number) for number in range(start, start + count)])
        publish(self.out, self.batches[-1], batch=len(self.batches) - 1, files=files)

    def publish_in_part(self, count, there):
        """Die while publishing, send what is there, and publish the batch again."""
        self.publish(count, 1)
        publish(self.out, self.batches[-1][:there], batch=len(self.batches) - 1)
        self.run(self.send, [], None)
        self._write_again()

    def run(self, work, faults, dies_at, down=False):
        """Work with a sink that has faults, and die at its n-th `fsync` or where the sink says so."""
        sink = MemorySink(faults, down=down)
        lost = self._watch_lost_answers(sink)
        try:
            with Dying(dies_at):
                work(sink)
        except SenderKilled:
            self.unsure |= {one.key for one in sink.taken[-IN_FLIGHT:]}
            self._write_again()
        self.unsure |= lost
        self.taken += [one.key for one in sink.taken]

    def send(self, sink):
        outbox(self.out, sink, parallel=1).send()

    def replay(self, sink):
        with limited(max_messages_in_flight=IN_FLIGHT):
            replay_sink(self.out, "house_a", "screen", Courier(sink, POLICY, lambda: 0.0, lambda seconds: None))

    def _watch_lost_answers(self, sink):
        lost, take = set(), sink._take

        def watched(one, number, fault):
            if fault is SinkFault.LOSE_ANSWER:
                lost.add(one.key)
            take(one, number, fault)

        sink._take = watched
        return lost

    def _write_again(self):
        """A stream that starts again writes its last batch again, in another order and number of files."""
        if self.batches:
            self.chance.shuffle(self.batches[-1])
            publish(self.out, self.batches[-1], batch=len(self.batches) - 1, files=self.chance.randint(1, 3))

    def check(self):
        published = {key for batch in self.batches for key in keys(batch)}
        dead = dead_keys(self.out)
        taken = Counter(self.taken)
        assert set(taken) | set(dead) == published, "neither taken nor a dead letter"
        assert set(taken) & set(dead) <= self.unsure, "taken, and a dead letter"
        assert {key for key, count in taken.items() if count > 1} <= self.unsure, "taken twice"
        assert len(dead) == len(set(dead)), "two dead letters"


class Dying:
    """Raises `SenderKilled` at the n-th `fsync`; the others are left out, because no power is cut here."""

    def __init__(self, at):
        self._left, self._real = at, os.fsync

    def __enter__(self):
        os.fsync = self._sync

    def __exit__(self, *_):
        os.fsync = self._real

    def _sync(self, handle):
        if self._left == 0:
            raise SenderKilled
        if self._left is not None:
            self._left -= 1


def test_replay_between_a_crash_and_the_restart_is_not_repeated(tmp_path):
    """The crash comes between a dead letter and the note of it; the replay removes the only trace of it."""
    publish(tmp_path, [notification(1)])
    refusing, sink = MemorySink([SinkFault.REFUSE]), MemorySink()
    with pytest.raises(SenderKilled), Dying(6):  # first the folders of the log and of the dead letter, then the letter
        outbox(tmp_path, refusing).send()
    assert dead_keys(tmp_path) == keys([notification(1)])
    replay_sink(tmp_path, "house_a", "screen", Courier(sink, POLICY, lambda: 0.0, lambda seconds: None))
    assert outbox(tmp_path, sink).send() == [SinkCount("house_a", "screen", 0, 0, complete=True)]
    assert [one.key for one in sink.taken] == keys([notification(1)])


@given(steps=st.lists(STEPS, max_size=12), chance=st.randoms(use_true_random=False))
def test_every_notification_is_taken_or_a_dead_letter(steps, chance):
    out = Path(tempfile.mkdtemp())
    try:
        history = History(out, chance)
        for kind, first, second in steps:
            if kind == "publish":
                history.publish(first, second)
            elif kind == "publish in part":
                history.publish_in_part(first, second)
            elif kind == "replay":
                history.run(history.replay, first, second)
            else:
                history.run(history.send, first, second, down=kind == "send down")
        history.run(history.send, [], None)
        history.check()
        history.run(history.replay, [], None)
        history.check()
        assert dead_keys(out) == []
    finally:
        shutil.rmtree(out)
