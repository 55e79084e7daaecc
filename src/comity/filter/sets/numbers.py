"""Exact sets of numbers: finite unions of intervals, over the integers or over the rationals."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from comity.filter.sets.cuts import DIFFERENCE, UNION, Cuts, combine, complement, intersection, within
from comity.filter.sets.simple_number import simplest_between

Number = int | float | Fraction

_MAX_POINTS = 10_000  # integers that are turned into a dense set one by one
_LOWEST = -math.inf
_LOWEST_DENSE = (_LOWEST, 0)


class NumberSet:
    """A set of integers (`discrete`) or of rationals; equal sets compare equal and hash alike.

    The cuts of a discrete set are integers n, the place before n. Those of a dense set are pairs: (v, 0) is the place
    before v, (v, 1) the place behind it.

    >>> NumberSet.interval(1, 3, high_closed=False, discrete=True) == NumberSet.interval(1, 2, discrete=True)
    True
    >>> NumberSet.interval(3, 4, low_closed=False, high_closed=False)
    NumberSet('(3, 4)')
    """

    __slots__ = ("cuts", "discrete")

    def __init__(self, cuts: Cuts, discrete: bool) -> None:
        """Takes normal cuts as they are; use the constructors below."""
        self.cuts = cuts
        self.discrete = discrete

    @classmethod
    def all(cls, discrete: bool = False) -> NumberSet:
        """Every number."""
        return _ALL_DISCRETE if discrete else _ALL_DENSE

    @classmethod
    def none(cls, discrete: bool = False) -> NumberSet:
        """No number."""
        return _NONE_DISCRETE if discrete else _NONE_DENSE

    @classmethod
    def point(cls, value: Number, discrete: bool = False) -> NumberSet:
        """Just this number; nothing when it is a fraction and the set discrete."""
        return cls.interval(value, value, discrete=discrete)

    @classmethod
    def of(cls, points: Iterable[Number], discrete: bool = False) -> NumberSet:
        """Just these numbers.

        >>> list(NumberSet.of([3, 1.5, 2], discrete=True))
        [2, 3]
        """
        cuts: list[Any] = []
        for value in sorted(set(points)):
            low, high = _before(value, discrete), _behind(value, discrete)
            if low == high:
                continue
            if cuts and cuts[-1] == low:
                cuts.pop()
            else:
                cuts.append(low)
            cuts.append(high)
        return cls(tuple(cuts), discrete)

    @classmethod
    def interval(
        cls,
        low: Number | None,
        high: Number | None,
        low_closed: bool = True,
        high_closed: bool = True,
        discrete: bool = False,
    ) -> NumberSet:
        """The numbers between two ends; None or an infinity stands for no end."""
        start: Any = _LOWEST if discrete else _LOWEST_DENSE
        if low is not None and low != -math.inf:
            if low == math.inf:
                return cls.none(discrete)
            start = _before(low, discrete) if low_closed else _behind(low, discrete)
        if high is None or high == math.inf:
            return cls((start,), discrete)
        if high == -math.inf:
            return cls.none(discrete)
        end = _behind(high, discrete) if high_closed else _before(high, discrete)
        return cls((start, end), discrete) if start < end else cls.none(discrete)

    @classmethod
    def compare(cls, operator: str, value: Number, discrete: bool = False) -> NumberSet:
        """The numbers that stand in the relation `= != < <= > >=` to a number."""
        if operator in ("=", "!="):
            point = cls.point(value, discrete)
            return point if operator == "=" else point.complement()
        if operator.startswith("<"):
            return cls.interval(None, value, high_closed=operator == "<=", discrete=discrete)
        return cls.interval(value, None, low_closed=operator == ">=", discrete=discrete)

    def __eq__(self, other: object) -> bool:
        return self.cuts == other.cuts if isinstance(other, NumberSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.cuts)

    def __repr__(self) -> str:
        return f"NumberSet('{' '.join(map(_shown, self.intervals())) or 'none'}')"

    # Operations

    def union(self, other: NumberSet) -> NumberSet:
        """The numbers in either."""
        if not other.cuts or self.cuts == other.cuts:
            return self
        if not self.cuts:
            return other
        if self.discrete != other.discrete:
            dense, discrete = (other, self) if self.discrete else (self, other)
            return dense.union(_as_points(discrete.difference(dense)))
        return NumberSet(combine(self.cuts, other.cuts, UNION), self.discrete)

    def intersect(self, other: NumberSet) -> NumberSet:
        """The numbers in both; discrete as soon as one of them is."""
        if self.discrete != other.discrete:
            self, other = self.restrict(), other.restrict()
        return NumberSet(intersection(self.cuts, other.cuts), self.discrete)

    def difference(self, other: NumberSet) -> NumberSet:
        """The numbers in this one only."""
        if not other.cuts or not self.cuts:
            return self
        if self.discrete != other.discrete:
            other = other.restrict() if self.discrete else _as_points(other.intersect(self))
        return NumberSet(combine(self.cuts, other.cuts, DIFFERENCE), self.discrete)

    def complement(self) -> NumberSet:
        """All other numbers, integers if the set is discrete."""
        return NumberSet(complement(self.cuts, _LOWEST if self.discrete else _LOWEST_DENSE), self.discrete)

    def restrict(self) -> NumberSet:
        """The integers of the set, as a discrete set."""
        if self.discrete:
            return self
        parts = (NumberSet.interval(*ends, discrete=True) for ends in self.intervals())
        cuts: list[Any] = []
        for part in parts:
            if cuts and part.cuts and cuts[-1] == part.cuts[0]:
                cuts[-1:] = part.cuts[1:]
            else:
                cuts += part.cuts
        return NumberSet(tuple(cuts), discrete=True)

    # Questions

    @property
    def is_empty(self) -> bool:
        return not self.cuts

    @property
    def is_full(self) -> bool:
        return self.cuts in ((_LOWEST,), (_LOWEST_DENSE,))

    def __contains__(self, value: Number) -> bool:
        return self.contains(value)

    def contains(self, value: Number) -> bool:
        """Whether the number is in the set."""
        if self.discrete:
            return bool(bisect_right(self.cuts, value) & 1) and value == math.floor(value)
        return bool(bisect_right(self.cuts, (value, 0)) & 1)

    def covers(self, other: NumberSet) -> bool:
        """Whether every number of the other set is in this one."""
        if self.discrete != other.discrete and self.cuts and other.cuts:
            if other.discrete:
                return within(other.cuts, self.restrict().cuts)
            return other.is_finite and all(map(self.contains, other))
        return within(other.cuts, self.cuts)

    def overlaps(self, other: NumberSet) -> bool:
        """Whether some number is in both."""
        return not self.intersect(other).is_empty

    def intervals(self) -> Iterator[tuple[Number | None, Number | None, bool, bool]]:
        """The intervals from left to right as (low, high, low_closed, high_closed); None stands for no end.

        >>> list(NumberSet.compare("!=", 3, discrete=True).intervals())
        [(None, 2, False, True), (4, None, True, False)]
        """
        for at in range(0, len(self.cuts), 2):
            low, low_closed = self._low_end(self.cuts[at])
            high, high_closed = self._high_end(self.cuts[at + 1]) if at + 1 < len(self.cuts) else (None, False)
            yield low, high, low_closed, high_closed

    def _low_end(self, cut: Any) -> tuple[Number | None, bool]:
        value, behind = (cut, 0) if self.discrete else cut
        return (None, False) if value == _LOWEST else (value, not behind)

    def _high_end(self, cut: Any) -> tuple[Number | None, bool]:
        if self.discrete:
            return cut - 1, True
        value, behind = cut
        return value, bool(behind)

    def hull(self) -> tuple[Number | None, Number | None, bool, bool]:
        """The smallest interval around a set that is not empty, as `intervals` gives it.

        >>> NumberSet.of([1, 5, 3]).hull()
        (1, 5, True, True)
        """
        if not self.cuts:
            raise ValueError("an empty set has no hull")
        low, low_closed = self._low_end(self.cuts[0])
        high, high_closed = (None, False) if len(self.cuts) & 1 else self._high_end(self.cuts[-1])
        return low, high, low_closed, high_closed

    @property
    def is_interval(self) -> bool:
        """Whether the set is one interval (and not empty)."""
        return 1 <= len(self.cuts) <= 2

    @property
    def is_finite(self) -> bool:
        """Whether the set holds finitely many numbers; then iteration gives them in order."""
        if not self.cuts:
            return True
        if len(self.cuts) & 1 or self.cuts[0] in (_LOWEST, _LOWEST_DENSE):
            return False
        return self.discrete or all(low == high for low, high, _, _ in self.intervals())

    def size(self) -> int | None:
        """How many numbers the set holds; None when they are infinitely many."""
        if not self.is_finite:
            return None
        if not self.discrete:
            return len(self.cuts) // 2
        return sum(self.cuts[1::2]) - sum(self.cuts[::2])

    def __iter__(self) -> Iterator[Number]:
        if not self.is_finite:
            raise ValueError("the set is not finite")
        for at in range(0, len(self.cuts), 2):
            if self.discrete:
                yield from range(self.cuts[at], self.cuts[at + 1])
            else:
                yield self.cuts[at][0]

    def sample(self) -> Number:
        """A member that is easy to read: 0, a small integer, a round one, a short decimal.

        It is a Fraction only if no float and no integer is a member.

        >>> NumberSet.interval(0.2, 0.31, low_closed=False).sample(), NumberSet.compare(">", 3).sample()
        (0.3, 4)
        """
        if not self.cuts:
            raise ValueError("an empty set has no member")
        return min((simplest_between(*ends, self.discrete) for ends in self.intervals()), key=_plainness)


def _plainness(value: Number) -> tuple[bool, bool, Any]:
    return isinstance(value, Fraction), value != int(value), abs(value)


def _before(value: Number, discrete: bool) -> Any:
    return math.ceil(value) if discrete else (value, 0)


def _behind(value: Number, discrete: bool) -> Any:
    return math.floor(value) + 1 if discrete else (value, 1)


def _as_points(discrete: NumberSet) -> NumberSet:
    """Integers as a dense set, which has to hold each as an interval of its own."""
    size = discrete.size()
    if size is None or size > _MAX_POINTS:
        raise ValueError("a dense set cannot hold that many integers without what lies between them")
    return NumberSet.of(discrete)


def _shown(ends: tuple[Number | None, Number | None, bool, bool]) -> str:
    low, high, low_closed, high_closed = ends
    if low is not None and low == high:
        return f"{{{low}}}"
    left, right = "[" if low_closed else "(", "]" if high_closed else ")"
    return f"{left}{'-inf' if low is None else low}, {'inf' if high is None else high}{right}"


_ALL_DENSE, _ALL_DISCRETE = NumberSet((_LOWEST_DENSE,), False), NumberSet((_LOWEST,), True)
_NONE_DENSE, _NONE_DISCRETE = NumberSet((), False), NumberSet((), True)
