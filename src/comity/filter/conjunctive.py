"""Filters as boxes: one set of values per attribute. A conjunctive filter is a box; any other one has a smallest
box around it.
"""

from __future__ import annotations

from collections.abc import Mapping

from comity.filter.formula import All, Any, Formula, Member
from comity.filter.search import narrow_attribute
from comity.filter.sets.values import ValueSet
from comity.filter.space import Path, Space
from comity.limits import limits

Box = Mapping[Path, ValueSet]
"""The set of each constrained attribute; an attribute that is left out can hold anything."""


def as_box(wanted: Formula, space: Space) -> Box | None:
    """The box that is the filter, empty for `true`; None when the filter is no conjunction of constraints on single
    attributes.

    A contradiction is no box.
    """
    if wanted is True:
        return {}
    items = wanted.items if isinstance(wanted, All) else (wanted,)
    sets: dict[Path, ValueSet] = {}
    for item in items:
        if not isinstance(item, Member) or not narrow_attribute(sets, item.path, item.values, space):
            return None
    return sets


def boxes(wanted: Formula, space: Space) -> list[Box] | None:
    """Boxes whose union is the filter; None when there are too many, or when it relates attributes to each other."""
    found: list[Box] = []
    stack: list[tuple[dict[Path, ValueSet], list[Formula]]] = [({}, [wanted])]
    for _ in range(limits().max_search_steps):
        if not stack:
            return found
        sets, pending = stack.pop()
        if not pending:
            found.append(sets)
            continue
        item, *rest = pending
        match item:
            case bool():
                stack += [(sets, rest)] if item else []
            case All(items):
                stack.append((sets, [*items, *rest]))
            case Any(items):
                stack += [(dict(sets), [part, *rest]) for part in items]
            case Member(path, values):
                stack += [(sets, rest)] if narrow_attribute(sets, path, values, space) else []
            case _:
                return None
    return None


def hull(parts: list[Box]) -> Box:
    """The smallest box around all of them."""
    first, *others = parts
    around = dict(first)
    for box in others:
        around = {path: values.union(box[path]) for path, values in around.items() if path in box}
    return around
