"""The index over one space: filters as rows of sets, each set compared once with what a query asks of its attribute."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from comity.expression.tree import Expression, Not, conjunction
from comity.filter.conjunctive import Box
from comity.filter.index_columns import HAS_OTHER, Column, Growing, Mask
from comity.filter.index_shape import Fit, Shape, effective, is_nested
from comity.filter.open_kinds import Path
from comity.filter.relations import _satisfiable_in as satisfiable_in
from comity.filter.sets.values import ValueSet
from comity.filter.space import Space

Slots = NDArray[np.int64]
"""Filters by their place in the index, in rising order."""

Source = tuple[Column, Mask]
"""Some of the sets of a column."""

_ALWAYS, _NEVER = 0, 1
"""Numbers that stand in a row for no constraint and for one that nothing meets; then come those of the sets."""
_ROW = 8
"""Constraints of a filter that stand in arrays; further ones are looked at when these are met."""
_BITS = 8
_MISSING = ValueSet.only_missing()


class SpaceIndex:
    """The filters over one space, at the same slots in each of them."""

    def __init__(self, space: Space, trees: list[Expression]) -> None:
        self.space = space
        self._trees = trees
        self._columns: dict[Path, Column] = {}
        self._inside: dict[Path, list[Path]] = {}
        """Per attribute, those that stand in it at any depth and have a column."""
        self._owners: list[tuple[Path, int] | None] = [None, None]
        """Of each set in the index: its column, and its number there."""
        self._fits = Growing(np.uint8)
        self._rows = [Growing(np.int32) for _ in range(_ROW)]
        """The sets of each filter. The rarest attribute is the first: few filters get past it."""
        self._more: dict[int, list[int]] = {}
        self._not_exact = 0

    def add(self, shape: Shape) -> None:
        """Put a filter at the next slot."""
        slot = self._fits.size
        row = [self._post(slot, path, values) for path, values in self._by_rarity(shape.box)]
        if shape.fit is Fit.EMPTY:
            row = [_NEVER]
        self._fits.append(shape.fit)
        self._not_exact += shape.fit in (Fit.TIGHT, Fit.LOOSE)
        for at, column in enumerate(self._rows):
            column.append(row[at] if at < len(row) else _ALWAYS)
        if len(row) > _ROW:
            self._more[slot] = row[_ROW:]

    def shape_at(self, slot: int) -> Shape:
        """The shape that was put there, without its parts."""
        row = [int(column.view[slot]) for column in self._rows] + self._more.get(slot, [])
        owners = [owner for number in row if (owner := self._owners[number])]
        box = {path: self._columns[path].sets[member] for path, member in owners}
        return Shape(Fit(int(self._fits.view[slot])), box)

    def _by_rarity(self, box: Box) -> list[tuple[Path, ValueSet]]:
        for path in box:
            if path not in self._columns:
                self._columns[path] = Column(self.space.universe(path))
                for length in range(1, len(path) if is_nested(path) else 0):
                    self._inside.setdefault(path[:length], []).append(path)
        return sorted(box.items(), key=lambda item: self._columns[item[0]].slots.size)

    def _post(self, slot: int, path: Path, values: ValueSet) -> int:
        column = self._columns[path]
        member = column.intern(values, lambda: len(self._owners))
        if column.ids.view[member] == len(self._owners):
            self._owners.append((path, member))
        column.post(slot, member)
        return int(column.ids.view[member])

    # Questions

    def covering(self, tree: Expression, shape: Shape, alive: Mask) -> Slots:
        """The filters that cover this one."""
        if shape.fit is Fit.EMPTY:
            return np.flatnonzero(alive)
        if shape.fit is Fit.LOOSE:
            candidates = np.flatnonzero(self._meeting(shape.box, alive))
            return self._verified(candidates, lambda known: self._covers(known, tree))
        found = self._around(shape.box, alive)
        if not self._not_exact:
            return found
        sure = self._fits.view[found] == Fit.EXACT
        more = self._verified(found[~sure], lambda known: self._covers(known, tree))
        return np.union1d(found[sure], more)

    def covered_by(self, tree: Expression, shape: Shape, alive: Mask) -> Slots:
        """The filters that this one covers."""
        empty = np.flatnonzero((self._fits.view == Fit.EMPTY) & alive)
        if shape.fit is Fit.EMPTY:
            return empty
        sure = [empty, *(self._within(part, alive) for part in shape.parts)]
        open_ones: list[Slots] = []
        if shape.fit is not Fit.EXACT:
            open_ones.append(self._within(shape.box, alive))
        if self._not_exact:
            loose = (self._fits.view == Fit.LOOSE) & alive
            open_ones.append(np.flatnonzero(self._meeting(shape.box, loose)))
        found = _union(sure)
        candidates = np.setdiff1d(_union(open_ones), found)
        return np.union1d(found, self._verified(candidates, lambda known: self._covers(tree, known)))

    def overlapping(self, tree: Expression, shape: Shape, alive: Mask) -> Mask:
        """The filters that may overlap this one."""
        if shape.fit is Fit.EMPTY:
            return np.zeros(len(alive), np.bool_)
        if shape.fit is Fit.LOOSE:
            found = np.zeros(len(alive), np.bool_)
            open_ones = self._meeting(shape.box, alive)
        else:
            found = self._meeting(shape.parts[0], alive)
            for part in shape.parts[1:]:
                found |= self._meeting(part, alive)
            if not self._not_exact:
                return found
            open_ones = found & (self._fits.view != Fit.EXACT)
        candidates = np.flatnonzero(open_ones)
        found[candidates] = False
        found[self._verified(candidates, lambda known: self._may_overlap(known, tree))] = True
        return found

    # Screens: comparisons of boxes

    def _meeting(self, box: Box, among: Mask) -> Mask:
        """The filters whose boxes have something in common with this one: no attribute keeps them apart."""
        found: Mask = among & (self._fits.view != Fit.EMPTY)
        for path, values in box.items():
            column = self._columns.get(path)
            if column is not None:
                apart = ~column.overlapping(values)
                found[column.slots.view[apart[column.members.view]]] = False
        return found

    def _around(self, box: Box, alive: Mask) -> Slots:
        """The filters whose boxes cover this one: all of their constraints are met."""
        met = np.zeros(len(self._owners), np.bool_)
        met[_ALWAYS] = True
        for path in self._named_or_implied(box):
            column = self._columns[path]
            met[column.ids.view[column.covering(effective(box, path, self.space))]] = True
        slots: Slots = np.flatnonzero(met[self._rows[0].view] & alive)
        for column_of_row in self._rows[1:]:
            slots = slots[met[column_of_row.view[slots]]]
        fails = [slot for slot in self._long(slots) if not met[self._more[slot]].all()]
        return np.setdiff1d(slots, fails, assume_unique=True) if fails else slots

    def _named_or_implied(self, box: Box) -> Iterator[Path]:
        """The attributes with a column of which the box says something, itself or through what they stand in."""
        yield from (path for path in box if path in self._columns)
        if self._inside:
            inside = {path for outer in box for path in self._inside.get(outer, ())}
            yield from inside.difference(box)

    def _within(self, box: Box, alive: Mask) -> Slots:
        """The filters whose boxes this one covers: each of its attributes is constrained, and within its set."""
        if not box:
            return np.flatnonzero(alive & (self._fits.view != Fit.EMPTY))
        asked = [self._sources(path, values) for path, values in box.items()]
        asked.sort(key=lambda sources: sum(column.slots.size for column, _ in sources))
        slots = _posted(asked[0])
        slots = slots[alive[slots]]
        for start in range(1, len(asked), _BITS):
            slots = self._having(slots, asked[start : start + _BITS])
        return slots

    def _sources(self, path: Path, values: ValueSet) -> list[Source]:
        """Where filters say that the attribute lies within the set: in its column, or in those of what it stands in."""
        column = self._columns.get(path)
        found = [(column, column.within(values))] if column else []
        outer = [path[:length] for length in range(1, len(path))] if is_nested(path) else []
        found += [(self._columns[one], self._implying(one, path, values)) for one in outer if one in self._columns]
        return found

    def _implying(self, outer: Path, path: Path, values: ValueSet) -> Mask:
        """The sets of an outer attribute that put one inside it within these values."""
        holds = self._columns[outer].holds.view
        found = np.zeros(len(holds), np.bool_)
        if values.missing:
            found |= holds & HAS_OTHER == 0
        steps = (path[:length] for length in range(len(outer) + 1, len(path) + 1))
        if all(map(self.space.requires, steps)) and values.covers(self.space.universe(path).difference(_MISSING)):
            found |= holds == HAS_OTHER
        return found

    def _having(self, slots: Slots, asked: list[list[Source]]) -> Slots:
        """Those of the filters that have a set of each of the sources."""
        bits = np.zeros(len(self._owners), np.uint8)
        for at, sources in enumerate(asked):
            for column, mask in sources:
                bits[column.ids.view[mask]] |= np.uint8(1 << at)
        has: NDArray[np.uint8] = bits[self._rows[0].view[slots]]
        for row in self._rows[1:]:
            has |= bits[row.view[slots]]
        for slot in self._long(slots):
            has[np.searchsorted(slots, slot)] |= np.bitwise_or.reduce(bits[self._more[slot]])
        kept: Slots = slots[has == (1 << len(asked)) - 1]
        return kept

    def _long(self, slots: Slots) -> list[int]:
        return [slot for slot in slots.tolist() if slot in self._more] if self._more else []

    # Exact answers, for filters that are no boxes

    def _verified(self, slots: Slots, test: Callable[[Expression], bool]) -> Slots:
        return np.array([slot for slot in slots.tolist() if test(self._trees[slot])], np.int64)

    def _covers(self, outer: Expression, inner: Expression) -> bool:
        return satisfiable_in(conjunction([inner, Not(outer)]), self.space).value is False

    def _may_overlap(self, left: Expression, right: Expression) -> bool:
        return satisfiable_in(conjunction([left, right]), self.space).value is not False


def _posted(sources: list[Source]) -> Slots:
    """The filters that have one of these sets."""
    found: list[Slots] = [column.slots.view[mask[column.members.view]] for column, mask in sources]
    return found[0] if len(found) == 1 else _union(found)


def _union(parts: list[Slots]) -> Slots:
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)
