"""Occurrences that failed by one thing alone: the time frame, a condition, a `not`, or an earlier report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from comity.expression.clauses import explain_clause
from comity.expression.tree import TRUE
from comity.pattern.bound import BoundPattern, Join
from comity.pattern.parameters import Consume
from comity.pattern.reference.occurrences import (
    ReferenceBindings,
    ReferenceOccurrence,
    World,
    arranged,
    in_the_way,
    occurrences,
)
from comity.pattern.reference.reports import Round
from comity.pattern.text.durations import render_duration
from comity.pattern.tracing.absences import bound_walk, identity
from comity.pattern.tracing.verdicts import clause_text
from comity.pattern.tree import Absent, Both, Either, Operand, Pattern, Selection, Sequence, Silence, Together, operands

_NO_BOUND = 2**62


class Miss(StrEnum):
    """By what an occurrence failed."""

    FRAME = "frame"
    CONDITION = "condition"
    NOT = "not"
    CONSUMED = "consumed"


@dataclass(frozen=True, slots=True)
class NearMiss:
    """The nearest occurrence that would have closed at a point of time but for one thing."""

    kind: Miss
    occurrence: ReferenceOccurrence
    text: str
    frame: tuple[int, int] | None = None
    """From when to when the time frame that was missed would have been."""
    in_the_way: ReferenceOccurrence | None = None
    """What a `not` forbids."""
    others: int = 0
    """How many more failed by the same thing at the same point."""


@dataclass(frozen=True, slots=True)
class _Variant:
    """A pattern that asks for one thing less."""

    kind: Miss
    bound: BoundPattern
    part: Pattern
    """The part that asks for less here."""
    relaxed: Pattern
    join: Join | None = None


def variants(bound: BoundPattern) -> tuple[_Variant, ...]:
    """The pattern in every way that asks for one thing less."""
    return tuple(_variants(bound))


def near_misses(round: Round, ways: Iterable[_Variant]) -> list[NearMiss]:
    """What would have closed in the first round at a point of time, one for each thing that was missed."""
    closing = {identity(one) for one in round.closing}
    found = []
    if round.world.bound.parameters.consume is not Consume.KEEP:
        bound = round.world.bound
        found.append((_Variant(Miss.CONSUMED, bound, bound.pattern, bound.pattern), round.world.as_it_occurred))
    found += ((way, replace(round.world, bound=way.bound)) for way in ways)
    return [miss for way, world in found if (miss := _nearest(way, world, closing)) is not None]


def _nearest(way: _Variant, world: World, closing: set[object]) -> NearMiss | None:
    missed = {identity(one): one for one in occurrences(way.bound.pattern, world) if one.end == world.now}
    found = [one for key, one in missed.items() if key not in closing]
    for one in sorted(found, key=lambda one: (one.start, one.order), reverse=True):
        miss = _explained(way, world, one)
        if miss is not None:
            return replace(miss, others=len(found) - 1)
    return None


def _explained(way: _Variant, world: World, one: ReferenceOccurrence) -> NearMiss | None:
    """The miss with its reason; None if positions alone changed, and the occurrence fulfils everything by itself."""
    match way.kind:
        case Miss.FRAME:
            return _out_of_frame(way.part, one)
        case Miss.CONDITION:
            assert way.join is not None
            clause = explain_clause(way.join.condition, ReferenceBindings(one.bound))
            return None if clause.holds else NearMiss(way.kind, one, clause_text(clause))
        case Miss.NOT:
            blocking = _blocking(way, world, one)
            return None if blocking is None else NearMiss(way.kind, one, "", in_the_way=blocking)
        case Miss.CONSUMED:
            return NearMiss(way.kind, one, "")


def _out_of_frame(part: Pattern, one: ReferenceOccurrence) -> NearMiss | None:
    names = {operand.name for operand in operands(part)}
    times = [seen.time for name, seen in one.bound.items() if name in names]
    frame, word = (part.tolerance, "tolerance") if isinstance(part, Together) else (_within(part), "time frame")
    begin = min(times, default=0)
    span = max(times, default=0) - begin
    if span <= frame:
        return None
    text = f"it takes {render_duration(span)}, the {word} is {render_duration(frame)}"
    return NearMiss(Miss.FRAME, one, text, (begin, begin + frame))


def _within(part: Pattern) -> int:
    assert isinstance(part, Both | Sequence)
    assert part.within is not None
    return part.within


def _blocking(way: _Variant, world: World, one: ReferenceOccurrence) -> ReferenceOccurrence | None:
    """The first occurrence by which the `not` did not hold."""
    assert isinstance(way.part, Sequence)
    assert isinstance(way.relaxed, Sequence)
    for chosen, whole in arranged(way.relaxed, world):
        if all(one.bound.get(name) == seen for name, seen in whole.bound.items()):
            found = in_the_way(way.part, world, chosen, whole)
            return min(found, key=lambda n: n.order, default=None)
    return None


def _variants(bound: BoundPattern) -> Iterator[_Variant]:
    positive = tuple(bound_walk(bound.pattern))
    for part in positive:
        for kind, relaxed in _relaxed(part):
            yield _Variant(kind, _with(bound, part, relaxed), part, relaxed)
    for part in positive:
        joins = bound.joins.get(part, ())
        for join in (one for one in joins if one.condition != TRUE):
            others = tuple(one for one in joins if one is not join)
            yield _Variant(Miss.CONDITION, replace(bound, joins={**bound.joins, part: others}), part, part, join)


def _relaxed(part: Pattern) -> Iterator[tuple[Miss, Pattern]]:
    match part:
        case Both(_, within) if within is not None:
            yield Miss.FRAME, replace(part, within=None)
        case Together():
            yield Miss.FRAME, replace(part, tolerance=_NO_BOUND)
        case Sequence(steps, within):
            *_, after = part.gaps
            if within is not None and not after and len(part.present) > 1:
                yield Miss.FRAME, replace(part, within=_NO_BOUND)
            if any(part.gaps[:-1]):
                kept = tuple(step for at, step in enumerate(steps) if not isinstance(step, Absent) or _ends(steps, at))
                yield Miss.NOT, replace(part, steps=kept)


def _ends(steps: tuple[Pattern | Absent, ...], at: int) -> bool:
    """Whether only `not`s follow."""
    return all(isinstance(step, Absent) for step in steps[at:])


def _with(bound: BoundPattern, part: Pattern, relaxed: Pattern) -> BoundPattern:
    """The pattern with another part in the place of one, and every condition where it stood."""
    put: dict[Pattern, Pattern] = {}
    pattern = _replaced(bound.pattern, part, relaxed, put)
    joins: Mapping[Pattern, tuple[Join, ...]] = {put.get(at, at): own for at, own in bound.joins.items()}
    against = {put.get(at, at): own for at, own in bound.against.items()}
    return replace(bound, pattern=pattern, joins=joins, against=against)


def _replaced(pattern: Pattern, part: Pattern, relaxed: Pattern, put: dict[Pattern, Pattern]) -> Pattern:
    put[pattern] = relaxed if pattern == part else _rebuilt(pattern, part, relaxed, put)
    return put[pattern]


def _rebuilt(pattern: Pattern, part: Pattern, relaxed: Pattern, put: dict[Pattern, Pattern]) -> Pattern:
    match pattern:
        case Either(parts) | Both(parts) | Together(parts):
            return replace(pattern, parts=tuple(_replaced(one, part, relaxed, put) for one in parts))
        case Sequence(steps):
            return replace(pattern, steps=tuple(_replaced_step(step, part, relaxed, put) for step in steps))
        case Silence(inner) | Selection(inner):
            return replace(pattern, pattern=_replaced(inner, part, relaxed, put))
        case Operand():
            return pattern


def _replaced_step(
    step: Pattern | Absent, part: Pattern, relaxed: Pattern, put: dict[Pattern, Pattern]
) -> Pattern | Absent:
    if isinstance(step, Absent):
        return Absent(_replaced(step.pattern, part, relaxed, put))
    return _replaced(step, part, relaxed, put)
