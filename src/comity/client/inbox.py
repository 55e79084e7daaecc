"""Deliveries on their way to subscriptions: what was done with is acknowledged, and makes room for more.

A delivery holds room at the broker until all its events are done with. Of several subscriptions on one connection, each
may hold its share of the room: what comes beyond it for a subscription that nobody reads is left out, and counted, so
that it does not hold up the others. What is durable is never left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from comity.wire import Deliver


@dataclass(slots=True, eq=False)
class _Held:
    """Something that is done with when nobody holds it any more; whoever makes it holds it first."""

    left: int = 1


@dataclass(slots=True, eq=False)
class _HeldRoom(_Held):
    """The room of a delivery."""

    release: Callable[[], None] = lambda: None


@dataclass(slots=True, eq=False)
class _HeldPlace(_Held):
    """A position, which is acknowledged when all up to it are done with; 0 is none."""

    position: int = 0


class HeldLine(NamedTuple):
    """An event that waits in a subscription, or is in its reader's hands."""

    line: bytes
    room: _HeldRoom
    place: _HeldPlace


@dataclass(slots=True, eq=False)
class Shelf:
    """Where the events for one subscription wait."""

    is_durable: bool
    lines: deque[HeldLine] = field(default_factory=deque)
    size_bytes: int = 0
    wake: Callable[[], None] = lambda: None


class Inbox:
    """Gives the events of deliveries to the shelves of their subscriptions."""

    def __init__(self, room_bytes: int, acknowledge: Callable[[int], None], lose: Callable[[int], None]) -> None:
        self._room_bytes, self._acknowledge, self._lose = room_bytes, acknowledge, lose
        self._shelves: dict[int, Shelf] = {}
        self._places: deque[_HeldPlace] = deque()
        """Those that are not acknowledged, in order."""
        self.received = self.done = 0
        """The last position that came, and the last one up to which everything is done with."""

    def shelf(self, number: int, *, is_durable: bool) -> Shelf:
        """Where events for a subscription wait, from now on."""
        return self._shelves.setdefault(number, Shelf(is_durable))

    def remove(self, number: int) -> None:
        """Nothing comes for a subscription any more; what waits for it is done with."""
        shelf = self._shelves.pop(number, None)
        while shelf is not None and shelf.lines:
            self.finish(self.pop(shelf))

    def begin_log(self) -> None:
        """Positions begin anew: they are those of another log."""
        self._places.clear()
        self.received = self.done = 0

    def take(self, delivery: Deliver, release: Callable[[], None]) -> None:
        """Give out what came; `release` is called when all of it is done with."""
        room = _HeldRoom(release=release)
        places = self._places_of(delivery)
        self.received = max(self.received, delivery.position)
        lost = 0
        for line, numbers, place in zip(delivery.batch.lines(), delivery.marks, places):
            if place is not None:
                lost += sum(not self._put(number, HeldLine(line, room, place)) for number in numbers)
        if lost:
            self._lose(lost)
        for place in dict.fromkeys(places):
            if place is not None:
                place.left -= 1
        self._leave(room)
        self._settle()
        if None in places and self.done:  # the broker may not have heard it, as the connection was lost
            self._acknowledge(self.done)

    def _places_of(self, delivery: Deliver) -> list[_HeldPlace | None]:
        """The place of each event; none for what came before the connection was lost."""
        found: list[_HeldPlace | None] = []
        last = _HeldPlace()
        for position in delivery.places or [delivery.position] * len(delivery.batch):
            if 0 < position <= self.received:
                found.append(None)
                continue
            if position != last.position:
                last = _HeldPlace(position=position)
                self._places.extend([last] if position else [])
            found.append(last)
        return found

    def _put(self, number: int, held: HeldLine) -> bool:
        """Whether there was room for it. What is for a subscription that has ended is of no concern."""
        shelf = self._shelves.get(number)
        if shelf is None:
            return True
        size = len(held.line)
        if not shelf.is_durable and len(self._shelves) > 1 and shelf.size_bytes + size > self._share():
            return False
        shelf.lines.append(held)
        shelf.size_bytes += size
        held.room.left += 1
        held.place.left += 1
        shelf.wake()
        return True

    def _share(self) -> int:
        return self._room_bytes // len(self._shelves)

    def pop(self, shelf: Shelf) -> HeldLine:
        """The next event of a subscription, which is in its reader's hands from now on."""
        held = shelf.lines.popleft()
        shelf.size_bytes -= len(held.line)
        return held

    def finish(self, held: HeldLine) -> None:
        """An event is done with."""
        held.place.left -= 1
        self._leave(held.room)
        self._settle()

    def _leave(self, room: _HeldRoom) -> None:
        room.left -= 1
        if not room.left:
            room.release()

    def _settle(self) -> None:
        """Acknowledge what is done with."""
        before = self.done
        while self._places and not self._places[0].left:
            self.done = self._places.popleft().position
        if self.done > before:
            self._acknowledge(self.done)
