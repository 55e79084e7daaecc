"""A test whether a made value is there becomes tests whether its parts are: a text joined from two needs both."""

from __future__ import annotations

from functools import lru_cache

from comity.event.kinds import Kind
from comity.event.types import EventType
from comity.expression.functions import FUNCTIONS
from comity.expression.kinds import arguments_given, kind_given
from comity.expression.simplify.known import each_atom, presence
from comity.expression.simplify.order_parts import all_of
from comity.expression.tree import Arithmetic, Attribute, Call, Compare, Expression


def split_presence(node: Expression, type: EventType) -> Expression:
    """The filter with `exists` on attributes in place of values compared with themselves, where nothing else can fail.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> house = EventType("House", "city", own={"room": AttributeType(Kind.STRING, optional=True)})
    >>> render(split_presence(parse("lower(room) = lower(room)"), house))
    'exists room'
    """
    return each_atom(node, lambda atom: _split(atom, type))


@lru_cache(maxsize=8192)
def _split(atom: Expression, type: EventType) -> Expression:
    match atom:
        case Compare("=", left, right) if left == right and not isinstance(left, Attribute):
            parts = _needed(left, type)
            return atom if parts is None else all_of([_split(presence(part, type), type) for part in parts])
    return atom


def _needed(node: Expression, type: EventType) -> tuple[Expression, ...] | None:
    """The parts that must be there for the value to be; None when it can fail otherwise."""
    if kind_given(node, type) is None:
        return None
    match node:
        case Arithmetic("+", left, right) if kind_given(node, type) is Kind.STRING:
            return left, right
        case Arithmetic("-", left, right) if kind_given(left, type) is kind_given(right, type) is Kind.TIMESTAMP:
            return left, right
        case Call(name, arguments) if name in FUNCTIONS and FUNCTIONS[name].total(arguments_given(node, type)):
            return arguments
    return None
