"""One attribute of very many filters: its distinct sets as intervals on one line, compared all at once.

All that an attribute can hold lies on one line, class beside class. A set of values is a few intervals of it. Every end
of an interval gets a whole number, in the order of the line, and between any two of these there is room for an end that
a query brings. So the numbers decide exactly, whatever the ends are: floats, long integers, strings. Only sets that
take an automaton are tested one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from comity.filter.sets.automaton import TooLarge
from comity.filter.sets.values import ValueSet

Mask = NDArray[np.bool_]
Spans = list[tuple[int, int]]
"""Intervals by the numbers of their ends."""

_MISSING, _OTHER, _FALSE, _TRUE, _NUMBERS, _TIMESTAMPS, _DURATIONS, _STRINGS, _END = range(9)
_NUMBER_CLASSES = ((_NUMBERS, "numbers"), (_TIMESTAMPS, "timestamps"), (_DURATIONS, "durations"))
_ROOM = 1 << 62
_EXACT_TESTS_KEPT = 1 << 16

HAS_OTHER, HAS_MORE = 1, 2
"""What a column tells of each set: whether a struct is in it, and whether anything else is."""


class Growing:
    """An array that grows at its end, in constant time on average.

    >>> slots = Growing(np.int32)
    >>> slots.append(7)
    >>> slots.view
    array([7], dtype=int32)
    """

    __slots__ = ("_data", "size")

    def __init__(self, dtype: DTypeLike) -> None:
        self._data: NDArray[Any] = np.empty(16, dtype)
        self.size = 0

    def append(self, value: Any) -> None:
        if self.size == len(self._data):
            self._data = np.concatenate([self._data, np.empty_like(self._data)])
        self._data[self.size] = value
        self.size += 1

    @property
    def view(self) -> NDArray[Any]:
        """What it holds; writing there changes it."""
        return self._data[: self.size]


class Line:
    """The ends of intervals in their order, each with an even number that keeps this order.

    >>> line = Line()
    >>> low, high = line.number((4, 1.5)), line.number((4, 2.5))
    >>> low < line.place((4, 2)) < high == line.place((4, 2.5))
    True
    """

    __slots__ = ("_ends", "_numbers")

    def __init__(self) -> None:
        self._ends: list[tuple[Any, ...]] = [(_MISSING,), (_END,)]
        self._numbers = [0, _ROOM]

    def place(self, end: tuple[Any, ...]) -> int:
        """The number of the end; of one that the line does not have, an odd number between its neighbours."""
        at = bisect_left(self._ends, end)
        return self._numbers[at] if self._ends[at] == end else self._numbers[at - 1] + 1

    def number(self, end: tuple[Any, ...]) -> int | None:
        """The number of the end, a new one if need be; None when there is no room, see `spread`."""
        at = bisect_left(self._ends, end)
        if self._ends[at] == end:
            return self._numbers[at]
        below, above = self._numbers[at - 1], self._numbers[at]
        if above - below < 4:
            return None
        number = below + (above - below) // 4 * 2
        self._ends.insert(at, end)
        self._numbers.insert(at, number)
        return number

    def spread(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Make room everywhere: all numbers so far, and what each becomes."""
        old = np.array(self._numbers, np.int64)
        step = _ROOM // (len(old) - 1) // 2 * 2
        new = np.arange(len(old), dtype=np.int64) * step
        self._numbers = new.tolist()
        return old, new


class Column:
    """The distinct sets of one attribute and the filters that have them. Sets are numbered within the column from 0."""

    def __init__(self, universe: ValueSet) -> None:
        self.universe = universe
        self.sets: list[ValueSet] = []
        self.ids = Growing(np.int32)
        """The number of each set in the whole index."""
        self.holds = Growing(np.uint8)
        self.slots, self.members = Growing(np.int64), Growing(np.int64)
        """The filters with a constraint on this attribute, and the set that each of them has."""
        self._known: dict[ValueSet, int] = {}
        self._line = Line()
        self._low, self._high = Growing(np.int64), Growing(np.int64)
        self._interval_low, self._interval_high = Growing(np.int64), Growing(np.int64)
        self._interval_set = Growing(np.int64)
        self._irregular: list[int] = []

    def intern(self, values: ValueSet, new_id: Callable[[], int]) -> int:
        """The number of the set in this column; a new set asks for its number in the index."""
        known = self._known.get(values)
        if known is None:
            known = self._known[values] = len(self.sets)
            self.sets.append(values)
            self.ids.append(new_id())
            self._place(known, values)
        return known

    def post(self, slot: int, member: int) -> None:
        """Note that a filter has this set."""
        self.slots.append(slot)
        self.members.append(member)

    def _place(self, member: int, values: ValueSet) -> None:
        ends = _ends(values, self.universe)
        if not values.strings.is_interval_union:
            self._irregular.append(member)
        numbers = [self._number(end) for end in ends]
        # Making room for one end moves the others.
        spans = [*zip(numbers[::2], numbers[1::2])] if numbers == self._places(ends) else self._spans(ends)
        for low, high in spans:
            self._interval_low.append(low)
            self._interval_high.append(high)
            self._interval_set.append(member)
        self._low.append(spans[0][0] if spans else _ROOM)
        self._high.append(spans[-1][1] if spans else 0)
        more = values.missing or bool(values.bools) or not values.strings.is_empty
        more = more or any(getattr(values, name).cuts for _, name in _NUMBER_CLASSES)
        self.holds.append(HAS_OTHER * values.other | HAS_MORE * more)

    def _number(self, end: tuple[Any, ...]) -> int:
        number = self._line.number(end)
        if number is None:
            old, new = self._line.spread()
            for column in (self._low, self._high, self._interval_low, self._interval_high):
                column.view[:] = new[np.searchsorted(old, column.view)]
            number = self._line.number(end)
        assert number is not None  # the line was just given room
        return number

    def _places(self, ends: list[tuple[Any, ...]]) -> list[int]:
        return [self._line.place(end) for end in ends]

    def _spans(self, ends: list[tuple[Any, ...]]) -> Spans:
        places = self._places(ends)
        return list(zip(places[::2], places[1::2]))

    # Questions

    def covering(self, values: ValueSet) -> Mask:
        """Which sets cover these values."""
        certain = self._spans(_ends(values, self.universe))
        if values.strings.is_interval_union:
            return self._tested(self._covering(certain), self._irregular, values, _covers)
        strings = self._spans([(_STRINGS,), (_END,)])
        sure = self._covering(certain + strings)
        open_ones = self._covering(certain) & self._overlapping(strings) & ~sure
        return self._tested(sure, self._undecided(open_ones), values, _covers)

    def within(self, values: ValueSet) -> Mask:
        """Which sets these values cover."""
        certain = self._spans(_ends(values, self.universe))
        sure = self._within(certain)
        if values.strings.is_interval_union:
            return self._tested(sure, self._irregular, values, _is_covered)
        possible = self._within(_joined(certain, self._spans([(_STRINGS,), (_END,)])))
        return self._tested(sure, self._undecided(possible & ~sure), values, _is_covered)

    def overlapping(self, values: ValueSet) -> Mask:
        """Which sets have something in common with these values."""
        certain = self._spans(_ends(values, self.universe))
        sure = self._overlapping(certain)
        if values.strings.is_interval_union:
            return self._tested(sure, self._irregular, values, _overlaps)
        possible = self._overlapping(self._spans([(_STRINGS,), (_END,)]))
        return self._tested(sure, self._undecided(possible & ~sure), values, _overlaps)

    def _covering(self, spans: Spans) -> Mask:
        found = np.ones(len(self.sets), np.bool_)
        for low, high in spans:
            inside = (self._interval_low.view <= low) & (self._interval_high.view >= high)
            these = np.zeros(len(self.sets), np.bool_)
            these[self._interval_set.view[inside]] = True
            found &= these
        return found

    def _within(self, spans: Spans) -> Mask:
        if not spans:
            return np.zeros(len(self.sets), np.bool_)
        found = (self._low.view >= spans[0][0]) & (self._high.view <= spans[-1][1])
        for (_, low), (high, _) in pairwise(spans):
            in_gap = (self._interval_low.view < high) & (self._interval_high.view > low)
            found[self._interval_set.view[in_gap]] = False
        return found

    def _overlapping(self, spans: Spans) -> Mask:
        found = np.zeros(len(self.sets), np.bool_)
        for low, high in spans:
            common = (self._interval_low.view < high) & (self._interval_high.view > low)
            found[self._interval_set.view[common]] = True
        return found

    def _undecided(self, mask: Mask) -> list[int]:
        return [*np.flatnonzero(mask).tolist(), *self._irregular]

    def _tested(
        self, found: Mask, members: Iterable[int], values: ValueSet, test: Callable[[ValueSet, ValueSet], bool]
    ) -> Mask:
        """The mask with these sets tested one by one: their strings are no intervals."""
        for member in members:
            found[member] = test(self.sets[member], values)
        return found


@lru_cache(maxsize=_EXACT_TESTS_KEPT)
def _covers(known: ValueSet, values: ValueSet) -> bool:
    try:
        return known.covers(values)
    except TooLarge:
        return False


def _is_covered(known: ValueSet, values: ValueSet) -> bool:
    return _covers(values, known)


@lru_cache(maxsize=_EXACT_TESTS_KEPT)
def _overlaps(known: ValueSet, values: ValueSet) -> bool:
    try:
        return known.overlaps(values)
    except TooLarge:
        return True


def _joined(spans: Spans, last: Spans) -> Spans:
    """The spans with one more at the end, which may touch the one before it."""
    if spans and spans[-1][1] == last[0][0]:
        return [*spans[:-1], (spans[-1][0], last[0][1])]
    return spans + last


def _ends(values: ValueSet, universe: ValueSet) -> list[tuple[Any, ...]]:
    """The ends of its intervals on the line, low and high by turns; strings that are no intervals are left out."""
    ends: list[tuple[Any, ...]] = []
    whole = (
        (_MISSING, values.missing),
        (_OTHER, values.other),
        (_FALSE, False in values.bools),
        (_TRUE, True in values.bools),
    )
    for place, present in whole:
        if present:
            _extend(ends, [(place,), (place + 1,)])
    for place, name in _NUMBER_CLASSES:
        cuts = getattr(values, name).cuts
        if cuts:
            _extend(ends, _class_ends(place, cuts, getattr(universe, name).cuts))
    if values.strings.is_interval_union:
        for low, high in values.strings.intervals():
            start = (_STRINGS, low) if low else (_STRINGS,)
            _extend(ends, [start, (_END,) if high is None else (_STRINGS, high)])
    return ends


def _class_ends(place: int, cuts: tuple[Any, ...], universe: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The cuts of one class; the ends of its universe are those of the class, so that whole neighbours join."""
    ends: list[tuple[Any, ...]] = [(place, cut) for cut in cuts]
    if cuts[0] == universe[0]:
        ends[0] = (place,)
    if len(cuts) & 1:
        ends.append((place + 1,))
    elif cuts[-1] == universe[-1]:
        ends[-1] = (place + 1,)
    return ends


def _extend(ends: list[tuple[Any, ...]], more: list[tuple[Any, ...]]) -> None:
    if ends and ends[-1] == more[0]:
        ends.pop()
        ends += more[1:]
    else:
        ends += more
