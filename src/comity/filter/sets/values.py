"""What an attribute may hold: sets of values, exact for numbers, strings, bools, timestamps and durations."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import Final

from comity.event.kinds import INT_MAX, INT_MIN, Kind, Value, kind_of, timestamp_from_microseconds, to_microseconds
from comity.filter.sets.numbers import NumberSet
from comity.filter.sets.strings import StringSet


class Missing(Enum):
    """The one mark for an attribute that is not there."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing.MISSING

_BOTH = frozenset({False, True})
_NEITHER: frozenset[bool] = frozenset()
_NO_NUMBERS, _NO_COUNTS, _NO_STRINGS = NumberSet.none(), NumberSet.none(discrete=True), StringSet.none()
_INTS = NumberSet.interval(INT_MIN, INT_MAX, discrete=True)
_FLOATS = NumberSet.interval(-sys.float_info.max, sys.float_info.max)
_TIMESTAMPS = NumberSet.interval(
    to_microseconds(datetime.min.replace(tzinfo=UTC)), to_microseconds(datetime.max.replace(tzinfo=UTC)), discrete=True
)
_DURATIONS = NumberSet.interval(INT_MIN + 1, INT_MAX, discrete=True)


class ValueSet:
    """A set of values, and of the possibility that there is none.

    Of the kinds that have no set of their own (bytes, struct, list, point) it holds all values or no value.

    >>> ages = ValueSet.universe(Kind.INT, optional=True)
    >>> adults = ValueSet(numbers=NumberSet.compare(">=", 18, discrete=True)).intersect(ages)
    >>> adults.contains(18), ages.difference(adults).contains(MISSING), adults.sample()
    (True, True, 18)
    """

    __slots__ = ("bools", "durations", "missing", "numbers", "other", "strings", "timestamps")

    def __init__(
        self,
        *,
        missing: bool = False,
        numbers: NumberSet = _NO_NUMBERS,
        strings: StringSet = _NO_STRINGS,
        bools: frozenset[bool] = _NEITHER,
        timestamps: NumberSet = _NO_COUNTS,
        durations: NumberSet = _NO_COUNTS,
        other: bool = False,
    ) -> None:
        self.missing = missing
        self.numbers = numbers
        self.strings = strings
        self.bools = bools
        self.timestamps = timestamps
        self.durations = durations
        self.other = other

    @classmethod
    def none(cls) -> ValueSet:
        """Nothing, not even a missing value."""
        return _NONE

    @classmethod
    def universe(cls, kind: Kind, optional: bool = False) -> ValueSet:
        """All that an attribute of the kind can hold.

        >>> ValueSet.universe(Kind.BOOL, optional=True)
        ValueSet(missing=True, bools=frozenset({False, True}))
        """
        return _UNIVERSES[kind, optional]

    @classmethod
    def open_universe(cls) -> ValueSet:
        """All that an attribute can hold of which nothing is known."""
        return _OPEN

    @classmethod
    def only_missing(cls) -> ValueSet:
        """No value."""
        return _MISSING

    def _key(self) -> tuple[object, ...]:
        return self.missing, self.numbers, self.strings, self.bools, self.timestamps, self.durations, self.other

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, ValueSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        names = ("missing", "numbers", "strings", "bools", "timestamps", "durations", "other")
        empty = _NONE._key()
        parts = [f"{n}={v!r}" for n, v, e in zip(names, self._key(), empty, strict=True) if v != e]
        return f"ValueSet({', '.join(parts)})"

    # Operations

    def union(self, other: ValueSet) -> ValueSet:
        """What is in either."""
        return ValueSet(
            missing=self.missing or other.missing,
            numbers=self.numbers.union(other.numbers),
            strings=self.strings.union(other.strings),
            bools=self.bools | other.bools,
            timestamps=self.timestamps.union(other.timestamps),
            durations=self.durations.union(other.durations),
            other=self.other or other.other,
        )

    def intersect(self, other: ValueSet) -> ValueSet:
        """What is in both."""
        return ValueSet(
            missing=self.missing and other.missing,
            numbers=_common_numbers(self.numbers, other.numbers),
            strings=self.strings.intersect(other.strings),
            bools=self.bools & other.bools,
            timestamps=_common_numbers(self.timestamps, other.timestamps),
            durations=_common_numbers(self.durations, other.durations),
            other=self.other and other.other,
        )

    def difference(self, other: ValueSet) -> ValueSet:
        """What is in this one only."""
        return ValueSet(
            missing=self.missing and not other.missing,
            numbers=self.numbers.difference(other.numbers),
            strings=self.strings.difference(other.strings),
            bools=self.bools - other.bools,
            timestamps=self.timestamps.difference(other.timestamps),
            durations=self.durations.difference(other.durations),
            other=self.other and not other.other,
        )

    def complement(self, universe: ValueSet) -> ValueSet:
        """What is in the universe but not here."""
        return universe.difference(self)

    # Questions

    @property
    def is_empty(self) -> bool:
        return not (
            self.missing
            or self.numbers.cuts
            or not self.strings.is_empty
            or self.bools
            or self.timestamps.cuts
            or self.durations.cuts
            or self.other
        )

    def covers(self, other: ValueSet) -> bool:
        """Whether everything in the other set is in this one."""
        return (
            self.missing >= other.missing
            and self.other >= other.other
            and self.bools >= other.bools
            and self.numbers.covers(other.numbers)
            and self.timestamps.covers(other.timestamps)
            and self.durations.covers(other.durations)
            and self.strings.covers(other.strings)
        )

    def overlaps(self, other: ValueSet) -> bool:
        """Whether something is in both."""
        return (
            (self.missing and other.missing)
            or (self.other and other.other)
            or not self.bools.isdisjoint(other.bools)
            or self.numbers.overlaps(other.numbers)
            or self.timestamps.overlaps(other.timestamps)
            or self.durations.overlaps(other.durations)
            or self.strings.overlaps(other.strings)
        )

    def __contains__(self, value: Value) -> bool:
        return self.contains(value)

    def contains(self, value: Value) -> bool:
        """Whether the value is in the set; `MISSING` and None ask for the missing value."""
        match kind_of(value):
            case None:
                return self.missing and (value is MISSING or value is None)
            case Kind.BOOL:
                return value in self.bools
            case Kind.INT | Kind.FLOAT:
                return self.numbers.contains(value)
            case Kind.STRING:
                return self.strings.contains(value)
            case Kind.TIMESTAMP:
                return self.timestamps.contains(to_microseconds(value))
            case Kind.DURATION:
                return self.durations.contains(to_microseconds(value))
        return self.other

    def sample(self) -> Value:
        """A member that is easy to read; `MISSING` if there is nothing else, empty bytes for the kinds without a set.

        A dense set of numbers gives a float where one is in it, a Fraction when neither a float nor an int is.
        """
        if self.numbers.cuts:
            return _number_value(self.numbers.sample(), self.numbers.discrete)
        if not self.strings.is_empty:
            return self.strings.sample()
        if self.bools:
            return max(self.bools)
        if self.timestamps.cuts:
            return _timestamp(self.timestamps)
        if self.durations.cuts:
            return timedelta(microseconds=int(self.durations.sample()))
        if self.other:
            return b""
        if self.missing:
            return MISSING
        raise ValueError("an empty set has no member")


def _common_numbers(left: NumberSet, right: NumberSet) -> NumberSet:
    if left is right or not left.cuts:
        return left
    return left.intersect(right) if right.cuts else NumberSet.none(left.discrete or right.discrete)


def _number_value(number: int | float | Fraction, discrete: bool) -> int | float | Fraction:
    if discrete or isinstance(number, float):
        return number
    try:
        as_float = float(number)
    except OverflowError:
        return number
    return as_float if as_float == number else number


def _timestamp(counts: NumberSet) -> datetime:
    common = counts.intersect(_TIMESTAMPS)
    found = timestamp_from_microseconds(int(common.sample()))
    assert found is not None  # the set lies within the years 1 to 9999
    return found


def _universe(kind: Kind, optional: bool) -> ValueSet:
    match kind:
        case Kind.BOOL:
            return ValueSet(missing=optional, bools=_BOTH)
        case Kind.INT | Kind.FLOAT:
            return ValueSet(missing=optional, numbers=_INTS if kind is Kind.INT else _FLOATS)
        case Kind.STRING:
            return ValueSet(missing=optional, strings=StringSet.all())
        case Kind.TIMESTAMP:
            return ValueSet(missing=optional, timestamps=_TIMESTAMPS)
        case Kind.DURATION:
            return ValueSet(missing=optional, durations=_DURATIONS)
    return ValueSet(missing=optional, other=True)


_NONE, _MISSING = ValueSet(), ValueSet(missing=True)
_UNIVERSES = {(kind, optional): _universe(kind, optional) for kind in Kind for optional in (False, True)}
_OPEN = ValueSet(
    missing=True,
    numbers=_FLOATS,
    strings=StringSet.all(),
    bools=_BOTH,
    timestamps=_TIMESTAMPS,
    durations=_DURATIONS,
    other=True,
)

CLASSES = {
    "numbers": ValueSet(numbers=NumberSet.all()),
    "strings": ValueSet(strings=StringSet.all()),
    "bools": ValueSet(bools=_BOTH),
    "timestamps": ValueSet(timestamps=NumberSet.all(discrete=True)),
    "durations": ValueSet(durations=NumberSet.all(discrete=True)),
    "other": ValueSet(other=True),
}
"""The classes of values by name: two values of different classes never compare."""

CLASS_OF_KIND = {
    Kind.INT: "numbers",
    Kind.FLOAT: "numbers",
    Kind.STRING: "strings",
    Kind.BOOL: "bools",
    Kind.TIMESTAMP: "timestamps",
    Kind.DURATION: "durations",
    Kind.BYTES: "other",
    Kind.STRUCT: "other",
    Kind.LIST: "other",
    Kind.POINT: "other",
}
"""The class that the values of a kind are in."""
