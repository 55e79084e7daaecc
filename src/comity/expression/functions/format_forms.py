"""A format of times in other languages, XPath and Spark columns, and turned round: what it must have been made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import product
from typing import Any

from comity.event.kinds import Value
from comity.expression.time_formats import PARTS, Field, TimeFormat, spell

_MOST_SPELLINGS = 16
_XPATH_PARTS: Mapping[str, str] = {
    "year": "year-from-dateTime(.)",
    "month": "month-from-dateTime(.)",
    "day": "day-from-dateTime(.)",
    "hour": "hours-from-dateTime(.)",
    "minute": "minutes-from-dateTime(.)",
    "second": "xs:integer(floor(seconds-from-dateTime(.)))",
    "fraction": "c:fraction(.)",
}
_DEFAULTS = {"year": 1970, "month": 1, "day": 1}
_SPECIAL = frozenset("\\|.-^?*+{}()[]$")

Quote = Callable[[str], str]


# Turned round


def texts_that_say(time: datetime, format: TimeFormat) -> list[Value] | None:
    """Every text that says the time in a format; None when there are too many."""
    ways = [[token] if isinstance(token, str) else list(_spellings(token, time)) for token in format.tokens]
    if math.prod(map(len, ways)) > _MOST_SPELLINGS:
        return None
    # A text that fits is made of such spellings, but may be divided in another way, and say another time.
    spellings = dict.fromkeys("".join(parts) for parts in product(*ways))
    return [spelling for spelling in spellings if format.read(spelling) == time]


def _spellings(field: Field, time: datetime) -> Iterator[str]:
    number = field.read(time)
    own = spell(field, number)
    yield own
    if field.digits < 0:
        yield from (own.upper(), own[0] + "M", own[0].upper() + "m")
    elif field.digits == 0 and number < 10:
        yield "0" + own


def times_written(text: str, format: TimeFormat) -> list[Value] | None:
    """The first time that is written so; those that follow it are so, too, until a part of the format changes."""
    if not format.is_nested or not format.is_unambiguous:
        return None
    time = format.read(text)
    return [time] if time is not None and format.write(time) == text else []


# XPath


def written_in_xpath(value: str, format: TimeFormat, quote: Quote) -> str:
    """XPath for a timestamp as the format writes it."""
    parts = [_field_in_xpath(token) if isinstance(token, Field) else quote(token) for token in format.tokens]
    return f"({value} ! string-join(({', '.join(parts)})))"


def _field_in_xpath(field: Field) -> str:
    if field.part == "half":
        return "(if (hours-from-dateTime(.) ge 12) then 'pm' else 'am')"
    number = _XPATH_PARTS[field.part]
    if field.of_twelve:
        number = f"(({number} + 11) mod 12 + 1)"
    if field.part == "fraction" and field.digits == 3:
        number = f"({number} idiv 1000)"
    return f"format-integer({number}, '{'0' * max(field.digits, 1)}')"


def read_in_xpath(value: str, format: TimeFormat, quote: Quote) -> str:
    """XPath for the timestamp that a text says in the format."""
    fields = {field.part: (number, field) for number, field in enumerate(format.fields, start=1)}
    pattern = "".join(token.pattern if isinstance(token, Field) else _quoted(token) for token in format.tokens)
    whole = quote(f"^{pattern}$")

    def group(part: str) -> str:
        return f"replace(., {whole}, '${fields[part][0]}')"

    def number(part: str) -> str:
        if part not in fields:
            return str(_DEFAULTS.get(part, 0))
        found = f"xs:integer({group(part)})"
        if part == "hour" and "half" in fields:
            return f"({found} mod 12 + (if (matches({group('half')}, '^[pP]')) then 12 else 0))"
        return f"({found} * 1000)" if fields[part][1].digits == 3 and part == "fraction" else found

    parts = ", ".join(map(number, PARTS))
    return f"({value}[matches(., {whole})] ! c:time-of(({parts})))"


def _quoted(text: str) -> str:
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in text)


# Spark


def written_in_spark(F: Any, moment: Any, format: TimeFormat) -> Any:
    """The column of a timestamp as the format writes it."""
    tokens = format.tokens
    return F.concat(*(_field_in_spark(F, moment, one) if isinstance(one, Field) else F.lit(one) for one in tokens))


def _field_in_spark(F: Any, moment: Any, field: Field) -> Any:
    number = _number_in_spark(F, moment, field)
    if field.digits < 0:
        return F.when(number < 12, F.lit("am")).otherwise(F.lit("pm"))
    if field.of_twelve:
        number = F.pmod(number + 11, F.lit(12)) + 1
    return F.lpad(number.cast("string"), field.digits, "0") if field.digits else number.cast("string")


def _number_in_spark(F: Any, moment: Any, field: Field) -> Any:
    if field.part == "fraction":
        micros = F.pmod(F.unix_micros(moment), F.lit(1_000_000))
        return F.floor(micros / 1000) if field.digits == 3 else micros
    return getattr(F, "hour" if field.part == "half" else field.part)(moment)


def read_in_spark(F: Any, text: Any, format: TimeFormat) -> Any:
    """The column of the timestamp that a text says in the format, null where it says none."""
    pattern = rf"\A{format.pattern}\z"
    given = {part: F.lit(_DEFAULTS.get(part, 0)) for part in PARTS}
    said = [field.part for field in format.fields]
    for group, field in enumerate(format.fields, start=1):
        found = F.regexp_extract(text, pattern, group)
        given[field.part] = F.lower(found) == "pm" if field.digits < 0 else found.try_cast("int")
        if field.part == "fraction" and field.digits == 3:
            given[field.part] = given[field.part] * 1000
    hour = given["hour"]
    if "half" in said:
        hour = F.pmod(hour, F.lit(12)) + F.when(given["half"], F.lit(12)).otherwise(F.lit(0))
    made = F.try_make_timestamp(
        years=given["year"],
        months=given["month"],
        days=given["day"],
        hours=hour,
        mins=given["minute"],
        secs=given["second"],
    )
    if "fraction" in said:
        made = F.timestamp_micros(F.unix_micros(made) + given["fraction"])
    return F.when(text.rlike(pattern) & (given["year"] > 0), made)
