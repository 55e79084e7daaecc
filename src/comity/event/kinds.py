"""Kinds of values, and the Python values that carry them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Kind(StrEnum):
    """What a value is. Numbers of kind int and float compare with each other; no other two kinds do."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    STRING = "string"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    BYTES = "bytes"
    STRUCT = "struct"
    LIST = "list"
    POINT = "point"

    @property
    def is_number(self) -> bool:
        return self in NUMBERS


NUMBERS = frozenset({Kind.INT, Kind.FLOAT})
ORDERED = frozenset({Kind.INT, Kind.FLOAT, Kind.STRING, Kind.TIMESTAMP, Kind.DURATION})
ANY_KIND = frozenset(Kind)


class Point(NamedTuple):
    """A place in the plane."""

    x: float
    y: float


Value = Any
"""bool, int, float, str, datetime (aware, UTC), timedelta, bytes, Point, list, or dict for a struct."""

_KIND_OF_CLASS: Mapping[type, Kind] = {
    bool: Kind.BOOL,
    int: Kind.INT,
    float: Kind.FLOAT,
    str: Kind.STRING,
    datetime: Kind.TIMESTAMP,
    timedelta: Kind.DURATION,
    bytes: Kind.BYTES,
    dict: Kind.STRUCT,
    list: Kind.LIST,
    Point: Kind.POINT,
}


def kind_of(value: Value) -> Kind | None:
    """The kind of a value; None for one that no event can carry.

    >>> kind_of(3.5), kind_of("a"), kind_of(None)
    (<Kind.FLOAT: 'float'>, <Kind.STRING: 'string'>, None)
    """
    return _KIND_OF_CLASS.get(type(value))


def comparable(left: Kind | None, right: Kind | None) -> bool:
    """Whether values of the two kinds can be equal at all."""
    return left is not None and (left is right or (left in NUMBERS and right in NUMBERS))


def in_range(value: int | float) -> bool:
    """Whether an arithmetic result is a value: an int of 64 bits or a finite float."""
    return INT_MIN <= value <= INT_MAX if isinstance(value, int) else math.isfinite(value)


def to_microseconds(value: datetime | timedelta) -> int:
    """A timestamp counted from 1970, or a duration, in microseconds, exactly.

    >>> to_microseconds(timedelta(seconds=2))
    2000000
    """
    span = value - EPOCH if isinstance(value, datetime) else value
    return span // MICROSECOND


def timestamp_from_microseconds(count: int) -> datetime | None:
    """The inverse of `to_microseconds`; None outside the years 1 to 9999."""
    try:
        return EPOCH + timedelta(microseconds=count)
    except OverflowError:
        return None
