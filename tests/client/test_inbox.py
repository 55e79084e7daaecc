"""What an inbox acknowledges and releases, against chance: no event twice, none acknowledged before it is done with."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from comity.client.inbox import HeldLine, Inbox
from comity.wire import Deliver, EventBatch, Marks


class Desk:
    """An inbox, and what it says."""

    def __init__(self, room_bytes: int = 1_000_000) -> None:
        self.acknowledged: list[int] = []
        self.released: Counter[int] = Counter()
        self.lost = 0
        self.inbox = Inbox(room_bytes, self.acknowledged.append, self._lose)

    def _lose(self, events: int) -> None:
        self.lost += events

    def take(self, delivery: Deliver, number: int = 0) -> None:
        self.inbox.take(delivery, lambda: self.released.update([number]))


def delivery(
    positions: list[int], subscriptions: list[tuple[int, ...]] | None = None, *, placed: bool = True
) -> Deliver:
    """Events whose lines are their positions."""
    marks = Marks.of(subscriptions) if subscriptions else Marks.alike((1,), len(positions))
    batch = EventBatch.of([b"%d" % position for position in positions])
    return Deliver(max(positions), marks, batch, tuple(positions) if placed else ())


def test_event_is_acknowledged_when_it_is_done_with() -> None:
    desk = Desk()
    shelf = desk.inbox.shelf(1, is_durable=True)
    desk.take(delivery([4, 7, 9]))
    first, second = desk.inbox.pop(shelf), desk.inbox.pop(shelf)
    assert desk.acknowledged == []
    desk.inbox.finish(first)
    assert desk.acknowledged == [4]
    desk.inbox.finish(second)
    assert desk.acknowledged == [4, 7]
    assert not desk.released
    desk.inbox.finish(desk.inbox.pop(shelf))
    assert desk.acknowledged == [4, 7, 9]
    assert desk.released == Counter([0])


def test_without_places_a_delivery_is_acknowledged_as_a_whole() -> None:
    desk = Desk()
    shelf = desk.inbox.shelf(1, is_durable=True)
    desk.take(delivery([4, 7], placed=False))
    desk.inbox.finish(desk.inbox.pop(shelf))
    assert desk.acknowledged == []
    desk.inbox.finish(desk.inbox.pop(shelf))
    assert desk.acknowledged == [7]


def test_what_comes_again_is_left_out() -> None:
    desk = Desk()
    shelf = desk.inbox.shelf(1, is_durable=True)
    desk.take(delivery([4, 7]), number=1)
    desk.take(delivery([7, 9]), number=2)
    assert [held.line for held in shelf.lines] == [b"4", b"7", b"9"]
    desk.take(delivery([4, 7]), number=3)
    assert desk.released == Counter([3])


def test_what_comes_again_is_acknowledged_again() -> None:
    desk = Desk()
    shelf = desk.inbox.shelf(1, is_durable=True)
    desk.take(delivery([4]))
    desk.inbox.finish(desk.inbox.pop(shelf))
    desk.take(delivery([4]))
    assert desk.acknowledged == [4, 4]


def test_another_log_begins_anew() -> None:
    desk = Desk()
    shelf = desk.inbox.shelf(1, is_durable=True)
    desk.take(delivery([7]))
    desk.inbox.begin_log()
    desk.take(delivery([1]))
    assert [held.line for held in shelf.lines] == [b"7", b"1"]


def test_subscription_that_nobody_reads_does_not_hold_up_others() -> None:
    desk = Desk(room_bytes=20)
    idle, busy = desk.inbox.shelf(1, is_durable=False), desk.inbox.shelf(2, is_durable=False)
    for number in range(100):
        desk.take(Deliver(0, Marks.alike((1, 2), 1), EventBatch.of([b"x"])), number)
        desk.inbox.finish(desk.inbox.pop(busy))
    assert len(idle.lines) == 10
    assert desk.lost == 90
    assert len(desk.released) == 90


def test_nothing_durable_is_left_out() -> None:
    desk = Desk(room_bytes=20)
    shelf = desk.inbox.shelf(1, is_durable=True)
    desk.inbox.shelf(2, is_durable=False)
    desk.take(delivery(list(range(1, 101))))
    assert len(shelf.lines) == 100
    assert desk.lost == 0


def test_removing_a_subscription_is_being_done_with_its_events() -> None:
    desk = Desk()
    desk.inbox.shelf(1, is_durable=True)
    desk.take(delivery([1, 2]))
    desk.inbox.remove(1)
    assert desk.acknowledged[-1] == 2
    assert desk.released == Counter([0])
    desk.take(delivery([3]), number=1)
    assert desk.acknowledged[-1] == 3


@pytest.mark.parametrize("seed", range(30))
def test_any_order_of_reading_acknowledges_only_what_is_done(seed: int) -> None:
    chance = random.Random(seed)
    desk = Desk()
    shelves = {number: desk.inbox.shelf(number, is_durable=True) for number in (1, 2, 3)}
    waiting: Counter[int] = Counter()
    in_hand: list[HeldLine] = []
    last = 0
    for step in range(200):
        if chance.random() < 0.3:
            positions = sorted(chance.sample(range(max(1, last - 3), last + 20), chance.randint(1, 6)))
            marks = [tuple(chance.sample((1, 2, 3), chance.randint(1, 3))) for _ in positions]
            for position, numbers in zip(positions, marks):
                waiting[position] += len(numbers) * (position > last)
            desk.take(delivery(positions, marks), step)
            last = max(last, *positions)
        elif (full := [shelf for shelf in shelves.values() if shelf.lines]) and chance.random() < 0.6:
            in_hand.append(desk.inbox.pop(chance.choice(full)))
        elif in_hand:
            held = in_hand.pop(chance.randrange(len(in_hand)))
            waiting[int(held.line)] -= 1
            desk.inbox.finish(held)
        open_positions = [position for position, left in waiting.items() if left]
        assert all(position > desk.inbox.done for position in open_positions)
        if not open_positions:
            assert desk.inbox.done == last
    assert desk.acknowledged == sorted(desk.acknowledged)
    assert set(desk.released.values()) <= {1}
