"""A test of a conditional value becomes one test for each case: `(if c then a else b) > 1` is `c and a > 1 or …`."""

from __future__ import annotations

import math
from functools import lru_cache

from comity.event.types import EventType
from comity.expression.simplify.fold_constants import fold_atom
from comity.expression.simplify.known import each_atom, is_constant, outlives_missing, parts, presence, size
from comity.expression.simplify.order_parts import all_of, any_of, choice, negation
from comity.expression.tree import Call, Compare, Conditional, Expression, Literal, is_truth, rebuild
from comity.limits import limits

_SEEN_FOR_EACH_KEPT = 5
_FEWEST_FOR_A_CASE = 6  # nodes: a condition, a comparison


def push_into_conditionals(node: Expression, type: EventType) -> Expression:
    """The filter with its conditionals and `coalesce` outside of the atoms, where that stays small.

    Conditions are true or false and every atom is false on a missing value, so the cases are exact.
    """
    most = limits().max_simplified_nodes
    return each_atom(node, lambda atom: _pushed(atom, type, most))


@lru_cache(maxsize=8192)
def _pushed(atom: Expression, type: EventType, most: int) -> Expression:
    if _count(atom) * _FEWEST_FOR_A_CASE > most:
        return atom
    try:
        return _cases(atom, type, _Budget(most))
    except _TooLargeError:
        return atom


def _count(node: Expression) -> int:
    """How many cases a node has at the most, so that a hopeless one is not begun."""
    match node:
        case Conditional(_, then, otherwise):
            return _count(then) + _count(otherwise)
        case Call("coalesce", arguments):
            return sum(map(_count, arguments))
        case Compare("=", left, right) if left == right:
            return _count(left)
    return math.prod(map(_count, parts(node)))


class _TooLargeError(Exception):
    """The cases have more nodes than allowed."""


class _Budget:
    """How many nodes the cases may still have, and how many may still be looked at on the way."""

    def __init__(self, nodes: int) -> None:
        self.kept, self.seen = nodes, _SEEN_FOR_EACH_KEPT * nodes

    def spend(self, *, kept: int, seen: int = 0) -> None:
        self.kept -= kept
        self.seen -= seen
        if self.kept < 0 or self.seen < 0:
            raise _TooLargeError


def _cases(atom: Expression, type: EventType, budget: _Budget) -> Expression:
    if is_truth(atom) and isinstance(atom, Literal):
        return atom
    found = _outermost(atom)
    if found is None:
        budget.spend(kept=size(atom))
        return atom
    asked = found.condition if isinstance(found, Conditional) else found.arguments[0]
    budget.spend(kept=2 * size(asked), seen=size(atom))
    if isinstance(found, Conditional):
        then = _with(atom, found, found.then, type, budget)
        return choice(found.condition, then, _with(atom, found, found.otherwise, type, budget))
    first, *rest = found.arguments
    there = _with(atom, found, first, type, budget)
    elsewhere = _with(atom, found, Call("coalesce", tuple(rest)), type, budget)
    return any_of([there, all_of([negation(presence(first, type)), elsewhere])])


def _with(atom: Expression, old: Expression, new: Expression, type: EventType, budget: _Budget) -> Expression:
    folded = fold_atom(_replaced(atom, old, new), type)
    return each_atom(folded, lambda part: _cases(part, type, budget))


def _replaced(node: Expression, old: Expression, new: Expression) -> Expression:
    return new if node == old else rebuild(node, lambda part: _replaced(part, old, new))


def _outermost(node: Expression) -> Conditional | Call | None:
    """The first conditional or `coalesce` under which no other one stands."""
    if isinstance(node, Conditional) or (isinstance(node, Call) and node.function == "coalesce" and node.arguments):
        return None if is_constant(node) else node
    if outlives_missing(node):
        return None
    # A truth as a value is there even when its own parts are missing, so its cases are not those of the atom.
    values = (part for part in parts(node) if isinstance(part, Literal) or not is_truth(part))
    return next((found for part in values if (found := _outermost(part)) is not None), None)
