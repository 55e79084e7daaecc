"""The record of a report, which everything that detects gives: the reference as well as the detectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

import msgspec

from comity.event.kinds import Value

_NAIVE_EPOCH = datetime(1970, 1, 1)  # without a zone it is written in a third of the time
_encoder = msgspec.json.Encoder()


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
    """A report's identity, as 32 hexadecimal digits.

    The correlation key is not in it: a pattern with a key binds an event in every occurrence, and the event has the
    key. Identities are stored in results, so what goes in here stays as it is.
    """
    content = _encoder.encode([profile, version, start, end, sorted(set(identities))])
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _ids(found: Happening | tuple[Happening, ...]) -> str | list[str]:
    return [one.id for one in found] if isinstance(found, tuple) else found.id
