"""Filters as the text of SQL conditions: the base of languages that look like SQL."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from comity.event.kinds import to_microseconds
from comity.event.times import format_timestamp
from comity.expression.render import render
from comity.expression.tree import (
    And,
    Attribute,
    Between,
    Compare,
    Exists,
    Expression,
    In,
    Literal,
    Not,
    Or,
    TextTest,
)

Names = Callable[[tuple[str, ...]], str]
"""How a language writes the path of an attribute."""

_SYMBOLS = {"!=": "<>"}
_PATTERNS = {"starts with": "{}%", "ends with": "%{}", "contains": "%{}%"}


def sql_text(node: Expression, names: Names) -> str:
    """The condition of a `WHERE`; what SQL does not have is written as Comity writes it.

    >>> from comity.expression.parse import parse
    >>> sql_text(parse("x != 1 and (exists y or z starts with '5%')"), ".".join)
    "x <> 1 AND (y IS NOT NULL OR z LIKE '5\\\\%%')"
    """
    match node:
        case Literal(bool(value)):
            return "TRUE" if value else "FALSE"
        case And(items):
            return " AND ".join(_inner(item, names, Or) for item in items)
        case Or(items):
            return " OR ".join(_inner(item, names, And) for item in items)
        case Not(Exists(Attribute(path))):
            return f"{names(path)} IS NULL"
        case Not(item):
            return f"NOT ({sql_text(item, names)})"
        case Exists(Attribute(path)):
            return f"{names(path)} IS NOT NULL"
        case Compare(symbol, left, right):
            return f"{_value(left, names)} {_SYMBOLS.get(symbol, symbol)} {_value(right, names)}"
    return _test(node, names)


def _inner(item: Expression, names: Names, grouped: type[And] | type[Or]) -> str:
    text = sql_text(item, names)
    return f"({text})" if isinstance(item, grouped) else text


def _test(node: Expression, names: Names) -> str:
    match node:
        case Between(operand, low, high, negated):
            ends = f"{_value(low, names)} AND {_value(high, names)}"
            return f"{_value(operand, names)} {'NOT ' if negated else ''}BETWEEN {ends}"
        case In(operand, items, negated):
            listed = ", ".join(_value(item, names) for item in items)
            return f"{_value(operand, names)} {'NOT ' if negated else ''}IN ({listed})"
        case TextTest(test, operand, text, negated) if test != "matches":
            pattern = text if test == "like" else _PATTERNS[test].format(_escaped(text))
            return f"{_value(operand, names)} {'NOT ' if negated else ''}LIKE {_quoted(pattern)}"
    return render(node)


def _value(node: Expression, names: Names) -> str:
    match node:
        case Attribute(path):
            return names(path)
        case Literal(value):
            return sql_value(value)
    return render(node)


def sql_value(value: Any) -> str:
    """A constant as SQL writes it."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return _quoted(value)
        case datetime():
            return f"TIMESTAMP '{format_timestamp(value)}'"
        case timedelta():
            return f"INTERVAL '{to_microseconds(value)}' MICROSECOND"
        case bytes():
            return f"X'{base64.b16encode(value).decode()}'"
    return repr(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\%_" else char for char in text)
