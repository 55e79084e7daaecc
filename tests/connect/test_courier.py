"""One sink: retries, dead letters, and a sink that is down."""

import pytest

from comity.connect.connectors.memory.sink import MemorySink, SinkFault
from comity.connect.courier import SINK_DOWN, Courier
from comity.connect.port import Capability, NotTaken
from comity.connect.retry import RetryPolicy
from comity.errors import Misuse, Permanent, Retryable
from comity.testing.sink_conformance import message, notification

MESSAGES = [message(notification(number)) for number in range(1_000)]
POLICY = RetryPolicy(attempts=4, first_delay_s=1.0, jitter=0.0, deadline_s=100.0)


class VirtualTime:
    def __init__(self):
        self.now = 0.0
        self.waits = []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


class FailingSink:
    capability = Capability()

    def __init__(self, error):
        self.error = error
        self.offers = 0

    def deliver(self, messages):
        self.offers += 1
        raise self.error

    def close(self):
        pass


@pytest.fixture
def time():
    return VirtualTime()


def courier(sink, time, **more):
    return Courier(sink, POLICY, time.clock, time.sleep, lambda: 0.0, **more)


def carried(one, messages):
    settled = []
    one.begin()
    assert one.carry(messages, settled.extend)
    assert [each.message for each in settled] == messages
    return settled


def test_carry_retries_with_growing_waits(time):
    sink = MemorySink([SinkFault.NONE, SinkFault.BUSY, SinkFault.BUSY, SinkFault.BUSY])
    settled = carried(courier(sink, time), MESSAGES[:3])
    assert time.waits == [1.0, 2.0, 4.0]
    assert [one.failure for one in settled] == [None] * 3
    assert sink.taken == MESSAGES[:3]


def test_carry_notes_what_was_taken_before_it_waits(time):
    noted = []
    sink = MemorySink([SinkFault.NONE, SinkFault.NONE, SinkFault.BUSY, SinkFault.BUSY])
    one = courier(sink, time, on_retry=lambda error, wait_s: noted.append("wait"))
    one.carry(MESSAGES[:4], lambda settled: noted.append(len(settled)))
    assert noted == [1, 1, "wait", "wait", 2]


def test_carry_gives_up_with_attempts_and_times(time):
    time.now = 50.0
    sink = MemorySink([SinkFault.BUSY] * 4)
    first, second = carried(courier(sink, time), MESSAGES[:2])
    assert (first.failure.code, first.failure.attempts) == ("sink-busy", 4)
    assert (first.failure.first_tried_s, first.failure.last_tried_s) == (50.0, 57.0)
    assert second.failure is None
    letter = first.as_dead_letter()
    assert (letter.first_tried, letter.last_tried) == ("1970-01-01T00:00:50Z", "1970-01-01T00:00:57Z")
    assert bytes(letter.message) == MESSAGES[0].line


def test_carry_a_refused_message_without_retry_or_suspicion(time):
    sink = MemorySink([SinkFault.NONE, SinkFault.REFUSE])
    settled = carried(courier(sink, time), MESSAGES[:4])
    assert [one.failure.code if one.failure else None for one in settled] == [None, "sink-refused", None, None]
    assert sink.offers == 4
    assert time.waits == []


def test_carry_to_a_dead_sink_costs_the_logarithm(time):
    sink = MemorySink(down=True)
    one = courier(sink, time)
    settled = carried(one, MESSAGES)
    assert one.is_down
    assert sink.offers == 4 + 10  # the retries of the first, then probes after 0, 1, 2, 4 … 256 messages
    assert sum(each.failure.attempts for each in settled) == sink.offers
    assert {each.failure.code for each in settled} == {"sink-busy", SINK_DOWN}
    assert len(time.waits) == 3


def test_carry_a_sink_that_comes_back_misses_no_more_than_it_had_missed(time):
    sink = MemorySink(down=True)
    one = courier(sink, time)
    carried(one, MESSAGES[:100])
    sink.down = False
    settled = []
    one.carry(MESSAGES[100:], settled.extend)
    assert not one.is_down
    missed = [each for each in settled if each.failure]
    assert 0 < len(missed) <= 100
    assert sink.taken == MESSAGES[100 + len(missed) :]


def test_begin_probes_a_sink_that_was_down_at_once(time):
    sink = MemorySink(down=True)
    one = courier(sink, time)
    carried(one, MESSAGES[:100])
    sink.down = False
    assert all(each.failure is None for each in carried(one, MESSAGES[100:]))


def test_carry_waits_as_the_sink_says(time):
    sink = FailingSink(NotTaken("later", code="sink-busy", retry_after_s=30.0))
    carried(courier(sink, time), MESSAGES[:1])
    assert time.waits == [30.0, 30.0, 30.0]


def test_carry_gives_up_at_once_when_the_sink_says_too_late(time):
    sink = FailingSink(NotTaken("later", code="sink-busy", retry_after_s=1_000.0))
    carried(courier(sink, time), MESSAGES[:1])
    assert (sink.offers, time.waits) == (1, [])


@pytest.mark.parametrize(("kind", "offers"), [(Retryable, 4), (Permanent, 1), (Misuse, 1)])
def test_carry_any_error_of_the_family_ends_in_a_dead_letter(time, kind, offers):
    sink = FailingSink(kind("no", code="broken"))
    (settled,) = carried(courier(sink, time), MESSAGES[:1])
    assert (settled.failure.code, settled.failure.attempts, sink.offers) == ("broken", offers, offers)


def test_carry_leaves_other_errors_alone(time):
    with pytest.raises(ZeroDivisionError):
        courier(FailingSink(ZeroDivisionError()), time).carry(MESSAGES[:1], lambda settled: None)


def test_carry_offers_more_to_a_quick_sink_and_less_to_a_slow_one(time):
    sizes = []

    class Measured(MemorySink):
        def deliver(self, messages):
            sizes.append(len(messages))
            super().deliver(messages)
            time.now += 0.01 * len(messages) if len(sizes) <= 6 else len(messages)

    carried(courier(Measured(), time), MESSAGES[:100])
    assert sizes[:10] == [1, 2, 4, 8, 16, 32, 32, 5]
    assert sum(sizes) == 100


def test_carry_stops_between_offers_and_settles_nothing_more(time):
    sink, settled = MemorySink(down=True), []
    one = courier(sink, time, stopped=lambda: len(time.waits) == 2)
    assert not one.carry(MESSAGES[:3], settled.extend)
    assert (settled, sink.offers) == ([], 2)
