"""From a bound tree to a Python function, for filters that are evaluated over many events.

The function gives what the reference evaluator gives. The forms that profiles are mostly made of (an attribute against
constants) have a short way for values of the expected kind; all other values and forms go to the evaluator itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from comity.event.kinds import Value
from comity.expression.evaluate import AttributeReader, arithmetic, compare, evaluate, holds
from comity.expression.functions import FUNCTIONS
from comity.expression.like import like_matcher
from comity.expression.regex.parse import fullmatch
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
    Not,
    Or,
    TextTest,
)

Test = Callable[[AttributeReader], bool]
Read = Callable[[AttributeReader], Value | None]

_NUMBERS = frozenset({int, float})
_TIMES = frozenset({datetime, timedelta})
_ORDERED = _NUMBERS | _TIMES | {str}
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compile_filter(node: Expression) -> Test:
    """A function that is true for the records that the filter matches.

    >>> from comity.event.event import Event
    >>> from comity.expression.bind import bind_text
    >>> from comity.expression.scope import Scope
    >>> hot = compile_filter(bind_text("heat > 40 and room != 'sauna'", Scope()))
    >>> hot(Event("1", "/house", "Fire", data={"heat": 41.5, "room": "attic"}))
    True
    """
    match node:
        case And(items):
            return _all([compile_filter(item) for item in items])
        case Or(items):
            return _any([compile_filter(item) for item in items])
        case Not(item):
            inner = compile_filter(item)
            return lambda record: not inner(record)
        case Exists(attribute):
            path = attribute.path
            return lambda record: record.get(path) is not None
        case IsType(_, names):
            known = frozenset(names)
            return lambda record: record.get(("event", "type")) in known
        case Compare(symbol, Attribute(path), Literal(value)) if type(value) in _fast_for(symbol):
            return _constant_comparison(node, symbol, path, value)
        case Compare(symbol, left, right):
            first, second = compile_value(left), compile_value(right)
            return lambda record: compare(symbol, first(record), second(record))
        case Between(Attribute(path), Literal(low), Literal(high)) if _same_class(low, high):
            return _constant_range(node, path, low, high)
        case In(Attribute(path), items) if all(isinstance(item, Literal) for item in items):
            return _membership(node, path, [item.value for item in items if isinstance(item, Literal)])
        case TextTest(test, Attribute(path), text):
            return _text_test(node, path, _text_matcher(test, text))
    return lambda record: holds(node, record)


def compile_value(node: Expression) -> Read:
    """A function that gives the value of an expression for a record, None when it is missing."""
    match node:
        case Literal(value):
            return lambda record: value
        case Attribute(path):
            return lambda record: record.get(path)
        case Arithmetic(symbol, left, right):
            first, second = compile_value(left), compile_value(right)
            return lambda record: arithmetic(symbol, first(record), second(record))
        case Conditional(condition, then, otherwise):
            test, yes, no = compile_filter(condition), compile_value(then), compile_value(otherwise)
            return lambda record: yes(record) if test(record) else no(record)
        case Call(name, arguments) if name in FUNCTIONS:
            call, reads = FUNCTIONS[name].call, [compile_value(argument) for argument in arguments]
            return lambda record: call(tuple([read(record) for read in reads]))
        case Extension(_, function, arguments):
            made, values = function.call, [compile_value(argument) for argument in arguments]
            return lambda record: made(tuple([value(record) for value in values]))
    return lambda record: evaluate(node, record)


def _all(tests: list[Test]) -> Test:
    if len(tests) == 2:  # two are the most frequent, and a loop costs more than they do
        first, second = tests
        return lambda record: first(record) and second(record)

    def test_all(record: AttributeReader) -> bool:
        for test in tests:  # noqa: SIM110 - a generator doubles the time
            if not test(record):
                return False
        return True

    return test_all


def _any(tests: list[Test]) -> Test:
    def test_any(record: AttributeReader) -> bool:
        for test in tests:  # noqa: SIM110 - a generator doubles the time
            if test(record):
                return True
        return False

    return test_any


def _fast_for(symbol: str) -> frozenset[type]:
    return _ORDERED | {bool} if symbol in ("=", "!=") else _ORDERED


def _class_of(value: Value) -> frozenset[type]:
    """The classes of the values that compare with this one without a second thought."""
    return _NUMBERS if type(value) in _NUMBERS else frozenset({type(value)})


def _same_class(low: Value, high: Value) -> bool:
    return type(low) in _ORDERED and _class_of(low) == _class_of(high)


def _constant_comparison(node: Expression, symbol: str, path: tuple[str, ...], constant: Value) -> Test:
    expected, stands = _class_of(constant), _OPERATORS[symbol]

    def test(record: AttributeReader) -> bool:
        value = record.get(path)
        if type(value) in expected:
            return stands(value, constant)
        return value is not None and holds(node, record)

    return test


def _constant_range(node: Between, path: tuple[str, ...], low: Any, high: Any) -> Test:
    expected, negated = _class_of(low), node.negated

    def test(record: AttributeReader) -> bool:
        value = record.get(path)
        if type(value) in expected:
            return (low <= value <= high) is not negated
        return value is not None and holds(node, record)

    return test


def _membership(node: In, path: tuple[str, ...], items: list[Value]) -> Test:
    members, negated = _members(items), node.negated

    def test(record: AttributeReader) -> bool:
        value = record.get(path)
        known = members.get(type(value))
        if known is not None:
            return (value in known) is not negated
        return value is not None and holds(node, record)

    return test


def _members(items: Iterable[Value]) -> dict[type, frozenset[Value]]:
    """The items by the class of the values that they can equal; texts stay out when a text could mean a time."""
    found: dict[type, set[Value]] = {}
    for item in items:
        for one in _class_of(item):
            found.setdefault(one, set()).add(item)
    if _TIMES & found.keys():
        found.pop(str, None)
    return {one: frozenset(found[one]) for one in _NUMBERS | {str} if one in found}


def _text_matcher(test: str, text: str) -> Callable[[str], bool]:
    match test:
        case "starts with":
            return lambda value: value.startswith(text)
        case "ends with":
            return lambda value: value.endswith(text)
        case "contains":
            return lambda value: text in value
        case "like":
            return like_matcher(text)
    return fullmatch(text)


def _text_test(node: TextTest, path: tuple[str, ...], matches: Callable[[str], bool]) -> Test:
    negated = node.negated

    def test(record: AttributeReader) -> bool:
        value = record.get(path)
        if type(value) is str:
            return matches(value) is not negated
        return value is not None and holds(node, record)

    return test
