"""The tree of an RDL rule: its events as a pattern, its condition as an expression.

RDL counts time in milliseconds, as numbers; here a time and a span of time are kinds of their own. So each part of an
expression is noted as plain, a time or a span, and plain numbers that meet a time or a span become spans.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from lark import Token
from lark.visitors import Transformer_NonRecursive

from comity.errors import Misuse
from comity.event.kinds import in_range
from comity.event.types import ENVELOPE_NAME, EVENT
from comity.expression.tree import (
    FALSE,
    TRUE,
    Arithmetic,
    Attribute,
    Compare,
    Expression,
    Literal,
    Negative,
    Not,
    Quantity,
    conjunction,
    disjunction,
)
from comity.limits import limits
from comity.pattern.tree import Both, Operand, Pattern

_ENVELOPE = {"time": "time", "eventType": "type", "sequenceNo": "sequence"}
"""The attributes of the paper's class Event, and what they are called in the envelope."""


class _Is(Enum):
    """What an expression stands for."""

    PLAIN = "a plain value"
    TIME = "a time"
    SPAN = "a span of time"


class _Part(NamedTuple):
    node: Expression
    depth: int
    at: Token
    stands_for: _Is = _Is.PLAIN


class Rule(NamedTuple):
    """A rule of RDL."""

    name: str
    pattern: Pattern
    condition: Expression


def _refusal(at: Token, message: str, hint: str | None = None, code: str = "syntax") -> Misuse:
    error = Misuse(message, code=code, hint=hint).located(None, at.line or 1, at.column or 1)
    assert isinstance(error, Misuse)
    return error


def _joined(build: Callable[..., Expression], parts: list[_Part], stands_for: _Is = _Is.PLAIN) -> _Part:
    depth = 1 + max(part.depth for part in parts)
    bound = limits().max_expression_depth
    if depth > bound:
        hint = "flatten it, or raise COMITY_MAX_EXPRESSION_DEPTH"
        message = f"the condition is nested more than {bound} levels deep"
        raise _refusal(parts[0].at, message, hint, "expression-too-deep")
    return _Part(build(*(part.node for part in parts)), depth, parts[0].at, stands_for)


class RuleBuilder(Transformer_NonRecursive[Token, Any]):
    """Builds the rule from the parser's tree, however deep that is nested; `names` are those of the rule's events."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self._names = names

    def start(self, parts: list[Any]) -> Rule:
        name, *events, condition = parts
        for at, (token, _) in enumerate(events):
            if str(token) in self._names[:at]:
                hint = "give each event a name of its own: `HeatEvent h1, HeatEvent h2`"
                raise _refusal(token, f"two events are named {str(token)!r}", hint, "duplicate-operand")
        operands = tuple(operand for _, operand in events)
        pattern = operands[0] if len(operands) == 1 else Both(operands)
        return Rule(str(name), pattern, TRUE if condition is None else condition.node)

    def event(self, parts: list[Any]) -> tuple[Token, Operand]:
        name_of_type, name = parts
        return name, Operand(str(name), None if name_of_type == EVENT.name else name_of_type)

    def type(self, parts: list[Token]) -> str:
        return ".".join(parts)

    def disjunction(self, parts: list[_Part]) -> _Part:
        return _joined(lambda *items: disjunction(list(items)), parts)

    def conjunction(self, parts: list[_Part]) -> _Part:
        return _joined(lambda *items: conjunction(list(items)), parts)

    def negated(self, parts: list[_Part]) -> _Part:
        return _joined(Not, parts)

    def truth(self, parts: list[Token]) -> _Part:
        return _Part(TRUE if parts[0] == "true" else FALSE, 1, parts[0])

    def compare(self, parts: list[Any]) -> _Part:
        left, relation, right = parts
        symbol = "=" if relation == "==" else str(relation)
        if isinstance(right, Token):
            right = self.truth([right])
        return _joined(lambda a, b: Compare(symbol, a, b), _comparable(left, right))

    def arithmetic(self, parts: list[Any]) -> _Part:
        left, symbol, right = parts
        return _sum(left, symbol, right) if symbol in ("+", "-") else _product(left, symbol, right)

    def signed(self, parts: list[Any]) -> _Part:
        sign: Token = parts[0]
        part: _Part = parts[1]
        if part.stands_for is _Is.TIME:
            raise _refusal(sign, "a time has no sign", code="wrong-kind")
        return part if sign == "+" else _joined(_negative, [part], part.stands_for)

    def number(self, parts: list[Token]) -> _Part:
        return _Part(Literal(_number(parts[0])), 1, parts[0])

    def string(self, parts: list[Token]) -> _Part:
        return _Part(Literal(str(parts[0][1:-1])), 1, parts[0])

    def path(self, parts: list[Token]) -> _Part:
        operand, own = self._names[0], tuple(map(str, parts))
        if parts[0] in self._names:
            operand, own = own[0], own[1:]
        elif len(self._names) > 1:
            hint = f"the events are {', '.join(self._names)}: write `{operand}.{'.'.join(parts)}`"
            raise _refusal(parts[0], f"no event is named {str(parts[0])!r}", hint, "unknown-operand")
        if not own:
            hint = f"name an attribute of it, for example `{operand}.value`"
            raise _refusal(parts[0], f"{operand} is an event, not a value", hint, "not-a-value")
        if len(own) == 1 and own[0] in _ENVELOPE:
            own = (ENVELOPE_NAME, _ENVELOPE[own[0]])
        is_time = own == (ENVELOPE_NAME, "time")
        return _Part(Attribute((operand, *own)), 1, parts[0], _Is.TIME if is_time else _Is.PLAIN)


def _number(token: Token) -> int | float:
    value = int(token) if token.isdecimal() and len(token) <= 20 else float(token)
    if not in_range(value) or (token.isdecimal() and isinstance(value, float)):
        raise _refusal(token, f"{token[:20]} does not fit into 64 bits", code="integer-out-of-range")
    return value


def _negative(node: Expression) -> Expression:
    return Literal(-node.value) if isinstance(node, Literal) and type(node.value) in (int, float) else Negative(node)


# Times and spans of time


def _comparable(left: _Part, right: _Part) -> list[_Part]:
    kinds = {left.stands_for, right.stands_for}
    if _Is.TIME in kinds and len(kinds) > 1:
        hint = "compare it with another time: `h1.time > h2.time + 5000`"
        raise _refusal(left.at, "a time is compared with a number", hint, "wrong-kind")
    return [_as_span(left), _as_span(right)] if _Is.SPAN in kinds else [left, right]


def _sum(left: _Part, symbol: Token, right: _Part) -> _Part:
    kinds = left.stands_for, right.stands_for
    if kinds == (_Is.PLAIN, _Is.PLAIN):
        return _computed(left, symbol, right)
    if kinds == (_Is.TIME, _Is.TIME) and symbol == "-":
        return _computed(left, symbol, right, _Is.SPAN)
    if _Is.TIME not in kinds:
        return _computed(_as_span(left), symbol, _as_span(right), _Is.SPAN)
    if right.stands_for is not _Is.TIME:
        return _computed(left, symbol, _as_span(right), _Is.TIME)
    if left.stands_for is not _Is.TIME and symbol == "+":
        return _computed(right, symbol, _as_span(left), _Is.TIME)
    raise _mismatch(left, symbol, right)


def _product(left: _Part, symbol: Token, right: _Part) -> _Part:
    match left.stands_for, right.stands_for:
        case _Is.PLAIN, _Is.PLAIN:
            return _computed(left, symbol, right)
        case _Is.SPAN, _Is.PLAIN:
            return _computed(left, symbol, right, _Is.SPAN)
        case _Is.PLAIN, _Is.SPAN if symbol == "*":
            return _computed(right, symbol, left, _Is.SPAN)
        case _Is.SPAN, _Is.SPAN if symbol == "/":
            return _computed(left, symbol, right)
    raise _mismatch(left, symbol, right)


def _computed(left: _Part, symbol: Token, right: _Part, stands_for: _Is = _Is.PLAIN) -> _Part:
    return _joined(lambda a, b: Arithmetic(str(symbol), a, b), [left, right], stands_for)


def _mismatch(left: _Part, symbol: Token, right: _Part) -> Misuse:
    message = f"{left.stands_for.value} {symbol} {right.stands_for.value} means nothing"
    return _refusal(left.at, message, "a time and milliseconds can be added, times be subtracted", "wrong-kind")


def _as_span(part: _Part) -> _Part:
    """A plain number as so many milliseconds."""
    if part.stands_for is not _Is.PLAIN:
        return part
    match part.node:
        case Literal(int(number)) if number % 1000 == 0:
            node: Expression = Quantity(number // 1000, "s")
        case Literal(int(number)) | Literal(float(number)):
            node = Quantity(number, "ms")
        case _:
            node = Arithmetic("*", part.node, Quantity(1, "ms"))
    return part._replace(node=node, stands_for=_Is.SPAN)
