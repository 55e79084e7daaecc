"""Constants in the kind of the attribute that they meet, for languages that compare like with like only.

Ints and floats compare exactly here, so a constant of the other kind can always be replaced, or decides the test.
"""

from __future__ import annotations

import math

from comity.event.kinds import INT_MAX, INT_MIN, Kind
from comity.expression.tree import FALSE, Attribute, Between, Compare, Exists, Expression, In, Literal
from comity.language.fold import both, either


def in_kind(atom: Expression, kind: Kind) -> Expression | None:
    """The test with its number in the kind of its attribute; None when it is no such test, or stands so already.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> render(in_kind(parse("x > 2.5"), Kind.INT)), render(in_kind(parse("x = 3"), Kind.FLOAT))
    ('x > 2', 'x = 3.0')
    """
    match atom:
        case Compare(operator, Attribute() as attribute, Literal(value)) if _is_other(value, kind):
            return _compare(operator, attribute, value, kind)
        case Between(Attribute() as attribute, Literal(low), Literal(high), False) if _is_any_other(kind, low, high):
            return _between(attribute, low, high, kind)
        case Between(Attribute() as attribute, Literal(low), Literal(high), True) if _is_any_other(kind, low, high):
            return either([_at("<", attribute, low, kind), _at(">", attribute, high, kind)])
        case In(Attribute() as attribute, items, negated):
            values = [item.value for item in items if isinstance(item, Literal)]
            if len(values) == len(items) and _is_any_other(kind, *values):
                return _list(attribute, values, kind, negated)
    return None


def _between(attribute: Attribute, low: int | float, high: int | float, kind: Kind) -> Expression:
    ends = [_exact(end, kind) if _is_other(end, kind) else end for end in (low, high)]
    if None not in ends:
        return Between(attribute, Literal(ends[0]), Literal(ends[1]))
    return both([_at(">=", attribute, low, kind), _at("<=", attribute, high, kind)])


def _is_other(value: object, kind: Kind) -> bool:
    return type(value) is (float if kind is Kind.INT else int)


def _is_any_other(kind: Kind, *values: object) -> bool:
    return all(type(value) in (int, float) for value in values) and any(_is_other(value, kind) for value in values)


def _at(operator: str, attribute: Attribute, value: int | float, kind: Kind) -> Expression:
    if _is_other(value, kind):
        return _compare(operator, attribute, value, kind)
    return Compare(operator, attribute, Literal(value))


def _list(attribute: Attribute, values: list[int | float], kind: Kind, negated: bool) -> Expression:
    exact = [_exact(value, kind) if _is_other(value, kind) else value for value in values]
    kept = tuple(dict.fromkeys(Literal(value) for value in exact if value is not None))
    if kept:
        return In(attribute, kept, negated)
    return Exists(attribute) if negated else FALSE


def _exact(value: int | float, kind: Kind) -> int | float | None:
    """The same number in the other kind, None when that has no such number."""
    if kind is Kind.INT:
        whole = int(value)
        return whole if whole == value and INT_MIN <= whole <= INT_MAX else None
    return float(value) if float(value) == value else None


def _compare(operator: str, attribute: Attribute, value: int | float, kind: Kind) -> Expression:
    exact = _exact(value, kind)
    if exact is not None:
        return Compare(operator, attribute, Literal(exact))
    if operator in ("=", "!="):
        return FALSE if operator == "=" else Exists(attribute)
    below = _neighbour_below(value, kind)
    if operator in (">", ">="):  # nothing of the kind lies between the neighbour and the constant
        return Exists(attribute) if below is None else _unless_last(attribute, below, kind)
    return FALSE if below is None else Compare("<=", attribute, Literal(below))


def _unless_last(attribute: Attribute, below: int | float, kind: Kind) -> Expression:
    last = INT_MAX if kind is Kind.INT else math.inf
    return FALSE if below == last else Compare(">", attribute, Literal(below))


def _neighbour_below(value: int | float, kind: Kind) -> int | float | None:
    """The greatest number of the kind below the constant, None when all are above it."""
    if kind is Kind.INT:
        return None if value < INT_MIN else min(math.floor(value), INT_MAX)
    near = float(value)
    return near if near < value else math.nextafter(near, -math.inf)
