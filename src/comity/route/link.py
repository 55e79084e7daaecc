"""What a broker knows of one neighbour: what it was told, and what it told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from comity.route.adaptive import LinkFilter
from comity.route.choosing.chooser import Counts
from comity.route.messages import Entry, Topic, Update
from comity.route.route_filter import RouteFilter
from comity.route.wanted import Interest


class Toward(Enum):
    """Where a link leads, in a network whose brokers are all alike, or in the tree of a rendezvous."""

    PEER = "peer"
    """Advertisements go there, and subscriptions that meet one from there."""
    UP = "up"
    """To the rendezvous: all advertisements and all subscriptions go there."""
    DOWN = "down"
    """Away from it: subscriptions that meet an advertisement from there go there, but no advertisements."""


@dataclass(slots=True)
class Told:
    """What a neighbour was told about one topic."""

    topic: Topic
    entries: dict[Interest, list[Entry]] = field(default_factory=dict)
    next_number: int = 0
    begun: bool = False
    """Whether the first message went out, which is whole."""

    def become(self, changes: Counts) -> Update | None:
        """The message after which the neighbour is told each of these as often as it says; None if it was already."""
        added: list[Entry] = []
        removed: list[int] = []
        for interest, count in changes.items():
            entries = self.entries.setdefault(interest, [])
            while len(entries) > count:
                removed.append(entries.pop().number)
            while len(entries) < count:
                added.append(self._entry(interest))
                entries.append(added[-1])
            if not entries:
                del self.entries[interest]
        whole, self.begun = not self.begun, True
        return Update(self.topic, tuple(added), tuple(removed), whole) if added or removed or whole else None

    def _entry(self, interest: Interest) -> Entry:
        self.next_number += 1
        return Entry(self.next_number, interest.filter, interest.lost, interest.durable)


@dataclass(slots=True)
class Link:
    """The tables of one neighbour, by topic."""

    name: str
    toward: Toward = Toward.PEER
    told: dict[Topic, Told] = field(default_factory=lambda: {topic: Told(topic) for topic in Topic})
    table: dict[Topic, dict[int, Entry]] = field(default_factory=lambda: {topic: {} for topic in Topic})
    """What the neighbour told, by number."""
    offers: Counter[RouteFilter] = field(default_factory=Counter)
    """What the neighbour advertised."""
    heard: set[Topic] = field(default_factory=set)
    """What the neighbour has begun to tell."""
    expires: dict[Topic, float] = field(default_factory=dict)
    refresh_at: float | None = None
    filter: LinkFilter | None = None
    """Whether events are filtered, if that may change."""
