"""What a broker's clients and neighbours want (or offer): each filter once, with all who hold it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from comity.route.messages import Entry, Key
from comity.route.route_filter import RouteFilter

HERE = ""
"""Where filters of the broker's own clients come from; no neighbour has this name."""


class Interest(NamedTuple):
    """A filter that somebody wants, as a neighbour is told of it."""

    filter: RouteFilter
    durable: bool = False
    lost: float = 0.0


class Holder(NamedTuple):
    """Where a filter comes from, and how it is wanted there."""

    origin: str
    """A neighbour, or `HERE`."""
    durable: bool = False
    lost: float = 0.0


class Held:
    """A subscription or an advertisement of a client of the broker."""

    __slots__ = ("client", "durable", "expires", "filter", "key", "lease_s")

    def __init__(
        self, client: str, key: Key, filter: RouteFilter, durable: bool, lease_s: float | None, now: float
    ) -> None:
        self.client, self.key, self.filter, self.durable, self.lease_s = client, key, filter, durable, lease_s
        self.expires = None if lease_s is None else now + lease_s

    @property
    def holder(self) -> Holder:
        return _HERE_DURABLE if self.durable else _HERE


_HERE, _HERE_DURABLE = Holder(HERE), Holder(HERE, True)


class Wanted:
    """One filter, and who wants it."""

    __slots__ = ("filter", "held", "holders")

    def __init__(self, filter: RouteFilter) -> None:
        self.filter = filter
        self.holders: dict[Holder, int] = {}
        """How often each of them wants it."""
        self.held: dict[tuple[str, Key], Held] | None = None
        """By whom, of the broker's own clients."""

    def beyond(self, link: str) -> Interest | None:
        """The filter as the neighbour at a link should know it: as all others together want it; None: not at all."""
        durable, lost, wanted = False, 1.0, False
        for holder in self.holders:
            if holder.origin != link:
                wanted, durable, lost = True, durable or holder.durable, min(lost, holder.lost)
        return Interest(self.filter, durable, lost) if wanted else None

    def each_beyond(self, link: str) -> Iterator[tuple[Interest, int]]:
        """The same without putting together who wants it alike."""
        counts: dict[Interest, int] = {}
        for holder, count in self.holders.items():
            if holder.origin != link:
                interest = Interest(self.filter, holder.durable, holder.lost)
                counts[interest] = counts.get(interest, 0) + count
        yield from counts.items()


class Demand:
    """All filters of one topic that a broker knows, whoever holds them."""

    def __init__(self) -> None:
        self.by_filter: dict[RouteFilter, Wanted] = {}

    def add(self, filter: RouteFilter, holder: Holder) -> bool:
        """One more from there; whether it is the first one."""
        wanted = self.by_filter.get(filter)
        if wanted is None:
            wanted = self.by_filter[filter] = Wanted(filter)
        count = wanted.holders.get(holder, 0)
        wanted.holders[holder] = count + 1
        return count == 0

    def remove(self, filter: RouteFilter, holder: Holder) -> bool:
        """One less from there; whether it was the last one."""
        wanted = self.by_filter[filter]
        wanted.holders[holder] -= 1
        if wanted.holders[holder]:
            return False
        del wanted.holders[holder]
        if not wanted.holders:
            del self.by_filter[filter]
        return True

    def hold(self, held: Held) -> None:
        """Note which client wants a filter that was added."""
        wanted = self.by_filter[held.filter]
        wanted.held = wanted.held or {}
        wanted.held[held.client, held.key] = held

    def release(self, held: Held) -> None:
        """The client does so no more."""
        wanted = self.by_filter[held.filter]
        assert wanted.held is not None
        del wanted.held[held.client, held.key]
        wanted.held = wanted.held or None


def holder_of(neighbour: str, entry: Entry) -> Holder:
    """Where an entry that a neighbour told comes from."""
    return Holder(neighbour, entry.durable, entry.lost)
