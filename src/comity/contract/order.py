"""Whether a value rises or falls with one attribute, everything else being the same."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, starmap
from typing import Any, cast

from comity.contract.invert.lift import lifted
from comity.contract.mapping import Path
from comity.event.kinds import NUMBERS, ORDERED, Kind, Value, kind_of
from comity.event.types import EventType
from comity.expression.functions import FUNCTIONS, Arguments, Function
from comity.expression.kinds import arguments_given, kind_given
from comity.expression.simplify.domains import raw
from comity.expression.tree import (
    MISSING,
    Arithmetic,
    Attribute,
    Call,
    Conditional,
    Expression,
    Extension,
    Literal,
    Lookup,
    Negative,
    attributes,
)


@dataclass(frozen=True, slots=True)
class Order:
    """Larger values give larger ones (`sign` 1) or smaller ones (-1), or equal ones unless `strict`."""

    sign: int
    strict: bool

    @property
    def name(self) -> str:
        return "rising" if self.sign > 0 else "falling"

    def __str__(self) -> str:
        return f"strictly {self.name}" if self.strict else self.name


_SAME = Order(0, True)
"""It does not depend on the attribute."""


def order_in(node: Expression, path: Path, type: EventType) -> Order | None:
    """How the value of an expression goes with an attribute, of any two events where both have a value.

    None when it goes neither way, or when that is not known.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> house = EventType("House", "city", own={"floor": AttributeType(Kind.INT)})
    >>> str(order_in(parse("10 - floor * 2"), ("floor",), house)), order_in(parse("abs(floor)"), ("floor",), house)
    ('strictly falling', None)
    """
    choices = lifted(node)
    found = _order(choices, path, type) if kind_given(choices, type) in ORDERED else None
    return None if found is None or found.sign == 0 else found


def _order(node: Expression, path: Path, type: EventType) -> Order | None:
    if not _may_read(node, path):
        return _SAME
    match node:
        case Attribute(own):
            return Order(1, True) if own == path and kind_given(node, type) in ORDERED else None
        case Negative(operand):
            return _turned(_order(operand, path, type))
        case Arithmetic("+", left, right) if kind_given(node, type) is Kind.STRING:
            # What stands behind a text decides before what stands behind that does.
            return None if _may_read(left, path) else _order(right, path, type)
        case Arithmetic("+" | "-" as symbol, left, right):
            second = _order(right, path, type)
            return _summed(_order(left, path, type), second if symbol == "+" else _turned(second), node, type)
        case Arithmetic("*" | "/" as symbol, left, Literal(value)) if raw_number(value):
            return _scaled(_order(left, path, type), symbol, value, kind_given(left, type))
        case Arithmetic("*", Literal(value), right) if raw_number(value):
            return _scaled(_order(right, path, type), "*", value, kind_given(right, type))
        case Conditional(_, then, otherwise) if MISSING in (then, otherwise):
            return _order(otherwise if then == MISSING else then, path, type)
        case Conditional(condition, then, otherwise) if not _may_read(condition, path):
            return _either(_order(then, path, type), _order(otherwise, path, type))
        case Lookup():
            return _of_table(node, path, type)
        case Call() | Extension():
            return _called(node, path, type)
    return None


def _may_read(node: Expression, path: Path) -> bool:
    """Whether the expression reads the attribute, or something around it."""
    return any(one[: len(path)] == path or path[: len(one)] == one for one in attributes(node))


def _turned(found: Order | None) -> Order | None:
    return None if found is None else replace(found, sign=-found.sign)


def _summed(left: Order | None, right: Order | None, node: Expression, type: EventType) -> Order | None:
    if left is None or right is None or left.sign * right.sign < 0:
        return None
    moving = [one for one in (left, right) if one.sign]
    # A sum of floats is rounded, so that two of them may become one.
    strict = kind_given(node, type) is not Kind.FLOAT and any(one.strict for one in moving)
    return Order(moving[0].sign, strict) if moving else _SAME


def raw_number(value: Value) -> bool:
    """Whether a constant is a number or a duration, and not zero."""
    return kind_of(value) in (*NUMBERS, Kind.DURATION) and bool(raw(value))


def _scaled(found: Order | None, symbol: str, value: Value, kind: Kind | None) -> Order | None:
    if found is None or kind is None:
        return None
    sign = 1 if raw(value) > 0 else -1
    return Order(found.sign * sign, found.strict and symbol == "*" and _is_exact(value, kind))


def _is_exact(value: Value, kind: Kind) -> bool:
    """Whether a product with a constant keeps different values different."""
    if kind is Kind.FLOAT:
        size = abs(Fraction(raw(value)))
        is_power = size.denominator == 1 and size.numerator & (size.numerator - 1) == 0
        return kind_of(value) in NUMBERS and is_power and size < 2**53
    return kind_of(value) is not Kind.FLOAT


def _either(then: Order | None, otherwise: Order | None) -> Order | None:
    if then is None or otherwise is None or then.sign * otherwise.sign < 0:
        return None
    return Order(then.sign or otherwise.sign, then.strict and otherwise.strict and bool(then.sign * otherwise.sign))


def _called(node: Call | Extension, path: Path, type: EventType) -> Order | None:
    if isinstance(node, Extension):
        return _declared(node, path, type)
    match node:
        case Call("coalesce", (Attribute(own), *_)) if own == path:
            return Order(1, True)
        case Call(name, (operand, *others)) if name in FUNCTIONS and not any(_may_read(one, path) for one in others):
            return _of_function(FUNCTIONS[name], _order(operand, path, type), arguments_given(node, type))
    return None


def _of_function(function: Function, found: Order | None, arguments: Arguments) -> Order | None:
    if found is None or not function.fits(arguments) or not function.rising(arguments):
        return None
    return replace(found, strict=found.strict and function.distinct(arguments))


def _declared(node: Extension, path: Path, type: EventType) -> Order | None:
    function = node.function
    if function.order is None or len(node.arguments) != 1 or not function.pure or function.takes_missing:
        return None
    found = _order(node.arguments[0], path, type)
    if found is None or kind_given(node.arguments[0], type) not in ORDERED:
        return None
    return Order(found.sign * (1 if function.order == "rising" else -1), found.strict and function.lossless)


def _of_table(node: Lookup, path: Path, type: EventType) -> Order | None:
    """By trying the rows in the order of their keys."""
    kinds = node.pairs.key_kinds
    if node.key != Attribute(path) or kinds != {kind_given(node.key, type)} or not kinds <= ORDERED:
        return None
    values = node.pairs.value_kinds
    if not (values <= NUMBERS or (len(values) == 1 and values <= ORDERED)):  # others do not compare with each other
        return None
    by_key = sorted(node.pairs.effective, key=lambda row: cast(Any, row[0]))
    pairs = list(pairwise(cast(Any, value) for _, value in by_key))
    for sign, weak, strong in ((1, operator.le, operator.lt), (-1, operator.ge, operator.gt)):
        if pairs and all(starmap(weak, pairs)):
            return Order(sign, all(starmap(strong, pairs)))
    return None
