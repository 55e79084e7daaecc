"""Negations move inwards, onto atoms; one over an attribute that is always there becomes its opposite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from comity.event.kinds import ORDERED, Kind, comparable, kind_of
from comity.event.types import EventType
from comity.expression.kinds import kind_given
from comity.expression.simplify.known import always_present
from comity.expression.simplify.order_parts import all_of, any_of, negation
from comity.expression.tree import And, Between, Compare, Expression, In, Literal, Not, Or, TextTest

_OPPOSITE: Mapping[str, str] = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def push_negations(node: Expression, type: EventType) -> Expression:
    """The same filter with `not` on atoms only, and as few of them as possible."""
    match node:
        case Not(item):
            return _negated(item, type)
        case And(items):
            return all_of([push_negations(item, type) for item in items])
        case Or(items):
            return any_of([push_negations(item, type) for item in items])
    return node


def _negated(node: Expression, type: EventType) -> Expression:
    match node:
        case Not(item):
            return push_negations(item, type)
        case And(items):
            return any_of([_negated(item, type) for item in items])
        case Or(items):
            return all_of([_negated(item, type) for item in items])
        case Compare(symbol, left, Literal(value)) if _compares(symbol, left, [value], type):
            return Compare(_OPPOSITE[symbol], left, Literal(value))
        case Between(operand, Literal(low), Literal(high)) if _compares("<", operand, [low, high], type):
            return replace(node, negated=not node.negated)
        case In(operand, items) if _compares("=", operand, [_constant(item) for item in items], type):
            return replace(node, negated=not node.negated)
        case TextTest(operand=operand) if always_present(operand, type) and kind_given(operand, type) is Kind.STRING:
            return replace(node, negated=not node.negated)
    return negation(node)


def _constant(item: Expression) -> object:
    return item.value if isinstance(item, Literal) else None


def _compares(symbol: str, operand: Expression, constants: list[object], type: EventType) -> bool:
    """Whether the atom is defined on every event, so that its negation is an atom, too."""
    kind = kind_given(operand, type)
    if not always_present(operand, type) or not constants:
        return False
    if symbol not in ("=", "!=") and kind not in ORDERED:
        return False
    return all(comparable(kind, kind_of(constant)) for constant in constants)
