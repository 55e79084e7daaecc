"""The reference evaluator: what a bound expression gives for one event. Every other runner is tested against it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol, assert_never

from comity.event.kinds import (
    NUMBERS,
    ORDERED,
    Kind,
    Value,
    comparable,
    in_range,
    kind_of,
    timestamp_from_microseconds,
    to_microseconds,
)
from comity.event.times import parse_duration, parse_timestamp
from comity.expression.functions import FUNCTIONS
from comity.expression.like import like_matcher
from comity.expression.regex.parse import fullmatch
from comity.expression.table_rows import TableRows
from comity.expression.tree import (
    And,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Conditional,
    Exists,
    Expression,
    Extension,
    In,
    IsType,
    Literal,
    Lookup,
    Negative,
    Not,
    Or,
    Quantity,
    TextTest,
)


class AttributeReader(Protocol):
    """Anything with attributes: an event, or a row seen as one."""

    def get(self, path: tuple[str, ...]) -> Value | None:
        """The value at a dotted path, None when it is missing."""


def holds(node: Expression, record: AttributeReader) -> bool:
    """Whether a filter matches. Two-valued: an atom with a missing or incompatible operand is false."""
    match node:
        case And(items):
            return all(holds(item, record) for item in items)
        case Or(items):
            return any(holds(item, record) for item in items)
        case Not(item):
            return not holds(item, record)
        case Compare(symbol, left, right):
            return compare(symbol, evaluate(left, record), evaluate(right, record))
        case Between(operand, low, high, negated):
            return _between(evaluate(operand, record), evaluate(low, record), evaluate(high, record), negated)
        case In(operand, items, negated):
            return _in(evaluate(operand, record), [evaluate(item, record) for item in items], negated)
        case TextTest(test, operand, text, negated):
            return _text_test(test, evaluate(operand, record), text, negated)
        case Exists(attribute):
            return record.get(attribute.path) is not None
        case IsType(_, names):
            return record.get(("event", "type")) in names
        case Literal(value):
            return value is True
        case Quantity() | Attribute() | Arithmetic() | Negative() | Call() | Extension() | Conditional() | Lookup():
            raise TypeError(f"not a filter: {node!r}")
    assert_never(node)


def evaluate(node: Expression, record: AttributeReader) -> Value | None:
    """The value of an expression, None when it is missing."""
    match node:
        case Literal(value):
            return value
        case Attribute(path):
            return record.get(path)
        case Arithmetic(symbol, left, right):
            return arithmetic(symbol, evaluate(left, record), evaluate(right, record))
        case Negative(operand):
            return _negative(evaluate(operand, record))
        case Call("coalesce", arguments):
            values = (evaluate(argument, record) for argument in arguments)
            return next((value for value in values if value is not None), None)
        case Call(function, arguments):
            return FUNCTIONS[function].call(tuple(evaluate(argument, record) for argument in arguments))
        case Extension(_, extension, arguments):
            return extension.call(tuple(evaluate(argument, record) for argument in arguments))
        case Conditional(condition, then, otherwise):
            return evaluate(then if holds(condition, record) else otherwise, record)
        case Lookup(_, key):
            return _beside(node.pairs, evaluate(key, record))
        case Compare() | Between() | In() | TextTest() | Exists() | IsType() | And() | Or() | Not():
            return holds(node, record)
        case Quantity():
            raise TypeError(f"it is not bound: {node!r}")
    assert_never(node)


def _beside(rows: TableRows, wanted: Value | None) -> Value | None:
    """The value in the first row whose key equals a value."""
    if wanted is None:
        return None
    if rows.can_find(wanted):
        row = rows.first_of(wanted)
        return None if row is None else row[1]
    return next((value for known, value in rows if compare("=", known, wanted)), None)


_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(symbol: str, left: Value | None, right: Value | None) -> bool:
    """Whether two values stand in a relation; false when one is missing or the kinds do not compare.

    >>> compare("<", 1, 1.5), compare("!=", 1, "a"), compare("=", None, None)
    (True, False, False)
    """
    left, right = _agreed(left, right)
    kind = kind_of(left)
    if left is None or right is None or not comparable(kind, kind_of(right)):
        return False
    if symbol == "=":
        return bool(left == right)
    if symbol == "!=":
        return bool(left != right)
    return kind in ORDERED and _ORDER[symbol](left, right)


def _agreed(left: Value | None, right: Value | None) -> tuple[Value | None, Value | None]:
    """A text that meets a time is read as a time: an attribute without a declared kind can only carry times as
    texts.
    """
    if isinstance(left, str):
        return _as_time(left, right), right
    if isinstance(right, str):
        return left, _as_time(right, left)
    return left, right


def _as_time(text: str, other: Value | None) -> Value | None:
    if isinstance(other, datetime):
        return parse_timestamp(text)
    if isinstance(other, timedelta):
        return parse_duration(text)
    return text


def _between(value: Value | None, low: Value | None, high: Value | None, negated: bool) -> bool:
    if not all(compare("<", value, end) or compare(">=", value, end) for end in (low, high)):
        return False
    return (compare(">=", value, low) and compare("<=", value, high)) is not negated


def _in(value: Value | None, items: list[Value | None], negated: bool) -> bool:
    if not negated:
        return any(compare("=", value, item) for item in items)
    equal_or_not = [compare("=", value, item) or compare("!=", value, item) for item in items]
    return any(equal_or_not) and not any(compare("=", value, item) for item in items)


_TEXT_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "starts with": str.startswith,
    "ends with": str.endswith,
    "contains": lambda value, text: text in value,
    "like": lambda value, text: like_matcher(text)(value),
    "matches": lambda value, text: fullmatch(text)(value),
}


def _text_test(test: str, value: Value | None, text: str, negated: bool) -> bool:
    if isinstance(value, str):
        return _TEXT_TESTS[test](value, text) is not negated
    if isinstance(value, list) and test == "contains":
        return any(compare("=", item, text) for item in value) is not negated
    return False


def arithmetic(symbol: str, left: Value | None, right: Value | None) -> Value | None:
    """The result of `+ - * / %`; None when an operand is missing or does not fit, or the result is out of range."""
    kinds = (kind_of(left), kind_of(right))
    if kinds[0] in NUMBERS and kinds[1] in NUMBERS:
        return _calculate(symbol, left, right)
    if kinds == (Kind.STRING, Kind.STRING) and symbol == "+":
        return left + right  # type: ignore[operator]
    return _time_arithmetic(symbol, left, right)


def _calculate(symbol: str, left: Any, right: Any) -> int | float | None:
    if symbol in "/%" and right == 0:
        return None
    if symbol == "/" or isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    try:
        result = _NUMERIC[symbol](left, right)
    except OverflowError:
        return None
    return result if in_range(result) else None


def _remainder(left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend, as in C, Java and SQL."""
    result = abs(left) % abs(right)
    return -result if left < 0 else result


_NUMERIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": _remainder,
}


def _time_arithmetic(symbol: str, left: Value, right: Value) -> Value | None:
    match symbol, kind_of(left), kind_of(right):
        case "-", Kind.TIMESTAMP, Kind.TIMESTAMP:
            return _duration(to_microseconds(left) - to_microseconds(right))
        case "+" | "-", Kind.TIMESTAMP, Kind.DURATION:
            return _timestamp(arithmetic(symbol, to_microseconds(left), to_microseconds(right)))
        case "+", Kind.DURATION, Kind.TIMESTAMP:
            return _timestamp(arithmetic("+", to_microseconds(left), to_microseconds(right)))
        case "+" | "-", Kind.DURATION, Kind.DURATION:
            return _duration(arithmetic(symbol, to_microseconds(left), to_microseconds(right)))
        case "/", Kind.DURATION, Kind.DURATION:
            return arithmetic("/", to_microseconds(left), to_microseconds(right))
        case "*" | "/", Kind.DURATION, Kind.INT | Kind.FLOAT:
            return _duration(arithmetic(symbol, to_microseconds(left), right))
        case "*", Kind.INT | Kind.FLOAT, Kind.DURATION:
            return _duration(arithmetic("*", left, to_microseconds(right)))
    return None


def _duration(microseconds: int | float | None) -> timedelta | None:
    """The duration of so many microseconds, a half rounded to the even one."""
    whole = None if microseconds is None else round(microseconds)
    return None if whole is None or not in_range(whole) else timedelta(microseconds=whole)


def _timestamp(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else timestamp_from_microseconds(microseconds)


def _negative(value: Value | None) -> Value | None:
    if kind_of(value) in NUMBERS:
        return -value if in_range(-value) else None  # type: ignore[operator]
    return _duration(-to_microseconds(value)) if isinstance(value, timedelta) else None
