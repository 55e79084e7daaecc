"""What occurs of a pattern at a point of time: a transcription of items 47 to 53 of docs/semantics.md.

It belongs to the reference, and shares nothing with the detectors but the tree and the bound form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any, assert_never

from comity.event.event import Event
from comity.event.kinds import Value, to_microseconds
from comity.expression.evaluate import holds
from comity.pattern.bound import BoundPattern, Join
from comity.pattern.tree import Both, Either, Operand, Pattern, Selection, Sequence, Silence, Together

Point = tuple[int, int]
"""A point of time: microseconds, and the tie-break (0 where there is none)."""

_FIRST_OF_A_TIME, _LAST_OF_A_TIME = -(2**63), 2**63 - 1
"""The tie-breaks of an event without a value, and of the end of an absence."""


@dataclass(frozen=True, slots=True)
class ReferenceEvent:
    """An event at its point of time."""

    event: Event
    time: int
    tie: int

    @property
    def point(self) -> Point:
        return self.time, self.tie

    @property
    def order(self) -> tuple[int, int, str, str]:
        """Item 54, but for repeats."""
        return self.time, self.tie, self.event.source, self.event.id

    def __hash__(self) -> int:
        return hash(self.order)


def see(event: Event, ties: tuple[str, ...] | None = None) -> ReferenceEvent:
    """An event, which must have a time; `ties` is the attribute of the tie-break."""
    assert event.time is not None, "events without a time are rejected at the border"
    value = event.get(ties) if ties else 0
    tie = value if isinstance(value, int) and not isinstance(value, bool) else _FIRST_OF_A_TIME
    return ReferenceEvent(event, to_microseconds(event.time), tie)


Candidates = Mapping[str, tuple[ReferenceEvent, ...]]
"""By operand, the events that it can be bound to, in their order."""


@dataclass(frozen=True, slots=True)
class ReferenceOccurrence:
    """What an occurrence binds, and its interval."""

    start: Point
    end: Point
    bound: Mapping[str, ReferenceEvent]

    @property
    def order(self) -> tuple[Any, ...]:
        """Item 53."""
        return self.end, self.start, sorted((name, seen.order) for name, seen in self.bound.items())


@dataclass(frozen=True, slots=True)
class World:
    """What there is at a point of time: what may take part, what occurred, and the bounds of silences."""

    bound: BoundPattern
    live: Candidates
    occurred: Candidates
    start: int
    now: Point
    last: int

    @property
    def as_it_occurred(self) -> World:
        """The same as if nothing had been consumed, which is what a `not` is about (item 56)."""
        return replace(self, live=self.occurred)


@dataclass(frozen=True, slots=True)
class ReferenceBindings:
    """A record for conditions across operands: the first name of a path is that of the operand."""

    bound: Mapping[str, ReferenceEvent]

    def get(self, path: tuple[str, ...]) -> Value | None:
        name, *rest = path
        return self.bound[name].event.get(tuple(rest)) if name in self.bound else None


def fulfilled(joins: Iterable[Join], bound: Mapping[str, ReferenceEvent]) -> bool:
    """Whether the conditions hold, as far as all their operands are bound (item 50)."""
    return all(holds(join.condition, ReferenceBindings(bound)) for join in joins if join.operands <= set(bound))


def end_of_absence(bound: BoundPattern, time: int) -> Point:
    """With a tie-break it comes after all events of its time (item 48)."""
    return time, 0 if bound.parameters.ties is None else _LAST_OF_A_TIME


def occurrences(pattern: Pattern, world: World) -> list[ReferenceOccurrence]:
    """The occurrences of a part that end by now, and fulfil the conditions between its operands."""
    joins = world.bound.joins.get(pattern, ())
    return [one for one in _occurrences(pattern, world) if fulfilled(joins, one.bound)]


def _occurrences(pattern: Pattern, world: World) -> Iterator[ReferenceOccurrence]:
    match pattern:
        case Operand(name):
            yield from (ReferenceOccurrence(seen.point, seen.point, {name: seen}) for seen in world.live[name])
        case Either(parts):
            for part in parts:
                yield from occurrences(part, world)
        case Both(parts, within):
            for chosen in _disjoint(parts, world):
                whole = _whole(chosen)
                if within is None or whole.end[0] - whole.start[0] <= within:
                    yield whole
        case Together(parts, tolerance):
            for chosen in _disjoint(parts, world):
                if all(abs(a.end[0] - b.end[0]) <= tolerance for a in chosen for b in chosen):
                    yield _whole(chosen)
        case Sequence():
            yield from _sequences(pattern, world)
        case Silence():
            yield from _silences(pattern, world)
        case Selection(inner, first, last):
            counted = sorted(occurrences(inner, world), key=lambda one: one.order)
            yield from counted[-1:] if first is None else counted[first - 1 : last]
        case _:
            assert_never(pattern)


def _disjoint(parts: Iterable[Pattern], world: World) -> Iterator[tuple[ReferenceOccurrence, ...]]:
    """An occurrence of each part, such that no event takes part in two of them."""
    for chosen in product(*(occurrences(part, world) for part in parts)):
        taking_part = [{seen.order for seen in one.bound.values()} for one in chosen]
        if sum(map(len, taking_part)) == len(set().union(*taking_part)):
            yield chosen


def _whole(chosen: tuple[ReferenceOccurrence, ...]) -> ReferenceOccurrence:
    bound: dict[str, ReferenceEvent] = {}
    for one in chosen:
        bound.update(one.bound)
    return ReferenceOccurrence(min(one.start for one in chosen), max(one.end for one in chosen), bound)


def _sequences(pattern: Sequence, world: World) -> Iterator[ReferenceOccurrence]:
    for chosen, whole in arranged(pattern, world):
        if any(True for _ in in_the_way(pattern, world, chosen, whole)):
            continue
        if pattern.gaps[-1]:
            assert pattern.within is not None, "an absence at the end has a time frame"
            whole = replace(whole, end=end_of_absence(world.bound, whole.end[0] + pattern.within))
        if whole.end <= world.now:
            yield whole


def arranged(pattern: Sequence, world: World) -> Iterator[tuple[tuple[ReferenceOccurrence, ...], ReferenceOccurrence]]:
    """What occurs of the steps that have to, one after the other and in the time frame; and the whole of it."""
    within = None if pattern.gaps[-1] else pattern.within
    for chosen in product(*(occurrences(part, world) for part in pattern.present)):
        if not all(a.end < b.start for a, b in pairwise(chosen)):
            continue
        whole = _whole(chosen)
        if within is None or whole.end[0] - whole.start[0] <= within:
            yield chosen, whole


def in_the_way(
    pattern: Sequence, world: World, chosen: tuple[ReferenceOccurrence, ...], whole: ReferenceOccurrence
) -> Iterator[ReferenceOccurrence]:
    """The occurrences by which a `not` of the sequence does not hold."""
    before, *between, after = pattern.gaps
    within = pattern.within
    for gap, (a, b) in zip(between, pairwise(chosen), strict=True):
        yield from (n for n in _against(gap, world, whole) if a.end < n.end < b.start)
    for n in _against(before, world, whole):
        if n.end < whole.start and (within is None or whole.end[0] - n.end[0] <= within):
            yield n
    for n in _against(after, world, whole):
        if whole.end < n.end and (within is None or n.end[0] - whole.end[0] <= within):
            yield n


def _against(gap: Iterable[Pattern], world: World, whole: ReferenceOccurrence) -> Iterator[ReferenceOccurrence]:
    """The occurrences that count against a `not`, consumed or not."""
    for absent in gap:
        joins = world.bound.against.get(absent, ())
        for one in occurrences(absent, world.as_it_occurred):
            if fulfilled(joins, {**whole.bound, **one.bound}):
                yield one


def _silences(pattern: Silence, world: World) -> Iterator[ReferenceOccurrence]:
    """Item 52: every beginning is tried, and the end of a silence is one more beginning."""
    breaking = {one.end[0] for one in occurrences(pattern.pattern, world.as_it_occurred)}
    to_try = {world.start, *(time for time in breaking if time > world.start)}
    tried: set[int] = set()
    while to_try - tried:
        begin = min(to_try - tried)
        tried.add(begin)
        end = begin + pattern.within
        is_over = end_of_absence(world.bound, end) <= world.now
        if begin <= world.last and is_over and not any(begin < time <= end for time in breaking):
            yield ReferenceOccurrence(end_of_absence(world.bound, begin), end_of_absence(world.bound, end), {})
            to_try.add(end)
