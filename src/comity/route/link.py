"""What a broker knows of one neighbour: what it was told, and what it told."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from comity.route.choice import Chosen, Interest
from comity.route.messages import Entry, Topic, Update


@dataclass(slots=True)
class Told:
    """What a neighbour was told about one topic."""

    topic: Topic
    entries: dict[Hashable, Entry] = field(default_factory=dict)
    next_number: int = 0

    def become(self, chosen: Chosen, *, whole: bool = False) -> Update | None:
        """The message after which the neighbour knows what was chosen; None if it does already."""
        before = {} if whole else self.entries
        removed = [entry for key, entry in before.items() if not _says(entry, chosen.get(key))]
        gone = {entry.number for entry in removed}
        kept = {key: entry for key, entry in before.items() if entry.number not in gone}
        added = {key: self._entry(interest) for key, interest in chosen.items() if key not in kept}
        self.entries = {**kept, **added}
        if not (added or removed or whole):
            return None
        return Update(self.topic, tuple(added.values()), tuple(entry.number for entry in removed), whole)

    def _entry(self, interest: Interest) -> Entry:
        self.next_number += 1
        return Entry(self.next_number, interest.filter, interest.lost, interest.durable)


def _says(entry: Entry, interest: Interest | None) -> bool:
    return interest is not None and interest == (entry.filter, entry.durable, entry.lost)


@dataclass(slots=True)
class Link:
    """The tables of one neighbour, by topic."""

    name: str
    told: dict[Topic, Told] = field(default_factory=lambda: {topic: Told(topic) for topic in Topic})
    table: dict[Topic, dict[int, Entry]] = field(default_factory=lambda: {topic: {} for topic in Topic})
    """What the neighbour told, by number."""
    expires: dict[Topic, float] = field(default_factory=dict)
    refresh_at: float | None = None
    sends_everything: bool = False
    """Whether the neighbour asked not to filter."""
