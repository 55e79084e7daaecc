"""What samples show: a table between codes, a line between numbers, the format of times."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from comity.event.kinds import Value
from comity.expression.time_formats import parse_time

_LEAST_POINTS = 3
_TOLERANCE = 1e-6
_NICE_DENOMINATOR = 1_000

_DATES = ("yyyy-MM-dd", "yyyy/MM/dd", "dd.MM.yyyy", "d.M.yyyy", "dd/MM/yyyy", "MM/dd/yyyy", "yyyyMMdd")
_CLOCKS = ("HH:mm:ss", "HH:mm", "h:mm a", "HH:mm:ss.SSS")
_TIME_FORMATS = (
    *_DATES,
    *(f"{date}{between}{clock}" for date in _DATES for between in (" ", "'T'") for clock in _CLOCKS),
    *(f"{date}'T'{clock}'Z'" for date in _DATES for clock in _CLOCKS),
    *_CLOCKS,
)


@dataclass(frozen=True, slots=True)
class LinearRelation:
    """`left = right * factor + offset`."""

    factor: float
    offset: float


def table_from(pairs: Sequence[tuple[Value, Value]]) -> Mapping[Value, Value] | None:
    """The left value for each right one; None if one right value has several, or if there are no pairs.

    >>> table_from([("low", 1), ("high", 3), ("low", 1)]), table_from([("low", 1), ("high", 1)])
    ({1: 'low', 3: 'high'}, None)
    """
    found: dict[Value, Value] = {}
    for left, right in pairs:
        if found.setdefault(right, left) != left:
            return None
    return found or None


def line_from(pairs: Sequence[tuple[int | float, int | float]]) -> LinearRelation | None:
    """The line on which all pairs lie; None if there is none, or too few different points to tell.

    >>> line_from([(32, 0), (212, 100), (86, 30)])
    LinearRelation(factor=1.8, offset=32.0)
    """
    points = sorted({(float(right), float(left)) for left, right in pairs})
    if len({x for x, _ in points}) < _LEAST_POINTS:
        return None
    (first_x, first_y), (last_x, last_y) = points[0], points[-1]
    factor = _nice((last_y - first_y) / (last_x - first_x))
    offset = _nice(first_y - first_x * factor)
    size = max(1.0, *(abs(y) for _, y in points))
    fits = all(abs(x * factor + offset - y) <= _TOLERANCE * size for x, y in points)
    return LinearRelation(factor, offset) if fits and factor else None


def time_format_of(texts: Collection[str]) -> str | None:
    """The format in which all texts are times; None if there is none, or if two fit and mean different times.

    >>> time_format_of(["2026-05-01 12:30"]), time_format_of(["01/02/2026"]), time_format_of(["13/02/2026"])
    ('yyyy-MM-dd HH:mm', None, 'dd/MM/yyyy')
    """
    found: dict[tuple[Value, ...], str] = {}
    for format in _TIME_FORMATS:
        times = tuple(parse_time(text, format) for text in texts)
        if times and None not in times:
            found.setdefault(times, format)
    return next(iter(found.values())) if len(found) == 1 else None


def _nice(number: float) -> float:
    """The simple fraction that was meant, if there is one nearby."""
    simple = float(Fraction(number).limit_denominator(_NICE_DENOMINATOR))
    return simple if abs(simple - number) <= _TOLERANCE * max(1.0, abs(number)) else number
