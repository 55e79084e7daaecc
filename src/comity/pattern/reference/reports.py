"""The meaning of patterns over a finite trace: a transcription of items 47 to 60 of docs/semantics.md.

It is slow, and meant to be read and believed. The detectors and the runners are tested against it, so it shares no code
with them: only the tree, the bound form (as data: conditions are evaluated here by the reference evaluator of
expressions), and the record of a report. `tests/pattern/test_independence.py` sees to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from comity.event.event import Event
from comity.event.kinds import Point as Place
from comity.event.kinds import Value
from comity.expression.evaluate import holds
from comity.expression.tree import attributes
from comity.pattern.bound import BoundPattern
from comity.pattern.parameters import Consume, Duplicates, Parameters
from comity.pattern.reference.occurrences import (
    Candidates,
    Point,
    ReferenceEvent,
    ReferenceOccurrence,
    World,
    end_of_absence,
    occurrences,
    see,
)
from comity.pattern.report import Report
from comity.pattern.tree import Both, Either, Operand, Pattern, Selection, Sequence, Silence, Together, operands, walk

Identity = tuple[int, int, frozenset[tuple[str, str]]]
"""What tells the reports of one profile apart (item 58): the interval and the identities of the events."""


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
    seen = (see(event, bound.parameters.ties) for event in events)
    trace = sorted((one for one in seen if until is None or one.time <= until), key=lambda one: one.order)
    if bound.never or (start is None and not trace):
        return []
    begin = trace[0].time if start is None else start
    last = until if until is not None else trace[-1].time if trace else begin
    found: list[Report] = []
    for key, candidates in traces(bound, trace).items():
        found += _Trace(bound, candidates, begin, last, until, partial(watch, key)).reports()
    return sorted(_once_each(found), key=lambda report: (report.end, report.start, report.id))


def identity(report: Report) -> Identity:
    """The same for reports of one profile that are one."""
    return report.start, report.end, frozenset(event.identity for event in report.all_events())


def _once_each(found: Iterable[Report]) -> list[Report]:
    first: dict[Identity, Report] = {}
    for report in found:
        if identity(report) not in first:
            first[identity(report)] = report
    return list(first.values())


# Traces (items 51 and 54)


def traces(bound: BoundPattern, trace: Iterable[ReferenceEvent]) -> dict[object, Candidates]:
    """By the correlation key, the candidates of each operand, in their order and without repeats."""
    names = [operand.name for operand in operands(bound.pattern)]
    found: dict[object, dict[str, list[ReferenceEvent]]] = {} if bound.key else {(): {name: [] for name in names}}
    for seen in trace:
        for name in names:
            key = key_of(bound, name, seen.event)
            if key is not None and holds(bound.filters[name], seen.event):
                found.setdefault(key, {each: [] for each in names})[name].append(seen)
    return {key: {name: without_repeats(own, bound, name) for name, own in each.items()} for key, each in found.items()}


def key_of(bound: BoundPattern, operand: str, event: Event) -> tuple[Any, ...] | None:
    """The correlation key of an event as that operand; None when it has none, and so takes part in nothing."""
    found: list[Any] = []
    for part in bound.key.parts if bound.key else ():
        values = {_equal_when_equal(event.get(path)) for name, paths in part if name == operand for path in paths}
        if len(values) != 1 or None in values:
            return None
        found += values
    return tuple(found)


def _equal_when_equal(value: Value | None) -> Any:
    """Something that Python compares, hashes and writes as items 12 to 14 say: by itself it takes `True` for 1."""
    match value:
        case bool():
            return ("bool", value)
        case float() if value.is_integer() and abs(value) <= 2**62:
            return int(value)
        case datetime() | timedelta() | bytes():
            return (type(value).__name__, str(value))
        case Place():
            return ("point", value.x, value.y)
        case list():
            return ("list", *map(_equal_when_equal, value))
        case dict():
            there = {name: _equal_when_equal(item) for name, item in value.items() if item is not None}
            return ("struct", *((name, there[name]) for name in sorted(there)))
    return value


def without_repeats(
    candidates: Iterable[ReferenceEvent], bound: BoundPattern, operand: str
) -> tuple[ReferenceEvent, ...]:
    """The candidates of an operand in their order; of those with one identity and time only the first."""
    found: list[ReferenceEvent] = []
    for seen in sorted(candidates, key=lambda one: (one.order, _compared_text(bound, operand, one.event))):
        if not any((seen.time, seen.event.identity) == (one.time, one.event.identity) for one in found):
            found.append(seen)
    return tuple(found)


def _compared_text(bound: BoundPattern, operand: str, event: Event) -> bytes:
    """The attributes that the profile compares with those of others, as JSON."""
    joins = [join for own in (*bound.joins.values(), *bound.against.values()) for join in own]
    paths = {path[1:] for join in joins for path in attributes(join.condition) if path[0] == operand}
    return msgspec.json.encode([_equal_when_equal(event.get(path)) for path in sorted(paths)])


# One trace (items 55 to 57)


@dataclass(frozen=True, slots=True)
class Round:
    """One evaluation at a point of time: what closed, what choice left of it, and the candidates that are left then."""

    world: World
    closing: list[ReferenceOccurrence]
    made: list[tuple[Report, list[ReferenceOccurrence]]]
    """The reports, each with the occurrences that it was made of."""
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
        live: dict[str, tuple[ReferenceEvent, ...]] = dict.fromkeys(self.candidates, ())
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

    def _limited(self, own: dict[str, tuple[ReferenceEvent, ...]]) -> dict[str, tuple[ReferenceEvent, ...]]:
        limit = self.bound.parameters.limit
        if limit is None:
            return own
        silences = (part for part in walk(self.bound.pattern) if isinstance(part, Silence))
        free = {operand.name for silence in silences for operand in operands(silence)}
        return {name: seen if name in free else seen[-limit:] for name, seen in own.items()}

    def _close(self, world: World) -> tuple[list[Report], dict[str, tuple[ReferenceEvent, ...]]]:
        """What is reported now, and what is left (items 55 and 56)."""
        consume = self.bound.parameters.consume
        reported: list[Report] = []
        live = dict(world.live)
        while True:
            world = replace(world, live=live)
            closing = [one for one in occurrences(self.bound.pattern, world) if one.end == world.now]
            made = _reported(self.bound, _chosen(self.bound, closing))
            reported += [report for report, _ in made]
            took_part = {seen.order for _, group in made for one in group for seen in one.bound.values()}
            if made and consume is Consume.DELETE:
                live = dict.fromkeys(live, ())
            elif consume is Consume.REAPPLY:
                live = {name: tuple(one for one in own if one.order not in took_part) for name, own in live.items()}
            self.watch(Round(world, closing, made, live))
            if consume is not Consume.REAPPLY or not took_part:
                return _once_each(reported), live


def choosing(pattern: Pattern) -> list[str]:
    """The operands that are bound, in the order in which they choose."""
    match pattern:
        case Operand(name):
            return [name]
        case Silence():
            return []
        case Selection(inner):
            return choosing(inner)
        case Sequence():
            return [name for part in pattern.present for name in choosing(part)]
        case Both(parts) | Either(parts) | Together(parts):
            own = [names for part in parts if (names := choosing(part))]
            return [name for names in sorted(own, key=min) for name in names]


def _chosen(bound: BoundPattern, closing: list[ReferenceOccurrence]) -> list[ReferenceOccurrence]:
    for operand in choosing(bound.pattern):
        closing = left_by(operand, closing, bound.parameters)
    return closing


def left_by(operand: str, found: list[ReferenceOccurrence], parameters: Parameters) -> list[ReferenceOccurrence]:
    """What an operand leaves when it chooses among its candidates."""
    candidates = sorted({one.bound[operand].order for one in found if operand in one.bound})
    rule = _rule(operand, parameters)
    first, last = (at if at > 0 else len(candidates) + 1 + at for at in (rule.first, rule.last))
    taken = [order for position, order in enumerate(candidates, 1) if first <= position <= last]
    return [one for one in found if operand not in one.bound or one.bound[operand].order in taken]


def _rule(operand: str, parameters: Parameters) -> Duplicates:
    return parameters.own_duplicates.get(operand, parameters.duplicates)


def _reported(bound: BoundPattern, chosen: list[ReferenceOccurrence]) -> list[tuple[Report, list[ReferenceOccurrence]]]:
    """The reports of what choice left, each with its occurrences; of one identity the first gives the events."""
    found: dict[Identity, tuple[Report, list[ReferenceOccurrence]]] = {}
    for group in _collected(bound.parameters, sorted(chosen, key=lambda one: one.order)):
        report = _report(bound, group)
        _, known = found.setdefault(identity(report), (report, []))
        known += group
    return list(found.values())


def _collected(parameters: Parameters, chosen: list[ReferenceOccurrence]) -> list[list[ReferenceOccurrence]]:
    """Those that differ only in operands that collect are together; one that has no such operand is by itself."""
    groups: list[list[ReferenceOccurrence]] = []
    for one in chosen:
        collects = any(_rule(name, parameters).collect for name in one.bound)
        together = (group for group in groups if collects and _agree(parameters, group[0].bound, one.bound))
        group = next(together, None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return groups


def _agree(parameters: Parameters, one: Mapping[str, ReferenceEvent], other: Mapping[str, ReferenceEvent]) -> bool:
    return set(one) == set(other) and all(
        one[name].order == other[name].order for name in one if not _rule(name, parameters).collect
    )


def _report(bound: BoundPattern, group: list[ReferenceOccurrence]) -> Report:
    events: dict[str, Event | tuple[Event, ...]] = {}
    for name in sorted(group[0].bound):
        own = {one.bound[name].order: one.bound[name].event for one in group}
        collects = _rule(name, bound.parameters).collect
        events[name] = tuple(own[order] for order in sorted(own)) if collects else group[0].bound[name].event
    start, end = min(one.start[0] for one in group), max(one.end[0] for one in group)
    return Report(bound.name, start, end, events, bound.parameters.version)


def _ends(pattern: Pattern, trace: _Trace) -> set[Point]:
    """The points at which a part can end; there may be more of them than it does end at."""
    match pattern:
        case Operand(name):
            return {seen.point for seen in trace.candidates[name]}
        case Sequence(within=within):
            ends = _ends(pattern.present[-1], trace)
            return {end_of_absence(trace.bound, end[0] + (within or 0)) for end in ends} if pattern.gaps[-1] else ends
        case Silence(inner, within):
            begins = {trace.start, *(end[0] for end in _ends(inner, trace))}
            return {
                end_of_absence(trace.bound, end)
                for begin in begins
                for end in range(begin + within, trace.last + within + 1, within)
            }
        case Selection(inner):
            return _ends(inner, trace)
        case Either(parts) | Both(parts) | Together(parts):
            return set().union(*(_ends(part, trace) for part in parts))
