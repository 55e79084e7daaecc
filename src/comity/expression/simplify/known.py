"""What a type tells of a value before any event is seen: its kind, and whether it is always there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from comity.event.kinds import NUMBERS, Kind, kind_of
from comity.event.types import ENVELOPE_NAME, EventType
from comity.expression.functions import FUNCTIONS
from comity.expression.tree import (
    TRUE,
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
    is_impure,
    is_truth,
)

_ALWAYS_IN_THE_ENVELOPE = frozenset({"id", "source", "type"})


class Nothing:
    """The record without attributes; constants are evaluated on it."""

    def get(self, path: tuple[str, ...]) -> None:
        return None


NOTHING = Nothing()


def is_constant(node: Expression) -> bool:
    """Whether the value is the same for every event."""
    if isinstance(node, Literal):
        return True
    return not (isinstance(node, Attribute | IsType) or is_impure(node)) and all(
        is_constant(part) for part in parts(node)
    )


def kind_given(node: Expression, type: EventType) -> Kind | None:
    """The one kind that the values of an expression have; None when it is not known.

    >>> kind_given(Attribute(("event", "time")), EventType("Fire", "house"))
    <Kind.TIMESTAMP: 'timestamp'>
    """
    match node:
        case Literal(value):
            return kind_of(value)
        case Attribute(path):
            declared = type.attribute_at(path)
            return declared.kind if declared else None
        case Arithmetic(symbol, left, right):
            return result_kind(symbol, kind_given(left, type), kind_given(right, type))
        case Negative(operand):
            kind = kind_given(operand, type)
            return kind if kind in NUMBERS or kind is Kind.DURATION else None
        case Conditional(_, then, otherwise):
            return _common([kind_given(then, type), kind_given(otherwise, type)])
        case Lookup():
            return node.pairs.value_kind
        case Call("coalesce", arguments):
            return _common([kind_given(argument, type) for argument in arguments])
        case Call(name, arguments) if name in FUNCTIONS:
            kinds = [kind_given(argument, type) for argument in arguments]
            fits = all(kind in taken for kind, taken in zip(kinds, FUNCTIONS[name].takes, strict=False))
            return FUNCTIONS[name].gives(kinds[0]) if fits else None
        case Extension(_, function):
            return function.gives
    return Kind.BOOL if is_truth(node) else None


def _common(kinds: list[Kind | None]) -> Kind | None:
    return kinds[0] if kinds and all(kind is kinds[0] for kind in kinds) else None


def result_kind(symbol: str, left: Kind | None, right: Kind | None) -> Kind | None:
    """The kind of `left symbol right`; None when the two do not go together."""
    if left in NUMBERS and right in NUMBERS:
        return Kind.INT if left is right is Kind.INT and symbol != "/" else Kind.FLOAT
    match symbol, left, right:
        case "+", Kind.STRING, Kind.STRING:
            return Kind.STRING
        case ("-", Kind.TIMESTAMP, Kind.TIMESTAMP) | ("+" | "-", Kind.DURATION, Kind.DURATION):
            return Kind.DURATION
        case ("+" | "-", Kind.TIMESTAMP, Kind.DURATION) | ("+", Kind.DURATION, Kind.TIMESTAMP):
            return Kind.TIMESTAMP
        case "/", Kind.DURATION, Kind.DURATION:
            return Kind.FLOAT
        case ("*" | "/", Kind.DURATION, Kind.INT | Kind.FLOAT) | ("*", Kind.INT | Kind.FLOAT, Kind.DURATION):
            return Kind.DURATION
    return None


def always_present(node: Expression, type: EventType) -> bool:
    """Whether every event of the type has the value."""
    match node:
        case Literal():
            return True
        case Attribute((first, *rest)) if first == ENVELOPE_NAME:
            return len(rest) == 1 and rest[0] in _ALWAYS_IN_THE_ENVELOPE
        case Attribute(path):
            declared = type.attribute_at(path)
            return declared is not None and not declared.optional
    return is_truth(node)


def presence(node: Expression, type: EventType) -> Expression:
    """The filter for the events that have the value."""
    if always_present(node, type):
        return TRUE
    return Exists(node) if isinstance(node, Attribute) else Compare("=", node, node)


_PARTS: Mapping[type, Callable[[Any], tuple[Expression, ...]]] = {
    Literal: lambda node: (),
    Quantity: lambda node: (),
    Attribute: lambda node: (),
    IsType: lambda node: (),
    Exists: lambda node: (node.attribute,),
    Negative: lambda node: (node.operand,),
    Lookup: lambda node: (node.key,),
    TextTest: lambda node: (node.operand,),
    Not: lambda node: (node.item,),
    Arithmetic: lambda node: (node.left, node.right),
    Compare: lambda node: (node.left, node.right),
    Conditional: lambda node: (node.condition, node.then, node.otherwise),
    Between: lambda node: (node.operand, node.low, node.high),
    In: lambda node: (node.operand, *node.items),
    Call: lambda node: node.arguments,
    Extension: lambda node: node.arguments,
    And: lambda node: node.items,
    Or: lambda node: node.items,
}


def parts(node: Expression) -> tuple[Expression, ...]:
    """The direct parts of a node, as `tree.children` gives them, ten times as fast."""
    return _PARTS[node.__class__](node)


def each_atom(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The filter with `change` applied to its atoms; the same object when nothing changed."""
    if isinstance(node, And | Or):
        items = tuple([each_atom(item, change) for item in node.items])
        unchanged = all(new is old for new, old in zip(items, node.items, strict=True))
        return node if unchanged else type(node)(items)
    if isinstance(node, Not):
        item = each_atom(node.item, change)
        return node if item is node.item else Not(item)
    return node if isinstance(node, Literal) else change(node)


def outlives_missing(node: Expression) -> bool:
    """Whether a node can have a value although a part of it is missing."""
    match node:
        case Conditional() | Exists() | Call("coalesce", _):
            return True
        case Extension(_, function):
            return function.takes_missing
    return False


def size(node: Expression) -> int:
    """The number of nodes."""
    return 1 + sum(size(part) for part in parts(node))
