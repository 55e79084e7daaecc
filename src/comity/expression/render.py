"""From tree to text: printing that parses back to the same tree."""

from __future__ import annotations

import base64
import re
from datetime import datetime, timedelta
from typing import assert_never

from comity.event.kinds import Point, Value
from comity.event.times import format_duration, format_timestamp
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
    Truth,
)

KEYWORDS = frozenset(
    {"and", "or", "not", "in", "between", "like", "matches", "contains", "starts", "ends"}
    | {"is", "exists", "if", "then", "else", "true", "false"}
)

# How tightly a node binds; a part that binds less tightly than its place demands gets parentheses.
_CONDITIONAL, _OR, _AND, _NOT, _TEST, _SUM, _PRODUCT, _UNARY, _PRIMARY = range(9)


def render(node: Expression) -> str:
    """The text of an expression.

    >>> from comity.expression.parse import parse
    >>> render(parse("not (a>1 or b='x') and c in(1,2)"))
    "not (a > 1 or b = 'x') and c in (1, 2)"
    """
    return _render(node)[0]


def render_value(value: Value) -> str:
    """A constant as the language writes it."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _quoted(value)
        case datetime():
            return format_timestamp(value)
        case timedelta():
            return f"duration('{format_duration(value)}')"
        case bytes():
            return f"bytes('{base64.b64encode(value).decode()}')"
        case Point(x, y):
            return f"point({x!r}, {y!r})"
    raise TypeError(f"no constant of the language: {value!r}")


def render_path(path: tuple[str, ...]) -> str:
    """An attribute's path, names in backticks where they need it."""
    return ".".join(name if _is_plain(name) else f"`{name}`" for name in path)


def _is_plain(name: str) -> bool:
    return bool(re.fullmatch(r"[^\W\d]\w*", name)) and name.lower() not in KEYWORDS


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _at(node: Expression, level: int) -> str:
    """The node's text, in parentheses if it binds less tightly than `level`."""
    text, own = _render(node)
    return text if own >= level else f"({text})"


def _render(node: Expression) -> tuple[str, int]:
    match node:
        case Literal(value):
            return render_value(value), _PRIMARY
        case Quantity(number, unit):
            return f"{number!r} {unit}", _PRIMARY
        case Attribute(path):
            return render_path(path), _PRIMARY
        case Arithmetic(symbol, left, right):
            level = _SUM if symbol in "+-" else _PRODUCT
            return f"{_at(left, level)} {symbol} {_at(right, level + 1)}", level
        case Negative(operand):
            return f"-{_at(operand, _UNARY)}", _UNARY
        case Call(function, arguments) | Extension(function, _, arguments):
            return f"{function}({', '.join(map(render, arguments))})", _PRIMARY
        case Lookup(table, key):
            return f"lookup({_quoted(table)}, {render(key)})", _PRIMARY
        case Conditional(condition, then, otherwise):
            return f"if {render(condition)} then {render(then)} else {render(otherwise)}", _CONDITIONAL
    return _render_truth(node)


def _render_truth(node: Truth) -> tuple[str, int]:
    match node:
        case And(items):
            return " and ".join(_at(item, _NOT) for item in items), _AND
        case Or(items):
            return " or ".join(_at(item, _AND) for item in items), _OR
        case Not(item):
            return f"not {_at(item, _NOT)}", _NOT
        case Compare(symbol, left, right):
            return f"{_at(left, _SUM)} {symbol} {_at(right, _SUM)}", _TEST
        case Between(operand, low, high, negated):
            return f"{_at(operand, _SUM)} {_not(negated)}between {_at(low, _SUM)} and {_at(high, _SUM)}", _TEST
        case In(operand, items, negated):
            return f"{_at(operand, _SUM)} {_not(negated)}in ({', '.join(map(render, items))})", _TEST
        case TextTest(test, operand, text, negated):
            return f"{_at(operand, _SUM)} {_not(negated)}{test} {_quoted(text)}", _TEST
        case Exists(attribute):
            return f"exists {render(attribute)}", _TEST
        case IsType(name):
            return f"is {render_path(tuple(name.split('.')))}", _TEST
    assert_never(node)


def _not(negated: bool) -> str:
    return "not " if negated else ""
