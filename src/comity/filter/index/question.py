"""What a box asks of all columns, answered for sets by their number: by ends of intervals, else by exact tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comity.filter.index.columns import HAS_OTHER, AskedSpans, FilterColumn, Mask, SetTable, Slots, covers, signature
from comity.filter.index.line import ROOM
from comity.filter.sets.values import ValueSet

MOST_ASKED = 60
"""Attributes that one question can be about: each has a bit."""

_MOST_TURNS = 32
"""Spans of a query that are compared one after the other with all sets; of more, each set is tested by itself."""

Ids = NDArray[np.signedinteger[Any]]
"""Sets by their number in the table."""


class Question(ABC):
    """The ends of what is asked of each column, by its number; number 0 is for sets that are no constraint."""

    def __init__(self, table: SetTable, columns: int) -> None:
        self._table = table
        self._low, self._high = np.full(columns + 1, -1, np.int64), np.zeros(columns + 1, np.int64)
        self._open = np.zeros(columns + 1, np.bool_)
        """The columns in which ends do not decide, whatever the set."""
        self._irregular = np.zeros(columns + 1, np.bool_)
        self._asked: dict[int, AskedSpans] = {}
        self._attributes = 0

    def _ask(self, column: FilterColumn, asked: AskedSpans, low: int, high: int, is_open: bool) -> None:
        at = column.number
        self._low[at], self._high[at], self._open[at], self._irregular[at] = low, high, is_open, asked.irregular
        self._asked[at] = asked

    def standing(self, cells: Ids) -> Mask:
        """Given the sets of filters, each filter in a column: those without a set that fails the exact test."""
        found = np.ones(cells.shape[1], np.bool_)
        _, filters = at = np.nonzero(self._is_open(cells, self._table.column.view.take(cells)))
        if len(filters):
            found[filters[~self._stand(cells[at])]] = False
        return found

    def _stand(self, known: Ids) -> Mask:
        """Which of the sets stand the exact test: by all their intervals, or where these do not tell, one by one."""
        column = self._table.column.view.take(known)
        turns = max(len(asked.possible) for asked in self._asked.values())
        if turns > _MOST_TURNS:
            found, one_by_one = np.zeros(len(known), np.bool_), np.arange(len(known))
        else:
            found = self._by_intervals(known, list(map(self._turn, range(turns))))
            one_by_one = np.flatnonzero(self._table.irregular.view.take(known) | self._irregular.take(column))
        for at in one_by_one.tolist():
            found[at] = self._test(self._table.sets[known[at]], self._asked[int(column[at])].values)
        return found

    def _turn(self, turn: int) -> tuple[Ids, Ids]:
        """The ends of one span of each column; a column with fewer of them gives its last one again."""
        low, high = np.zeros_like(self._low), np.zeros_like(self._high)
        for at, asked in self._asked.items():
            low[at], high[at] = asked.possible[min(turn, len(asked.possible) - 1)]
        return low, high

    def _intervals(self, known: Ids) -> tuple[Ids, Ids, Ids, Ids]:
        """Of all intervals of the sets: their columns and ends; and where those of each set start."""
        at, starts = self._table.intervals(known)
        column = np.repeat(self._table.column.view.take(known), self._table.count.view.take(known))
        return column, self._table.interval_low.view.take(at), self._table.interval_high.view.take(at), starts

    @abstractmethod
    def _by_intervals(self, known: Ids, turns: list[tuple[Ids, Ids]]) -> Mask:
        """The exact test of sets and values that are intervals."""

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

    def ask(self, column: FilterColumn, values: ValueSet) -> None:
        """Ask for sets around these values."""
        asked = column.asked(values)
        # Of strings that are no intervals the ends are not known: they do not keep any set out.
        low, high = (asked.certain[0][0], asked.certain[-1][1]) if asked.certain else (ROOM, 0)
        self._ask(column, asked, low, high, asked.irregular)
        self._attributes |= signature([column.number])

    def at_home(self, column: FilterColumn) -> Slots:
        """The filters with this as their rarest attribute that have no others than asked, and here what is asked."""
        return column.homes.around(self._low[column.number], self._high[column.number], self._attributes)

    def meets(self, known: Ids) -> Mask:
        """Which sets have what is asked between their ends."""
        column = self._table.column.view.take(known)
        found: Mask = self._table.low.view.take(known) <= self._low.take(column)
        found &= self._table.high.view.take(known) >= self._high.take(column)
        return found

    def _is_open(self, cells: Ids, of_column: Ids) -> Mask:
        found: Mask = self._table.many.view.take(cells) | self._open.take(of_column)
        return found

    def _by_intervals(self, known: Ids, turns: list[tuple[Ids, Ids]]) -> Mask:
        column, low, high, starts = self._intervals(known)
        found = np.ones(len(known), np.bool_)
        for asked_low, asked_high in turns:
            found &= np.logical_or.reduceat((low <= asked_low.take(column)) & (high >= asked_high.take(column)), starts)
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

    def ask(self, column: FilterColumn, values: ValueSet, bit: np.uint64, alone: bool) -> None:
        """Ask for sets within these values; `alone` if no other column can tell of the attribute."""
        asked = column.asked(values)
        self._bits[column.number] = bit
        low, high = asked.possible[0][0], asked.possible[-1][1]
        self._ask(column, asked, low, high, asked.irregular or len(asked.possible) > 1)
        if alone:
            self._attributes |= signature([column.number])

    def posted(self, column: FilterColumn) -> list[Slots]:
        """Filters among which are all whose set in the column is within what is asked, in parts."""
        at = column.number
        if at not in self._asked or self._if_no_struct[at] or self._if_struct[at]:
            return [column.posted.slots.view]
        inside = column.posted.within(self._low[at], self._high[at], self._attributes)
        return [inside, column.irregular.view] if column.irregular.size else [inside]

    def imply(self, column: FilterColumn, bit: np.uint64, if_no_struct: bool, if_struct: bool) -> None:
        """Take sets of a column for an answer about an attribute inside: those without structs, or of structs only."""
        self._implies = True
        if if_no_struct:
            self._if_no_struct[column.number] |= bit
        if if_struct:
            self._if_struct[column.number] |= bit

    def bits(self, known: Ids) -> NDArray[np.uint64]:
        """The bits of each set."""
        column = self._table.column.view.take(known)
        inside = (self._table.low.view.take(known) >= self._low.take(column)) & (
            self._table.high.view.take(known) <= self._high.take(column)
        )
        if self._table.any_irregular:
            inside |= self._table.irregular.view.take(known)
        found: NDArray[np.uint64] = self._bits.take(column) * inside
        if self._implies:
            holds = self._table.holds.view.take(known)
            found |= self._if_no_struct.take(column) * (holds & HAS_OTHER == 0)
            found |= self._if_struct.take(column) * (holds == HAS_OTHER)
        return found

    def _by_intervals(self, known: Ids, turns: list[tuple[Ids, Ids]]) -> Mask:
        column, low, high, starts = self._intervals(known)
        found = np.zeros(len(low), np.bool_)
        for asked_low, asked_high in turns:
            found |= (low >= asked_low.take(column)) & (high <= asked_high.take(column))
        return np.logical_and.reduceat(found, starts)

    def _is_open(self, cells: Ids, of_column: Ids) -> Mask:
        found: Mask = self._open.take(of_column)
        if self._table.any_irregular:
            found = found | (self._table.irregular.view.take(cells) & (self._bits.take(of_column) != 0))
        return found

    def _test(self, known: ValueSet, values: ValueSet) -> bool:
        return covers(values, known)
