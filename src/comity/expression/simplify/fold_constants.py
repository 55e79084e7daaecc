"""What is the same for every event is computed now; what can never have a value makes its atom false."""

from __future__ import annotations

from functools import lru_cache

from comity.event.types import EventType
from comity.expression.evaluate import evaluate, holds
from comity.expression.simplify.known import NOTHING, always_present, each_atom, parts, presence
from comity.expression.simplify.order_parts import order_parts
from comity.expression.tree import (
    FALSE,
    MIRRORED,
    MISSING,
    TRUE,
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
    Not,
    TextTest,
    is_impure,
    is_truth,
    rebuild,
)


def fold_constants(node: Expression, type: EventType) -> Expression:
    """The filter without constant parts, and with the constant of a comparison on the right.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> house = EventType("House", "city")
    >>> render(fold_constants(parse("30 + 1 < heat and (1 < 2 or heat = 5)"), house))
    'heat > 31'
    """
    return order_parts(each_atom(node, lambda atom: fold_atom(atom, type)), type)


@lru_cache(maxsize=8192)
def fold_atom(atom: Expression, type: EventType) -> Expression:
    """The atom with its values folded, or true or false."""
    folded = rebuild(atom, lambda part: fold_value(part, type))
    if _has_constant_parts(folded):
        return _truth(folded)
    match folded:
        case Compare(symbol, left, right):
            return _comparison(symbol, left, right, type)
        case Between(operand, low, high) if MISSING in (operand, low, high):
            return FALSE
        case In(operand, items, negated) if MISSING in items:
            kept = tuple(item for item in items if item != MISSING)
            return fold_atom(In(operand, kept, negated), type)
        case In(operand, items) if operand == MISSING or not items:
            return FALSE
        case TextTest(operand=operand) if operand == MISSING:
            return FALSE
        case Exists(attribute) if always_present(attribute, type):
            return TRUE
    return folded


_PLAIN = (Literal, Attribute)
"""Named, since every use of `Literal | Attribute` would make it anew."""


def fold_value(node: Expression, type: EventType) -> Expression:
    """The value expression with its constant parts computed; `MISSING` when it has no value on any event."""
    if isinstance(node, _PLAIN) or node == MISSING:
        return node
    if is_truth(node):
        return fold_constants(node, type)
    folded = rebuild(node, lambda part: fold_value(part, type))
    if _has_constant_parts(folded):
        return _value(folded)
    match folded:
        case Conditional(condition, then, otherwise):
            return _conditional(condition, then, otherwise)
        case Call("coalesce", arguments):
            return _coalesce(arguments, type)
        case Arithmetic("/" | "%", _, Literal(value)) if _is_number(value) and value == 0:
            return MISSING
        case Lookup(rows=()):
            return MISSING
    return MISSING if _lacks_a_part(folded) else folded


def _has_constant_parts(node: Expression) -> bool:
    """Whether a node with folded parts is a constant itself; `is T` reads the event without having parts."""
    if isinstance(node, IsType) or is_impure(node):
        return False
    return all(isinstance(part, Literal) or part == MISSING for part in parts(node))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lacks_a_part(node: Expression) -> bool:
    """Every function and operator is missing when a part is."""
    match node:
        case Call(_, arguments):
            return MISSING in arguments
        case Extension(_, function, arguments):
            return MISSING in arguments and not function.takes_missing
        case Arithmetic(_, left, right):
            return MISSING in (left, right)
    return MISSING in (getattr(node, "operand", None), getattr(node, "key", None))


def _truth(atom: Expression) -> Expression:
    try:
        return Literal(holds(atom, NOTHING))
    except OverflowError:  # an int of more than 64 bits that becomes a float
        return atom


def _value(node: Expression) -> Expression:
    try:
        value = evaluate(node, NOTHING)
    except OverflowError:
        return node
    return MISSING if value is None else Literal(value)


def _conditional(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    if condition == TRUE or then == otherwise:
        return then
    if condition == FALSE:
        return otherwise
    if isinstance(condition, Not):
        return Conditional(condition.item, otherwise, then)
    return Conditional(condition, then, otherwise)


def _coalesce(arguments: tuple[Expression, ...], type: EventType) -> Expression:
    """Without what is never there, what comes after something that is always there, and repetitions."""
    kept: list[Expression] = []
    for argument in arguments:
        inner = argument.arguments if isinstance(argument, Call) and argument.function == "coalesce" else (argument,)
        kept.extend(one for one in inner if one not in kept)
        if always_present(kept[-1], type) if kept else False:
            break
    return kept[0] if len(kept) == 1 else Call("coalesce", tuple(kept))


def _comparison(symbol: str, left: Expression, right: Expression, type: EventType) -> Expression:
    if MISSING in (left, right):
        return FALSE
    if left == right:
        return _with_itself(symbol, left, type)
    if is_truth(left) and not isinstance(left, Literal) and isinstance(right, Literal):
        return _of_a_truth(symbol, left, right, type)
    if isinstance(left, Literal):
        return _comparison(MIRRORED[symbol], right, left, type)
    return Compare(symbol, left, right)


def _with_itself(symbol: str, value: Expression, type: EventType) -> Expression:
    """Without NaN every value equals itself; `<=` is not for every kind."""
    if symbol in ("!=", "<", ">"):
        return FALSE
    return presence(value, type) if symbol == "=" else Compare(symbol, value, value)


def _of_a_truth(symbol: str, truth: Expression, wanted: Literal, type: EventType) -> Expression:
    if symbol not in ("=", "!=") or not isinstance(wanted.value, bool):
        return FALSE
    return truth if wanted.value is (symbol == "=") else fold_constants(Not(truth), type)
