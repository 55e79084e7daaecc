"""The plainest number of an interval, for samples and counterexamples that people read."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction

Number = int | float | Fraction

_SMALL = 1000  # up to here the integer nearest to zero is the plainest, beyond it a round one
_EXACT = 2**53  # up to here every integer is a float
_MAX_FLOAT = sys.float_info.max


def simplest_between(
    low: Number | None, high: Number | None, low_closed: bool, high_closed: bool, discrete: bool
) -> Number:
    """A plain member of an interval that is not empty.

    >>> simplest_between(1234567, 1299999, True, True, True), simplest_between(0.5, 0.75, False, False, False)
    (1250000, 0.6)
    """

    def inside(value: Number) -> bool:
        above = low is None or (low <= value if low_closed else low < value)
        return above and (high is None or (value <= high if high_closed else value < high))

    first = None if low is None else math.ceil(low) if low_closed else math.floor(low) + 1
    last = None if high is None else math.floor(high) if high_closed else math.ceil(high) - 1
    whole = _simplest_int(first, last) if first is None or last is None or first <= last else None
    if whole is not None and (discrete or abs(whole) <= _EXACT):
        return whole
    found = next(filter(inside, _floats(low, high, whole)), whole)
    if found is None:
        assert low is not None  # without an end there is an integer inside
        assert high is not None
        return low if low == high else (Fraction(low) + Fraction(high)) / 2
    return found


def _simplest_int(first: int | None, last: int | None) -> int:
    if (first is None or first <= 0) and (last is None or last >= 0):
        return 0
    if first is None or first < 0:
        assert last is not None
        return -_simplest_positive(-last, None if first is None else -first)
    return _simplest_positive(first, last)


def _simplest_positive(first: int, last: int | None) -> int:
    if first <= _SMALL:
        return first
    step: int = 10 ** len(str(first))
    while True:
        for part in (1, 2, 5):  # multiples of 1000, 500, 200, 100, 50 …
            pace = max(step // part, 1)
            value = -(-first // pace) * pace
            if last is None or value <= last:
                return value
        step //= 10


def _floats(low: Number | None, high: Number | None, whole: int | None) -> Iterator[float]:
    """Floats that may lie in the interval, the shorter ones first; if any float does, one of these does."""
    ends = [end for end in (low, high) if end is not None and -_MAX_FLOAT <= end <= _MAX_FLOAT]
    if whole is not None and -_MAX_FLOAT <= whole <= _MAX_FLOAT:
        yield float(whole)
    if len(ends) == 2:
        middle = float((Fraction(ends[0]) + Fraction(ends[1])) / 2)
        for digits in range(17):
            yield float(f"{middle:.{digits}e}")
    for end in ends:
        near = float(end)
        yield from (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))
