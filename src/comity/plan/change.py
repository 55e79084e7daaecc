"""What makes of one plan another, by the keys of their parts.

A plan is found again, part for part and in the same order: `apply(before, difference(before, after)) == after`. What
stayed is not in a difference, so it is as small as the change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from comity.errors import Misuse
from comity.event.types import EventType
from comity.keyed import Keyed
from comity.plan.stages import Delivery, Plan, PlannedPattern, Route

Part = TypeVar("Part", bound=Keyed)


@dataclass(frozen=True, slots=True)
class Edits(Generic[Part]):
    """What goes out of a sequence and what comes in; the others keep their order."""

    removed: tuple[tuple[str, int], ...] = ()
    """Keys, each with how often the same stood before it."""
    added: tuple[tuple[int, Part], ...] = ()
    """With the place in the new sequence, in order."""

    def __bool__(self) -> bool:
        return bool(self.removed or self.added)


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """What changes from one plan to another."""

    federation: str
    seen: tuple[datetime | None, datetime | None]
    types: Edits[EventType]
    abstract_types: Edits[EventType]
    routes: Edits[Route]
    """Without their deliveries."""
    deliveries: tuple[tuple[str, Edits[Delivery]], ...]
    """By the key of a route without deliveries, those that change there; a new route has all of its own here."""
    patterns: Edits[PlannedPattern]

    @property
    def added(self) -> frozenset[str]:
        """The profiles, and operands, that are new or come anew with something changed."""
        return frozenset(one.profile for _, edits in self.deliveries for _, one in edits.added)


def difference(before: Plan, after: Plan) -> PlanDifference:
    """What `apply` makes the second plan of the first with."""
    known, new = (dict(_numbered(plan)) for plan in (before, after))
    edits = {key: _edits(known[key].deliveries if key in known else (), route.deliveries) for key, route in new.items()}
    return PlanDifference(
        after.federation,
        after.seen,
        _edits(before.types, after.types),
        _edits(before.abstract_types, after.abstract_types),
        _edits([_bare(route) for route in before.routes], [_bare(route) for route in after.routes]),
        tuple((key, own) for key, own in edits.items() if own),
        _edits(before.patterns, after.patterns),
    )


def apply(plan: Plan, change: PlanDifference) -> Plan:
    """The plan with the change; raises `Misuse` when the change is of another plan."""
    deliveries = {key: route.deliveries for key, route in _numbered(plan)}
    edits = dict(change.deliveries)
    bare = _applied([_bare(route) for route in plan.routes], change.routes)
    routes = tuple(
        replace(route, deliveries=tuple(_applied(deliveries.get(key, ()), edits.get(key, Edits()))))
        for key, route in _numbered(replace(plan, routes=tuple(bare)))
    )
    return Plan(
        change.federation,
        tuple(_applied(plan.types, change.types)),
        routes,
        tuple(_applied(plan.abstract_types, change.abstract_types)),
        tuple(_applied(plan.patterns, change.patterns)),
        change.seen,
    )


def _bare(route: Route) -> Route:
    return replace(route, deliveries=())


def _numbered(plan: Plan) -> Iterator[tuple[str, Route]]:
    """The routes by the keys that they have without deliveries; a second one of a key has a number behind it."""
    for (key, count), route in zip(_keys([_bare(route) for route in plan.routes]), plan.routes, strict=True):
        yield (f"{key} {count}" if count else key), route


def _keys(parts: Iterable[Keyed]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    found = []
    for part in parts:
        found.append((part.key, counts.get(part.key, 0)))
        counts[part.key] = counts.get(part.key, 0) + 1
    return found


def _edits(before: Sequence[Part], after: Sequence[Part]) -> Edits[Part]:
    if before is after or (len(before) == len(after) and all(map(_is, before, after))):
        return Edits()
    places = {key: place for place, key in enumerate(_keys(before))}
    keys = _keys(after)
    kept = _longest_rising([places.get(key, -1) for key in keys])
    stays = {keys[place] for place in kept}
    removed = tuple(key for key in places if key not in stays)
    return Edits(removed, tuple((at, part) for at, part in enumerate(after) if keys[at] not in stays))


def _is(one: object, other: object) -> bool:
    return one is other


def _longest_rising(numbers: Sequence[int]) -> list[int]:
    """The places of as many numbers from 0 as can be kept so that they rise.

    >>> _longest_rising([2, 0, -1, 1, 3])
    [1, 3, 4]
    """
    ends: list[int] = []  # by length, the least number with which so many rising ones end
    at: list[int] = []
    before: dict[int, int | None] = {}
    for place, number in enumerate(numbers):
        if number < 0:
            continue
        length = bisect_left(ends, number)
        before[place] = at[length - 1] if length else None
        ends[length : length + 1] = [number]
        at[length : length + 1] = [place]
    found: list[int] = []
    last = at[-1] if at else None
    while last is not None:
        found.append(last)
        last = before[last]
    return found[::-1]


def _applied(parts: Sequence[Part], edits: Edits[Part]) -> list[Part]:
    if not edits:
        return list(parts)
    gone = set(edits.removed)
    keys = _keys(parts)
    kept = [part for part, key in zip(parts, keys, strict=True) if key not in gone]
    if not gone <= set(keys) or any(at > len(kept) + number for number, (at, _) in enumerate(edits.added)):
        hint = "take the difference from this plan"
        raise Misuse("the change is of another plan", code="change-of-another-plan", hint=hint)
    return _merged(kept, edits.added)


def _merged(kept: list[Part], added: Sequence[tuple[int, Part]]) -> list[Part]:
    """Both, with the added ones at their places; in one pass, for thousands may be added."""
    found: list[Part] = []
    rest = iter(kept)
    for at, part in added:
        while len(found) < at:
            found.append(next(rest))
        found.append(part)
    return [*found, *rest]
