"""A test of a value that was written as a text, or read from one, becomes a test of what it was made from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from itertools import product

from comity.errors import Misuse
from comity.event.kinds import Kind, Value, in_range
from comity.event.types import EventType
from comity.expression.functions import FUNCTIONS
from comity.expression.kinds import kind_given
from comity.expression.like import like_tokens
from comity.expression.simplify.known import each_atom, presence
from comity.expression.spellings import from_text
from comity.expression.time_formats import Field, TimeFormat, spell, time_format
from comity.expression.tree import FALSE, And, Call, Compare, Expression, In, Literal, TextTest, rebuild

_MOST_SPELLINGS = 16
_OF_NUMBERS = frozenset("-0123456789")
_ORDERED = ("yyyy", "-MM", "-dd", "'T'HH", ":mm", ":ss", ".SSSSSS")


def invert_texts(node: Expression, type: EventType) -> Expression:
    """The filter with tests of numbers and times in place of their texts, and the other way round, where exact.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> house = EventType("House", "city", own={"floor": AttributeType(Kind.INT), "since": AttributeType(Kind.STRING)})
    >>> render(invert_texts(parse("text(floor) = '5' and parse_time(since, 'H:mm') = 1970-01-01T07:30Z"), house))
    "floor = 5 and since in ('7:30', '07:30')"
    """
    return each_atom(node, lambda atom: _inverted(atom, type))


@lru_cache(maxsize=8192)
def _inverted(atom: Expression, type: EventType) -> Expression:
    plain = rebuild(atom, lambda part: _without_change(part, type))
    match plain:
        case Compare("=" | "!=" as symbol, Call(name, arguments), Literal(value)):
            found = _sources(name, arguments, [value], type, symbol == "!=")
        case In(Call(name, arguments), items, negated):
            values = [item.value for item in items if isinstance(item, Literal)]
            found = _sources(name, arguments, values, type, negated) if len(values) == len(items) else None
        case TextTest(test, Call("text", (argument,)), text, negated) if _is_never_spelt(test, text, argument, type):
            return presence(argument, type) if negated else FALSE
        case TextTest("starts with", Call("format_time", (_, Literal(str(format)))) as operand, text, False):
            return _begins(operand, format, text) or plain
        case _:
            return plain
    return plain if found is None else found


def _is_never_spelt(test: str, text: str, argument: Expression, type: EventType) -> bool:
    """Whether no whole number is written with these characters."""
    if kind_given(argument, type) is not Kind.INT or test == "matches":
        return False
    tokens = like_tokens(text) if test == "like" else (text,)
    return any(char not in _OF_NUMBERS for token in tokens if isinstance(token, str) for char in token)


def _without_change(node: Expression, type: EventType) -> Expression:
    """The value without steps that leave it as it is: an int as an int, or as a text and back."""
    inner = rebuild(node, lambda part: _without_change(part, type)) if isinstance(node, Call) else node
    match inner:
        case Call("int" | "float" as name, (argument,)) if kind_given(argument, type) is FUNCTIONS[name].gives():
            return argument
        case Call("int" | "float" as name, (Call("text", (argument,)),)) if (
            kind_given(argument, type) is FUNCTIONS[name].gives()
        ):
            return argument
    return inner


def _sources(
    name: str, arguments: tuple[Expression, ...], values: list[Value], type: EventType, negated: bool
) -> Expression | None:
    """The test for what must stand under a function for it to give one of these values; None when it is not finite."""
    if not arguments:
        return None
    operand, *rest = arguments
    kind = kind_given(operand, type)
    sources: list[Value] = []
    for value in values:
        found = _source(name, kind, rest, value)
        if found is None or (negated and not _always_succeeds(name)):
            return None
        sources += found
    if name == "format_time":
        return _said_in_order(operand, sources, rest, negated)
    return _one_of(operand, list(dict.fromkeys(map(Literal, sources))), negated, type)


def _always_succeeds(name: str) -> bool:
    """Whether a present argument gives a result, so that another one than the wanted is the complement."""
    return name in ("text", "format_time")


def _one_of(operand: Expression, items: list[Expression], negated: bool, type: EventType) -> Expression:
    if not items:
        return presence(operand, type) if negated else FALSE
    if len(items) == 1:
        return Compare("!=" if negated else "=", operand, items[0])
    return In(operand, tuple(items), negated)


def _source(name: str, kind: Kind | None, rest: list[Expression], value: Value) -> list[Value] | None:
    """All values that the function turns into the wanted one; None when that is not known."""
    match name, kind, rest:
        case "text", Kind.INT | Kind.FLOAT | Kind.BOOL | Kind.TIMESTAMP | Kind.DURATION, []:
            if not isinstance(value, str):
                return None  # a text that meets a time is read as one
            found = from_text(value, kind)
            return [] if found is None else [found]
        case "int", Kind.STRING | Kind.FLOAT, []:
            return _integers(value, kind)
        case "parse_time", Kind.STRING, [Literal(str(format))] if isinstance(value, datetime):
            return _times_said(value, format)
        case "format_time", Kind.TIMESTAMP, [Literal(str(format))] if isinstance(value, str):
            return _times_written(value, format)
    return None


def _integers(value: Value, kind: Kind | None) -> list[Value] | None:
    if type(value) not in (int, float):
        return None
    if value != int(value) or not in_range(int(value)):
        return []
    whole = int(value)
    if kind is Kind.STRING:
        return [str(whole)] if whole else ["0", "-0"]
    return [whole]


# Times in formats


def _format(text: str) -> TimeFormat | None:
    try:
        return time_format(text)
    except Misuse:
        return None


def _times_said(time: datetime, text: str) -> list[Value] | None:
    """Every text that says the time in a format."""
    format = _format(text)
    if format is None:
        return []
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


def _times_written(value: str, text: str) -> list[Value] | None:
    """The first time that is written so; those that follow it are so, too, until a part of the format changes."""
    format = _format(text)
    if format is None:
        return []
    if not format.is_nested or not format.is_unambiguous:
        return None
    time = format.read(value)
    return [time] if time is not None and format.write(time) == value else []


def _said_in_order(operand: Expression, times: list[Value], rest: list[Expression], negated: bool) -> Expression | None:
    """The same test in a format whose texts stand in the order of times, of which ranges are known."""
    match rest:
        case [Literal(str(text))]:
            format = _format(text)
        case _:
            return None
    if format is None or format.is_ordered:
        return None
    count = len({field.part for field in format.fields} - {"half"})
    ordered = "".join(_ORDERED[:count])
    if "fraction" in {field.part for field in format.fields}:
        ordered = ordered.removesuffix("SSSSSS") + "S" * max(field.digits for field in format.fields)
    call = Call("format_time", (operand, Literal(ordered)))
    items = tuple(Literal(time_format(ordered).write(time)) for time in times)
    if not items:
        return Compare("=", call, call) if negated else FALSE
    return In(call, items, negated) if len(items) > 1 else Compare("!=" if negated else "=", call, items[0])


def _begins(operand: Call, text: str, begin: str) -> Expression | None:
    """In a format whose texts stand in order those with one beginning stand in a row."""
    format = _format(text)
    if format is None or not format.is_ordered or not begin or ord(begin[-1]) >= 0x7F:
        return None
    beyond = begin[:-1] + chr(ord(begin[-1]) + 1)
    return And((Compare(">=", operand, Literal(begin)), Compare("<", operand, Literal(beyond))))
