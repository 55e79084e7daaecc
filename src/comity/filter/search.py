"""Satisfiability by search: narrow each attribute's set, branch on alternatives, stop at the first record that
fits.

Exact for Boolean combinations of constraints on single attributes. It does not know relations between attributes;
for those, and when it takes too many steps, the solver answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from comity.expression.tree import Expression
from comity.filter.formula import All, Any, Formula, Member, Opaque
from comity.filter.sets.values import ValueSet
from comity.filter.space import Path, Space
from comity.limits import limits

_STRUCT = ValueSet(other=True)
_MISSING = ValueSet.only_missing()


class NeedsSolver(Exception):
    """The formula relates attributes to each other, or the search took too many steps."""


@dataclass(slots=True)
class Narrowed:
    """What is known of each attribute on one branch, and which opaque atoms the branch assumes."""

    sets: dict[Path, ValueSet] = field(default_factory=dict)
    assumed: dict[Expression, bool] = field(default_factory=dict)

    def copy(self) -> Narrowed:
        return Narrowed(dict(self.sets), dict(self.assumed))


def search(wanted: Formula, space: Space) -> Narrowed | None:
    """A branch on which the formula holds, preferring one that assumes nothing; None when there is none."""
    with_assumptions: Narrowed | None = None
    stack: list[tuple[Narrowed, list[Formula]]] = [(Narrowed(), [wanted])]
    for _ in range(limits().max_search_steps):
        if not stack:
            return with_assumptions
        branch, pending = stack.pop()
        choices = _narrow(branch, pending, space)
        if choices is None:
            continue
        if choices:
            smallest = min(range(len(choices)), key=lambda at: len(choices[at].items))
            chosen = choices.pop(smallest)
            stack += [(branch.copy(), [item, *choices]) for item in reversed(chosen.items)]
        elif not branch.assumed:
            return branch
        else:
            with_assumptions = with_assumptions or branch
    raise NeedsSolver


def _narrow(branch: Narrowed, pending: list[Formula], space: Space) -> list[Any] | None:
    """Take in all that is certain; the alternatives that remain, or None when the branch is empty."""
    choices: list[Any] = []
    while pending:
        item = pending.pop()
        if isinstance(item, All):
            pending.extend(item.items)
        elif isinstance(item, Any):
            choices.append(item)
        elif item is False or not _take(item, branch, space):
            return None
    return _open_choices(choices, branch, space)


def _take(item: Formula, branch: Narrowed, space: Space) -> bool:
    """Take in one literal; false when it contradicts what is known."""
    if isinstance(item, Member):
        return narrow_attribute(branch.sets, item.path, item.values, space)
    if isinstance(item, Opaque):
        return branch.assumed.setdefault(item.atom, item.positive) is item.positive
    if item is True:
        return True
    raise NeedsSolver


def _open_choices(choices: list[Any], branch: Narrowed, space: Space) -> list[Any] | None:
    """The alternatives that are still open, without their impossible items; a single item left is taken in."""
    still_open: list[Any] = []
    for choice in choices:
        items = [item for item in choice.items if _is_possible(item, branch, space)]
        if not items:
            return None
        if not any(_is_certain(item, branch) for item in items):
            still_open.append(Any(tuple(items)))
    forced = [choice for choice in still_open if len(choice.items) == 1]
    if not forced:
        return still_open
    rest: list[Formula] = [choice for choice in still_open if len(choice.items) > 1]
    return _narrow(branch, rest + [choice.items[0] for choice in forced], space)


def _is_possible(item: Formula, branch: Narrowed, space: Space) -> bool:
    if isinstance(item, Member):
        return branch.sets.get(item.path, space.universe(item.path)).overlaps(item.values)
    if isinstance(item, All):
        return all(_is_possible(part, branch, space) for part in item.items if isinstance(part, Member))
    return item is not False


def _is_certain(item: Formula, branch: Narrowed) -> bool:
    if isinstance(item, Member):
        known = branch.sets.get(item.path)
        return known is not None and item.values.covers(known)
    return item is True


def narrow_attribute(sets: dict[Path, ValueSet], path: Path, values: ValueSet, space: Space) -> bool:
    """Intersect what is known of an attribute, and of those it stands in or that stand in it; false when nothing is
    left.
    """
    known = sets.get(path) or space.universe(path)
    new = known.intersect(values)
    if new.is_empty:
        return False
    sets[path] = new
    if len(path) > 1 and path[0] != "event" and not _narrow_parent(sets, path, new, space):
        return False
    return all(
        _narrow_child(sets, child, new, space)
        for child in list(sets)
        if len(child) == len(path) + 1 and child[: len(path)] == path
    )


def _narrow_parent(sets: dict[Path, ValueSet], path: Path, values: ValueSet, space: Space) -> bool:
    """What stands inside is there only if its surroundings are, and are a struct."""
    parent = path[:-1]
    known = sets.get(parent) or space.universe(parent)
    if not values.missing:
        needed = _STRUCT
    elif values == _MISSING and space.requires(path):
        needed = space.universe(parent).difference(_STRUCT)
    else:
        return narrow_child_if_needed(sets, path, values, known, space)
    return known == needed or narrow_attribute(sets, parent, needed, space)


def narrow_child_if_needed(
    sets: dict[Path, ValueSet], path: Path, values: ValueSet, parent: ValueSet, space: Space
) -> bool:
    """Apply to an attribute what is known of its surroundings."""
    if not parent.other:
        narrowed = values.intersect(_MISSING)
    elif parent == _STRUCT and space.requires(path):
        narrowed = values.difference(_MISSING)
    else:
        return True
    if narrowed.is_empty:
        return False
    if narrowed == values:
        return True
    return narrow_attribute(sets, path, narrowed, space)


def _narrow_child(sets: dict[Path, ValueSet], child: Path, parent: ValueSet, space: Space) -> bool:
    return narrow_child_if_needed(sets, child, sets[child], parent, space)
