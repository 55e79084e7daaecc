"""What a box asks of all columns, answered for sets by their number: by ends of intervals, else by exact tests."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from comity.filter.index_columns import HAS_OTHER, ROOM, Asked, Column, Mask, SetTable, Slots, covers
from comity.filter.sets.values import ValueSet

MOST_ASKED = 60
"""Attributes that one question can be about: each has a bit."""

Ids = NDArray[np.int64]
"""Sets by their number in the table."""


class Question(ABC):
    """The ends of what is asked of each column, by its number; number 0 is for sets that are no constraint."""

    def __init__(self, table: SetTable, columns: int) -> None:
        self._table = table
        self._low, self._high = np.full(columns + 1, -1, np.int64), np.zeros(columns + 1, np.int64)
        self._open = np.zeros(columns + 1, np.bool_)
        """The columns in which ends do not decide, whatever the set."""
        self._values: dict[int, ValueSet] = {}

    def _ask(self, column: Column, asked: Asked, low: int, high: int, is_open: bool) -> tuple[int, int]:
        at = column.number
        self._low[at], self._high[at], self._open[at] = low, high, is_open
        self._values[at] = asked.values
        return low, high

    def failing(self, cells: Ids) -> Ids:
        """Of sets in rows and filters in columns: the filters with a set that fails the exact test."""
        of_column = self._table.column.view[cells]
        open_cells = self._is_open(cells, of_column)
        if not open_cells.any():
            return np.empty(0, np.int64)
        known, which = np.unique(cells[open_cells], return_inverse=True)
        fails = np.array([not self._holds(one) for one in known.tolist()], np.bool_)
        return np.unique(np.nonzero(open_cells)[1][fails[which]])

    def _holds(self, known: int) -> bool:
        values = self._values[int(self._table.column.view[known])]
        return self._test(self._table.sets[known], values)

    @abstractmethod
    def _is_open(self, cells: Ids, of_column: Ids) -> Mask:
        """Of which sets the ends do not decide."""

    @abstractmethod
    def _test(self, known: ValueSet, values: ValueSet) -> bool:
        """The exact test of a set."""


class Around(Question):
    """Does the set cover what is asked of its column? A column of which nothing is asked is not covered."""

    def __init__(self, table: SetTable, columns: int) -> None:
        super().__init__(table, columns)
        self._low[0] = 0

    def ask(self, column: Column, values: ValueSet) -> tuple[int, int]:
        """Ask for sets around these values; the ends that their intervals must have in between."""
        asked = column.asked(values)
        # Of strings that are no intervals the ends are not known: they do not keep any set out.
        low, high = (asked.certain[0][0], asked.certain[-1][1]) if asked.certain else (ROOM, 0)
        return self._ask(column, asked, low, high, asked.irregular)

    def meets(self, known: Ids) -> Mask:
        """Which sets have what is asked between their ends."""
        column = self._table.column.view[known]
        found: Mask = self._table.low.view[known] <= self._low[column]
        found &= self._table.high.view[known] >= self._high[column]
        return found

    def _is_open(self, cells: Ids, of_column: Ids) -> Mask:
        found: Mask = self._table.many.view[cells] | self._open[of_column]
        return found

    def _test(self, known: ValueSet, values: ValueSet) -> bool:
        return covers(known, values)


class Within(Question):
    """Which of the attributes does the set put within what is asked? Each attribute is a bit."""

    def __init__(self, table: SetTable, columns: int) -> None:
        super().__init__(table, columns)
        self._bits, self._if_no_struct, self._if_struct = np.zeros((3, columns + 1), np.uint64)
        self._implies = False
        self._count = 0

    @property
    def all_bits(self) -> int:
        return (1 << self._count) - 1

    def new_bit(self) -> np.uint64:
        """The bit of one more attribute."""
        self._count += 1
        return np.uint64(1 << (self._count - 1))

    def ask(self, column: Column, values: ValueSet, bit: np.uint64) -> None:
        """Ask for sets within these values."""
        asked = column.asked(values)
        self._bits[column.number] = bit
        low, high = asked.possible[0][0], asked.possible[-1][1]
        self._ask(column, asked, low, high, asked.irregular or len(asked.possible) > 1)

    def posted(self, column: Column) -> list[Slots]:
        """Filters among which are all whose set in the column is within what is asked, in parts."""
        if not self._bits[column.number]:
            return [column.posted.slots.view]
        inside = column.posted.within(self._low[column.number], self._high[column.number])
        return [inside, column.irregular.view] if column.irregular.size else [inside]

    def imply(self, column: Column, bit: np.uint64, if_no_struct: bool, if_struct: bool) -> None:
        """Take sets of a column for an answer about an attribute inside: those without structs, or of structs only."""
        self._implies = True
        if if_no_struct:
            self._if_no_struct[column.number] |= bit
        if if_struct:
            self._if_struct[column.number] |= bit

    def bits(self, known: Ids) -> NDArray[np.uint64]:
        """The bits of each set."""
        column = self._table.column.view[known]
        inside = (self._table.low.view[known] >= self._low[column]) & (
            self._table.high.view[known] <= self._high[column]
        )
        if self._table.any_irregular:
            inside |= self._table.irregular.view[known]
        found: NDArray[np.uint64] = self._bits[column] * inside
        if self._implies:
            holds = self._table.holds.view[known]
            found |= self._if_no_struct[column] * (holds & HAS_OTHER == 0)
            found |= self._if_struct[column] * (holds == HAS_OTHER)
        return found

    def _is_open(self, cells: Ids, of_column: Ids) -> Mask:
        found: Mask = self._open[of_column]
        if self._table.any_irregular:
            found = found | (self._table.irregular.view[cells] & (self._bits[of_column] != 0))
        return found

    def _test(self, known: ValueSet, values: ValueSet) -> bool:
        return covers(values, known)
