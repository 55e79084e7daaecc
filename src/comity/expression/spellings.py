"""Values as texts and texts as values: what `text`, `int` and `float` give."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta

from comity.event.kinds import Kind, Value, in_range, kind_of
from comity.event.times import format_duration, format_timestamp, parse_duration, parse_timestamp

INTEGER = "-?(?:0|[1-9][0-9]*)"
NUMBER = rf"{INTEGER}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
"""As JSON writes numbers. Both patterns are read alike by Python and by Java."""

_INTEGER, _NUMBER = re.compile(INTEGER), re.compile(NUMBER)
_MOST_DIGITS = 20


def as_text(value: Value) -> str:
    """The one text of a number, a truth, a timestamp or a duration.

    >>> as_text(5), as_text(2.5), as_text(-0.0), as_text(True), as_text(timedelta(minutes=5))
    ('5', '2.5', '0.0', 'true', 'PT5M')
    """
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return format_timestamp(value)
        case timedelta():
            return format_duration(value)
        case float():
            return repr(value + 0.0)  # one zero only: nothing in the language tells the two of them apart
    return str(value)


def from_text(text: str, kind: Kind | None) -> Value | None:
    """The value of a kind whose text this is, None when it is that of none.

    >>> from_text("5", Kind.INT), from_text("05", Kind.INT), from_text("2.5", Kind.FLOAT)
    (5, None, 2.5)
    """
    value: Value | None = None
    match kind:
        case Kind.BOOL:
            value = {"true": True, "false": False}.get(text)
        case Kind.INT:
            value = as_int(text)
        case Kind.FLOAT:
            value = as_float(text)
        case Kind.TIMESTAMP:
            value = parse_timestamp(text)
        case Kind.DURATION:
            value = parse_duration(text)
    return value if value is not None and as_text(value) == text else None


def as_int(value: int | float | str) -> int | None:
    """A number without a fraction, or the text of an integer as JSON writes it, as an int of 64 bits.

    >>> as_int(3.0), as_int(2.5), as_int("-12"), as_int("1.0"), as_int("007")
    (3, None, -12, None, None)
    """
    if isinstance(value, str):
        fits = len(value) <= _MOST_DIGITS and _INTEGER.fullmatch(value)
        whole = int(value) if fits else None
    else:
        whole = int(value) if value == math.floor(value) else None
    return whole if whole is not None and in_range(whole) else None


def as_float(value: int | float | str) -> float | None:
    """A number, or the text of one as JSON writes it, as a float.

    >>> as_float(3), as_float("-1.5e3"), as_float("1e999"), as_float("+1")
    (3.0, -1500.0, None, None)
    """
    if kind_of(value) is Kind.STRING and _NUMBER.fullmatch(str(value)) is None:
        return None
    number = float(value)
    return number if in_range(number) else None
