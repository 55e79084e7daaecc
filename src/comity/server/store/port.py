"""The door to what is stored. Nothing here says where it is: SQLite in a folder is one way, a database server another.

An event is stored once, whoever waits for it. Each client with durable subscriptions has a cursor: the number of the
last event that it has acknowledged. A client is a subscriber or a neighbour, by whatever name the caller gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class NewEvent(NamedTuple):
    """An event to store: its identity, and its line, which is kept as it is."""

    source: str
    id: str
    line: bytes


class Committed(NamedTuple):
    """The answer for an event: its number, and whether it was stored now. A repeat has the number that it had."""

    sequence: int
    is_new: bool


class StoredEvent(NamedTuple):
    """An event, its number, and when it was stored, in microseconds since 1970.

    Numbers rise by one, without gaps, and the times never fall.
    """

    sequence: int
    line: bytes
    at_us: int = 0


Choose = Callable[[Sequence[StoredEvent]], Sequence[StoredEvent]]
"""Those of some events that somebody wants. It is called in a thread of the store."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """What was read: the events that were chosen, and the number up to which all were looked at.

    Events up to `floor` are gone. Where `floor` is above the number that was asked for, some may be missing.
    """

    events: Sequence[StoredEvent]
    position: int
    floor: int


@dataclass(frozen=True, slots=True)
class DurableCursor:
    """How far a client is: all up to `position` is acknowledged, and `lost` events were taken away before they were.

    `lost` counts what the client wanted, and goes down when the client has been told.
    """

    client: str
    position: int
    lost: int


@dataclass(frozen=True, slots=True)
class StoredSubscription:
    """A subscription that outlives a restart. It is about events behind the number `since`, which the store gives it.

    `renewed_s` is the time at which it was kept last, in seconds since 1970; its lease begins there.
    """

    client: str
    key: str
    filter: str
    durable: bool = True
    lease_s: float | None = None
    since: int = 0
    renewed_s: float = 0.0
    label: str = ""


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """How much is stored: events, bytes of their lines, and the numbers of the first one and of the last."""

    events: int
    size_bytes: int
    first: int
    last: int


Wanted = Callable[[Sequence[StoredSubscription], Sequence[StoredEvent]], int]
"""How many of some events the subscriptions of a client want. It is called in a thread of the store."""


def any_is_wanted(subscriptions: Sequence[StoredSubscription], events: Sequence[StoredEvent]) -> int:
    """For whoever does not know filters: all events behind the beginning of a durable subscription."""
    since = min((one.since for one in subscriptions if one.durable), default=0)
    return sum(1 for event in events if event.sequence > since)


class EventStore(Protocol):
    """Events and subscriptions that last. What is awaited is on the disk when it returns.

    All methods are called in the event loop that opened the store.
    """

    @property
    def log(self) -> str:
        """What the numbers of events belong to: another text for each store that was ever made."""

    @property
    def last(self) -> int:
        """The number of the last event that was committed; 0 if there was none."""

    async def append(self, events: Sequence[NewEvent], notes: Mapping[str, str] | None = None) -> list[Committed]:
        """Store events, and give an answer for each, in their order.

        The notes are committed with them: how far the log of a neighbour was taken, or the numbers of a publisher.
        """

    async def notes(self) -> dict[str, str]:
        """All notes, by name; a later one of a name takes the place of the earlier."""

    async def read(self, after: int, choose: Choose | None = None) -> EventPage:
        """Some events behind a number, in order, and of these those that `choose` gives.

        How many are looked at is bounded, so a page may be empty though there are more: go on from its `position`
        while that is below `last`.
        """

    async def grown(self, beyond: int) -> int:
        """Wait until `last` is above a number; gives it."""

    async def keep(self, subscription: StoredSubscription) -> StoredSubscription:
        """Keep a subscription, or renew it. With another filter it is a new one. Gives it as it is kept.

        The first durable one of a client gives it a cursor, at the last event.
        """

    async def drop(self, client: str, key: str) -> None:
        """Keep a subscription no longer; with its last durable one a client loses its cursor."""

    async def forget(self, client: str) -> None:
        """Keep nothing of a client."""

    async def subscriptions(self) -> list[StoredSubscription]:
        """All that are kept, by client and key."""

    async def cursors(self) -> dict[str, DurableCursor]:
        """The cursor of each client that has one."""

    async def advance(self, client: str, position: int, *, told: int = 0) -> None:
        """Note that a client has acknowledged all up to a number, and was told of so many lost events.

        A cursor never goes back. A client without one is passed over.
        """

    async def figures(self) -> StoreFigures:
        """How much there is."""

    async def close(self) -> None:
        """Commit what waits, and end."""
