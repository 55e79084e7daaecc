"""The functions of the expression language: their kinds and what they give.

Every function is missing when an argument is missing (`coalesce` apart) or of the wrong kind, so a function body
sees good values only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from comity.event.kinds import EPOCH, NUMBERS, Kind, Point, Value, in_range, kind_of
from comity.expression.spellings import as_float, as_int, as_text
from comity.expression.time_formats import format_time, parse_time, time_format

_TEXT = frozenset({Kind.STRING})
_TIME = frozenset({Kind.TIMESTAMP})
_INT = frozenset({Kind.INT})


@dataclass(frozen=True, slots=True)
class Function:
    """What a function takes (kinds per argument), what kinds it gives, and its meaning on present values."""

    name: str
    takes: tuple[frozenset[Kind], ...]
    gives: Callable[..., Kind]
    apply: Callable[..., Any]
    optional: int = 0
    """How many of the last arguments may be left out."""
    keeps_unit: bool = False
    """Whether the result stands in the unit of the first argument."""
    check: Callable[[tuple[Value | None, ...]], None] | None = None
    """Refuses constants that never have a meaning; None stands where an argument is no constant."""
    summary: str = ""

    def accepts(self, count: int) -> bool:
        return len(self.takes) - self.optional <= count <= len(self.takes)

    def call(self, arguments: tuple[Value, ...]) -> Value | None:
        """The result, or None when an argument is of the wrong kind or there is no result."""
        for value, kinds in zip(arguments, self.takes, strict=False):
            if kind_of(value) not in kinds:
                return None
        return self.apply(*arguments)


def _substring(text: str, start: int, length: int | None = None) -> str | None:
    if start < 1 or (length is not None and length < 0):
        return None
    return text[start - 1 :] if length is None else text[start - 1 : start - 1 + length]


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def _whole(rounding: Callable[[float], int]) -> Callable[[int | float], int | None]:
    def apply(number: int | float) -> int | None:
        result = rounding(number)
        return result if in_range(result) else None

    return apply


def _absolute(number: int | float) -> int | float | None:
    return abs(number) if in_range(abs(number)) else None


def _before(text: str, separator: str) -> str | None:
    return text[: text.find(separator)] if separator and separator in text else None


def _after(text: str, separator: str) -> str | None:
    return text[text.find(separator) + len(separator) :] if separator and separator in text else None


def _before_last(text: str, separator: str) -> str | None:
    return text[: text.rfind(separator)] if separator and separator in text else None


def _after_last(text: str, separator: str) -> str | None:
    return text[text.rfind(separator) + len(separator) :] if separator and separator in text else None


def _check_format(arguments: tuple[Value | None, ...]) -> None:
    if isinstance(arguments[1], str):
        time_format(arguments[1])


def _time_of_day(time: datetime) -> timedelta:
    return (time - EPOCH) % timedelta(days=1)


def _part(name: str) -> Callable[[datetime], int]:
    return lambda moment: int(getattr(moment, name))


def _always(kind: Kind) -> Callable[..., Kind]:
    return lambda *_: kind


_ALL = [
    Function("lower", (_TEXT,), _always(Kind.STRING), str.lower, summary="the text in lower case"),
    Function("upper", (_TEXT,), _always(Kind.STRING), str.upper, summary="the text in upper case"),
    Function(
        "trim", (_TEXT,), _always(Kind.STRING), lambda text: text.strip(" "), summary="without spaces at both ends"
    ),
    Function("length", (_TEXT,), _always(Kind.INT), len, summary="number of characters"),
    Function(
        "substring",
        (_TEXT, _INT, _INT),
        _always(Kind.STRING),
        _substring,
        optional=1,
        summary="from a position (the first is 1), so many characters",
    ),
    Function("replace", (_TEXT, _TEXT, _TEXT), _always(Kind.STRING), _replace, summary="every occurrence replaced"),
    Function("abs", (NUMBERS,), lambda kind: kind, _absolute, keeps_unit=True, summary="without the sign"),
    Function("floor", (NUMBERS,), _always(Kind.INT), _whole(math.floor), keeps_unit=True, summary="largest int below"),
    Function("ceil", (NUMBERS,), _always(Kind.INT), _whole(math.ceil), keeps_unit=True, summary="smallest int above"),
    Function(
        "int",
        (NUMBERS | _TEXT,),
        _always(Kind.INT),
        as_int,
        keeps_unit=True,
        summary="as an int: a number without a fraction, or a text that spells an integer as JSON does; else missing",
    ),
    Function(
        "float",
        (NUMBERS | _TEXT,),
        _always(Kind.FLOAT),
        as_float,
        keeps_unit=True,
        summary="as a float: a number, or a text that spells one as JSON does; else missing",
    ),
    Function(
        "text",
        (NUMBERS | {Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION},),
        _always(Kind.STRING),
        as_text,
        summary="as a text: `5`, `2.5`, `1e+16` (the shortest that reads back), `true`, `2026-05-01T12:00:00Z`, `PT5M`",
    ),
    Function("before", (_TEXT, _TEXT), _always(Kind.STRING), _before, summary="what stands before the first separator"),
    Function("after", (_TEXT, _TEXT), _always(Kind.STRING), _after, summary="what stands after the first separator"),
    Function(
        "before_last",
        (_TEXT, _TEXT),
        _always(Kind.STRING),
        _before_last,
        summary="what stands before the last separator",
    ),
    Function(
        "after_last", (_TEXT, _TEXT), _always(Kind.STRING), _after_last, summary="what stands after the last separator"
    ),
    Function(
        "parse_time",
        (_TEXT, _TEXT),
        _always(Kind.TIMESTAMP),
        parse_time,
        check=_check_format,
        summary="the timestamp that a text says in a format, in UTC; parts that the format lacks are of 1970-01-01",
    ),
    Function(
        "format_time",
        (_TIME, _TEXT),
        _always(Kind.STRING),
        format_time,
        check=_check_format,
        summary="a timestamp, in UTC, as the format writes it",
    ),
    Function("time_of_day", (_TIME,), _always(Kind.DURATION), _time_of_day, summary="duration since midnight, in UTC"),
    Function(
        "weekday", (_TIME,), _always(Kind.INT), datetime.isoweekday, summary="day of the week, 1 is Monday, in UTC"
    ),
    Function(
        "point",
        (NUMBERS, NUMBERS),
        _always(Kind.POINT),
        lambda x, y: Point(float(x), float(y)),
        summary="the point with these coordinates",
    ),
    *(
        Function(name, (_TIME,), _always(Kind.INT), _part(name), summary=f"{name} of a timestamp, in UTC")
        for name in ("year", "month", "day", "hour", "minute", "second")
    ),
]

FUNCTIONS: Mapping[str, Function] = {function.name: function for function in _ALL}
"""By name. `coalesce` (the first that is present), `lookup`, `value` and `quantity` (units) are part of the language
itself.
"""

RESERVED = frozenset({*FUNCTIONS, "coalesce", "lookup", "value", "quantity", "duration", "bytes"})
"""The names that an extension function cannot have."""
