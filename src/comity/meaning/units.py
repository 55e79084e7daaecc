"""Units: which can be converted into which, and how, exactly.

A conversion between two units of one dimension is `value * factor + offset` with rational factor and offset, so
that 86 degF is 30 degC and not 30.000000000000057. A unit can have a scale in front, as in `1000 mile`. Currencies are
units, too; from one into another there is a rate that changes with time, and an `Exchange` says which.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from comity.errors import Misuse
from comity.meaning.currencies import as_money, is_currency, renamed, with_money, without_money
from comity.meaning.scales import split_scale, with_scale
from comity.meaning.ucum.unit import as_unit, define_named, is_marked

if TYPE_CHECKING:
    import pint

_TIME_UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "second": 1_000_000,
    "seconds": 1_000_000,
    "min": 60_000_000,
    "minute": 60_000_000,
    "minutes": 60_000_000,
    "h": 3_600_000_000,
    "hour": 3_600_000_000,
    "hours": 3_600_000_000,
    "d": 86_400_000_000,
    "day": 86_400_000_000,
    "days": 86_400_000_000,
    "week": 604_800_000_000,
    "weeks": 604_800_000_000,
}
"""Microseconds. Kept here because durations are everywhere and the unit library takes half a second to load."""


@dataclass(frozen=True, slots=True)
class AffineConversion:
    """`value * factor + offset`."""

    factor: Fraction
    offset: Fraction

    def apply(self, value: int | float | Fraction) -> Fraction:
        """The converted value, exactly."""
        return Fraction(value) * self.factor + self.offset

    @property
    def is_identity(self) -> bool:
        return self.factor == 1 and self.offset == 0


def check_unit(unit: str) -> None:
    """Refuse a unit that nobody knows."""
    dimension(unit)


@cache
def dimension(unit: str) -> str:
    """What the unit measures, as a stable text: units convert into each other iff these are equal, money by a rate.

    >>> dimension("km") == dimension("mile"), dimension("km") == dimension("kg")
    (True, False)
    """
    _, base = split_scale(unit)
    if base in _TIME_UNITS:
        return "[time]"
    if is_currency(base):
        return "[money]"
    return _spelled(as_money(_known(base).dimensionality)) or "[number]"


@cache
def conversion(source: str, target: str) -> AffineConversion:
    """How a value in the source unit becomes one in the target unit.

    >>> conversion("degF", "degC").apply(86)
    Fraction(30, 1)
    """
    if exchange(source, target) is not None:
        raise no_rates(source, target)
    (scale, source), (target_scale, target) = split_scale(source), split_scale(target)
    plain = _plain_conversion(source, target)
    return AffineConversion(plain.factor * scale / target_scale, plain.offset / target_scale)


def _plain_conversion(source: str, target: str) -> AffineConversion:
    if source == target:
        return AffineConversion(Fraction(1), Fraction(0))
    if source in _TIME_UNITS and target in _TIME_UNITS:
        return AffineConversion(Fraction(_TIME_UNITS[source], _TIME_UNITS[target]), Fraction(0))
    if "delta_" in source + target:
        source, target = difference(source), difference(target)
    try:
        at_zero, at_one = (
            _registry().Quantity(Fraction(n), _known(source)).to(_known(target)).magnitude for n in (0, 1)
        )
    except TypeError:  # logarithmic units have no factor
        raise Misuse(
            f"{source} cannot be converted into {target}: one of them is a logarithm",
            code="incompatible-units",
            hint="UCUM codes such as B[V] convert with `comity units convert --ucum`",
        ) from None
    return AffineConversion(Fraction(at_one) - Fraction(at_zero), Fraction(at_zero))


@dataclass(frozen=True, slots=True)
class Exchange:
    """A conversion between units of money: times the rate from one currency to another, times `factor`."""

    source: str
    target: str
    factor: Fraction


@cache
def exchange(source: str, target: str) -> Exchange | None:
    """The exchange that a conversion needs, None if it needs none; units of different dimensions are refused.

    >>> exchange("1000 USD", "EUR")
    Exchange(source='USD', target='EUR', factor=Fraction(1000, 1))
    >>> exchange("USD/kg", "EUR/g").factor, exchange("1000 USD", "USD")
    (Fraction(1, 1000), None)
    """
    if dimension(source) != dimension(target):
        raise incompatible(source, target)
    given, wanted = _currencies(source), _currencies(target)
    if given == wanted:
        return None
    if not (len(given) == len(wanted) == 1 and set(given.values()) == set(wanted.values()) <= {1, -1}):
        message = f"{source} cannot be converted into {target}: a rate is between one currency and another"
        raise Misuse(message, code="incompatible-units")
    (one, power), (other,) = *given.items(), wanted
    factor = conversion(source, renamed(target, other, one)).factor
    return Exchange(one, other, factor) if power == 1 else Exchange(other, one, factor)


def _currencies(unit: str) -> dict[str, Any]:
    """The power of each currency in a unit."""
    _, base = split_scale(unit)
    if is_currency(base):
        return {base: 1}
    if base in _TIME_UNITS:
        return {}
    return {code: power for code, power in without_money(_known(base)._units).items() if is_currency(code)}


def no_rates(source: str, target: str) -> Misuse:
    """The error for money that is to be converted where there are no rates."""
    return Misuse(
        f"{source} can be converted into {target} only with exchange rates",
        code="no-rates",
        hint="give a table of rates: from, to, rate, valid_from, valid_until",
    )


def incompatible(source: str, target: str) -> Misuse:
    """The error for units of different dimensions."""
    return Misuse(
        f"{source} cannot be converted into {target}: {dimension(source)} is not {dimension(target)}",
        code="incompatible-units",
    )


def is_time(unit: str) -> bool:
    """Whether the unit measures time, so that a number of it is a duration."""
    return dimension(unit) == "[time]"


def duration(number: int | float, unit: str) -> timedelta:
    """The duration of so many units of time.

    >>> duration(5, "min")
    datetime.timedelta(seconds=300)
    """
    microseconds = Fraction(number) * conversion(unit, "us").factor
    if abs(microseconds) >= 2**63:
        raise Misuse(f"{number} {unit} is longer than a duration can be", code="duration-out-of-range")
    return timedelta(microseconds=round(microseconds))


def multiplied(left: str, right: str, *, divide: bool = False) -> str | None:
    """The unit of a product or quotient, None when the units cancel.

    >>> multiplied("1000 USD", "USD/kg", divide=True), multiplied("km", "km", divide=True)
    ('1000 kilogram', None)
    """
    (scale, left), (right_scale, right) = split_scale(left), split_scale(right)
    product = _known(left) / _known(right) if divide else _known(left) * _known(right)
    scale = scale / right_scale if divide else scale * right_scale
    spelled = _spelled(without_money(product._units))
    return with_scale(scale, spelled or "dimensionless") if spelled or scale != 1 else None


def _spelled(powers: Mapping[str, Any]) -> str:
    """A product of powers as text; the library cannot print the fractions that it computes with."""
    ordered = sorted((name, Fraction(power)) for name, power in powers.items())
    return "*".join(name if power == 1 else f"{name}^{power}" for name, power in ordered)


@cache
def _registry() -> pint.UnitRegistry[Any]:
    import pint

    return pint.UnitRegistry(non_int_type=Fraction, cache_folder=None)


_TOWER = re.compile(r"(\^|\*\*)\s*([-+]?[0-9.]+\s*(\^|\*\*)|\([^)]*(\^|\*\*))")
"""A power of a power, which could be computed for ever."""


@cache
def _known(unit: str) -> Any:
    text = unit.replace("°C", "degC").replace("°F", "degF")
    if _TOWER.search(text):
        raise Misuse(f"an exponent in {unit!r} is no plain number", code="unknown-unit", hint="for example m^2")
    found = None if is_marked(text) else _own(text)
    if found is None:
        found = as_unit(_registry(), text)
    if found is None:
        raise Misuse(
            f"there is no unit {unit!r}",
            code="unknown-unit",
            hint="for example km, degC, m/s, percent, or a UCUM code such as mm[Hg]; `5 *x` for a product",
        )
    return found


def _own(text: str) -> Any:
    """The unit of the unit library that a text names, None if there is none."""
    define_named(_registry(), text)
    try:
        return _registry().parse_units(with_money(_registry(), text))
    except Exception:  # the library raises many kinds for a text that is no unit
        return None


def difference(unit: str) -> str:
    """The unit of a difference of two values: of degC it is delta_degC, of most others the unit itself."""
    scale, unit = split_scale(unit)
    return with_scale(scale, _plain_difference(unit))


def _plain_difference(unit: str) -> str:
    if unit in _TIME_UNITS or unit.startswith("delta_") or is_currency(unit):
        return unit
    zero = _registry().Quantity(Fraction(0), _known(unit)).to_base_units().magnitude
    if zero == 0:
        return unit
    plain = unit.replace("°", "deg")
    named = not is_marked(plain) and _own(plain) is not None
    return f"delta_{plain if named else _spelled(_known(unit)._units)}"
