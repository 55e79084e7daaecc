"""The sink that fails on demand."""

import pytest

from comity.connect.connectors.memory.sink import MemorySink, SenderKilled, SinkFault
from comity.connect.port import NotTaken, Refused
from comity.connect.registry import open_sink
from comity.connect.specs import SinkSpec
from comity.testing.sink_conformance import message, notification

MESSAGES = [message(notification(number)) for number in range(4)]


@pytest.mark.parametrize(
    ("fault", "error", "taken"),
    [(SinkFault.BUSY, NotTaken, 1), (SinkFault.REFUSE, Refused, 1), (SinkFault.LOSE_ANSWER, NotTaken, 2)],
)
def test_deliver_meets_a_fault(fault, error, taken):
    sink = MemorySink([SinkFault.NONE, fault])
    with pytest.raises(error) as caught:
        sink.deliver(MESSAGES)
    assert caught.value.taken == 1
    assert sink.taken == MESSAGES[:taken]


def test_deliver_then_the_sender_dies():
    sink = MemorySink([SinkFault.CRASH])
    with pytest.raises(SenderKilled):
        sink.deliver(MESSAGES)
    assert sink.taken == MESSAGES[:1]


def test_deliver_slowly():
    waits = []
    MemorySink(delay_s=2.0, sleep=waits.append).deliver(MESSAGES)
    assert waits == [2.0] * 4


def test_open_with_faults_from_a_file(tmp_path):
    sink = open_sink(SinkSpec("screen", "house_a", "memory", {"fail_first": 1}), tmp_path)
    with pytest.raises(NotTaken):
        sink.deliver(MESSAGES)
    sink.deliver(MESSAGES)
    assert sink.taken == MESSAGES
    down = open_sink(SinkSpec("screen", "house_a", "memory", {"down": True}), tmp_path)
    with pytest.raises(NotTaken):
        down.deliver(MESSAGES)
