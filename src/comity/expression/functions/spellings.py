"""Numbers, truths and times as texts, and texts as numbers."""

from __future__ import annotations

import sys
from typing import Any

from comity.event.kinds import NUMBERS, Kind, Value, in_range
from comity.expression.functions.record import (
    INT,
    TEXT,
    Arguments,
    Function,
    NoCounterpartError,
    XPathCall,
    always,
    gives,
    of_kinds,
)
from comity.expression.spellings import INTEGER, NUMBER, as_float, as_int, as_text, from_text

_FLOAT = frozenset({Kind.FLOAT})
_BEYOND_LONG = 2.0**63


# text


def _spelt(arguments: Arguments, value: Value) -> list[Value] | None:
    """The value whose text this is."""
    kinds = arguments.kinds[0]
    if len(kinds) != 1 or not isinstance(value, str):
        return None  # a text that meets a time is read as one
    found = from_text(value, next(iter(kinds)))
    return [] if found is None else [found]


def _text_in_xpath(printed: XPathCall) -> str:
    kinds = printed.arguments.kinds[0]
    if Kind.FLOAT in kinds:
        raise NoCounterpartError("XPath spells floats in another way")
    return ("c:time-text({})" if Kind.TIMESTAMP in kinds else "({} ! string(.))").format(*printed.texts)


def _text_in_spark(F: Any, arguments: Arguments, value: Any) -> Any:
    (kind,) = arguments.kinds[0]
    if kind in (Kind.INT, Kind.BOOL):
        return value.cast("string")
    if kind is not Kind.TIMESTAMP:  # Java spells floats in another way, and knows no durations as ours
        return None
    micros = F.pmod(F.unix_micros(value), F.lit(1_000_000))
    fraction = F.when(micros == 0, F.lit("Z")).otherwise(F.format_string(".%06dZ", micros))
    return F.concat(F.date_format(value, "yyyy-MM-dd'T'HH:mm:ss"), fraction)


# int and float


def _integers(arguments: Arguments, value: Value) -> list[Value] | None:
    """What `int` makes a number of."""
    kinds = arguments.kinds[0]
    if type(value) not in (int, float) or kinds not in (TEXT, _FLOAT):
        return None
    if value != int(value) or not in_range(int(value)):
        return []
    whole = int(value)
    if kinds == TEXT:
        return [str(whole)] if whole else ["0", "-0"]
    return [whole]


def _read(F: Any, text: Any, pattern: str, type: str) -> Any:
    return F.when(text.rlike(rf"\A(?:{pattern})\z"), text.try_cast(type))


def _int_in_spark(F: Any, arguments: Arguments, value: Any) -> Any:
    kinds = arguments.kinds[0]
    if kinds == TEXT:
        return _read(F, value, INTEGER, "long")
    if kinds == INT:
        return value
    fits = (value >= -_BEYOND_LONG) & (value < _BEYOND_LONG)
    return F.when(value == F.rint(value), F.when(fits, value.cast("long")))


def _float_in_spark(F: Any, arguments: Arguments, value: Any) -> Any:
    kinds = arguments.kinds[0]
    if kinds == TEXT:
        number = _read(F, value, NUMBER, "double")
        return F.when(F.abs(number) <= sys.float_info.max, number)
    return value.cast("double") if kinds == INT else value


SPELLING_FUNCTIONS = (
    Function(
        name="int",
        summary="as an int: a number without a fraction, or a text that spells an integer as JSON does; else missing",
        takes=(NUMBERS | TEXT,),
        gives=gives(Kind.INT),
        apply=as_int,
        keeps_unit=True,
        total=of_kinds(INT),
        rising=of_kinds(NUMBERS),
        distinct=of_kinds(NUMBERS),
        sources=_integers,
        back={Kind.INT: None, Kind.FLOAT: "float"},
        loses="several texts are one number",
        xpath="c:as-int({})",
        spark=_int_in_spark,
        spark_growth=4,
    ),
    Function(
        name="float",
        summary="as a float: a number, or a text that spells one as JSON does; else missing",
        takes=(NUMBERS | TEXT,),
        gives=gives(Kind.FLOAT),
        apply=as_float,
        keeps_unit=True,
        total=of_kinds(NUMBERS),
        rising=of_kinds(NUMBERS),
        distinct=of_kinds(_FLOAT),
        undo=lambda number: number,
        no_larger=of_kinds(NUMBERS),
        loses="several texts are one number",
        xpath="c:as-float({})",
        spark=_float_in_spark,
        spark_growth=6,
    ),
    Function(
        name="text",
        summary=(
            "as a text: `5`, `2.5`, `1e+16` (the shortest that reads back), `true`, `2026-05-01T12:00:00Z`, `PT5M`"
        ),
        takes=(NUMBERS | {Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION},),
        gives=gives(Kind.STRING),
        apply=as_text,
        total=always,
        sources=_spelt,
        back={Kind.INT: "int", Kind.FLOAT: "float"},
        xpath=_text_in_xpath,
        spark=_text_in_spark,
        spark_growth=4,
    ),
)
