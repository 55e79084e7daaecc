"""Events as operands see them, occurrences of patterns, and the reports made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec

from comity.event.event import Event
from comity.event.kinds import Value

Point = tuple[int, int]
"""A point of time: microseconds, and the tie-break (0 where there is none)."""

NO_TIE = -(2**63)
"""The tie-break of an event without a value: it comes first."""
LAST_TIE = 2**63 - 1
"""The tie-break of the end of an absence: it comes last."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)  # without a zone it is written in a third of the time
_encoder = msgspec.json.Encoder()


def microseconds(moment: datetime) -> int:
    """The time as it is counted here.

    >>> microseconds(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment_text(time: int) -> str:
    """The time as it is written in reports; beyond the calendar, the number of microseconds."""
    try:
        return f"{(_NAIVE_EPOCH + timedelta(microseconds=time)).isoformat()}Z"
    except OverflowError:
        return str(time)


class Happening(Protocol):
    """An event, as far as patterns look at it."""

    @property
    def id(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def identity(self) -> tuple[str, str]: ...

    def get(self, path: tuple[str, ...]) -> Value | None:
        """The value at a path."""


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


@dataclass(frozen=True, slots=True)
class Report:
    """One occurrence of a profile's pattern: each operand with its event, or with the list that it collected."""

    profile: str
    start: int
    end: int
    events: Mapping[str, Happening | tuple[Happening, ...]]
    version: int = 1
    id: str = field(init=False)
    """The same for the same profile, version, interval and events, whoever finds it."""

    def __post_init__(self) -> None:
        identities = (one.identity for one in self.all_events())
        found = report_id(self.profile, self.version, self.start, self.end, identities)
        object.__setattr__(self, "id", found)

    def all_events(self) -> Iterator[Happening]:
        """The events, operand by operand."""
        for found in self.events.values():
            yield from found if isinstance(found, tuple) else (found,)

    def as_dict(self) -> dict[str, Any]:
        """The report as it is printed."""
        return {
            "profile": self.profile,
            "id": self.id,
            "start": moment_text(self.start),
            "end": moment_text(self.end),
            "events": {name: _ids(found) for name, found in sorted(self.events.items())},
        }


def report_id(profile: str, version: int, start: int, end: int, identities: Iterable[tuple[str, str]]) -> str:
    """A report's identity, as 32 hexadecimal digits."""
    content = _encoder.encode([profile, version, start, end, sorted(set(identities))])
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _ids(found: Happening | tuple[Happening, ...]) -> str | list[str]:
    return [one.id for one in found] if isinstance(found, tuple) else found.id
