"""Linear arithmetic over attributes, in exact rationals.

Relations are decided as if numbers were rationals: overflow and the rounding of floats are left to evaluation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction

from comity.event.kinds import Kind, to_microseconds
from comity.expression.tree import MIRRORED, Arithmetic, Attribute, Call, Expression, Literal, Negative
from comity.filter.sets.numbers import NumberSet
from comity.filter.space import Path, Space

NEGATED: Mapping[str, str] = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_TEST: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

NUMBERS, TIMESTAMPS, DURATIONS = "numbers", "timestamps", "durations"
_CLASS_OF_KIND = {
    Kind.INT: NUMBERS,
    Kind.FLOAT: NUMBERS,
    Kind.TIMESTAMP: TIMESTAMPS,
    Kind.DURATION: DURATIONS,
    None: NUMBERS,  # an open attribute in arithmetic is a number
}


@dataclass(frozen=True, slots=True)
class Linear:
    """`Σ coefficient · attribute  operator  bound`, where every attribute is in the class of values named by
    `values`.
    """

    terms: tuple[tuple[Path, Fraction], ...]
    operator: str
    bound: Fraction
    values: str = NUMBERS

    def negated(self) -> Linear:
        """The relation that holds when this one does not, given that all attributes are numbers."""
        return replace(self, operator=NEGATED[self.operator])

    def holds_for_constants(self) -> bool:
        """Whether the relation holds when it has no attributes at all."""
        return _TEST[self.operator](Fraction(0), self.bound)

    def solved(self, discrete: bool) -> tuple[Path, NumberSet]:
        """The values of its only attribute that satisfy it."""
        ((path, coefficient),) = self.terms
        if coefficient == 0:
            holds = self.holds_for_constants()
            return path, NumberSet.all(discrete) if holds else NumberSet.none(discrete)
        symbol = self.operator if coefficient > 0 else MIRRORED[self.operator]
        return path, NumberSet.compare(symbol, _plain(self.bound / coefficient), discrete)


def _plain(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


@dataclass(frozen=True, slots=True)
class _Sum:
    """A linear expression and the class of its value."""

    terms: Mapping[Path, Fraction]
    constant: Fraction
    values: str
    mixed: bool = False
    """Whether it adds values of different classes, as `time + duration` does."""

    def scaled(self, factor: Fraction) -> _Sum:
        terms = {path: coefficient * factor for path, coefficient in self.terms.items()}
        return _Sum(terms, self.constant * factor, self.values, self.mixed)

    def plus(self, other: _Sum, values: str) -> _Sum:
        terms = dict(self.terms)
        for path, coefficient in other.terms.items():
            terms[path] = terms.get(path, Fraction(0)) + coefficient
        mixed = self.mixed or other.mixed or (bool(self.terms and other.terms) and self.values != other.values)
        return _Sum(terms, self.constant + other.constant, values, mixed)


def linear_relation(symbol: str, left: Expression, right: Expression, space: Space) -> Linear | None:
    """The comparison as a linear relation; None when it is not linear, or mixes attributes of several classes."""
    first, second = _sum(left, space), _sum(right, space)
    if first is None or second is None or first.values != second.values:
        return None
    whole = first.plus(second.scaled(Fraction(-1)), first.values)
    classes = {_CLASS_OF_KIND.get(space.kind(path)) for path in whole.terms}
    if whole.mixed or len(classes) > 1 or None in classes:
        return None
    terms = tuple(sorted(whole.terms.items()))
    return Linear(terms, symbol, -whole.constant, classes.pop() or NUMBERS if classes else first.values)


def _sum(node: Expression, space: Space) -> _Sum | None:
    match node:
        case Literal(value):
            return _constant(value)
        case Attribute(path):
            values = _CLASS_OF_KIND.get(space.kind(path))
            return _Sum({path: Fraction(1)}, Fraction(0), values) if values else None
        case Negative(operand):
            inner = _sum(operand, space)
            return inner.scaled(Fraction(-1)) if inner and inner.values != TIMESTAMPS else None
        case Call("float", (operand,)) if _is_number(operand, space):  # it reads texts, too
            return _sum(operand, space)
        case Arithmetic(symbol, left, right):
            return _combined(symbol, _sum(left, space), _sum(right, space))
    return None


def _is_number(node: Expression, space: Space) -> bool:
    return not isinstance(node, Attribute) or space.kind(node.path) in (Kind.INT, Kind.FLOAT)


def _constant(value: object) -> _Sum | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _Sum({}, Fraction(value), NUMBERS)
    if isinstance(value, datetime):
        return _Sum({}, Fraction(to_microseconds(value)), TIMESTAMPS)
    return _Sum({}, Fraction(to_microseconds(value)), DURATIONS) if isinstance(value, timedelta) else None


_SUMS = {
    (NUMBERS, "+", NUMBERS): NUMBERS,
    (NUMBERS, "-", NUMBERS): NUMBERS,
    (TIMESTAMPS, "-", TIMESTAMPS): DURATIONS,
    (TIMESTAMPS, "+", DURATIONS): TIMESTAMPS,
    (TIMESTAMPS, "-", DURATIONS): TIMESTAMPS,
    (DURATIONS, "+", TIMESTAMPS): TIMESTAMPS,
    (DURATIONS, "+", DURATIONS): DURATIONS,
    (DURATIONS, "-", DURATIONS): DURATIONS,
}


def _combined(symbol: str, left: _Sum | None, right: _Sum | None) -> _Sum | None:
    if left is None or right is None:
        return None
    if symbol in "+-":
        values = _SUMS.get((left.values, symbol, right.values))
        return left.plus(right.scaled(Fraction(1 if symbol == "+" else -1)), values) if values else None
    if left.values != NUMBERS or right.values != NUMBERS:
        return None  # durations are rounded to microseconds when they are scaled
    if symbol == "*" and not right.terms:
        return left.scaled(right.constant)
    if symbol == "*" and not left.terms:
        return right.scaled(left.constant)
    if symbol == "/" and not right.terms and right.constant:
        return left.scaled(1 / right.constant)
    return None
