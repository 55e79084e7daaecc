"""Sample events of a type: the values of each attribute, and pairs of events that tell of the same happening."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from comity.contract.suggest.attributes import Path
from comity.event.event import Event
from comity.event.kinds import Value
from comity.event.types import EventType
from comity.limits import limits


class Samples:
    """Events of one type. What was asked once about an attribute is remembered, since many pairs ask it."""

    def __init__(self, events: tuple[Event, ...] = ()) -> None:
        self.events = events
        self.values = cache(self._values)
        """By path: the values of an attribute, where there are any."""
        self.texts = cache(self._texts)
        """By path: the different texts of an attribute."""
        self.folded_texts = cache(self._folded_texts)
        """By path: the same without regard to capitals."""
        self.numbers = cache(self._numbers)
        """By path: the numbers of an attribute."""

    def _values(self, path: Path) -> list[Value]:
        return [value for event in self.events if (value := event.get(path)) is not None]

    def _texts(self, path: Path) -> frozenset[str]:
        return frozenset(value for value in self.values(path) if isinstance(value, str))

    def _folded_texts(self, path: Path) -> frozenset[str]:
        return frozenset(text.casefold() for text in self.texts(path))

    def _numbers(self, path: Path) -> list[int | float]:
        return [value for value in self.values(path) if type(value) in (int, float)]


class SamplePair:
    """The samples of the two types. Only if they are `paired` do events with one id tell of the same happening."""

    def __init__(self, left: Samples | None = None, right: Samples | None = None, paired: bool = False) -> None:
        self.left, self.right, self.paired = left or Samples(), right or Samples(), paired
        by_id = {event.id: event for event in self.right.events} if paired else {}
        self._pairs = [(event, by_id[event.id]) for event in self.left.events if event.id in by_id]

    def pairs(self, left: Path, right: Path) -> list[tuple[Value, Value]]:
        """The values that two attributes have for the same happening."""
        found = ((one.get(left), other.get(right)) for one, other in self._pairs)
        return [(one, other) for one, other in found if one is not None and other is not None]


def samples_of(left: EventType, right: EventType, events: Iterable[Event], *, paired: bool = False) -> SamplePair:
    """The first events of two types among others, at most `max_sampled_events` of each."""
    most = limits().max_sampled_events
    found: dict[str, list[Event]] = {left.qualified_name: [], right.qualified_name: []}
    for event in events:
        kept = found.get(event.type)
        if kept is not None and len(kept) < most:
            kept.append(event)
            if all(len(one) == most for one in found.values()):
                break
    one, other = (Samples(tuple(kept)) for kept in found.values())
    return SamplePair(one, other, paired)
