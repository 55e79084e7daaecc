"""Where the hits of an event lead: what a subscriber sees of it, or what keeps it from being seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, encode
from comity.event.validate import Fault
from comity.plan.ways import Way


class SeenEvent(NamedTuple):
    """An event as a profile gets it."""

    profile: str
    subscriber: str
    event: Event


def follow_hits(event: Event, hits: Iterable[tuple[str | None, Way]]) -> Iterator[SeenEvent | Rejected]:
    """Mediate and observe, on each way once; a hit is a profile and its way, or only a way on which mediation fails."""
    followed: dict[int, Event | list[Fault]] = {}
    for profile, way in hits:
        seen = followed.get(id(way))
        if seen is None:
            seen = followed[id(way)] = way.follow(event)
        if isinstance(seen, list):
            if seen:
                yield Rejected(None, None, encode(event).decode(), tuple(seen), way.contract)
        elif profile is not None and way.subscriber is not None:
            yield SeenEvent(profile, way.subscriber, seen)
