"""The detector of one trace: events in any order go in, reports come out as the time that is complete moves on.

It keeps events, not partial matches: what closes is searched for when an event or an absence can close it. An event
that can no longer contribute is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush

import msgspec

from comity.pattern.bound import BoundPattern
from comity.pattern.choice import choose, reports_of
from comity.pattern.closing import Cause, Timers, absences
from comity.pattern.correlation import canonical
from comity.pattern.horizon import Horizon, horizons
from comity.pattern.occurrence import Occurrence, Point, Seen, end_tie
from comity.pattern.parameters import Consume
from comity.pattern.report import Happening, Report
from comity.pattern.search import EARLIEST, Candidates, Search
from comity.pattern.tree import Selection, Sequence, Silence, bound_operands, unlimited_operands, walk

AFTER_ALL = 2**100
"""A time after everything."""
_SWEEP = 64
"""Candidates of an operand from which on it is looked for old ones before a batch is done."""


@dataclass(frozen=True)
class Machine:
    """What all traces of a pattern have in common."""

    bound: BoundPattern

    @cached_property
    def timers(self) -> Timers:
        return Timers.of(self.bound.pattern)

    @cached_property
    def horizons(self) -> dict[str | Silence, Horizon]:
        return horizons(self.bound.pattern)

    @cached_property
    def absences(self) -> tuple[Sequence | Silence, ...]:
        """The absences, numbered by their position."""
        return tuple(absences(self.bound.pattern))

    @cached_property
    def counts(self) -> bool:
        """Whether positions are counted, so that it matters how many events were dropped."""
        return any(isinstance(part, Selection) for part in walk(self.bound.pattern))

    @cached_property
    def unlimited(self) -> frozenset[str]:
        """The operands to which a limit does not apply."""
        return unlimited_operands(self.bound.pattern)

    @cached_property
    def consumed(self) -> tuple[str, ...]:
        """The operands whose events a report can consume."""
        return tuple(operand.name for operand in bound_operands(self.bound.pattern))


@dataclass(slots=True)
class TraceState:
    """What is kept of one trace."""

    machine: Machine
    waiting: list[tuple[str, Seen]] = field(default_factory=list)
    """Events that have come, but whose time is not complete yet."""
    candidates: dict[str, Candidates] = field(init=False)
    due: list[tuple[Point, int]] = field(default_factory=list)
    """Points at which an absence, by its number, is to be looked at; a heap."""
    silent_since: dict[Silence, int] = field(default_factory=dict)
    last: int | None = None
    """The time of the last event of all, once it is known that there are no more."""
    called_at: int | None = None
    """When a detector of many traces looks at this one again."""

    def __post_init__(self) -> None:
        self.candidates = {name: Candidates() for name in self.machine.bound.filters}

    def begin(self, start: int) -> None:
        """From now on it is known when the trace starts, and silences are waited for."""
        for silence in self.machine.timers.silences:
            self.silent_since[silence] = start
            self._wait(silence, start)

    @property
    def has_begun(self) -> bool:
        return bool(self.silent_since) or not self.machine.timers.silences

    def add(self, operand: str, seen: Seen) -> None:
        """An event that the operand can be bound to."""
        self.waiting.append((operand, seen))

    def advance(self, upto: int) -> Iterator[Report]:
        """What closes up to and including a time, which is complete now."""
        come = self._come(upto)
        at = 0
        while at < len(come) or (self.due and self.due[0][0][0] <= upto):
            now = min(point for point in self._next_points(come, at))
            happened: set[Cause] = set()
            while at < len(come) and come[at][1].point == now:
                operand, seen = come[at]
                self.candidates[operand].add(seen)
                happened.add(operand)
                at += 1
            yield from self._look(now, happened)
        if upto < AFTER_ALL:
            self._expire(upto, self.candidates)

    def finish(self, last: int) -> Iterator[Report]:
        """What closes after the last event of all, when nothing more happens."""
        self.last = last
        return self.advance(AFTER_ALL)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is kept that a new trace would not have."""
        if self.waiting or self.due or self.silent_since:
            return False
        counts = self.machine.counts
        return all(not own.seen and not (counts and own.dropped) for own in self.candidates.values())

    @property
    def next_time(self) -> int | None:
        """When there is something to do: an event's time is complete, an absence is due, or an event is too old."""
        times = [seen.time for _, seen in self.waiting]
        if self.due:
            times.append(self.due[0][0][0])
        for name, own in self.candidates.items():
            horizon = self.machine.horizons[name]
            if own.points and horizon is not None:
                times.append(own.points[0][0] + horizon + 1)
        return min(times, default=None)

    def _next_points(self, come: list[tuple[str, Seen]], at: int) -> Iterator[Point]:
        if at < len(come):
            yield come[at][1].point
        if self.due:
            yield self.due[0][0]

    def _come(self, upto: int) -> list[tuple[str, Seen]]:
        """The events whose time has come, in their order and without repeats."""
        come = [item for item in self.waiting if item[1].time <= upto]
        self.waiting = [item for item in self.waiting if item[1].time > upto]
        come.sort(key=lambda item: item[1].order)
        found: dict[tuple[str, int, tuple[str, str]], Seen] = {}
        for operand, seen in come:
            known = found.setdefault((operand, seen.time, seen.event.identity), seen)
            if known is not seen and known.order == seen.order and self._is_before(operand, seen, known):
                found[operand, seen.time, seen.event.identity] = seen
        return [(operand, seen) for (operand, _, _), seen in found.items()]

    def _is_before(self, operand: str, one: Seen, other: Seen) -> bool:
        bound = self.machine.bound
        return compared_text(bound, operand, one.event) < compared_text(bound, operand, other.event)

    def _look(self, now: Point, happened: set[Cause]) -> Iterator[Report]:
        """What closes now by what happened: operands that got events, and absences that are due."""
        come = [cause for cause in happened if isinstance(cause, str)]
        self._limit(come)
        for operand in come:
            self._set_off(operand, now)
        while self.due and self.due[0][0] == now:
            absence = self.machine.absences[heappop(self.due)[1]]
            if absence not in happened:
                happened.add(absence)
                self._set_off(absence, now)
                if isinstance(absence, Silence) and self._is_silent(absence, now):
                    self._wait(absence, now[0])
        if happened & self.machine.timers.closing:
            yield from self._close(now)
        self._expire(now[0], [name for name in come if len(self.candidates[name].seen) > _SWEEP])

    def _limit(self, come: list[str]) -> None:
        limit = self.machine.bound.parameters.limit
        if limit is not None:
            for operand in come:
                if operand not in self.machine.unlimited:
                    self.candidates[operand].limit(limit)

    def _set_off(self, cause: Cause, now: Point) -> None:
        for absence in self.machine.timers.set_off.get(cause, ()):
            self._wait(absence, now[0])

    def _wait(self, absence: Sequence | Silence, since: int) -> None:
        if isinstance(absence, Silence) and self.last is not None and since > self.last:
            return
        assert absence.within is not None, "an absence has a time frame"
        point = (since + absence.within, end_tie(self.machine.bound.parameters))
        heappush(self.due, (point, self.machine.absences.index(absence)))

    def _is_silent(self, silence: Silence, now: Point) -> bool:
        return next(self._search(now).find(silence, EARLIEST, now, now), None) is not None

    def _search(self, now: Point) -> Search:
        return Search(self.machine.bound, self.candidates, self.silent_since, now, self.last)

    def _close(self, now: Point) -> Iterator[Report]:
        bound, parameters = self.machine.bound, self.machine.bound.parameters
        reported: dict[str, Report] = {}
        while True:
            chosen = choose(self._search(now).closing(), bound.choice_order, parameters)
            for report in reports_of(chosen, bound.name, parameters):
                reported.setdefault(report.id, report)
            if not self._consume(chosen) or parameters.consume is not Consume.REAPPLY:
                break
        yield from reported.values()

    def _consume(self, chosen: list[Occurrence]) -> bool:
        """Remove what the reports consume; whether events took part."""
        consume = self.machine.bound.parameters.consume
        took_part = {seen.order for one in chosen for seen in one.bound.values()}
        if chosen and consume is Consume.DELETE:
            for name in self.machine.consumed:
                self.candidates[name].clear()
        elif took_part and consume is Consume.REAPPLY:
            for name in self.machine.consumed:
                self.candidates[name].remove(took_part)
        return bool(took_part)

    def _expire(self, now: int, names: Iterable[str]) -> None:
        """Drop the events of operands that can no longer contribute."""
        if any(self.machine.horizons[name] is not None for name in names):
            for silence in self.silent_since:
                self._move_anchor(silence, now)
        for name in names:
            horizon = self.machine.horizons[name]
            if horizon is not None:
                self.candidates[name].expire(now - horizon)

    def _move_anchor(self, silence: Silence, now: int) -> None:
        """Remember a later time at which a silence began, before the events are dropped from which that follows."""
        horizon = self.machine.horizons[silence]
        if horizon is None:
            return
        by = now - horizon
        ends = [one.end[0] for one in self._search((now, 0)).find(silence.pattern, EARLIEST, EARLIEST, (by, 0))]
        anchor = max([self.silent_since[silence], *ends])
        self.silent_since[silence] = anchor + max(0, (by - anchor) // silence.within) * silence.within


def compared_text(bound: BoundPattern, operand: str, event: Happening) -> bytes:
    """What the profile compares of an event with others, as JSON: the order of repeats."""
    return msgspec.json.encode([canonical(event.get(path)) for path in sorted(bound.compared[operand])])
