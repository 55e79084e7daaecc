"""Merging: one filter for two. Perfect where one conjunctive filter matches exactly their union, or within a bound
on unwanted events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from comity.expression.scope import Scope
from comity.expression.tree import Expression, disjunction
from comity.filter.conjunctive import Box, boxes, hull
from comity.filter.describe import CannotDescribe, box_expression
from comity.filter.formula import formula
from comity.filter.relations import covers, identical
from comity.filter.sets.automaton import TooLarge
from comity.filter.sets.numbers import NumberSet
from comity.filter.sets.values import ValueSet
from comity.filter.space import Space, spaces
from comity.filter.statistics import Statistics

Relaxation = Callable[[ValueSet], ValueSet]


@dataclass(frozen=True, slots=True)
class Merger:
    """A filter that covers two others, and the estimated share of what it matches that neither of them wants."""

    tree: Expression
    loss: float

    @property
    def perfect(self) -> bool:
        return self.loss == 0


def merge(left: Expression, right: Expression, scope: Scope) -> Expression:
    """The perfect merger: it matches what either matches; one conjunctive filter where there is one, else their
    disjunction.
    """
    if covers(left, right, scope):
        return left
    if covers(right, left, scope):
        return right
    union = disjunction([left, right])
    for candidate in _candidates(union, scope, relaxations=[_as_is]):
        if identical(candidate, union, scope):  # around the events of one type it may miss those of another
            return candidate
    return union


def merge_within(left: Expression, right: Expression, scope: Scope, *, loss: float, statistics: Statistics) -> Merger:
    """A conjunctive merger of which at most the share `loss` is unwanted, the simplest such one; else the perfect
    merger.
    """
    perfect = merge(left, right, scope)
    union = disjunction([left, right])
    if perfect != union:
        return Merger(perfect, 0.0)
    for candidate in _candidates(union, scope, relaxations=[_interval_hull, _as_is]):
        unwanted = statistics.share_outside(candidate, union)
        if unwanted <= loss and covers(candidate, union, scope):
            return Merger(candidate, unwanted)
    return Merger(union, 0.0)


def _candidates(union: Expression, scope: Scope, relaxations: Sequence[Relaxation]) -> Iterable[Expression]:
    """Conjunctive filters around the union, by relaxation."""
    for space in spaces(scope, [union]):
        around = _around(union, space)
        for relax in relaxations if around is not None else ():
            try:
                yield box_expression({path: relax(values) for path, values in (around or {}).items()}, space)
            except CannotDescribe:
                continue


def _around(union: Expression, space: Space) -> Box | None:
    try:
        parts = boxes(formula(union, space), space)
    except TooLarge:
        return None
    return hull(parts) if parts else None


def _as_is(values: ValueSet) -> ValueSet:
    return values


def _interval_hull(values: ValueSet) -> ValueSet:
    """The set with the gaps between its numbers filled."""
    numbers = values.numbers
    if numbers.is_empty:
        return values
    filled = NumberSet.interval(*numbers.hull(), discrete=numbers.discrete)
    return values.union(ValueSet(numbers=filled))
