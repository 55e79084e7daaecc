"""One attribute of very many filters: its distinct sets as intervals on one line, compared all at once.

Only sets that take an automaton are tested one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from comity.filter.index.line import NUMBER_CLASSES, End, Line, line_ends
from comity.filter.sets.automaton import TooLarge
from comity.filter.sets.values import ValueSet

Mask = NDArray[np.bool_]
Slots = NDArray[np.int64]
"""Filters by their place in the index."""
Spans = list[tuple[int, int]]
"""Intervals by the numbers of their ends."""

_EXACT_TESTS_KEPT = 1 << 16

HAS_OTHER, HAS_MORE = 1, 2
"""What the table tells of each set: whether a struct is in it, and whether anything else is."""


class Growing:
    """An array that grows at its end, in constant time on average.

    >>> slots = Growing(np.int32)
    >>> slots.append(7)
    >>> slots.view
    array([7], dtype=int32)
    """

    __slots__ = ("_data", "size")

    def __init__(self, dtype: DTypeLike, size: int = 0) -> None:
        """Begins with so many zeros."""
        self._data: NDArray[Any] = np.zeros(max(size, 16), dtype)
        self.size = size

    def append(self, value: Any) -> None:
        if self.size == len(self._data):
            self._data = np.concatenate([self._data, np.empty_like(self._data)])
        self._data[self.size] = value
        self.size += 1

    def extend(self, size: int) -> None:
        """Make it at least so long, by zeros."""
        if size > len(self._data):
            self._data = np.concatenate(
                [self._data, np.zeros(max(size, 2 * self.size) - len(self._data), self._data.dtype)]
            )
        self._data[self.size : size] = 0
        self.size = max(self.size, size)

    @property
    def view(self) -> NDArray[Any]:
        """What it holds; writing there changes it."""
        return self._data[: self.size]


class SetTable:
    """Every distinct set of an index, by number. Number 0 stands for no constraint."""

    def __init__(self) -> None:
        self.sets: list[ValueSet] = []
        self.column = Growing(np.int32)
        """The column that the set is of; the first one has the number 1."""
        self.low, self.high = Growing(np.int64), Growing(np.int64)
        """The ends of the smallest interval around the set, on the line of its column."""
        self.many, self.irregular = Growing(np.bool_), Growing(np.bool_)
        """Whether it takes more than one interval, and whether its strings take an automaton."""
        self.first, self.count = Growing(np.int64), Growing(np.int64)
        """Where its intervals begin in the next two, and how many they are."""
        self.interval_low, self.interval_high = Growing(np.int64), Growing(np.int64)
        self.holds = Growing(np.uint8)
        self.any_irregular = False
        self.add(ValueSet.none(), 0, [(0, 0)])

    def add(self, values: ValueSet, column: int, spans: Spans) -> int:
        """The number of a new set."""
        irregular = not values.strings.is_interval_union
        self.sets.append(values)
        self.column.append(column)
        self.low.append(spans[0][0])
        self.high.append(spans[-1][1])
        self.many.append(irregular or len(spans) > 1)
        self.irregular.append(irregular)
        self.any_irregular |= irregular
        self.first.append(self.interval_low.size)
        self.count.append(len(spans))
        for low, high in spans:
            self.interval_low.append(low)
            self.interval_high.append(high)
        more = values.missing or bool(values.bools) or not values.strings.is_empty
        more = more or any(getattr(values, name).cuts for _, name in NUMBER_CLASSES)
        self.holds.append(HAS_OTHER * values.other | HAS_MORE * more)
        return len(self.sets) - 1

    def intervals(self, known: NDArray[np.signedinteger[Any]]) -> tuple[Slots, Slots]:
        """Where the intervals of these sets are, one set after the other, and where each set begins among them."""
        count = self.count.view[known]
        ends = np.cumsum(count)
        starts = ends - count
        return np.repeat(self.first.view[known] - starts, count) + np.arange(len(count) and ends[-1]), starts

    def renumber(self, known: Slots, old: Slots, new: Slots) -> None:
        """Give new numbers to the ends of these sets."""
        at, _ = self.intervals(known)
        for numbers, places in (
            (self.low, known),
            (self.high, known),
            (self.interval_low, at),
            (self.interval_high, at),
        ):
            numbers.view[places] = new[np.searchsorted(old, numbers.view[places])]


class SetPostings:
    """Filters, with the smallest interval around the set that each of them has, and all attributes that it constrains.

    The attributes are bits, see `signature`.
    """

    def __init__(self) -> None:
        self.slots, self.low, self.high = Growing(np.int64), Growing(np.int64), Growing(np.int64)
        self.attributes = Growing(np.int64)

    def append(self, slot: int, low: int, high: int, attributes: int) -> None:
        self.slots.append(slot)
        self.low.append(low)
        self.high.append(high)
        self.attributes.append(attributes)

    def around(self, low: int, high: int, attributes: int) -> Slots:
        """The filters whose interval covers this one, with no other attributes than these."""
        at = np.flatnonzero(self.attributes.view & ~attributes == 0)
        found: Slots = self.slots.view[at[(self.low.view.take(at) <= low) & (self.high.view.take(at) >= high)]]
        return found

    def within(self, low: int, high: int, attributes: int) -> Slots:
        """The filters whose interval this one covers, with all of these attributes."""
        at = np.flatnonzero(self.attributes.view & attributes == attributes)
        found: Slots = self.slots.view[at[(self.low.view.take(at) >= low) & (self.high.view.take(at) <= high)]]
        return found

    def meeting(self, spans: Spans) -> Mask:
        """At which places the interval has something in common with the spans."""
        (low, high), *others = spans
        found: Mask = self.low.view < high
        found &= self.high.view > low
        for low, high in others:
            found |= (self.low.view < high) & (self.high.view > low)
        return found


def signature(columns: Iterable[int]) -> int:
    """A bit for each column; beyond 63 of them, columns share bits."""
    return reduce(or_, (1 << (column % 63) for column in columns), 0)


@dataclass(frozen=True, slots=True)
class AskedSpans:
    """What a query wants to know of one column: its values as spans on the line of the column.

    `certain` leaves out strings that are no intervals, `possible` has all strings in their place.
    """

    values: ValueSet
    certain: Spans
    possible: Spans

    @property
    def irregular(self) -> bool:
        return not self.values.strings.is_interval_union


class FilterColumn:
    """The filters that constrain one attribute."""

    def __init__(self, universe: ValueSet, number: int, table: SetTable) -> None:
        self.number = number
        self.posted, self.homes = SetPostings(), SetPostings()
        """All of the filters, and those of which this is the rarest attribute."""
        self.irregular = Growing(np.int64)
        """The filters of which the set takes an automaton."""
        self._universe, self._table, self._line = universe, table, Line()
        self._known: dict[ValueSet, int] = {}
        self._ids, self._posted_ids = Growing(np.int64), Growing(np.int64)
        """The sets of the column, and that of each filter."""
        self._many: list[int] = []
        """The sets of more than one interval; below, their intervals, and the postings of filters that have them."""
        self._at_many: dict[int, int] = {}
        self._irregular_many: list[int] = []
        self._interval_low, self._interval_high = Growing(np.int64), Growing(np.int64)
        self._interval_many = Growing(np.int64)
        self._many_slots, self._many_posted = Growing(np.int64), Growing(np.int64)

    def intern(self, values: ValueSet) -> int:
        """The number of the set in the table."""
        known = self._known.get(values)
        if known is None:
            ends = line_ends(values, self._universe, all_strings=True)
            for end in ends:
                self._make_place(end)
            spans = self._spans(ends)
            known = self._known[values] = self._table.add(values, self.number, spans)
            self._ids.append(known)
            if self._table.many.view[known]:
                self._take_apart(known, spans)
        return known

    def post(self, slot: int, known: int, attributes: int, home: bool) -> None:
        """Note that a filter has this set, and these attributes."""
        low, high = self._table.low.view[known], self._table.high.view[known]
        many = self._at_many.get(known)
        if many is not None:
            self._many_slots.append(slot)
            self._many_posted.append(many)
        if self._table.irregular.view[known]:
            self.irregular.append(slot)
        self._posted_ids.append(known)
        self.posted.append(slot, low, high, attributes)
        if home:
            self.homes.append(slot, low, high, attributes)

    def asked(self, values: ValueSet) -> AskedSpans:
        """A set of values that filters are to be compared with."""
        certain = self._spans(line_ends(values, self._universe))
        if values.strings.is_interval_union:
            return AskedSpans(values, certain, certain)
        return AskedSpans(values, certain, self._spans(line_ends(values, self._universe, all_strings=True)))

    def keep_meeting(self, asked: AskedSpans, among: Mask) -> None:
        """Leave out those of the filters whose sets have nothing in common with the values."""
        near = self.posted.meeting(asked.possible)
        if asked.irregular:
            self._test_near(near, asked.values)
        # Reading and writing all places takes half the time of picking those to write.
        among[self.posted.slots.view] &= near
        if self._many and not asked.irregular:
            among[self._many_slots.view] &= self._many_meeting(asked).take(self._many_posted.view)

    def _test_near(self, near: Mask, values: ValueSet) -> None:
        """Leave only filters whose sets do overlap the values, which are no intervals: each set is tested."""
        at = np.flatnonzero(near)
        known, which = np.unique(self._posted_ids.view[at], return_inverse=True)
        near[at] = np.array([overlaps(self._table.sets[one], values) for one in known.tolist()], np.bool_)[which]

    def _many_meeting(self, asked: AskedSpans) -> Mask:
        """Which of the sets of many intervals have something in common with the values."""
        found = np.zeros(len(self._many), np.bool_)
        for low, high in asked.certain:
            common = self._interval_low.view < high
            common &= self._interval_high.view > low
            found[self._interval_many.view.take(np.flatnonzero(common))] = True
        for at in self._irregular_many:
            found[at] = found[at] and overlaps(self._table.sets[self._many[at]], asked.values)
        return found

    def _take_apart(self, known: int, spans: Spans) -> None:
        at = self._at_many[known] = len(self._many)
        self._many.append(known)
        if self._table.irregular.view[known]:
            self._irregular_many.append(at)
        for low, high in spans:
            self._interval_low.append(low)
            self._interval_high.append(high)
            self._interval_many.append(at)

    def _make_place(self, end: End) -> None:
        """Put the end on the line; where there is no room, everything moves."""
        if self._line.number(end) is not None:
            return
        old, new = self._line.spread()
        posted, homes = self.posted, self.homes
        for numbers in (self._interval_low, self._interval_high, posted.low, posted.high, homes.low, homes.high):
            numbers.view[:] = new[np.searchsorted(old, numbers.view)]
        self._table.renumber(self._ids.view, old, new)
        self._line.number(end)

    def _spans(self, ends: list[End]) -> Spans:
        places = [self._line.place(end) for end in ends]
        return list(zip(places[::2], places[1::2], strict=True))


def covers(outer: ValueSet, inner: ValueSet) -> bool:
    """Whether one set covers the other for certain."""
    if outer.strings.is_interval_union and inner.strings.is_interval_union:
        return outer.covers(inner)
    return _covers(outer, inner)


def overlaps(left: ValueSet, right: ValueSet) -> bool:
    """Whether two sets may have something in common."""
    if left.strings.is_interval_union and right.strings.is_interval_union:
        return left.overlaps(right)
    return _overlaps(left, right)


@lru_cache(maxsize=_EXACT_TESTS_KEPT)
def _covers(outer: ValueSet, inner: ValueSet) -> bool:
    try:
        return outer.covers(inner)
    except TooLarge:
        return False


@lru_cache(maxsize=_EXACT_TESTS_KEPT)
def _overlaps(left: ValueSet, right: ValueSet) -> bool:
    try:
        return left.overlaps(right)
    except TooLarge:
        return True
