"""What an index needs to know of a filter: a box around it, and how well that box fits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from comity.expression.tree import And, Expression
from comity.filter.conjunctive import Box, as_box, boxes
from comity.filter.formula import All, Formula, Member, formula
from comity.filter.open_kinds import Path
from comity.filter.relations import satisfiable_in as satisfiable_in
from comity.filter.search import narrow_attribute
from comity.filter.sets.automaton import TooLarge
from comity.filter.sets.values import ValueSet
from comity.filter.space import Space
from comity.limits import limited

_STRUCT, _MISSING = ValueSet(other=True), ValueSet.only_missing()
_MOST_STEPS = 200
"""Steps that the cutting of a filter into boxes may take; most filters are one box, and many boxes are no help."""

_MOST_SAID = 1 << 16
"""Constraints of which it is remembered what they say."""


class Fit(IntEnum):
    """How a filter fills its box."""

    EXACT = 0
    """The box is the filter."""
    TIGHT = 1
    """The box is the smallest one around the filter."""
    LOOSE = 2
    """The filter is somewhere in the box."""
    EMPTY = 3
    """There is no box: no record matches."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A filter over one space. `parts` are boxes whose union it is, unless it is loose."""

    fit: Fit
    box: Box
    parts: tuple[Box, ...] = ()


_EMPTY = Shape(Fit.EMPTY, {})


def shape_of(tree: Expression, space: Space) -> Shape:
    """The shape of a filter among the records of the space."""
    try:
        return _shape(tree, formula(tree, space), space)
    except TooLarge:
        return Shape(Fit.LOOSE, {})


class ShapeReader:
    """Gives the shapes of filters among the records of one space; what single constraints say is remembered.

    Most filters are a few constraints on attributes, and many have some of them in common.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._said: dict[Expression, Member | None] = {}

    def read(self, tree: Expression) -> Shape:
        """The shape of a filter, as `shape_of` gives it."""
        box = self._plain_box(tree.items if isinstance(tree, And) else (tree,))
        return shape_of(tree, self._space) if box is None else _exact(box)

    def _plain_box(self, constraints: tuple[Expression, ...]) -> Box | None:
        """The box of constraints on single attributes that stand in no other ones; None if it takes more than that."""
        box: dict[Path, ValueSet] = {}
        for constraint in constraints:
            member = self._member(constraint)
            if member is None or member.path in box:
                return None
            box[member.path] = member.values
        return box

    def _member(self, constraint: Expression) -> Member | None:
        try:
            return self._said[constraint]
        except KeyError:
            if len(self._said) >= _MOST_SAID:
                del self._said[next(iter(self._said))]
            said = self._said[constraint] = self._read(constraint)
            return said

    def _read(self, constraint: Expression) -> Member | None:
        try:
            found = formula(constraint, self._space)
        except TooLarge:
            return None
        return found if isinstance(found, Member) and not is_nested(found.path) else None


def effective(box: Box, path: Path, space: Space) -> ValueSet:
    """What an attribute can hold in the box, also by what the box says of the attributes that it stands in."""
    own = box.get(path) or space.universe(path)
    if not is_nested(path):
        return own
    around = effective(box, path[:-1], space)
    if not around.other:
        return own.intersect(_MISSING)
    return own.difference(_MISSING) if around == _STRUCT and space.requires(path) else own


def is_nested(path: Path) -> bool:
    """Whether the attribute stands inside another one."""
    return len(path) > 1 and path[0] != "event"


def _shape(tree: Expression, wanted: Formula, space: Space) -> Shape:
    if wanted is False:
        return _EMPTY
    if wanted is True or all(isinstance(item, Member) for item in _items(wanted)):
        box = as_box(wanted, space)
        return _EMPTY if box is None else _exact(_closed(box, space))
    with limited(max_search_steps=_MOST_STEPS):
        parts = boxes(wanted, space)
    if parts is None:
        return _loose(tree, wanted, space)
    closed = tuple(_closed(part, space) for part in parts)
    if len(closed) < 2:
        return _exact(closed[0]) if closed else _EMPTY
    return Shape(Fit.TIGHT, _hull(closed, space), closed)


def _items(wanted: Formula) -> tuple[Formula, ...]:
    return wanted.items if isinstance(wanted, All) else (wanted,)


def _exact(box: Box) -> Shape:
    return Shape(Fit.EXACT, box, (box,))


def _loose(tree: Expression, wanted: Formula, space: Space) -> Shape:
    """The box of what the filter asks of single attributes beside everything else."""
    if satisfiable_in(tree, space).value is False:
        return _EMPTY
    sets: dict[Path, ValueSet] = {}
    for item in _items(wanted):
        if isinstance(item, Member) and not narrow_attribute(sets, item.path, item.values, space):
            return _EMPTY
    return Shape(Fit.LOOSE, _closed(sets, space))


def _closed(box: Box, space: Space) -> Box:
    """The box with each of its sets as small as the others make it."""
    if not any(map(is_nested, box)):
        return box
    return {path: effective(box, path, space) for path in box}


def _hull(parts: tuple[Box, ...], space: Space) -> Box:
    """The smallest box around boxes, also where only some of them name an attribute that the others imply."""
    around: dict[Path, ValueSet] = {}
    for path in dict.fromkeys(path for part in parts for path in part):
        universe = values = space.universe(path)
        values = effective(parts[0], path, space)
        for part in parts[1:]:
            values = values.union(effective(part, path, space))
        if values != universe:
            around[path] = values
    return around
