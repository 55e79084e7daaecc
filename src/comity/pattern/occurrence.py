"""Events as operands see them, and occurrences of patterns, for the detectors.

The reference has its own of all of these, so that a fault here is not one there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from comity.event.event import Event
from comity.event.kinds import Value
from comity.pattern.bound import Join
from comity.pattern.parameters import Parameters
from comity.pattern.report import Happening

Point = tuple[int, int]
"""A point of time: microseconds, and the tie-break (0 where there is none)."""

NO_TIE = -(2**63)
"""The tie-break of an event without a value: it comes first."""
LAST_TIE = 2**63 - 1
"""The tie-break of the end of an absence: it comes last."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def end_tie(parameters: Parameters) -> int:
    """The tie-break of the end of an absence."""
    return LAST_TIE if parameters.ties else 0


def microseconds(moment: datetime) -> int:
    """The time as it is counted here.

    >>> microseconds(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (moment - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Seen:
    """An event at its point of time. They are ordered by time, tie-break, source and id."""

    event: Happening
    time: int
    tie: int = 0
    point: Point = field(init=False, compare=False)
    order: tuple[int, int, str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", (self.time, self.tie))
        object.__setattr__(self, "order", (self.time, self.tie, self.event.source, self.event.id))

    @classmethod
    def of(cls, event: Event, ties: tuple[str, ...] | None = None) -> Seen:
        """An event, which must have a time; `ties` is the attribute of the tie-break."""
        assert event.time is not None, "events without a time are rejected at the border"
        value = event.get(ties) if ties else 0
        tie = value if type(value) is int else NO_TIE
        return cls(event, microseconds(event.time), tie)

    def __hash__(self) -> int:
        return hash(self.order)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """What a pattern's occurrence binds, and its interval."""

    start: Point
    end: Point
    bound: Mapping[str, Seen]

    @property
    def order(self) -> tuple[Any, ...]:
        """Occurrences of one part are counted in this order."""
        return self.end, self.start, sorted((name, seen.order) for name, seen in self.bound.items())

    def shares_event_with(self, other: Occurrence) -> bool:
        """Whether an event takes part in both."""
        own = {seen.order for seen in self.bound.values()}
        return any(seen.order in own for seen in other.bound.values())


def joined(parts: Iterable[Occurrence]) -> Occurrence:
    """One occurrence of all the parts; of none, nowhere."""
    found = list(parts)
    bound = {name: seen for part in found for name, seen in part.bound.items()}
    return Occurrence(min(part.start for part in found), max(part.end for part in found), bound)


@dataclass(frozen=True, slots=True)
class Bindings:
    """A record for conditions across operands: the first name of a path is that of the operand.

    >>> heat = Seen(Event("1", "/house", "Heat", data={"value": 31}), 0)
    >>> Bindings({"h": heat}).get(("h", "value"))
    31
    """

    bound: Mapping[str, Seen]

    def get(self, path: tuple[str, ...]) -> Value | None:
        seen = self.bound.get(path[0])
        return None if seen is None else seen.event.get(path[1:])


def fulfils(bound: Mapping[str, Seen], joins: Iterable[Join]) -> bool:
    """Whether the conditions hold; one of which not all operands are bound says nothing."""
    return all(not join.operands <= bound.keys() or join.test(Bindings(bound)) for join in joins)
