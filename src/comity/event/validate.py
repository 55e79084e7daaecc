"""Values at the border: from JSON to the kinds of a type, with every fault found."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from reprlib import Repr
from typing import Any

from comity.event.kinds import INT_MAX, INT_MIN, Kind, Point, Value, to_microseconds
from comity.event.times import parse_duration, parse_timestamp
from comity.event.types import AttributeType, EventType

MAX_NESTING = 64
"""Levels of structs and lists in the data of one event."""

_MAX_PATH_CHARS = 200
_JSON_NAMES = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "string",
    dict: "struct",
    list: "list",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason why a record was refused: the attribute (`device.tags[2]`, `event.id`), its value, cut short, why."""

    path: str
    value: str
    reason: str
    code: str
    column: int | None = None

    def as_dict(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if value is not None}


class Checked(dict[str, Value]):
    """The attributes of an event that were found to fit a type, so that nobody need look at them again.

    It is a plain dict to everybody else, and equal to one.
    """

    __slots__ = ("type",)

    type: EventType | None

    def __init__(self) -> None:
        super().__init__()
        self.type = None

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # what comes from elsewhere is checked again


class _UnfitError(Exception):
    """A value that is refused."""

    def __init__(self, reason: str, code: str) -> None:
        self.reason, self.code = reason, code


def conform(data: Mapping[str, Any], type: EventType) -> tuple[dict[str, Value], list[Fault]]:
    """The attributes that the type names, as typed values, and every fault.

    JSON null is missing. Attributes that the type does not name are dropped. Values that are typed already stay so.
    An int may stand for a float, never a float for an int, not even 5.0. Timestamps are RFC 3339 texts, durations
    ISO 8601 or a number with a unit, bytes base64, points `{"x": 1, "y": 2}` or `[1, 2]`.

    >>> fire = EventType("Fire", "house", own={"heat": AttributeType(Kind.FLOAT), "room": AttributeType(Kind.STRING)})
    >>> values, faults = conform({"heat": 40, "colour": "red"}, fire)
    >>> values, [(fault.path, fault.code) for fault in faults]
    ({'heat': 40.0}, [('room', 'missing')])
    """
    faults: list[Fault] = []
    values = Checked()
    _attributes(data, type.attributes, "", faults, values)
    if not faults:
        values.type = type
    return values, faults


def check_open(value: Any, path: str, faults: list[Fault]) -> None:
    """Find what no event can carry in decoded JSON without a type; attributes that are null are taken out."""
    if not _is_fine(value, MAX_NESTING):  # paths are spelt out only when there is something to report
        _check_open(value, path, faults, MAX_NESTING)


def fault(path: str, value: Any, reason: str, code: str, column: int | None = None) -> Fault:
    """A fault with its value cut to a few characters."""
    shown = path[:_MAX_PATH_CHARS].encode(errors="backslashreplace").decode()
    return Fault(shown, shorten(value), reason, code, column)


def shorten(value: Any) -> str:
    """A value for people, cut to some 80 characters.

    >>> shorten("a" * 1000)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"
    """
    if isinstance(value, int) and value.bit_length() > 256:  # Python refuses to write very long ones
        return f"an int of {value.bit_length()} bits"
    try:
        return _repr.repr(value)
    except ValueError:
        return f"a {type(value).__name__}"


def is_text(value: str) -> bool:
    """Whether the text has no lone half of a surrogate pair, which no UTF-8 can carry."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shortener() -> Repr:
    short = Repr()
    short.maxstring = short.maxother = short.maxlong = 75
    short.maxlevel, short.maxdict, short.maxlist, short.maxtuple = 2, 3, 3, 3
    return short


_repr = _shortener()


def _attributes(
    data: Mapping[str, Any],
    attributes: Mapping[str, AttributeType],
    prefix: str,
    faults: list[Fault],
    values: dict[str, Value],
) -> dict[str, Value]:
    for name, attribute in attributes.items():
        value = data.get(name)
        if value is None:
            if not attribute.optional:
                faults.append(Fault(prefix + name, "null", "a mandatory attribute is missing", "missing"))
            continue
        converted = _convert(value, attribute, prefix + name, faults)
        if converted is not None:
            values[name] = converted
    return values


def _convert(value: Any, attribute: AttributeType, path: str, faults: list[Fault]) -> Value | None:
    """The typed value, or None after adding to the faults."""
    kind = attribute.kind
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        try:
            return scalar(value)
        except _UnfitError as unfit:
            faults.append(fault(path, value, unfit.reason, unfit.code))
            return None
    if kind is Kind.STRUCT and isinstance(value, Mapping):
        return _attributes(value, attribute.attributes, path + ".", faults, {})
    if kind is Kind.LIST and isinstance(value, list | tuple) and attribute.element is not None:
        element = attribute.element
        return [_convert(item, element, f"{path}[{index}]", faults) for index, item in enumerate(value)]
    faults.append(fault(path, value, _wrong(kind.value, value).reason, "wrong-kind"))
    return None


def _wrong(expected: str, value: Any) -> _UnfitError:
    return _UnfitError(f"expected {expected}, found {_JSON_NAMES.get(type(value), type(value).__name__)}", "wrong-kind")


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise _wrong("bool", value)
    return value


def _int(value: Any) -> int:
    if type(value) is not int:
        raise _wrong("int", value)
    if not INT_MIN <= value <= INT_MAX:
        raise _UnfitError("does not fit in 64 bits", "out-of-range")
    return value


def _float(value: Any) -> float:
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise _UnfitError("does not fit in a 64 bit float", "out-of-range") from None
    if type(value) is not float:
        raise _wrong("float", value)
    if not math.isfinite(value):
        raise _UnfitError("is not a finite number", "not-finite")
    return value


def _string(value: Any) -> str:
    if type(value) is not str:
        raise _wrong("string", value)
    if not is_text(value):
        raise _UnfitError("holds half of a surrogate pair", "bad-text")
    return value


def _timestamp(value: Any) -> datetime:
    if isinstance(value, datetime) and value.tzinfo is not None:
        try:
            return value.astimezone(UTC)
        except OverflowError:
            raise _UnfitError("is out of the years 1 to 9999 in UTC", "out-of-range") from None
    found = parse_timestamp(value) if type(value) is str else None
    if found is not None:
        return found
    if not isinstance(value, str | datetime):
        raise _wrong("timestamp", value)
    raise _UnfitError("is not an RFC 3339 timestamp with an offset, such as 2024-05-01T12:00:00Z", "bad-timestamp")


def _duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        if abs(to_microseconds(value)) > INT_MAX:
            raise _UnfitError("does not fit in 64 bits of microseconds", "out-of-range")
        return value
    if type(value) is not str:
        raise _wrong("duration", value)
    found = parse_duration(value)
    if found is None:
        raise _UnfitError("is not a duration, such as PT5M or '5 min'", "bad-duration")
    return found


def _bytes(value: Any) -> bytes:
    if type(value) is bytes:
        return value
    if type(value) is not str:
        raise _wrong("bytes", value)
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise _UnfitError("is not base64", "bad-base64") from None


def _point(value: Any) -> Point:
    if isinstance(value, Mapping) and "x" in value and "y" in value:
        return Point(_float(value["x"]), _float(value["y"]))
    if isinstance(value, list | tuple) and len(value) == 2:
        return Point(_float(value[0]), _float(value[1]))
    raise _wrong('point, {"x": 1, "y": 2} or [1, 2]', value)


_SCALARS: Mapping[Kind, Callable[[Any], Value]] = {
    Kind.BOOL: _bool,
    Kind.INT: _int,
    Kind.FLOAT: _float,
    Kind.STRING: _string,
    Kind.TIMESTAMP: _timestamp,
    Kind.DURATION: _duration,
    Kind.BYTES: _bytes,
    Kind.POINT: _point,
}


def _is_fine(value: Any, levels: int) -> bool:
    kind = type(value)
    if kind is str:
        return is_text(value)
    if kind is int:
        return INT_MIN <= value <= INT_MAX  # type: ignore[no-any-return]
    if kind is float:
        return math.isfinite(value)
    if kind is dict:
        if levels == 0:
            return False
        return all(item is not None and is_text(name) and _is_fine(item, levels - 1) for name, item in value.items())
    if kind is list:
        return levels > 0 and all(_is_fine(item, levels - 1) for item in value)
    return True


def _check_open(value: Any, path: str, faults: list[Fault], levels: int) -> None:
    kind = type(value)
    if kind is dict or kind is list:
        if levels == 0:
            faults.append(fault(path, value, f"is nested deeper than {MAX_NESTING} levels", "too-deep"))
        elif kind is dict:
            _check_open_struct(value, path, faults, levels - 1)
        else:
            for index, item in enumerate(value):
                _check_open(item, f"{path}[{index}]", faults, levels - 1)
        return
    check = _OPEN_CHECKS.get(kind)
    if check is not None:
        try:
            check(value)
        except _UnfitError as unfit:
            faults.append(fault(path, value, unfit.reason, unfit.code))


def _check_open_struct(struct: dict[str, Any], path: str, faults: list[Fault], levels: int) -> None:
    prefix = path + "." if path else ""
    missing = []
    for name, value in struct.items():
        if not is_text(name):
            faults.append(fault(prefix + name, value, "its name holds half of a surrogate pair", "bad-text"))
        elif value is None:
            missing.append(name)
        else:
            _check_open(value, prefix + name, faults, levels)
    for name in missing:
        del struct[name]


_OPEN_CHECKS: Mapping[type, Callable[[Any], Value]] = {int: _int, float: _float, str: _string}
