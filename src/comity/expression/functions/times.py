"""Functions of times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from comity.errors import Misuse
from comity.event.kinds import EPOCH, Kind, Value
from comity.expression.functions.format_forms import (
    read_in_spark,
    read_in_xpath,
    texts_that_say,
    times_written,
    written_in_spark,
    written_in_xpath,
)
from comity.expression.functions.record import (
    TEXT,
    TIME,
    Arguments,
    Function,
    NoCounterpartError,
    XPathCall,
    always,
    gives,
    never,
)
from comity.expression.time_formats import TimeFormat, format_time, parse_time, time_format

_DAY = 86_400_000_000
_YEAR = 31_556_952_000_000
"""Microseconds of a year, on the average."""


# Formats


def _format(arguments: Arguments) -> TimeFormat | None:
    """The format, if it is a constant and one at all."""
    text = arguments.constant(1)
    try:
        return time_format(text) if isinstance(text, str) else None
    except Misuse:
        return None


def _check_format(arguments: tuple[Value | None, ...]) -> None:
    if isinstance(arguments[1], str):
        time_format(arguments[1])


def _has_format(arguments: Arguments) -> bool:
    return _format(arguments) is not None


def _is_ordered(arguments: Arguments) -> bool:
    format = _format(arguments)
    return format is not None and format.is_ordered


def _texts_that_say(arguments: Arguments, value: Value) -> list[Value] | None:
    if not isinstance(value, datetime) or not isinstance(arguments.constant(1), str):
        return None
    format = _format(arguments)
    return [] if format is None else texts_that_say(value, format)


def _times_written(arguments: Arguments, value: Value) -> list[Value] | None:
    if not isinstance(value, str) or not isinstance(arguments.constant(1), str):
        return None
    format = _format(arguments)
    return [] if format is None else times_written(value, format)


def _formatted_in_xpath(form: Callable[[str, TimeFormat, Callable[[str], str]], str]) -> Callable[[XPathCall], str]:
    def build(printed: XPathCall) -> str:
        if not isinstance(printed.arguments.constant(1), str):
            raise NoCounterpartError("the format is no constant")
        format = _format(printed.arguments)
        return "()" if format is None else form(printed.texts[0], format, printed.quote)

    return build


def _formatted_in_spark(form: Callable[[Any, Any, TimeFormat], Any]) -> Callable[..., Any]:
    def build(F: Any, arguments: Arguments, value: Any, _: Any) -> Any:
        format = _format(arguments)
        return None if format is None else form(F, value, format)

    return build


# Parts


def _time_of_day(time: datetime) -> timedelta:
    return (time - EPOCH) % timedelta(days=1)


def _start_of_year(year: Fraction) -> Fraction:
    return (year - 1970) * _YEAR


def _part(name: str, xpath: str) -> Function:
    return Function(
        name=name,
        summary=f"{name} of a timestamp, in UTC",
        takes=(TIME,),
        gives=gives(Kind.INT),
        apply=lambda moment: int(getattr(moment, name)),
        total=always,
        rising=always if name == "year" else never,
        undo=_start_of_year if name == "year" else None,
        loses=f"it keeps the {name} only",
        xpath=xpath,
        spark=lambda F, _, moment: getattr(F, name)(moment).cast("long"),
    )


TIME_FUNCTIONS = (
    Function(
        name="parse_time",
        summary="the timestamp that a text says in a format, in UTC; parts that the format lacks are of 1970-01-01",
        takes=(TEXT, TEXT),
        gives=gives(Kind.TIMESTAMP),
        apply=parse_time,
        check=_check_format,
        sources=_texts_that_say,
        xpath=_formatted_in_xpath(read_in_xpath),
        spark=_formatted_in_spark(read_in_spark),
        spark_growth=64,
    ),
    Function(
        name="format_time",
        summary="a timestamp, in UTC, as the format writes it",
        takes=(TIME, TEXT),
        gives=gives(Kind.STRING),
        apply=format_time,
        check=_check_format,
        total=_has_format,
        rising=_is_ordered,
        sources=_times_written,
        xpath=_formatted_in_xpath(written_in_xpath),
        spark=_formatted_in_spark(written_in_spark),
        spark_growth=64,
    ),
    Function(
        name="time_of_day",
        summary="duration since midnight, in UTC",
        takes=(TIME,),
        gives=gives(Kind.DURATION),
        apply=_time_of_day,
        total=always,
        loses="it leaves out the date",
        xpath="({} ! (. - c:midnight(.)))",
        spark=lambda F, _, moment: F.pmod(F.unix_micros(moment), F.lit(_DAY)),
    ),
    Function(
        name="weekday",
        summary="day of the week, 1 is Monday, in UTC",
        takes=(TIME,),
        gives=gives(Kind.INT),
        apply=datetime.isoweekday,
        total=always,
        loses="it keeps the day of the week only",
        xpath="c:weekday({})",
        spark=lambda F, _, moment: (F.weekday(moment) + 1).cast("long"),
    ),
    _part("year", "year-from-dateTime({})"),
    _part("month", "month-from-dateTime({})"),
    _part("day", "day-from-dateTime({})"),
    _part("hour", "hours-from-dateTime({})"),
    _part("minute", "minutes-from-dateTime({})"),
    _part("second", "xs:integer(floor(seconds-from-dateTime({})))"),
)
