"""How far a chain of arithmetic over one attribute can be from its exact value.

The exact value is `factor * x + offset`. Every rounded operation adds at most half a unit in the last place, so the
distance stays below `relative * |x| + absolute`; both are added up as fractions, outwards, never measured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from comity.event.kinds import NUMBERS, Kind, Value, kind_of
from comity.event.types import EventType
from comity.expression.kinds import result_kind
from comity.expression.simplify.domains import raw
from comity.expression.tree import Arithmetic, Attribute, Call, Expression, Literal, Negative

_UNIT = Fraction(1, 2**53)
"""The largest relative error of one rounding of a 64 bit float."""
_SMALLEST = Fraction(1, 2**1074)
"""The distance of floats near zero, where a product is rounded to it."""
_HALF = Fraction(1, 2)
_WHOLE = frozenset({Kind.INT, Kind.TIMESTAMP, Kind.DURATION})


@dataclass(frozen=True, slots=True)
class Rounding:
    """What is known of the result for an attribute's value x; times count in microseconds."""

    attribute: Attribute
    origin: Kind
    kind: Kind
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    relative: Fraction = Fraction(0)
    absolute: Fraction = Fraction(0)
    most: int | None = None
    """The largest |x| for which this holds; None: it holds for all."""
    doubled: int = 0
    """How often the value was just doubled, so that halving it so often is exact."""

    @property
    def is_exact(self) -> bool:
        return not self.relative and not self.absolute

    @property
    def gives_itself(self) -> bool:
        """Whether the exact result is the attribute's own value."""
        return self.factor == 1 and self.offset == 0 and self.kind is self.origin


def rounding_of(node: Expression, type: EventType) -> Rounding | None:
    """The errors of a chain, None for an expression of another shape.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> house = EventType("House", "city", own={"heat": AttributeType(Kind.FLOAT)})
    >>> rounding_of(parse("heat * 4 / 4"), house).is_exact, rounding_of(parse("heat / 4 * 4"), house).is_exact
    (True, False)
    >>> round(rounding_of(parse("heat * 3 / 3"), house).relative * 2**53, 3)
    Fraction(2, 1)
    """
    match node:
        case Attribute(path):
            declared = type.attribute_at(path)
            known = declared is not None and declared.kind in (*NUMBERS, *_WHOLE)
            return Rounding(node, declared.kind, declared.kind) if known and declared else None
        case Negative(operand):
            return _negated(rounding_of(operand, type))
        case Call("float", (operand,)):
            found = rounding_of(operand, type)
            return None if found is None or found.kind not in NUMBERS else _as_float(found)
        case Call("floor", (operand,)):
            return _floored(rounding_of(operand, type))
        case Arithmetic(symbol, left, Literal(value)):
            return _with_constant(rounding_of(left, type), symbol, value, constant_first=False)
        case Arithmetic(symbol, Literal(value), right):
            return _with_constant(rounding_of(right, type), symbol, value, constant_first=True)
    return None


def _negated(found: Rounding | None) -> Rounding | None:
    return None if found is None else replace(found, factor=-found.factor, offset=-found.offset)


def _with_constant(found: Rounding | None, symbol: str, constant: Value, *, constant_first: bool) -> Rounding | None:
    other = kind_of(constant)
    if found is None or other is None or symbol not in "+-*/" or (constant_first and symbol == "/"):
        return None
    kind = result_kind(symbol, other, found.kind) if constant_first else result_kind(symbol, found.kind, other)
    if kind is None or kind is Kind.STRING:
        return None
    in_floats = symbol == "/" or kind is Kind.FLOAT or Kind.FLOAT in (other, found.kind)
    number = Fraction(float(raw(constant))) if in_floats else Fraction(raw(constant))
    if constant_first and symbol == "-":
        found, symbol = replace(found, factor=-found.factor, offset=-found.offset), "+"
    started = _as_float(found) if in_floats else found
    result = _shifted(started, number, symbol) if symbol in "+-" else _scaled(started, number, symbol)
    if result is None:
        return None
    return _rounded(result, kind) if kind in _WHOLE and in_floats else replace(result, kind=kind)


def _as_float(found: Rounding) -> Rounding:
    if found.kind is Kind.FLOAT:
        return found
    return replace(_once(found), kind=Kind.FLOAT)


def _once(found: Rounding) -> Rounding:
    """With the error of one rounding."""
    return replace(
        found,
        relative=found.relative + _UNIT * (abs(found.factor) + found.relative),
        absolute=found.absolute + _UNIT * (abs(found.offset) + found.absolute),
        doubled=0,
    )


def _shifted(found: Rounding, number: Fraction, symbol: str) -> Rounding:
    moved = replace(found, offset=found.offset + (number if symbol == "+" else -number))
    return _once(moved) if found.kind is Kind.FLOAT and number else moved


def _scaled(found: Rounding, number: Fraction, symbol: str) -> Rounding | None:
    if not number:
        return None
    by = number if symbol == "*" else 1 / number
    result = replace(
        found,
        factor=found.factor * by,
        offset=found.offset * by,
        relative=found.relative * abs(by),
        absolute=found.absolute * abs(by),
    )
    if found.kind is not Kind.FLOAT:
        return result
    if _is_power_of_two(by):
        doubled = found.doubled + abs(by).numerator.bit_length() - abs(by).denominator.bit_length()
        if doubled >= 0:
            return replace(result, doubled=doubled)
    rounded = replace(result if _is_power_of_two(by) else _once(result), doubled=0)
    return replace(rounded, absolute=rounded.absolute + _SMALLEST)


def _is_power_of_two(number: Fraction) -> bool:
    size = abs(number)
    return (size.numerator & (size.numerator - 1)) == 0 and (size.denominator & (size.denominator - 1)) == 0


def _rounded(found: Rounding, kind: Kind) -> Rounding:
    """The nearest whole number: the exact one, as long as the error stays below a half."""
    return _snapped(replace(found, kind=kind), found.offset) or replace(
        found, kind=kind, absolute=found.absolute + _HALF
    )


def _floored(found: Rounding | None) -> Rounding | None:
    if found is None or found.kind not in NUMBERS:
        return None
    if found.kind is Kind.INT:
        return found
    whole = replace(found, kind=Kind.INT)
    return _snapped(whole, found.offset - _HALF) or replace(whole, absolute=found.absolute + 1)


def _snapped(found: Rounding, offset: Fraction) -> Rounding | None:
    """Exact again: a whole number plus less than a half in either direction was rounded to that whole number."""
    is_whole = found.origin in _WHOLE and found.factor.denominator == 1 and offset.denominator == 1
    if not is_whole or found.absolute >= _HALF:
        return None
    most = found.most
    if found.relative:
        reach = int((_HALF - found.absolute) / found.relative) - 1
        most = reach if most is None else min(most, reach)
    if most is not None and most < 1:
        return None
    return replace(found, offset=offset, relative=Fraction(0), absolute=Fraction(0), most=most)
