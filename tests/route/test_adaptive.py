"""Links on which nearly everything passes are not filtered, and filtered again when nobody wants most of it."""

from __future__ import annotations

import pytest

from comity.errors import Misuse
from comity.route.adaptive import Adaptation
from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.matching import BatchMatcher
from comity.route.messages import SendEverything
from comity.route.policy import Policy

POLICY = Policy(adaptive=Adaptation(stop_above=0.9, begin_above=0.3, window=10, dwell_s=5.0))
STOPPED, BEGUN, ASKED = SendEverything(True, True), SendEverything(False, True), SendEverything(False)


class Pair:
    """A sender, and a receiver with a client that wants x > 0."""

    def __init__(self) -> None:
        pool = FilterPool()
        self.sender, self.receiver = (RoutingBroker(name, POLICY, pool) for name in ("sender", "receiver"))
        first = self.sender.link_up("receiver", 0.0)
        for _, control in self.receiver.link_up("sender", 0.0):
            self.sender.receive("receiver", control, 0.0)
        for _, control in [*first, *self.receiver.subscribe("Ada", 1, pool.read("x > 0"), 0.0)]:
            broker, other = (self.receiver, "sender") if [(_, control)] == first else (self.sender, "receiver")
            broker.receive(other, control, 0.0)

    def publish(self, x: int, times: int) -> int:
        """How many of the events cross the link; the receiver takes them."""
        crossed = 0
        for _ in range(times):
            if self.sender.route(None, {("x",): x}).neighbours:
                crossed += 1
                assert self.receiver.route("sender", {("x",): x}).clients == ({"Ada": (1,)} if x > 0 else {})
        return crossed

    def tick(self, now: float) -> list[SendEverything]:
        """Let both decide, and hear what the other one says."""
        said = []
        waiting = [("sender", out) for out in self.sender.tick(now)]
        waiting += [("receiver", out) for out in self.receiver.tick(now)]
        while waiting:
            name, (other, control) = waiting.pop(0)
            said.append(control)
            broker = self.receiver if other == "receiver" else self.sender
            waiting += [(other, out) for out in broker.receive(name, control, now)]
        return said


def test_a_link_on_which_everything_passes_is_not_filtered_and_later_filtered_again() -> None:
    pair = Pair()
    assert pair.publish(1, 10) == 10
    assert pair.sender.wakes_at() == 5.0
    assert pair.tick(4.9) == []
    assert pair.tick(5.0) == [STOPPED]
    assert pair.publish(0, 7) == 7  # unwanted ones cross now
    assert pair.publish(1, 3) == 3
    assert pair.receiver.wakes_at() == 10.0
    assert pair.tick(9.9) == []
    assert pair.tick(10.0) == [ASKED, BEGUN]
    assert pair.publish(0, 5) == 0


def test_a_link_on_which_some_events_do_not_pass_stays_filtered() -> None:
    pair = Pair()
    pair.publish(1, 17)
    pair.publish(0, 3)
    assert pair.tick(20.0) == []


def test_a_few_unwanted_events_do_not_bring_filtering_back() -> None:
    pair = Pair()
    pair.publish(1, 10)
    assert pair.tick(5.0) == [STOPPED]
    pair.publish(1, 8)
    pair.publish(0, 2)
    assert pair.tick(20.0) == []


def test_batches_count_like_single_events() -> None:
    pair = Pair()
    matcher = BatchMatcher(pair.sender)
    matcher.follow()
    lines = [b'{"id": "%d", "source": "/a", "type": "T", "data": {"x": 1}}' % number for number in range(30)]
    assert len(matcher.match(None, lines).neighbours["receiver"]) == 30
    assert pair.tick(5.0) == [STOPPED]
    lines = [line.replace(b'"x": 1', b'"x": 0') for line in lines]
    assert len(matcher.match(None, lines).neighbours["receiver"]) == 30


def test_thresholds_without_room_between_them_are_refused() -> None:
    with pytest.raises(Misuse, match="no room"):
        Adaptation(stop_above=0.6, begin_above=0.4)
