"""Units: which can be converted into which, and how, exactly.

A conversion between two units of one dimension is `value * factor + offset` with rational factor and offset, so
that 86 degF is 30 degC and not 30.000000000000057.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from comity.errors import Misuse

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
class Conversion:
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
    """What the unit measures, as a stable text: units convert into each other iff these are equal.

    >>> dimension("km") == dimension("mile"), dimension("km") == dimension("kg")
    (True, False)
    """
    if unit in _TIME_UNITS:
        return "[time]"
    return _spelled(_known(unit).dimensionality) or "[number]"


@cache
def conversion(source: str, target: str) -> Conversion:
    """How a value in the source unit becomes one in the target unit.

    >>> conversion("degF", "degC").apply(86)
    Fraction(30, 1)
    """
    if source == target:
        return Conversion(Fraction(1), Fraction(0))
    if source in _TIME_UNITS and target in _TIME_UNITS:
        return Conversion(Fraction(_TIME_UNITS[source], _TIME_UNITS[target]), Fraction(0))
    if dimension(source) != dimension(target):
        raise incompatible(source, target)
    if "delta_" in source + target:
        source, target = difference(source), difference(target)
    at_zero, at_one = (_registry().Quantity(Fraction(n), _known(source)).to(_known(target)).magnitude for n in (0, 1))
    return Conversion(Fraction(at_one) - Fraction(at_zero), Fraction(at_zero))


def incompatible(source: str, target: str) -> Misuse:
    """The error for units of different dimensions."""
    return Misuse(
        f"{source} cannot be converted into {target}: {dimension(source)} is not {dimension(target)}",
        code="incompatible-units",
    )


def is_time(unit: str) -> bool:
    """Whether the unit measures time, so that a number of it is a duration."""
    return unit in _TIME_UNITS or dimension(unit) == "[time]"


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
    """The unit of a product or quotient, None when the units cancel."""
    product = _known(left) / _known(right) if divide else _known(left) * _known(right)
    return None if product.dimensionless else _spelled(product._units)


def _spelled(powers: Mapping[str, Any]) -> str:
    """A product of powers as text; the library cannot print the fractions that it computes with."""
    ordered = sorted((name, Fraction(power)) for name, power in powers.items())
    return "*".join(name if power == 1 else f"{name}^{power}" for name, power in ordered)


@cache
def _registry() -> pint.UnitRegistry[Any]:
    import pint

    return pint.UnitRegistry(non_int_type=Fraction, cache_folder=None)


@cache
def _known(unit: str) -> Any:
    try:
        return _registry().parse_units(unit.replace("°C", "degC").replace("°F", "degF"))
    except Exception as error:  # the library raises many kinds for a text that is no unit
        raise Misuse(
            f"there is no unit {unit!r}",
            code="unknown-unit",
            hint="for example km, degC, m/s, percent; `5 *x` for a product",
        ) from error


def difference(unit: str) -> str:
    """The unit of a difference of two values: of degC it is delta_degC, of most others the unit itself."""
    if unit in _TIME_UNITS or unit.startswith("delta_"):
        return unit
    zero = _registry().Quantity(Fraction(0), _known(unit)).to_base_units().magnitude
    return unit if zero == 0 else f"delta_{unit.replace('°', 'deg')}"
