"""Back through arithmetic with constants, unit conversions and sums whose other part is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from comity.contract.invert.defined import is_ordinary, only_within, reach
from comity.contract.invert.found import Finding, InversionFacts, Obstacle, Peel, Recovered, if_together, unknown
from comity.contract.invert.rounding import Rounding, rounding_of
from comity.event.kinds import NUMBERS, Kind, Value, kind_of
from comity.event.types import EventType
from comity.expression.evaluate import compare, evaluate
from comity.expression.kinds import kind_given
from comity.expression.render import render
from comity.expression.simplify.domains import raw
from comity.expression.simplify.known import NOTHING
from comity.expression.tree import (
    TRUE,
    Arithmetic,
    Attribute,
    Call,
    Conditional,
    Expression,
    Literal,
    Lookup,
    Negative,
    attributes,
    conjunction,
)

Undo = Callable[[Expression], Expression]
"""From the value of an expression to the value of the part of it that varies."""

_WHOLE = frozenset({Kind.INT, Kind.TIMESTAMP, Kind.DURATION})


def is_arithmetic(node: Expression, source: EventType) -> bool:
    """Whether the node is an operation on numbers or times."""
    if isinstance(node, Negative) or (isinstance(node, Call) and node.function == "float"):
        return kind_given(node, source) is not None
    return isinstance(node, Arithmetic) and kind_given(node, source) not in (None, Kind.STRING)


def peel_arithmetic(node: Expression, value: Expression, known: InversionFacts, peel: Peel) -> Iterator[Finding]:
    """What the value of arithmetic tells of its attributes."""
    part, undo = _innermost(node, known.source)
    match part:
        case Attribute():
            yield _attribute_back(part, node, undo, value, known.source)
        case Conditional(condition, then, otherwise):
            chosen = [_replaced(node, part, branch) for branch in (then, otherwise)]
            yield from peel(Conditional(condition, *chosen), value, known)
        case Lookup(rows=rows) if all(_comes_back(node, part, undo, one) for _, one in rows):
            yield from peel(part, undo(value), known)
        case Arithmetic("+" | "-", left, right) if part == node and kind_given(node, known.source) in _WHOLE:
            yield from _peel_sum(part, left, right, value, known, peel)
        case _:
            yield unknown(node, f"what `{render(node)}` was made of is not known")


def _innermost(node: Expression, source: EventType) -> tuple[Expression, Undo]:
    """The part that no constant is joined with, and the way back to it."""
    undos: list[Undo] = []
    while (step := _undone(node, source)) is not None:
        node, undo = step
        undos.append(undo)

    def back(value: Expression) -> Expression:
        for one in undos:
            value = one(value)
        return value

    return node, back


def _undone(node: Expression, source: EventType) -> tuple[Expression, Undo] | None:
    """The part that varies, and how it is computed from the value of the node."""
    match node:
        case Negative(operand):
            return operand, Negative
        case Call("float", (operand,)):
            kind = kind_given(operand, source)
            return (operand, partial(_in_kind, kind, Kind.FLOAT)) if kind in NUMBERS else None
        case Arithmetic(symbol, left, Literal(constant)) if not isinstance(left, Literal):
            return _without_last(node, symbol, left, constant, source)
        case Arithmetic(symbol, Literal(constant), right):
            return _without_first(node, symbol, constant, right, source)
    return None


_OPPOSITE = {"+": "-", "-": "+", "*": "/", "/": "*"}


def _without_last(
    node: Expression, symbol: str, left: Expression, constant: Value, source: EventType
) -> tuple[Expression, Undo] | None:
    kind, given = kind_given(left, source), kind_given(node, source)
    if symbol not in _OPPOSITE or kind is None or given is None or (symbol in "*/" and not raw(constant)):
        return None
    opposite = _OPPOSITE[symbol]
    result = Kind.FLOAT if opposite == "/" or Kind.FLOAT in (given, kind_of(constant)) else given
    return left, lambda value: _in_kind(kind, result, Arithmetic(opposite, value, Literal(constant)))


def _without_first(
    node: Expression, symbol: str, constant: Value, right: Expression, source: EventType
) -> tuple[Expression, Undo] | None:
    if symbol in "+*":
        return _without_last(node, symbol, right, constant, source)
    kind, given = kind_given(right, source), kind_given(node, source)
    if symbol != "-" or kind is None or given is None:
        return None
    return right, lambda value: _in_kind(kind, given, Arithmetic("-", Literal(constant), value))


def _in_kind(wanted: Kind | None, given: Kind, value: Expression) -> Expression:
    """A number in the kind that it had: an int is the one that is nearest."""
    if wanted is Kind.INT and given is Kind.FLOAT:
        return Call("floor", (Arithmetic("+", value, Literal(0.5)),))
    return value


def _replaced(node: Expression, old: Expression, new: Expression) -> Expression:
    """The chain with another innermost part."""
    if node == old:
        return new
    match node:
        case Negative(operand):
            return Negative(_replaced(operand, old, new))
        case Call(name, (operand,)):
            return Call(name, (_replaced(operand, old, new),))
        case Arithmetic(symbol, Literal() as left, right):
            return Arithmetic(symbol, left, _replaced(right, old, new))
        case Arithmetic(symbol, left, right):
            return Arithmetic(symbol, _replaced(left, old, new), right)
    return node


def _comes_back(node: Expression, part: Expression, undo: Undo, one: Value) -> bool:
    """Whether a value of the innermost part comes back exactly."""
    found = evaluate(undo(_replaced(node, part, Literal(one))), NOTHING)
    return kind_of(found) is kind_of(one) and compare("=", found, one)


def _attribute_back(
    attribute: Attribute, node: Expression, undo: Undo, value: Expression, source: EventType
) -> Recovered | Obstacle:
    found, path = rounding_of(undo(node), source), attribute.path
    if found is None or not found.gives_itself:
        return unknown(node, f"nothing is known to lead back from `{render(node)}`")
    if not found.is_exact and found.kind in _WHOLE:
        text = f"`{render(node)}` is rounded, so that several values become one"
        return Obstacle(frozenset({path}), "rounded", text)
    within = _reached(found, undo(node), source)
    if within is None:
        text = f"`{render(node)}` can be undone for few values only"
        return Obstacle(frozenset({path}), "out-of-range", text)
    return Recovered(path, undo(value), found.relative, found.absolute, within)


def _reached(found: Rounding, back: Expression, source: EventType) -> Expression | None:
    """For which values the way there and back has a result and the bounds hold; None when they are too few."""
    tests = [only_within(found.attribute, back, source)]
    if found.most is not None:
        tests.append(reach(found.attribute, found.origin, found.most))
    if not all(is_ordinary(test, source, found.attribute.path) for test in tests):
        return None
    return conjunction([test for test in tests if test != TRUE])


def _peel_sum(
    node: Expression, left: Expression, right: Expression, value: Expression, known: InversionFacts, peel: Peel
) -> Iterator[Finding]:
    """Of a sum whose one part is known: the other part is the difference."""
    symbol = node.operator if isinstance(node, Arithmetic) else "+"
    if known.has(right):
        side, other, back = left, right, Arithmetic(_OPPOSITE[symbol], value, known.over_target(right))
    elif known.has(left) and symbol == "+":
        side, other, back = right, left, Arithmetic("-", value, known.over_target(left))
    elif known.has(left):
        side, other, back = right, left, Arithmetic("-", known.over_target(left), value)
    else:
        yield Obstacle(attributes(node), "joined", f"`{render(node)}` does not tell its parts")
        return
    for found in peel(side, back, known):
        yield if_together(found, attributes(other), known)
