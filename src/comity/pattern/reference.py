"""The meaning of patterns over a finite trace: a transcription of items 47 to 60 of docs/semantics.md.

It is slow, and meant to be read and believed. The detector and the runners are tested against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product

from comity.event.event import Event
from comity.pattern.bound import BoundPattern
from comity.pattern.choice import choose, reports_of
from comity.pattern.occurrence import Occurrence, Point, Report, Seen, joined
from comity.pattern.parameters import Consume
from comity.pattern.tree import (
    Both,
    Either,
    Operand,
    Pattern,
    Selection,
    Sequence,
    Silence,
    Together,
    unlimited_operands,
)

Candidates = Mapping[str, tuple[Seen, ...]]
"""By operand, the events that it can be bound to, in their order."""


def reports(
    bound: BoundPattern,
    events: Iterable[Event],
    *,
    start: int | None = None,
    until: int | None = None,
    watch: Callable[[object, Round], None] = lambda key, round: None,
) -> list[Report]:
    """The reports over a complete trace, in the order in which they occur.

    `watch` is told of every evaluation, with the correlation key of its trace.
    """
    seen = (Seen.of(event, bound.parameters.ties) for event in events)
    trace = sorted((one for one in seen if until is None or one.time <= until), key=lambda one: one.order)
    if bound.never or (start is None and not trace):
        return []
    begin = trace[0].time if start is None else start
    last = until if until is not None else trace[-1].time if trace else begin
    found: dict[str, Report] = {}
    for key, candidates in traces(bound, trace).items():
        for report in _Trace(bound, candidates, begin, last, until, partial(watch, key)).reports():
            found.setdefault(report.id, report)  # item 58
    return sorted(found.values(), key=lambda report: (report.end, report.start, report.id))


def traces(bound: BoundPattern, trace: Iterable[Seen]) -> dict[object, Candidates]:
    """By the correlation key, the candidates of each operand, in their order and without repeats."""
    found: dict[object, dict[str, list[Seen]]] = {} if bound.key else {(): {name: [] for name in bound.filters}}
    for seen in trace:
        for name, test in bound.tests.items():
            key = bound.key.of(name, seen.event) if bound.key else ()
            if key is not None and test(seen.event):
                found.setdefault(key, {each: [] for each in bound.filters})[name].append(seen)
    return {key: {name: without_repeats(own, bound, name) for name, own in each.items()} for key, each in found.items()}


def without_repeats(candidates: Iterable[Seen], bound: BoundPattern, operand: str) -> tuple[Seen, ...]:
    """The candidates of an operand in their order; of those with one identity and time only the first."""
    found: dict[tuple[int, tuple[str, str]], Seen] = {}
    for seen in sorted(candidates, key=lambda one: (one.order, bound.text_of(operand, one.event))):
        found.setdefault((seen.time, seen.event.identity), seen)
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class World:
    """What there is at a point of time: what may take part, what occurred, and the bounds of silences."""

    bound: BoundPattern
    live: Candidates
    occurred: Candidates
    start: int
    now: Point
    last: int


@dataclass(frozen=True, slots=True)
class Round:
    """One evaluation at a point of time: what closed, what choice left of it, and the candidates that are left then."""

    world: World
    closing: list[Occurrence]
    chosen: list[Occurrence]
    reports: list[Report]
    live: Candidates


@dataclass(slots=True)
class _Trace:
    """One trace, from its first point to its last."""

    bound: BoundPattern
    candidates: Candidates
    start: int
    last: int
    until: int | None
    watch: Callable[[Round], None]

    def reports(self) -> Iterator[Report]:
        live: dict[str, tuple[Seen, ...]] = dict.fromkeys(self.candidates, ())
        occurred = live
        before: Point | None = None
        for now in self._points():
            come = {
                name: tuple(one for one in own if (before is None or before < one.point) and one.point <= now)
                for name, own in self.candidates.items()
            }
            live = self._limited({name: live[name] + come[name] for name in live})
            occurred = self._limited({name: occurred[name] + come[name] for name in occurred})
            found, live = self._close(World(self.bound, live, occurred, self.start, now, self.last))
            yield from found
            before = now

    def _points(self) -> list[Point]:
        """Every point at which the pattern could close, or something comes."""
        points = {seen.point for own in self.candidates.values() for seen in own}
        points |= _ends(self.bound.pattern, self)
        return sorted(point for point in points if self.until is None or point[0] <= self.until)

    def _limited(self, own: dict[str, tuple[Seen, ...]]) -> dict[str, tuple[Seen, ...]]:
        limit = self.bound.parameters.limit
        if limit is None:
            return own
        free = unlimited_operands(self.bound.pattern)
        return {name: seen if name in free else seen[-limit:] for name, seen in own.items()}

    def _close(self, world: World) -> tuple[list[Report], dict[str, tuple[Seen, ...]]]:
        """What is reported now, and what is left (items 55 and 56)."""
        parameters = self.bound.parameters
        reported: dict[str, Report] = {}
        live = dict(world.live)
        while True:
            world = replace(world, live=live)
            closing = [one for one in occurrences(self.bound.pattern, world) if one.end == world.now]
            chosen = choose(closing, self.bound.order, parameters)
            made = reports_of(chosen, self.bound.name, parameters)
            for report in made:
                reported.setdefault(report.id, report)
            took_part = {seen.order for one in chosen for seen in one.bound.values()}
            if chosen and parameters.consume is Consume.DELETE:
                live = dict.fromkeys(live, ())
            elif parameters.consume is Consume.REAPPLY:
                live = {name: tuple(one for one in own if one.order not in took_part) for name, own in live.items()}
            self.watch(Round(world, closing, chosen, made, live))
            if parameters.consume is not Consume.REAPPLY or not took_part:
                return list(reported.values()), live


def occurrences(pattern: Pattern, world: World) -> list[Occurrence]:
    """The occurrences of a part that end by now, and fulfil the conditions between its operands."""
    joins = world.bound.joins.get(pattern, ())
    return [one for one in _occurrences(pattern, world) if all(join.holds(one.bound) for join in joins)]


def _occurrences(pattern: Pattern, world: World) -> Iterator[Occurrence]:
    match pattern:
        case Operand(name):
            yield from (Occurrence(seen.point, seen.point, {name: seen}) for seen in world.live[name])
        case Either(parts):
            for part in parts:
                yield from occurrences(part, world)
        case Both(parts, within):
            for one in _combined(parts, world):
                if within is None or one.end[0] - one.start[0] <= within:
                    yield one
        case Together(parts, tolerance):
            for chosen in product(*(occurrences(part, world) for part in parts)):
                ends = [one.end[0] for one in chosen]
                if max(ends) - min(ends) <= tolerance and _are_disjoint(chosen):
                    yield joined(chosen)
        case Sequence():
            yield from _sequences(pattern, world)
        case Silence():
            yield from _silences(pattern, world)
        case Selection(inner, first, last):
            found = sorted(occurrences(inner, world), key=lambda one: one.order)
            yield from found[-1:] if first is None else found[first - 1 : last]


def _combined(parts: Iterable[Pattern], world: World) -> Iterator[Occurrence]:
    for chosen in product(*(occurrences(part, world) for part in parts)):
        if _are_disjoint(chosen):
            yield joined(chosen)


def _are_disjoint(chosen: tuple[Occurrence, ...]) -> bool:
    return not any(a.shares_event_with(b) for at, a in enumerate(chosen) for b in chosen[at + 1 :])


def _sequences(pattern: Sequence, world: World) -> Iterator[Occurrence]:
    for chosen, whole in arranged(pattern, world):
        if next(in_the_way(pattern, world, chosen, whole), None) is not None:
            continue
        if pattern.gaps[-1]:
            assert pattern.within is not None, "an absence at the end has a time frame"
            whole = replace(whole, end=(whole.end[0] + pattern.within, world.bound.end_tie))
        if whole.end <= world.now:
            yield whole


def arranged(pattern: Sequence, world: World) -> Iterator[tuple[tuple[Occurrence, ...], Occurrence]]:
    """What occurs of the steps that have to, one after the other and in the time frame; and the whole of it."""
    within = None if pattern.gaps[-1] else pattern.within
    for chosen in product(*(occurrences(part, world) for part in pattern.present)):
        if not all(a.end < b.start for a, b in pairwise(chosen)):
            continue
        whole = joined(chosen)
        if within is None or whole.end[0] - whole.start[0] <= within:
            yield chosen, whole


def in_the_way(
    pattern: Sequence, world: World, chosen: tuple[Occurrence, ...], whole: Occurrence
) -> Iterator[Occurrence]:
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


def _against(gap: Iterable[Pattern], world: World, whole: Occurrence) -> Iterator[Occurrence]:
    """The occurrences that count against a `not`, consumed or not."""
    for absent in gap:
        joins = world.bound.against.get(absent, ())
        for one in occurrences(absent, replace(world, live=world.occurred)):
            if all(join.holds({**whole.bound, **one.bound}) for join in joins):
                yield one


def _silences(pattern: Silence, world: World) -> Iterator[Occurrence]:
    broken = sorted({one.end[0] for one in occurrences(pattern.pattern, replace(world, live=world.occurred))})
    tie = world.bound.end_tie
    for begin in sorted({world.start, *(n for n in broken if n > world.start)}):
        end = begin + pattern.within
        while begin <= world.last and (end, tie) <= world.now and not any(begin < n <= end for n in broken):
            yield Occurrence((begin, tie), (end, tie), {})
            begin, end = end, end + pattern.within


def _ends(pattern: Pattern, trace: _Trace) -> set[Point]:
    """The points at which a part can end; there may be more of them than it does end at."""
    match pattern:
        case Operand(name):
            return {seen.point for seen in trace.candidates[name]}
        case Sequence(within=within):
            ends = _ends(pattern.present[-1], trace)
            return {(end[0] + (within or 0), trace.bound.end_tie) for end in ends} if pattern.gaps[-1] else ends
        case Silence(inner, within):
            begins = {trace.start, *(end[0] for end in _ends(inner, trace))}
            return {
                (end, trace.bound.end_tie)
                for begin in begins
                for end in range(begin + within, trace.last + within + 1, within)
            }
        case Selection(inner):
            return _ends(inner, trace)
        case Either(parts) | Both(parts) | Together(parts):
            return set().union(*(_ends(part, trace) for part in parts))
