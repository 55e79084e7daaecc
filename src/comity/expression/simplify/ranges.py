"""Sets of an attribute's values as spans of indexes: from an atom to its spans, and from spans to the shortest filter.

An atom stands for the events whose attribute is present and within the spans.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor
from typing import Any

from comity.event.kinds import NUMBERS, Kind, Value, comparable, kind_of
from comity.event.types import EventType
from comity.expression.render import render_value
from comity.expression.simplify.chains import Chain, chain_of, first_index
from comity.expression.simplify.domains import DOMAINS, ValueDomain, raw
from comity.expression.simplify.known import presence
from comity.expression.simplify.order_parts import all_of, any_of
from comity.expression.tree import Attribute, Between, Compare, Exists, Expression, In, Literal

Span = tuple[int, int]
Spans = tuple[Span, ...]
"""First and last index of each stretch, in order, never two that touch."""

_EXACT_IN_A_FLOAT = 10**15


@dataclass(frozen=True, slots=True)
class AttributeRange:
    """The values of one attribute that pass."""

    attribute: Attribute
    domain: ValueDomain
    spans: Spans


@lru_cache(maxsize=65536)
def range_of(atom: Expression, type: EventType) -> AttributeRange | None:
    """What an atom demands of the one attribute under it; None when that is not a matter of order."""
    match atom:
        case Exists(attribute):
            return _found(chain_of(attribute, type), None)
        case Compare("=", left, right) if left == right:
            return _found(chain_of(left, type), None)
        case Compare(symbol, operand, Literal(value)):
            chain = chain_of(operand, type)
            return _found(chain, _compared(chain, symbol, value)) if _fits(chain, [value]) else None
        case Between(operand, Literal(low), Literal(high), negated):
            chain = chain_of(operand, type)
            return _found(chain, _between(chain, low, high, negated)) if _fits(chain, [low, high]) else None
        case In(operand, items, negated):
            chain, values = chain_of(operand, type), [item.value for item in items if isinstance(item, Literal)]
            fits = len(values) == len(items) and _fits(chain, values)
            return _found(chain, _among(chain, values, negated)) if fits else None
    return None


def says_itself(atom: Expression, type: EventType) -> bool:
    """Whether an atom over a bare attribute surely is what `say` would say of it. Nearly all are, and it is seen at a
    glance: the attribute has no order, or some numbers pass and some do not.
    """
    match atom:
        case Compare(symbol, Attribute(path), Literal(value)):
            kind = _ordered_kind(path, type)
            return kind is None or (_is_within(value, kind) and not (symbol in _OF_POINTS and _is_between(value, kind)))
        case Between(Attribute(path), Literal(low), Literal(high), negated):
            kind = _ordered_kind(path, type)
            if kind is None:
                return True
            return not negated and _is_within(low, kind) and _is_within(high, kind) and _is_passable(low, high, kind)
    return False


_OF_POINTS = ("=", "!=")


def _ordered_kind(path: tuple[str, ...], type: EventType) -> Kind | None:
    declared = type.attribute_at(path)
    return declared.kind if declared is not None and declared.kind in DOMAINS else None


def _is_within(constant: Value, kind: Kind) -> bool:
    """Whether a constant is a number far from both ends of a kind of numbers."""
    if kind not in NUMBERS or (constant.__class__ is not int and constant.__class__ is not float):
        return False
    return -_EXACT_IN_A_FLOAT < constant < _EXACT_IN_A_FLOAT


def _is_between(number: Any, kind: Kind) -> bool:
    """Whether a number lies between two values of a kind."""
    return kind is Kind.INT and number != int(number)


def _is_passable(low: Any, high: Any, kind: Kind) -> bool:
    """Whether a kind has values from one number to another."""
    return bool(ceil(low) <= floor(high) if kind is Kind.INT else low <= high)


def _fits(chain: Chain | None, constants: list[Value]) -> bool:
    return chain is not None and all(comparable(chain.kind, kind_of(constant)) for constant in constants)


def _found(chain: Chain | None, spans: Spans | None) -> AttributeRange | None:
    if chain is None:
        return None
    return AttributeRange(chain.attribute, chain.domain, _defined(chain) if spans is None else spans)


@lru_cache(maxsize=4096)
def _ends(chain: Chain) -> Span:
    """Where results begin, and where they have ended, in the direction of growing results."""
    begin = first_index(chain, lambda side, _: side >= 0, None)
    return begin, first_index(chain, lambda side, _: side > 0, None)


@lru_cache(maxsize=65536)
def _first(chain: Chain, constant: Value, strict: bool) -> int:
    """Where results reach a constant, or go beyond it."""
    passes = operator.gt if strict else operator.ge
    if not chain.steps and kind_of(constant) is chain.kind:
        index = chain.domain.nearest(raw(constant)) + strict
        return min(max(index, chain.domain.first), chain.domain.last + 1)
    return first_index(
        chain, lambda side, value: side > 0 or (side == 0 and passes(value, constant)), chain.before(constant)
    )


def _defined(chain: Chain) -> Spans:
    begin, end = _ends(chain)
    return _turned(chain, begin, end - 1)


def _turned(chain: Chain, low: int, high: int) -> Spans:
    if low > high:
        return ()
    return ((low, high),) if chain.direction > 0 else ((-high, -low),)


def _compared(chain: Chain | None, symbol: str, constant: Value) -> Spans:
    assert chain is not None
    begin, end = _ends(chain)
    match symbol:
        case "<":
            return _turned(chain, begin, _first(chain, constant, False) - 1)
        case "<=":
            return _turned(chain, begin, _first(chain, constant, True) - 1)
        case ">":
            return _turned(chain, _first(chain, constant, True), end - 1)
        case ">=":
            return _turned(chain, _first(chain, constant, False), end - 1)
    # Beyond the largest result the search for more ends where results do, so neither end needs to be cut.
    equal = _turned(chain, _first(chain, constant, False), _first(chain, constant, True) - 1)
    return equal if symbol == "=" else without(_defined(chain), equal)


def _between(chain: Chain | None, low: Value, high: Value, negated: bool) -> Spans:
    assert chain is not None
    inside = common(_compared(chain, ">=", low), _compared(chain, "<=", high))
    return without(_defined(chain), inside) if negated else inside


def _among(chain: Chain | None, values: list[Value], negated: bool) -> Spans:
    assert chain is not None
    equal = union([span for value in values for span in _compared(chain, "=", value)])
    return without(_defined(chain), equal) if negated else equal


def union(spans: list[Span]) -> Spans:
    """All of them, joined where they overlap or touch.

    >>> union([(5, 9), (1, 2), (3, 3)])
    ((1, 3), (5, 9))
    """
    joined: list[Span] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def common(left: Spans, right: Spans) -> Spans:
    """What lies in both."""
    found: list[Span] = []
    one = other = 0
    while one < len(left) and other < len(right):
        low, high = max(left[one][0], right[other][0]), min(left[one][1], right[other][1])
        if low <= high:
            found.append((low, high))
        if left[one][1] < right[other][1]:
            one += 1
        else:
            other += 1
    return tuple(found)


def without(left: Spans, right: Spans) -> Spans:
    """What lies in the first only."""
    if not left:
        return ()
    gaps: list[Span] = []
    start = left[0][0]
    for low, high in right:
        gaps.append((start, low - 1))
        start = max(start, high + 1)
    gaps.append((start, left[-1][1]))
    return common(left, tuple(gap for gap in gaps if gap[0] <= gap[1]))


def say(found: AttributeRange, type: EventType) -> Expression:
    """The shortest filter for a range.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.simplify.domains import DOMAINS
    >>> house = EventType("House", "city", own={"floor": AttributeType(Kind.INT)})
    >>> say(AttributeRange(Attribute(("floor",)), DOMAINS[Kind.INT], ((1, 1), (3, 3))), house).items
    (Literal(value=1), Literal(value=3))
    """
    attribute, domain, spans = found.attribute, found.domain, found.spans
    if not spans:
        return any_of([])
    gaps = without(((spans[0][0], spans[-1][1]),), spans)
    if gaps and all(low == high for low, high in spans):
        return _points(found, spans, negated=False)
    if gaps and all(low == high for low, high in gaps):
        hull = AttributeRange(attribute, domain, ((spans[0][0], spans[-1][1]),))
        whole = hull.spans == ((domain.first, domain.last),)
        holes = _points(found, gaps, negated=True)
        return holes if whole else all_of([_span(hull, hull.spans[0], type), holes])
    wide = [_span(found, span, type) for span in spans if span[0] != span[1]]
    points = tuple(span for span in spans if span[0] == span[1])
    return any_of([*wide, *([_points(found, points, negated=False)] if points else [])])


def _points(found: AttributeRange, points: Spans, *, negated: bool) -> Expression:
    items = tuple(_literal(found.domain, low) for low, _ in points)
    if len(items) == 1:
        return Compare("!=" if negated else "=", found.attribute, items[0])
    return In(found.attribute, items, negated)


def _span(found: AttributeRange, span: Span, type: EventType) -> Expression:
    attribute, domain, (low, high) = found.attribute, found.domain, span
    if low == high:
        return _points(found, (span,), negated=False)
    if span == (domain.first, domain.last):
        return presence(attribute, type)
    lower, upper = _end(domain, ">=", low, ">", low - 1), _end(domain, "<=", high, "<", high + 1)
    if low == domain.first:
        return Compare(upper[0], attribute, upper[1])
    if high == domain.last:
        return Compare(lower[0], attribute, lower[1])
    if lower[0] == ">=" and upper[0] == "<=":
        return Between(attribute, lower[1], upper[1])
    return all_of([Compare(lower[0], attribute, lower[1]), Compare(upper[0], attribute, upper[1])])


def _end(domain: ValueDomain, closed: str, last: int, opened: str, beyond: int) -> tuple[str, Literal]:
    """The operator and the constant that say an end of a span, with the constant that is shorter to write."""
    inner = _literal(domain, last)
    if not domain.first <= beyond <= domain.last:
        return closed, inner
    outer = _literal(domain, beyond)
    shorter = len(render_value(outer.value)) < len(render_value(inner.value))
    return (opened, outer) if shorter else (closed, inner)


def _literal(domain: ValueDomain, index: int) -> Literal:
    value = domain.value(index)
    if domain.kind is Kind.FLOAT and abs(value) < _EXACT_IN_A_FLOAT and value == int(value):
        return Literal(int(value))
    return Literal(value)
