"""Values as texts, texts as values, and parts of texts and times, as Spark columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from pyspark.sql import Column
from pyspark.sql import functions as F

from comity.errors import Misuse
from comity.event.kinds import INT_MAX, Kind, Value
from comity.expression.functions import FUNCTIONS
from comity.expression.spellings import INTEGER, NUMBER
from comity.expression.time_formats import Field, TimeFormat, time_format
from comity.pipeline.columns.arithmetic import as_float, whole
from comity.pipeline.columns.extensions import in_python
from comity.pipeline.operands import MAX_FLOAT, Operand, sized

_DAY = 86_400_000_000
_LONGEST = 2**31 - 1


def converted(name: str, kinds: tuple[Kind, ...], operands: tuple[Operand, ...]) -> Operand | None:
    """The result of `text`, `int`, `float`, `parse_time` or `format_time`; None for any other function."""
    match name:
        case "text":
            return _spelled(kinds[0], operands[0])
        case "int" | "float":
            return _as_number(name, kinds[0], operands[0])
        case "parse_time" | "format_time":
            format = _constant_format(operands[1])
            if format is None:
                return _in_python(name, tuple(zip(kinds, operands, strict=True)))
            build = _parsed if name == "parse_time" else _written
            return sized(Operand(build(operands[0].column, format), size=8 * len(format.tokens) * operands[0].size))
    return None


def _in_python(name: str, chosen: tuple[tuple[Kind, Operand], ...]) -> Operand:
    return in_python(partial(_call, name), FUNCTIONS[name].gives(), chosen)


def _call(name: str, arguments: tuple[Value | None, ...]) -> Value | None:
    return FUNCTIONS[name].call(arguments)


# Numbers and texts


def _spelled(kind: Kind, operand: Operand) -> Operand:
    match kind:
        case Kind.INT | Kind.BOOL:
            column = operand.column.cast("string")
        case Kind.TIMESTAMP:
            column = _rfc3339(operand.column)
        case _:  # Java spells floats in another way, and knows no durations as ours
            return _in_python("text", ((kind, operand),))
    return sized(Operand(column, size=4 * operand.size + 4))


def _rfc3339(moment: Column) -> Column:
    micros = F.pmod(F.unix_micros(moment), F.lit(1_000_000))
    fraction = F.when(micros == 0, F.lit("Z")).otherwise(F.format_string(".%06dZ", micros))
    return F.concat(F.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss"), fraction)


def _as_number(name: str, kind: Kind, operand: Operand) -> Operand:
    if kind is Kind.STRING:
        return _read_number(name, operand)
    if name == "float":
        return as_float(operand, kind)
    if kind is Kind.INT:
        return operand
    number = operand.column
    return sized(Operand(F.when(number == F.rint(number), whole(number)), bound=float(INT_MAX), size=4 * operand.size))


def _read_number(name: str, operand: Operand) -> Operand:
    pattern, type = (INTEGER, "long") if name == "int" else (NUMBER, "double")
    column = F.when(operand.column.rlike(rf"\A(?:{pattern})\z"), operand.column.try_cast(type))
    if name == "int":
        return sized(Operand(column, bound=float(INT_MAX), size=3 * operand.size + 3))
    finite = F.when(F.abs(column) <= MAX_FLOAT, column)
    return sized(Operand(finite, bound=MAX_FLOAT, size=6 * operand.size + 6))


# Parts of texts


def _before(text: Column, separator: Column) -> Column:
    """What stands before the first separator."""
    at = _position(text, separator)
    return F.when(at > 0, F.substring(text, F.lit(1), at - 1))


def _after(text: Column, separator: Column) -> Column:
    """What stands after the first separator."""
    at = _position(text, separator)
    return F.when(at > 0, F.substring(text, at + F.length(separator), F.lit(_LONGEST)))


def _after_last(text: Column, separator: Column) -> Column:
    """What stands after the last separator."""
    rest = F.call_function("substring_index", text, separator, F.lit(-1))
    return F.when(_position(text, separator) > 0, rest)


def _before_last(text: Column, separator: Column) -> Column:
    """What stands before the last separator."""
    length = F.length(text) - F.length(_after_last(text, separator)) - F.length(separator)
    return F.when(_position(text, separator) > 0, F.substring(text, F.lit(1), length))


def _position(text: Column, separator: Column) -> Column:
    """Where the separator first stands; 0 when it does not, or is empty."""
    return F.when(separator == "", F.lit(0)).otherwise(F.position(separator, text))


# Times


def _time_of_day(moment: Column) -> Column:
    """Microseconds since midnight."""
    return F.pmod(F.unix_micros(moment), F.lit(_DAY))


def _weekday(moment: Column) -> Column:
    """1 for Monday to 7 for Sunday."""
    return (F.weekday(moment) + 1).cast("long")


def _constant_format(operand: Operand) -> TimeFormat | None:
    try:
        return time_format(operand.constant) if isinstance(operand.constant, str) else None
    except Misuse:
        return None


def _written(moment: Column, format: TimeFormat) -> Column:
    return F.concat(*(_field(moment, token) if isinstance(token, Field) else F.lit(token) for token in format.tokens))


def _field(moment: Column, field: Field) -> Column:
    number = _number(moment, field)
    if field.digits < 0:
        return F.when(number < 12, F.lit("am")).otherwise(F.lit("pm"))
    if field.of_twelve:
        number = F.pmod(number + 11, F.lit(12)) + 1
    return F.lpad(number.cast("string"), field.digits, "0") if field.digits else number.cast("string")


def _number(moment: Column, field: Field) -> Column:
    if field.part == "fraction":
        micros = F.pmod(F.unix_micros(moment), F.lit(1_000_000))
        return F.floor(micros / 1000) if field.digits == 3 else micros
    number: Column = getattr(F, "hour" if field.part == "half" else field.part)(moment)
    return number


def _parsed(text: Column, format: TimeFormat) -> Column:
    pattern = rf"\A{format.pattern}\z"
    given: dict[str, Column] = {}
    for group, field in enumerate(format.fields, start=1):
        found = F.regexp_extract(text, pattern, group)
        given[field.part] = F.lower(found) == "pm" if field.digits < 0 else found.try_cast("int")
        if field.part == "fraction" and field.digits == 3:
            given[field.part] = given[field.part] * 1000
    hour = given.get("hour", F.lit(0))
    if "half" in given:
        hour = F.pmod(hour, F.lit(12)) + F.when(given["half"], F.lit(12)).otherwise(F.lit(0))
    year, month, day = given.get("year", F.lit(1970)), given.get("month", F.lit(1)), given.get("day", F.lit(1))
    minute, second = given.get("minute", F.lit(0)), given.get("second", F.lit(0))
    made = F.try_make_timestamp(years=year, months=month, days=day, hours=hour, mins=minute, secs=second)
    if "fraction" in given:
        made = F.timestamp_micros(F.unix_micros(made) + given["fraction"])
    return F.when(text.rlike(pattern) & (year > 0), made)


BUILDERS: Mapping[str, Callable[..., Column]] = {
    "before": _before,
    "after": _after,
    "before_last": _before_last,
    "after_last": _after_last,
    "time_of_day": _time_of_day,
    "weekday": _weekday,
}
"""The functions that need nothing but columns, by name."""
