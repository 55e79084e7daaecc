"""The index over one space: filters as rows of sets, few of which have to be looked at for a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from comity.expression.tree import Expression, Not, conjunction
from comity.filter.conjunctive import Box
from comity.filter.index.columns import FilterColumn, Growing, Mask, SetTable, Slots, signature
from comity.filter.index.question import MOST_ASKED, Around, Question, Within
from comity.filter.index.shape import Fit, Shape, effective, is_nested
from comity.filter.open_kinds import Path
from comity.filter.relations import satisfiable_in as satisfiable_in
from comity.filter.sets.values import ValueSet
from comity.filter.space import Space

_ROW = 8
"""Constraints of a filter that stand in arrays; further ones are looked at when these are met."""
_MISSING = ValueSet.only_missing()


class SpaceIndex:
    """The filters over one space, at the same slots in each of them."""

    def __init__(self, space: Space, trees: list[Expression]) -> None:
        self.space = space
        self._trees = trees
        self._table = SetTable()
        self._columns: dict[Path, FilterColumn] = {}
        self._paths: list[Path] = []
        self._inside: dict[Path, list[Path]] = {}
        """Per attribute, those that stand in it at any depth and have a column."""
        self._fits = Growing(np.uint8)
        self._rows: list[Growing] = []
        """The sets of each filter. The rarest attribute is the first: few filters get past it."""
        self._more: dict[int, list[int]] = {}
        self._free = Growing(np.int64)
        """The filters that match everything."""
        self._empty = self._not_exact = 0

    def add(self, shape: Shape) -> None:
        """Put a filter at the next slot."""
        slot = self._fits.size
        constraints = self._by_rarity(shape.box)
        row = [column.intern(values) for column, values in constraints]
        attributes = signature(column.number for column, _ in constraints)
        for at, (column, _) in enumerate(constraints):
            column.post(slot, row[at], attributes, home=at == 0)
        if not row and shape.fit is not Fit.EMPTY:
            self._free.append(slot)
        self._fits.append(shape.fit)
        self._empty += shape.fit is Fit.EMPTY
        self._not_exact += shape.fit in (Fit.TIGHT, Fit.LOOSE)
        self._append_row(slot, row)

    def shape_at(self, slot: int) -> Shape:
        """The shape that was put there, without its parts."""
        row = [int(column.view[slot]) for column in self._rows] + self._more.get(slot, [])
        box = {self._path_of(known): self._table.sets[known] for known in row if known}
        return Shape(Fit(int(self._fits.view[slot])), box)

    def _path_of(self, known: int) -> Path:
        return self._paths[int(self._table.column.view[known]) - 1]

    def _append_row(self, slot: int, row: list[int]) -> None:
        while len(self._rows) < min(len(row), _ROW):
            self._rows.append(Growing(np.int32, size=slot))
        for at, column in enumerate(self._rows):
            column.append(row[at] if at < len(row) else 0)
        if len(row) > _ROW:
            self._more[slot] = row[_ROW:]

    def _by_rarity(self, box: Box) -> list[tuple[FilterColumn, ValueSet]]:
        found = [(self._columns.get(path) or self._new_column(path), values) for path, values in box.items()]
        return sorted(found, key=lambda pair: pair[0].posted.slots.size)

    def _new_column(self, path: Path) -> FilterColumn:
        self._paths.append(path)
        column = self._columns[path] = FilterColumn(self.space.universe(path), len(self._paths), self._table)
        for length in range(1, len(path) if is_nested(path) else 0):
            self._inside.setdefault(path[:length], []).append(path)
        return column

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
        empty = np.flatnonzero((self._fits.view == Fit.EMPTY) & alive) if self._empty else np.empty(0, np.int64)
        if shape.fit is Fit.EMPTY:
            return empty
        sure = [self._within(part, alive) for part in shape.parts]
        if not self._empty and not self._not_exact and shape.fit is Fit.EXACT:
            return sure[0]
        sure.append(empty)
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
        found: Mask = among & (self._fits.view != Fit.EMPTY) if self._empty else among.copy()
        for path, values in box.items():
            column = self._columns.get(path)
            if column is not None:
                column.keep_meeting(column.asked(values), found)
        return found

    def _around(self, box: Box, alive: Mask) -> Slots:
        """The filters whose boxes cover this one: all of their constraints are met."""
        question = Around(self._table, len(self._columns))
        columns: list[FilterColumn] = []
        for path in self._named_or_implied(box):
            columns.append(self._columns[path])
            question.ask(columns[-1], effective(box, path, self.space))
        slots = np.concatenate([self._free.view, *map(question.at_home, columns)])
        slots = slots[alive[slots]]
        slots.sort()
        # Most filters fail at their second attribute, so that it pays to look at it before the others.
        for rows in (self._rows[1:2], self._rows[2:]):
            if rows:
                slots = slots[question.meets(_cells(rows, slots)).all(axis=0)]
        for slot in self._long(slots):
            if not question.meets(np.array(self._more[slot])).all():
                slots = slots[slots != slot]
        return self._decided(slots, question)

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
        paths = list(box)
        parts = [paths[start : start + MOST_ASKED] for start in range(0, len(paths), MOST_ASKED)]
        found = [self._within_few({path: box[path] for path in part}, alive) for part in parts]
        return reduce(np.intersect1d, found)

    def _within_few(self, box: Box, alive: Mask) -> Slots:
        question = Within(self._table, len(self._columns))
        asked = [self._ask_within(question, path, values) for path, values in box.items()]
        fewest = min(asked, key=lambda columns: sum(column.posted.slots.size for column in columns))
        found = [part for column in fewest for part in question.posted(column)]
        slots = found[0] if len(found) == 1 else _union(found)
        slots = slots[alive[slots]]
        if not len(slots):
            return slots
        has = np.bitwise_or.reduce(question.bits(_cells(self._rows, slots)))
        for slot in self._long(slots):
            has[np.searchsorted(slots, slot)] |= np.bitwise_or.reduce(question.bits(np.array(self._more[slot])))
        return self._decided(slots[has == question.all_bits], question)

    def _ask_within(self, question: Within, path: Path, values: ValueSet) -> list[FilterColumn]:
        """Ask for an attribute within a set; the columns in which filters say so, its own first."""
        bit = question.new_bit()
        own = self._columns.get(path)
        if own is not None:
            question.ask(own, values, bit, alone=not is_nested(path))
        outer = [path[:length] for length in range(1, len(path))] if is_nested(path) else []
        for around in (around for around in outer if around in self._columns):
            there = self._comes_with(around, path) and values.covers(self.space.universe(path).difference(_MISSING))
            question.imply(self._columns[around], bit, values.missing, there)
        return [self._columns[one] for one in (path, *outer) if one in self._columns]

    def _comes_with(self, around: Path, path: Path) -> bool:
        """Whether the attribute is there whenever the one around it is a struct."""
        return all(self.space.requires(path[:end]) for end in range(len(around) + 1, len(path) + 1))

    def _decided(self, slots: Slots, question: Question) -> Slots:
        """Those of the filters that stand the exact test, where the ends of intervals did not decide."""
        if not len(slots) or not self._rows:
            return slots
        stands = question.standing(_cells(self._rows, slots))
        for slot in self._long(slots):
            stands[np.searchsorted(slots, slot)] &= question.standing(np.array(self._more[slot])[:, np.newaxis])[0]
        return slots[stands]

    def _long(self, slots: Slots) -> list[int]:
        return [slot for slot in slots.tolist() if slot in self._more] if self._more else []

    # Exact answers, for filters that are no boxes

    def _verified(self, slots: Slots, test: Callable[[Expression], bool]) -> Slots:
        return np.array([slot for slot in slots.tolist() if test(self._trees[slot])], np.int64)

    def _covers(self, outer: Expression, inner: Expression) -> bool:
        return satisfiable_in(conjunction([inner, Not(outer)]), self.space).value is False

    def _may_overlap(self, left: Expression, right: Expression) -> bool:
        return satisfiable_in(conjunction([left, right]), self.space).value is not False


def _cells(rows: list[Growing], slots: Slots) -> NDArray[np.int32]:
    """The sets of these filters, each filter in a column."""
    return np.array([row.view.take(slots) for row in rows])


def _union(parts: list[Slots]) -> Slots:
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)
