"""Events in Spark columns as lines of CloudEvents JSON, as the engine writes them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from comity.event.kinds import Kind
from comity.event.types import AttributeType, EventType
from comity.pipeline.operands import quoted
from comity.pipeline.parts import Parts, inside, is_present, whole

Attributes = Column | Mapping[str, Column | Parts]
"""The attributes of an event: a struct, or each of them by name."""


def json_line(data: Attributes, type: EventType, extensions: Mapping[str, Column]) -> Column:
    """One line for a row: the envelope of the row, but of the given type, its data, and extension attributes."""
    envelope = {
        "specversion": F.lit("1.0"),
        "id": quoted("id"),
        "source": quoted("source"),
        "type": F.lit(type.qualified_name),
        "time": timestamp_text(quoted("time")),
        "subject": quoted("subject"),
        "sequence": quoted("sequence").cast("string"),
        "mode": quoted("mode"),
        "typeversion": quoted("version"),
        **extensions,
        "data": _data(data, type),
    }
    return F.to_json(F.struct(*(column.alias(name) for name, column in envelope.items())))


def data_text(data: Attributes, type: EventType) -> Column:
    """The attributes of an event of the type, as they are in its line."""
    return F.to_json(_data(data, type)) if type.attributes else F.lit("{}")


def _data(data: Attributes, type: EventType) -> Column:
    return _struct(data, type.attributes) if isinstance(data, Column) else _fields(data, type.attributes)


def timestamp_text(moment: Column) -> Column:
    """RFC 3339 in UTC, to the second or to the microsecond."""
    is_whole = F.unix_micros(moment) % 1_000_000 == 0
    seconds, microseconds = (F.date_format(moment, f"yyyy-MM-dd'T'HH:mm:ss{rest}'Z'") for rest in ("", ".SSSSSS"))
    return F.when(is_whole, seconds).otherwise(microseconds)


def duration_text(microseconds: Column) -> Column:
    """ISO 8601 in days, hours, minutes and seconds, as the engine writes it."""
    size = F.abs(microseconds)
    days, hours = _whole(size, 86_400_000_000), _whole(_rest(size, 86_400_000_000), 3_600_000_000)
    minutes, below = _whole(_rest(size, 3_600_000_000), 60_000_000), _rest(size, 60_000_000)
    seconds, fraction = _whole(below, 1_000_000), _rest(below, 1_000_000)
    digits = F.when(fraction > 0, F.concat(F.lit("."), F.rtrim(F.lpad(fraction, 6, "0"), F.lit("0"))))
    clock = F.concat(
        _part(hours, "H"), _part(minutes, "M"), _part(seconds, "S", below > 0, F.coalesce(digits, F.lit("")))
    )
    sign = F.when(microseconds < 0, F.lit("-")).otherwise(F.lit(""))
    timed = F.when(clock != "", F.concat(F.lit("T"), clock)).otherwise(F.lit(""))
    text = F.concat(sign, F.lit("P"), _part(days, "D"), timed)
    return F.when(microseconds == 0, F.lit("PT0S")).when(microseconds.isNotNull(), text)


def _whole(count: Column, unit: int) -> Column:
    return F.call_function("div", count, F.lit(unit))


def _rest(count: Column, unit: int) -> Column:
    return count % F.lit(unit)


def _part(count: Column, letter: str, shown: Column | None = None, digits: Column | None = None) -> Column:
    """`5H`, or nothing when there is none of it."""
    text = F.concat(count.cast("string"), F.lit("") if digits is None else digits, F.lit(letter))
    return F.when(count > 0 if shown is None else shown, text).otherwise(F.lit(""))


def _struct(struct: Column | Parts, attributes: Mapping[str, AttributeType]) -> Column:
    given = {name: inside(struct, (name,)) for name in attributes}
    return F.when(is_present(struct), _fields(given, attributes))


def _fields(given: Mapping[str, Column | Parts], attributes: Mapping[str, AttributeType]) -> Column:
    fields = [_value(given[name], declared).alias(name) for name, declared in attributes.items()]
    return F.struct(*fields) if fields else F.create_map()


def _value(value: Column | Parts, declared: AttributeType) -> Column:
    """A value as JSON writes it; the kinds that JSON has stay as they are."""
    if declared.kind is Kind.STRUCT:
        return _struct(value, declared.attributes)
    column = whole(value)
    match declared.kind:
        case Kind.TIMESTAMP:
            return timestamp_text(column)
        case Kind.DURATION:
            return duration_text(column)
        case Kind.LIST:
            element = declared.element
            assert element is not None, "a list type names its elements"
            return column if _is_plain(element) else F.transform(column, lambda item: _value(item, element))
    return column


def _is_plain(declared: AttributeType) -> bool:
    """Whether JSON has the values of this attribute as they are."""
    return declared.kind not in (Kind.TIMESTAMP, Kind.DURATION, Kind.STRUCT, Kind.LIST)
