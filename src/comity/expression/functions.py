"""The functions of the expression language: their kinds and what they give.

Every function is missing when an argument is missing (`coalesce` apart) or of the wrong kind, so a function body
sees good values only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from comity.event.kinds import NUMBERS, Kind, Point, Value, in_range, kind_of

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
    Function("float", (NUMBERS,), _always(Kind.FLOAT), float, keeps_unit=True, summary="as a float"),
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
