"""A test of a value that was written as a text, or read from one, becomes a test of what it was made from."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain

from comity.errors import Misuse
from comity.event.kinds import Kind, Value
from comity.event.types import EventType
from comity.expression.functions import FUNCTIONS
from comity.expression.kinds import arguments_given, kind_given
from comity.expression.like import like_tokens
from comity.expression.simplify.known import each_atom, presence
from comity.expression.time_formats import TimeFormat, time_format
from comity.expression.tree import FALSE, And, Call, Compare, Expression, In, Literal, TextTest, rebuild

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
        case Compare("=" | "!=" as symbol, Call() as call, Literal(value)):
            found = _sources(call, [value], type, symbol == "!=")
        case In(Call() as call, items, negated):
            values = [item.value for item in items if isinstance(item, Literal)]
            found = _sources(call, values, type, negated) if len(values) == len(items) else None
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


def _sources(node: Call, values: list[Value], type: EventType, negated: bool) -> Expression | None:
    """The test for what must stand under a function for it to give one of these values; None when it is not finite."""
    function = FUNCTIONS.get(node.function)
    arguments = arguments_given(node, type)
    if function is None or function.sources is None or not function.fits(arguments):
        return None
    if negated and not function.total(arguments):  # only then another result than the wanted is the complement
        return None
    found = [function.sources(arguments, value) for value in values]
    known = [sources for sources in found if sources is not None]
    if len(known) < len(found):
        return None
    operand, *rest = node.arguments
    if node.function == "format_time":
        return _said_in_order(operand, list(chain.from_iterable(known)), rest, negated)
    return _one_of(operand, list(dict.fromkeys(map(Literal, chain.from_iterable(known)))), negated, type)


def _one_of(operand: Expression, items: list[Expression], negated: bool, type: EventType) -> Expression:
    if not items:
        return presence(operand, type) if negated else FALSE
    if len(items) == 1:
        return Compare("!=" if negated else "=", operand, items[0])
    return In(operand, tuple(items), negated)


# Times in formats


def _format(text: str) -> TimeFormat | None:
    try:
        return time_format(text)
    except Misuse:
        return None


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
