"""The kinds that the values of a bound expression can have."""

from __future__ import annotations

from comity.event.kinds import NUMBERS, Kind, kind_of
from comity.event.types import EventType
from comity.expression.functions import FUNCTIONS
from comity.expression.simplify.known import result_kind
from comity.expression.tree import (
    Arithmetic,
    Attribute,
    Call,
    Conditional,
    Expression,
    Extension,
    Literal,
    Lookup,
    Negative,
)

Kinds = frozenset[Kind]


def kinds_of(node: Expression, type: EventType) -> Kinds:
    """All of them; none for an expression that never has a value.

    >>> from comity.expression.parse import parse
    >>> sorted(kinds_of(parse("if 1 < 2 then 1 else 0.5"), EventType("Fire", "house")))
    [<Kind.FLOAT: 'float'>, <Kind.INT: 'int'>]
    """
    match node:
        case Literal(value):
            return _some(kind_of(value))
        case Attribute(path):
            declared = type.attribute_at(path)
            return _some(declared.kind if declared else None)
        case Arithmetic(symbol, left, right):
            pairs = ((one, other) for one in kinds_of(left, type) for other in kinds_of(right, type))
            return frozenset(kind for pair in pairs if (kind := result_kind(symbol, *pair)))
        case Negative(operand):
            return kinds_of(operand, type) & (NUMBERS | {Kind.DURATION})
        case Conditional(_, then, otherwise):
            return kinds_of(then, type) | kinds_of(otherwise, type)
        case Lookup(_, _, rows):
            return frozenset(kind for _, value in rows if (kind := kind_of(value)))
        case Call() | Extension():
            return _of_call(node, type)
    return frozenset({Kind.BOOL})


def _of_call(node: Call | Extension, type: EventType) -> Kinds:
    if isinstance(node, Extension):
        return frozenset({node.function.gives})
    arguments = [kinds_of(argument, type) for argument in node.arguments]
    if node.function == "coalesce":
        return frozenset[Kind]().union(*arguments)
    function = FUNCTIONS[node.function]
    return frozenset(function.gives(kind) for kind in arguments[0] & function.takes[0])


def _some(kind: Kind | None) -> Kinds:
    return frozenset({kind}) if kind else frozenset()
