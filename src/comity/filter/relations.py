"""The relations between filters: satisfiable, identical, overlaps, covers. Exact, with a witness, or honestly
unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from comity.event.event import Event
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import Expression, Not, conjunction
from comity.filter.formula import formula
from comity.filter.search import NeedsSolver, search
from comity.filter.sets.automaton import TooLarge
from comity.filter.solution import Solution
from comity.filter.space import Space, spaces
from comity.filter.witness import witness


@dataclass(frozen=True, slots=True)
class Answer:
    """True, false, or None for unknown; with an event that proves it, where one can."""

    value: bool | None
    witness: Event | None = None

    def __bool__(self) -> bool:
        """Whether the answer is a certain yes: unknown counts as no."""
        return self.value is True

    def negated(self) -> Answer:
        return Answer(None if self.value is None else not self.value, self.witness)


def satisfiable(tree: Expression, scope: Scope, beside: Sequence[Expression] = ()) -> Answer:
    """Whether some event matches; the witness does.

    Without types, an attribute has the kinds that its constraints give it, here and in the filters `beside` this one.
    """
    unknown = False
    for space in spaces(scope, [tree, *beside]):
        found = satisfiable_in(tree, space)
        if found.value:
            return found
        unknown = unknown or found.value is None
    return Answer(None if unknown else False)


def overlaps(left: Expression, right: Expression, scope: Scope) -> Answer:
    """Whether some event matches both; the witness does."""
    return satisfiable(conjunction([left, right]), scope)


def covers(left: Expression, right: Expression, scope: Scope) -> Answer:
    """Whether the left filter matches whatever the right one matches; the witness of a no matches the right one
    only.
    """
    return satisfiable(conjunction([right, Not(left)]), scope).negated()


def identical(left: Expression, right: Expression, scope: Scope) -> Answer:
    """Whether both match the same events; the witness of a no matches one of them only."""
    if left == right:
        return Answer(True)
    one, other = covers(left, right, scope), covers(right, left, scope)
    if one.value and other.value:
        return Answer(True)
    for answer in (one, other):
        if answer.value is False:
            return answer
    return Answer(None)


def satisfiable_in(tree: Expression, space: Space) -> Answer:
    """Whether some record of one space matches."""
    try:
        wanted = formula(tree, space)
        if wanted is False:
            return Answer(False)
        try:
            branch = search(wanted, space)
            found: Solution | bool | None = None if branch is None else Solution(branch)
        except NeedsSolver:
            # The solver takes long to load, and most questions do without it.
            from comity.filter.solver import solve

            found = solve(wanted, space, lambda solution: holds(tree, witness(solution, space)))
    except TooLarge:
        return Answer(None)
    if found is None:
        return Answer(False)
    if isinstance(found, bool):
        return Answer(None)
    return _proven(tree, found, space)


def _proven(tree: Expression, found: Solution, space: Space) -> Answer:
    """The answer with its event. What rests on assumptions counts only if the event bears it out."""
    event = witness(found, space)
    if holds(tree, event):
        return Answer(True, event)
    return Answer(True) if found.is_certain else Answer(None)
