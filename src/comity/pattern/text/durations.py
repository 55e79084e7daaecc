"""Lengths of time in patterns: in text a number with a unit of time, inside whole microseconds."""

from __future__ import annotations

from fractions import Fraction

from comity.errors import Misuse
from comity.meaning.units import conversion, is_time

LONGEST = 10_000 * 366 * 86_400_000_000
"""Microseconds of the longest time frame: longer than all the time there is, yet short enough to be added to any."""

_UNITS = (
    ("week", 604_800_000_000),
    ("day", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
)
_HINT = "units of time are us, ms, s, min, h, day, week, month, year"


def read_duration(number: str, unit: str) -> int:
    """The microseconds of so many units, computed exactly and rounded once; it must be longer than zero.

    >>> read_duration("1.5", "h")
    5400000000
    """
    try:
        is_known = is_time(unit)
    except Misuse as error:
        raise Misuse(error.message, code=error.code, hint=_HINT) from None
    if not is_known:
        raise Misuse(f"{unit} is no unit of time", code="incompatible-units", hint=_HINT)
    length = Fraction(number) * conversion(unit, "us").factor if len(number) <= 30 else Fraction(LONGEST + 1)
    if length > LONGEST:
        raise Misuse(f"{number[:30]} {unit} is longer than all the time there is", code="duration-out-of-range")
    if round(length) == 0:
        raise Misuse(f"{number} {unit} is no time", code="duration-out-of-range", hint="the least is 1 us")
    return round(length)


def render_duration(length: int) -> str:
    """The text of so many microseconds, in the largest unit that gives a whole number.

    >>> render_duration(300_000_000), render_duration(1)
    ('5 min', '1 us')
    """
    unit, size = next((unit, size) for unit, size in _UNITS if length % size == 0)
    return f"{length // size} {unit}"
