"""The line on which all that an attribute can hold lies, class beside class: a set of values is a few intervals of it.

Every end of an interval gets a whole number, in the order of the line, and between any two of these there is room for
an end that a query brings. So numbers decide exactly, whatever the ends are: floats, long integers, strings.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comity.filter.sets.values import ValueSet

End = tuple[Any, ...]
"""Of an interval: the place of its class on the line, and within a class the cut."""
_MISSING, _OTHER, _FALSE, _TRUE, _NUMBERS, _TIMESTAMPS, _DURATIONS, _STRINGS, _END = range(9)
_CLASS_ROOM = 1 << 59
ROOM = _END * _CLASS_ROOM
"""The number of the last end of a line; the first one has 0."""
NUMBER_CLASSES = ((_NUMBERS, "numbers"), (_TIMESTAMPS, "timestamps"), (_DURATIONS, "durations"))


class Line:
    """The ends of intervals in their order, each with an even number that keeps this order.

    >>> line = Line()
    >>> low, high = line.number((4, 1.5)), line.number((4, 2.5))
    >>> low < line.place((4, 2)) < high == line.place((4, 2.5))
    True
    """

    __slots__ = ("_cuts", "_numbers")

    def __init__(self) -> None:
        self._cuts: list[list[Any]] = [[] for _ in range(_END)]
        self._numbers = [array("q") for _ in range(_END)]

    def place(self, end: End) -> int:
        """The number of the end; of one that the line does not have, an odd number between its neighbours."""
        if len(end) == 1:
            return int(end[0]) * _CLASS_ROOM
        place, cut = end
        cuts, numbers = self._cuts[place], self._numbers[place]
        at = bisect_left(cuts, cut)
        if at < len(cuts) and cuts[at] == cut:
            return numbers[at]
        return int(numbers[at - 1] if at else place * _CLASS_ROOM) + 1

    def number(self, end: End) -> int | None:
        """The number of the end, a new one if need be; None when there is no room, see `spread`."""
        known = self.place(end)
        if not known & 1:
            return known
        place, cut = end
        cuts, numbers = self._cuts[place], self._numbers[place]
        at = bisect_left(cuts, cut)
        below = known - 1
        room = (numbers[at] if at < len(numbers) else (place + 1) * _CLASS_ROOM) - below
        if room < 4:
            return None
        cuts.insert(at, cut)
        numbers.insert(at, below + room // 4 * 2)
        return numbers[at]

    def spread(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Make room everywhere: all numbers so far, and what each becomes."""
        old: list[int] = []
        new: list[int] = []
        for place, numbers in enumerate(self._numbers):
            first, step = place * _CLASS_ROOM, _CLASS_ROOM // (len(numbers) + 1) // 2 * 2
            old += [first, *numbers]
            new += range(first, first + step * len(numbers) + 1, step)
            numbers[:] = array("q", new[len(new) - len(numbers) :])
        return np.array([*old, ROOM]), np.array([*new, ROOM])


def line_ends(values: ValueSet, universe: ValueSet, all_strings: bool = False) -> list[End]:
    """The ends of its intervals on the line, low and high by turns.

    Strings that are no intervals are left out, or all strings put in their place.
    """
    ends: list[End] = []
    whole = (
        (_MISSING, values.missing),
        (_OTHER, values.other),
        (_FALSE, False in values.bools),
        (_TRUE, True in values.bools),
    )
    for place, present in whole:
        if present:
            _extend(ends, [(place,), (place + 1,)])
    for place, name in NUMBER_CLASSES:
        cuts = getattr(values, name).cuts
        if cuts:
            _extend(ends, _class_ends(place, cuts, getattr(universe, name).cuts))
    if values.strings.is_interval_union:
        for low, high in values.strings.intervals():
            start = (_STRINGS, low) if low else (_STRINGS,)
            _extend(ends, [start, (_END,) if high is None else (_STRINGS, high)])
    elif all_strings:
        _extend(ends, [(_STRINGS,), (_END,)])
    return ends


def _class_ends(place: int, cuts: tuple[Any, ...], universe: tuple[Any, ...]) -> list[End]:
    """The cuts of one class; the ends of its universe are those of the class, so that whole neighbours join."""
    ends: list[End] = [(place, cut) for cut in cuts]
    if cuts[0] == universe[0]:
        ends[0] = (place,)
    if len(cuts) & 1:
        ends.append((place + 1,))
    elif cuts[-1] == universe[-1]:
        ends[-1] = (place + 1,)
    return ends


def _extend(ends: list[End], more: list[End]) -> None:
    if ends and ends[-1] == more[0]:
        ends.pop()
        ends += more[1:]
    else:
        ends += more
