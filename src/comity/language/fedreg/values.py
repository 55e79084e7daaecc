"""Values in FedReg: what they mean for an attribute, and how they are written."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime, time, timedelta

from comity.errors import Misuse
from comity.event.kinds import NUMBERS, Kind, kind_of
from comity.event.times import format_duration, format_timestamp, parse_duration
from comity.event.types import AttributeType
from comity.expression.parse import parse
from comity.expression.spellings import as_text
from comity.expression.tree import FALSE, TRUE, Attribute, Call, Compare, Expression, In, Literal, Quantity, TextTest

_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,6}))?)?")
_TRUTHS = {"true": TRUE, "false": FALSE}


def clock(text: str) -> time | None:
    """The time of day that a text says.

    >>> clock("9:05"), clock("24:00")
    (datetime.time(9, 5), None)
    """
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hour, minute, second, fraction = found.groups()
    return time(int(hour), int(minute), int(second or 0), int((fraction or "0").ljust(6, "0")))


def since_midnight(moment: time) -> timedelta:
    """The duration from midnight to a time of day."""
    return timedelta(hours=moment.hour, minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond)


def comparison(
    attribute: Attribute, declared: AttributeType | None, symbol: str, text: str, quoted: bool
) -> Expression:
    """What an operator and a value ask of an attribute; without a declaration, by what the value looks like."""
    if declared is None:
        return _open(attribute, symbol, text, quoted)
    moment = clock(text)
    if declared.kind is Kind.TIMESTAMP and moment is not None:
        return Compare(symbol, Call("time_of_day", (attribute,)), Literal(since_midnight(moment)))
    found = _constant(text, declared.kind)
    if found is None:
        hint = "regular expressions follow ~, texts of several words stand in quotes"
        raise Misuse(f"{text!r} is no {declared.kind}, as {attribute.name} is", code="bad-value", hint=hint)
    return Compare(symbol, attribute, found)


def _constant(text: str, kind: Kind) -> Expression | None:
    match kind:
        case Kind.STRING:
            return Literal(text)
        case Kind.BOOL:
            return _TRUTHS.get(text)
        case Kind.INT | Kind.FLOAT:
            return _written(text, NUMBERS)
        case Kind.TIMESTAMP:
            return _written(text, frozenset({Kind.TIMESTAMP}))
        case Kind.DURATION:
            moment = clock(text)
            span = since_midnight(moment) if moment is not None else parse_duration(text)
            return None if span is None else Literal(span)
        case Kind.BYTES:
            return _bytes(text)
    return None


def _written(text: str, kinds: frozenset[Kind]) -> Expression | None:
    """A constant of one of the kinds as our own language writes it; a number may have a unit."""
    try:
        found = parse(text)
    except Misuse:
        return None
    if isinstance(found, Quantity) and kinds >= NUMBERS:
        return found
    return found if isinstance(found, Literal) and kind_of(found.value) in kinds else None


def _bytes(text: str) -> Expression | None:
    try:
        return Literal(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return None


def _open(attribute: Attribute, symbol: str, text: str, quoted: bool) -> Expression:
    """Without a type, a number or a truth value can be a text, too."""
    moment = None if quoted else clock(text)
    if moment is not None:
        return Compare(symbol, Call("time_of_day", (attribute,)), Literal(since_midnight(moment)))
    found = None if quoted else _TRUTHS.get(text) or _written(text, NUMBERS | {Kind.TIMESTAMP})
    if found is None:
        return Compare(symbol, attribute, Literal(text))
    if symbol in ("=", "!=") and isinstance(found, Literal) and not isinstance(found.value, datetime):
        return In(attribute, (found, Literal(text)), symbol == "!=")
    return Compare(symbol, attribute, found)


def with_wildcards(attribute: Attribute, text: str) -> Expression | None:
    r"""The test for a text with `*` in it, None when there is none; `\*` is the character.

    >>> with_wildcards(Attribute(("a",)), "Main Street, *").text
    'Main Street, %'
    """
    parts = re.split(r"(?<!\\)((?:\\\\)*)\*", text)
    if len(parts) == 1:
        return None
    texts = [before + escapes for before, escapes in zip(parts[::2], [*parts[1::2], ""], strict=True)]
    return TextTest("like", attribute, "%".join(_like(plain_text(part)) for part in texts))


def plain_text(text: str) -> str:
    """A text without wildcards, its escapes read."""
    return re.sub(r"\\([\\*])", r"\1", text)


def escaped_text(text: str) -> str:
    """The reverse of `plain_text`."""
    return re.sub(r"[\\*]", r"\\\g<0>", text)


def _like(text: str) -> str:
    return re.sub(r"[\\%_]", r"\\\g<0>", text)


def value_text(node: Expression, kind: Kind) -> str | None:
    """A constant as the language writes it for attributes of a kind, None when it cannot."""
    match node:
        case Quantity(number, unit):
            return f"{number!r} {unit}"
        case Literal(bool(value)):
            return as_text(value) if kind is Kind.BOOL else None
        case Literal(int() | float() as value):
            return repr(value) if kind.is_number else None
        case Literal(str(value)):
            return quoted(value) if kind is Kind.STRING else None
        case Literal(bytes(value)):
            return quoted(base64.b64encode(value).decode()) if kind is Kind.BYTES else None
        case Literal(datetime() as value):
            return format_timestamp(value) if kind is Kind.TIMESTAMP else None
        case Literal(timedelta() as value):
            return format_duration(value) if kind is Kind.DURATION else None
    return None


def quoted(text: str) -> str:
    """A text in quotes."""
    return "'" + text.replace("'", "''") + "'"
