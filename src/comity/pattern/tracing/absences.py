"""What the `not`s of a pattern waited for, until when, and what ended the wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from comity.pattern.bound import BoundPattern
from comity.pattern.reference.occurrences import (
    ReferenceEvent,
    ReferenceOccurrence,
    World,
    arranged,
    end_of_absence,
    fulfilled,
    in_the_way,
    occurrences,
)
from comity.pattern.reference.reports import Round
from comity.pattern.tree import Pattern, Sequence, Silence, bound_parts, operands, walk


class AbsenceOutcome(StrEnum):
    """How an absence ended."""

    HELD = "held"
    BROKEN = "broken"
    REMOVED = "removed"
    """What it followed was consumed."""
    OPEN = "open"
    """The trace ended first."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A stretch of time in which something had not to occur."""

    absent: tuple[str, ...]
    """The operands in the `not`."""
    begin: int
    end: int
    beside: Mapping[str, ReferenceEvent]
    """The events of the sequence in which the `not` stands."""
    outcome: AbsenceOutcome = AbsenceOutcome.OPEN
    by: ReferenceOccurrence | None = None
    """What occurred nevertheless."""
    at: int | None = None
    """When it was decided."""
    is_trailing: bool = False
    """Whether time had to pass until the end of it; otherwise it lies before an event that came."""

    def breaks(self, one: ReferenceOccurrence) -> Absence:
        """The same, ended by an occurrence."""
        return replace(self, outcome=AbsenceOutcome.BROKEN, by=one, at=one.end[0])


@dataclass(slots=True)
class AbsenceWatch:
    """Follows the absences of one trace from round to round."""

    bound: BoundPattern
    found: list[Absence] = field(default_factory=list)
    _waits: dict[Pattern, dict[object, Absence]] = field(default_factory=dict)
    _silent_since: dict[Pattern, int] = field(default_factory=dict)

    def look(self, round: Round) -> None:
        """Note what the first round at a point of time tells."""
        for part in walk(self.bound.pattern):
            world = round.world if part in self._positive() else replace(round.world, live=round.world.occurred)
            if isinstance(part, Silence):
                self._look_at_silence(part, world)
            elif isinstance(part, Sequence) and any(part.gaps):
                self._look_at_sequence(part, world)

    def close(self, last: int) -> list[Absence]:
        """All of them, when the trace is over, in the order of their beginnings."""
        self.found += (one for known in self._waits.values() for one in known.values())
        for part, since in self._silent_since.items():
            assert isinstance(part, Silence)
            if since < last:
                self.found.append(Absence(_names((part.pattern,)), since, since + part.within, {}, is_trailing=True))
        return sorted(self.found, key=lambda one: (one.begin, one.end, one.absent, _order(one.beside)))

    def _positive(self) -> set[Pattern]:
        return set(bound_walk(self.bound.pattern))

    def _look_at_sequence(self, part: Sequence, world: World) -> None:
        joins = self.bound.joins.get(part, ())
        fitting = [(chosen, whole) for chosen, whole in arranged(part, world) if fulfilled(joins, whole.bound)]
        if part.gaps[-1]:
            self._look_at_waits(part, world, fitting)
        if any(part.gaps[:-1]):
            new = [(chosen, whole) for chosen, whole in fitting if whole.end == world.now]
            self.found += _past_absences(part, world, new)

    def _look_at_waits(
        self,
        part: Sequence,
        world: World,
        fitting: Iterable[tuple[tuple[ReferenceOccurrence, ...], ReferenceOccurrence]],
    ) -> None:
        known = self._waits.setdefault(part, {})
        assert part.within is not None, "an absence at the end has a time frame"
        there = set()
        for chosen, whole in fitting:
            key, end = identity(whole), whole.end[0] + part.within
            there.add(key)
            new = Absence(_names(part.gaps[-1]), whole.end[0], end, whole.bound, is_trailing=True)
            known[key] = _decided(known.get(key, new), part, world, chosen, whole)
        for key, wait in known.items():
            if key not in there and wait.outcome is AbsenceOutcome.OPEN:
                known[key] = replace(wait, outcome=AbsenceOutcome.REMOVED, at=world.now[0])

    def _look_at_silence(self, part: Silence, world: World) -> None:
        since = self._silent_since.setdefault(part, world.start)
        for one in occurrences(part, world):
            if one.end == world.now:
                begin, end = one.start[0], one.end[0]
                self.found.append(
                    Absence(_names((part.pattern,)), begin, end, {}, AbsenceOutcome.HELD, None, end, True)
                )
                since = max(since, end)
        for one in occurrences(part.pattern, world.as_it_occurred):
            if one.end == world.now and one.end[0] > since:
                wait = Absence(_names((part.pattern,)), since, since + part.within, {}, is_trailing=True)
                self.found.append(wait.breaks(one))
                since = one.end[0]
        self._silent_since[part] = since


def _decided(
    wait: Absence, part: Sequence, world: World, chosen: tuple[ReferenceOccurrence, ...], whole: ReferenceOccurrence
) -> Absence:
    if wait.at is not None and wait.at >= wait.end:
        return wait
    after = [n for n in in_the_way(part, world, chosen, whole) if n.end > whole.end]
    if after:
        return wait.breaks(min(after, key=lambda n: n.order))
    if world.now >= end_of_absence(world.bound, wait.end):
        return replace(wait, outcome=AbsenceOutcome.HELD, by=None, at=wait.end)
    return replace(wait, outcome=AbsenceOutcome.OPEN, by=None, at=None)


def _past_absences(
    part: Sequence, world: World, new: Iterable[tuple[tuple[ReferenceOccurrence, ...], ReferenceOccurrence]]
) -> Iterator[Absence]:
    for chosen, whole in new:
        broken = [n for n in in_the_way(part, world, chosen, whole) if n.end < whole.end]
        before, *between, _ = part.gaps
        if before:
            begin = world.start if part.within is None else whole.end[0] - part.within
            yield _past(before, begin, whole.start[0], whole, world.now[0], broken)
        for gap, (a, b) in zip(between, pairwise(chosen), strict=True):
            if gap:
                yield _past(gap, a.end[0], b.start[0], whole, world.now[0], [n for n in broken if n.end > a.end])


def _past(
    gap: tuple[Pattern, ...],
    begin: int,
    end: int,
    whole: ReferenceOccurrence,
    now: int,
    broken: list[ReferenceOccurrence],
) -> Absence:
    names = _names(gap)
    own = [n for n in broken if set(n.bound) <= set(names) and begin <= n.end[0] <= end]
    absence = Absence(names, begin, end, whole.bound, AbsenceOutcome.HELD, None, now)
    return absence.breaks(min(own, key=lambda n: n.order)) if own else absence


def _names(gap: Iterable[Pattern]) -> tuple[str, ...]:
    return tuple(operand.name for part in gap for operand in operands(part))


def identity(one: ReferenceOccurrence) -> object:
    """The same for occurrences that are the same."""
    return one.start, one.end, _order(one.bound)


def bound_walk(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and what is in it, but for what is in a `not`."""
    yield pattern
    for part in bound_parts(pattern):
        yield from bound_walk(part)


def _order(bound: Mapping[str, ReferenceEvent]) -> tuple[tuple[str, object], ...]:
    return tuple(sorted((name, seen.order) for name, seen in bound.items()))
