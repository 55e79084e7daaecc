"""Values in other contexts: a number in another unit, scale or currency, a text in other codes.

What is rounded, and where:

- A **constant** is converted exactly, as the decimal number that is written, and rounded once: to the nearest float,
  unless it is written and results as a whole number of 64 bits, which it then is. In another currency it is one float
  for each period of the rate, each converted so.
- A **number** of an event is converted by float arithmetic, `x * n / d + offset`, with the offset first if it is a
  float only there. Each operation rounds once; n, d and the offset are the nearest floats, n and d below 2⁵³ exact; an
  int becomes the nearest float first. So, without an offset, a float is converted within two roundings, a relative
  error of at most 2⁻⁵².
- **Money** is `x * f`, where f is the rate of the period times scale and units, computed exactly and rounded once: the
  result is within two roundings, a relative error of at most 2⁻⁵².
- **Codes** are looked up, and nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from comity.errors import Misuse
from comity.event.kinds import NUMBERS, Kind, in_range, kind_of, timestamp_from_microseconds
from comity.expression.bound import Bound
from comity.expression.scope import Scope
from comity.expression.tree import (
    MISSING,
    And,
    Arithmetic,
    Attribute,
    Between,
    Compare,
    Conditional,
    Exists,
    Expression,
    In,
    Literal,
    Lookup,
    Not,
    Or,
    Quantity,
    attributes,
    conjunction,
    disjunction,
    walk,
)
from comity.limits import limits
from comity.meaning import units

_FLOAT = frozenset({Kind.FLOAT})
_DURATION = frozenset({Kind.DURATION})


def settled(bound: Bound, unit: str | None = None) -> Bound:
    """The value as it is; a quantity becomes a constant, of time a duration unless a unit is wanted."""
    if not isinstance(bound.node, Quantity):
        return bound
    number, own = bound.node.number, bound.node.unit
    if unit is None and units.is_time(own):
        return Bound(Literal(units.duration(number, own)), _DURATION)
    return _literals(Literal(number), own)


def _literals(made: Expression, unit: str) -> Bound:
    kinds = frozenset(kind for part in walk(made) if isinstance(part, Literal) and (kind := kind_of(part.value)))
    return Bound(made, kinds & NUMBERS, unit)


def in_unit(bound: Bound, unit: str | None, scope: Scope, beside: Bound | None = None) -> Bound:
    """The value in the wanted unit, None for its own; a quantity becomes a constant.

    Rates are those at the time of the event whose attributes are in the value, else in the one `beside` it.
    """
    if unit is None or bound.unit is None or unit == bound.unit:
        return settled(bound, unit)
    if isinstance(bound.node, Quantity):
        return _constant(bound.node, unit, scope, beside)
    exchange = units.exchange(bound.unit, unit)
    if exchange is None:
        return Bound(_converted(bound.node, units.conversion(bound.unit, unit)), _FLOAT, unit)
    rate = _by_period(exchange, scope, [bound, beside], lambda rate: Literal(_nearest(rate)))
    return Bound(Arithmetic("*", bound.node, rate), _FLOAT, unit)


def _constant(quantity: Quantity, unit: str, scope: Scope, beside: Bound | None) -> Bound:
    written = Fraction(str(quantity.number))  # 303.15 as it stands, not the float nearest to it
    as_float = isinstance(quantity.number, float)
    exchange = units.exchange(quantity.unit, unit)
    if exchange is None:
        return _literals(_number(units.conversion(quantity.unit, unit).apply(written), as_float), unit)
    return _literals(_by_period(exchange, scope, [beside], lambda rate: Literal(_nearest(written * rate))), unit)


def _number(exact: Fraction, as_float: bool) -> Literal:
    whole = exact.denominator == 1 and not as_float and in_range(exact.numerator)
    return Literal(exact.numerator if whole else _nearest(exact))


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        raise Misuse("the converted number is beyond the range of floats", code="float-out-of-range") from None


def _converted(node: Expression, change: units.AffineConversion) -> Expression:
    """The conversion as arithmetic; its offset first where that is exact: (x - 32) * 5 / 9 makes 86 degF 30 degC."""
    before = change.offset / change.factor
    offset_first = float(before) == before and float(change.offset) != change.offset
    scaled = _shifted(node, before) if offset_first else node
    if change.factor.numerator != 1:
        scaled = Arithmetic("*", scaled, Literal(_nearest(Fraction(change.factor.numerator))))
    if change.factor.denominator != 1:
        scaled = Arithmetic("/", scaled, Literal(_nearest(Fraction(change.factor.denominator))))
    return scaled if offset_first else _shifted(scaled, change.offset)


def _shifted(node: Expression, offset: Fraction) -> Expression:
    if not offset:
        return node
    return Arithmetic("+" if offset > 0 else "-", node, Literal(_nearest(abs(offset))))


# Money


def _by_period(
    exchange: units.Exchange, scope: Scope, values: list[Bound | None], leaf: Callable[[Fraction], Literal]
) -> Expression:
    """What a rate gives, chosen by the time of the event that the first value with attributes is of.

    It is missing while no rate is valid.
    """
    if scope.rates is None:
        raise units.no_rates(exchange.source, exchange.target)
    steps = scope.rates.steps(exchange.source, exchange.target)
    _check_steps(steps, exchange)
    leaves = [(begin, MISSING if rate is None else leaf(rate * exchange.factor)) for begin, rate in steps]
    if len(leaves) == 1:
        return leaves[0][1]
    paths = (attributes(value.node) for value in values if value)
    moment = scope.moment(next(filter(None, paths), frozenset()))
    chosen = _balanced(leaves, moment)
    # An event without a time is in no period, but every comparison of its time fails as if it were in the first.
    return chosen if leaves[0][1] == MISSING else Conditional(Exists(moment), chosen, MISSING)


def _check_steps(steps: tuple[tuple[int | None, Fraction | None], ...], exchange: units.Exchange) -> None:
    pair = f"from {exchange.source} to {exchange.target}"
    if all(rate is None for _, rate in steps):
        hint = "add one, or one with a currency that both have a rate with"
        raise Misuse(f"the rates have none {pair}", code="no-rates", hint=hint)
    bound = limits().max_rate_periods
    if len(steps) > bound:
        hint = "leave out old ones, or raise COMITY_MAX_RATE_PERIODS"
        raise Misuse(f"the rate {pair} has more than {bound:,} periods", code="too-many-rates", hint=hint)


def _balanced(leaves: Sequence[tuple[int | None, Expression]], moment: Attribute) -> Expression:
    if len(leaves) == 1:
        return leaves[0][1]
    middle = len(leaves) // 2
    begin = timestamp_from_microseconds(leaves[middle][0] or 0)
    later = Compare(">=", moment, Literal(begin))
    return Conditional(later, _balanced(leaves[middle:], moment), _balanced(leaves[:middle], moment))


def between(operand: Expression, low: Expression, high: Expression, negated: bool) -> Expression:
    """`x between low and high`; where an end changes with time, the comparisons that it means."""
    if isinstance(low, Conditional) or isinstance(high, Conditional):
        inside = [Compare(">=", operand, low), Compare("<=", operand, high)]
        outside = [Compare("<", operand, low), Compare(">", operand, high)]
        if not negated:
            return And(tuple(inside))
        if _alike(low, high):
            return Or(tuple(outside))
        # Both ends must be there: the rate of one of them can be missing while the other has one.
        return And((Or((outside[0], inside[0])), Or((outside[1], inside[1])), Or(tuple(outside))))
    return Between(operand, low, high, negated)


def _alike(one: Expression, other: Expression) -> bool:
    """Whether two constants that change with time are there at the same times."""
    if isinstance(one, Conditional) and isinstance(other, Conditional):
        alike = _alike(one.then, other.then) and _alike(one.otherwise, other.otherwise)
        return one.condition == other.condition and alike
    return (one == MISSING) is (other == MISSING) and not isinstance(one, Conditional) | isinstance(other, Conditional)


def among(operand: Expression, items: list[Expression], negated: bool) -> Expression:
    """`x in (…)`; members that change with time are compared one by one."""
    changing = [item for item in items if isinstance(item, Conditional)]
    fixed = tuple(item for item in items if not isinstance(item, Conditional))
    if not changing:
        return In(operand, fixed, negated)
    same, other = ([Compare(symbol, operand, item) for item in changing] for symbol in ("=", "!="))
    if not negated:
        return disjunction([*([In(operand, fixed)] if fixed else []), *same])
    # Unlike all, and of a kind that compares with one.
    unlike_one = In(operand, fixed, negated=True) if fixed else disjunction([*other])
    return conjunction([unlike_one, *map(Not, same)])


# Codes


def in_codes(bound: Bound, codes: str | None, scope: Scope) -> Bound:
    """The text in the wanted codes. One that names none, such as a constant, is taken to be in them."""
    if codes is None or bound.codes is None or codes == bound.codes:
        return bound
    rows = scope.code_rows(bound.codes, codes)
    if rows is None:
        raise Misuse(
            f"there is no table from the codes {bound.codes} to {codes}",
            code="no-code-table",
            place=bound.place(),
            hint=f"give a table of {bound.codes} and {codes}",
        )
    made = Lookup(f"{bound.codes} to {codes}", bound.node, rows)
    return replace(bound, node=made, kinds=frozenset({Kind.STRING}), codes=codes)
