"""Dead letters, offered again."""

import pytest
from tests.connect.test_dead_letters import letter

from comity.connect.connectors.memory.sink import MemorySink, SenderKilled, SinkFault
from comity.connect.courier import Courier
from comity.connect.dead_letters import append_dead_letters, dead_letter_path, read_dead_letters
from comity.connect.replay import Replayed, replay_sink
from comity.connect.retry import RetryPolicy
from comity.limits import limited
from comity.testing.sink_conformance import dead_keys, message, notification


@pytest.fixture
def letters(tmp_path):
    first = {"first_tried": "2026-01-01T00:00:00Z", "last_tried": "2026-01-01T00:00:01Z"}
    found = [letter(number, **first) for number in range(9)]
    append_dead_letters(dead_letter_path(tmp_path, "house_a", "screen"), found)
    return found


def replayed(out, sink, **more):
    courier = Courier(sink, RetryPolicy(attempts=2, first_delay_s=0), lambda: 100.0, lambda seconds: None, **more)
    with limited(max_messages_in_flight=4):
        return replay_sink(out, "house_a", "screen", courier)


def test_replay_takes_all(tmp_path, letters):
    sink = MemorySink()
    assert replayed(tmp_path, sink) == Replayed("house_a", "screen", 9, 0)
    assert sink.taken == [message(notification(number)) for number in range(9)]
    assert dead_keys(tmp_path) == []


def test_replay_without_dead_letters(tmp_path):
    assert replayed(tmp_path, MemorySink()) == Replayed("house_a", "screen", 0, 0)


def test_replay_keeps_what_is_refused_with_its_attempts(tmp_path, letters):
    sink = MemorySink([SinkFault.NONE, SinkFault.REFUSE])
    assert replayed(tmp_path, sink) == Replayed("house_a", "screen", 8, 1)
    (left,) = read_dead_letters(dead_letter_path(tmp_path, "house_a", "screen"))
    assert (left.key, left.attempts, left.code) == (letters[1].key, 4, "sink-refused")
    assert (left.first_tried, left.last_tried) == ("2026-01-01T00:00:00Z", "1970-01-01T00:01:40Z")


def test_replay_to_a_sink_that_is_down_changes_only_those_that_were_tried(tmp_path, letters):
    sink = MemorySink(down=True)
    assert replayed(tmp_path, sink) == Replayed("house_a", "screen", 0, 9)
    left = list(read_dead_letters(dead_letter_path(tmp_path, "house_a", "screen")))
    assert [one.key for one in left] == [one.key for one in letters]
    assert sum(one.attempts for one in left) == 9 * 3 + sink.offers
    assert (left[2], left[4]) == (letters[2], letters[4])


def test_replay_after_a_crash_passes_over_what_was_taken(tmp_path, letters):
    first = MemorySink([*[SinkFault.NONE] * 6, SinkFault.CRASH])
    with pytest.raises(SenderKilled):
        replayed(tmp_path, first)
    assert dead_keys(tmp_path) == [one.key for one in letters]
    second = MemorySink()
    assert replayed(tmp_path, second) == Replayed("house_a", "screen", 5, 0)
    assert [one.key for one in second.taken] == [one.key for one in letters[4:]]


def test_replay_that_is_stopped_keeps_the_rest_as_it_is(tmp_path, letters):
    sink = MemorySink()
    assert replayed(tmp_path, sink, stopped=lambda: len(sink.taken) >= 4) == Replayed("house_a", "screen", 4, 5)
    assert list(read_dead_letters(dead_letter_path(tmp_path, "house_a", "screen"))) == letters[4:]


def test_replay_never_sends_what_is_no_notification(tmp_path):
    broken = letter(1, code="not-a-notification", attempts=0)
    append_dead_letters(dead_letter_path(tmp_path, "house_a", "screen"), [broken, letter(2)])
    sink = MemorySink()
    assert replayed(tmp_path, sink) == Replayed("house_a", "screen", 1, 1)
    assert [one.key for one in sink.taken] == [letter(2).key]
