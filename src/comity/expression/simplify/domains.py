"""The values of an ordered kind, counted: to each value belongs an int, in the same order.

Ints, timestamps and durations count themselves. Floats are counted by their bits, so neighbours differ by one; both
zeros are 0, because nothing in the language tells them apart.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from comity.event.kinds import EPOCH, INT_MAX, INT_MIN, MICROSECOND, Kind, Value, to_microseconds

_SIGN = 1 << 63
_DOUBLE, _BITS = struct.Struct("<d"), struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class ValueDomain:
    """All values of a kind: from `first` to `last`."""

    kind: Kind
    first: int
    last: int
    value: Callable[[int], Value]
    """The value with an index."""
    nearest: Callable[[Fraction | float], int]
    """An index close to a number (microseconds of a time), for a search to begin at."""


def float_index(value: float) -> int:
    """The index of a float.

    >>> float_index(-0.0), float_index(5e-324), float_value(float_index(1.5))
    (0, 1, 1.5)
    """
    bits: int = _BITS.unpack(_DOUBLE.pack(value))[0]
    return bits if bits >= 0 else -(bits + _SIGN)


def float_value(index: int) -> float:
    """The float with an index."""
    value: float = _DOUBLE.unpack(_BITS.pack(abs(index)))[0]
    return value if index >= 0 else -value


def _nearest_float(number: Fraction | float) -> int:
    try:
        return float_index(float(number))
    except OverflowError:
        return _LARGEST if number > 0 else -_LARGEST


def _timestamp(index: int) -> datetime:
    return EPOCH + index * MICROSECOND


def _duration(index: int) -> timedelta:
    return timedelta(microseconds=index)


_LARGEST = float_index(sys.float_info.max)
_EARLIEST = to_microseconds(datetime.min.replace(tzinfo=UTC))
_LATEST = to_microseconds(datetime.max.replace(tzinfo=UTC))

DOMAINS: Mapping[Kind, ValueDomain] = {
    Kind.INT: ValueDomain(Kind.INT, INT_MIN, INT_MAX, int, int),
    Kind.FLOAT: ValueDomain(Kind.FLOAT, -_LARGEST, _LARGEST, float_value, _nearest_float),
    Kind.TIMESTAMP: ValueDomain(Kind.TIMESTAMP, _EARLIEST, _LATEST, _timestamp, int),
    Kind.DURATION: ValueDomain(Kind.DURATION, INT_MIN, INT_MAX, _duration, int),
}


def raw(value: Value) -> int | float:
    """The number behind a value: itself, or the microseconds of a time."""
    return to_microseconds(value) if isinstance(value, datetime | timedelta) else value
