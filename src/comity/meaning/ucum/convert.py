"""What a UCUM code stands for in base units, and the conversion from one code into another."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

from comity.errors import Misuse
from comity.meaning.number import exact
from comity.meaning.ucum.parse import parse
from comity.meaning.ucum.special import OFFSETS, Number, from_special, to_special
from comity.meaning.ucum.table import Symbol, avogadro

Powers = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class LinearUnit:
    """A unit in base units: `value * factor + offset` of a product of powers of bases."""

    factor: Fraction
    offset: Fraction
    powers: Powers


@dataclass(frozen=True, slots=True)
class _Measure:
    """A multiple of base units; with a function it is `factor` of a scale whose reference is `reference`."""

    factor: Fraction
    powers: Powers
    function: str | None = None
    reference: Fraction = Fraction(1)

    def to_base(self, value: Fraction) -> Number:
        if self.function is None:
            return value * self.factor
        return _times(from_special(self.function, value * self.factor), self.reference)

    def from_base(self, value: Number) -> Number:
        if self.function is None:
            return _times(value, 1 / self.factor)
        return _times(to_special(self.function, _times(value, 1 / self.reference)), 1 / self.factor)


def convert(value: int | float | Fraction | Decimal | str, source: str, target: str) -> Number:
    """A value of one UCUM unit in another; a Fraction wherever the answer is rational, else a float.

    A float is read as the decimal number that it is written as.

    >>> convert(86, "[degF]", "Cel"), convert(6.3, "mm", "m")
    (Fraction(30, 1), Fraction(63, 10000))
    >>> convert(7.4, "[pH]", "nmol/l")
    39.81071705534972
    """
    number = exact(value)
    given, wanted = _measure(source), _measure(target)
    factor = _commensurable(given, wanted, source, target)
    try:
        return wanted.from_base(_times(given.to_base(number), factor))
    except (ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, ValueError) else "the result is larger than a number can be"
        raise Misuse(f"{value} {source} is nothing in {target}: {reason}", code="no-conversion") from error


def linear(code: str) -> LinearUnit | None:
    """The unit in base units, or None if it is no linear scale.

    >>> linear("[degF]")
    LinearUnit(factor=Fraction(5, 9), offset=Fraction(45967, 180), powers=(('K', 1),))
    """
    unit = _measure(code)
    if unit.function is None:
        return LinearUnit(unit.factor, Fraction(0), unit.powers)
    if unit.function not in OFFSETS:
        return None
    return LinearUnit(unit.factor * unit.reference, OFFSETS[unit.function] * unit.reference, unit.powers)


def dimension(code: str) -> str:
    """The base units of a code, as a code.

    >>> dimension("mm[Hg]"), dimension("[iU]/L"), dimension("%")
    ('g.m-1.s-2', '[iU].m-3', '1')
    """
    return _spelled(_measure(code).powers)


def _spelled(powers: Powers) -> str:
    return ".".join(name if power == 1 else f"{name}{power}" for name, power in powers) or "1"


def _commensurable(given: _Measure, wanted: _Measure, source: str, target: str) -> Fraction:
    """What the base units of one are times in those of the other; a mole becomes a number only if it has to."""
    if given.powers == wanted.powers:
        return Fraction(1)
    moles, wanted_moles = dict(given.powers).get("mol", 0), dict(wanted.powers).get("mol", 0)
    if _without_moles(given.powers) == _without_moles(wanted.powers):
        return avogadro() ** (moles - wanted_moles)
    raise Misuse(
        f"{source} cannot be converted into {target}: {_spelled(given.powers)} is not {_spelled(wanted.powers)}",
        code="incompatible-units",
    )


def _without_moles(powers: Powers) -> Powers:
    return tuple(power for power in powers if power[0] != "mol")


@cache
def _measure(code: str) -> _Measure:
    factor, powers = Fraction(1), dict[str, int]()
    special: Symbol | None = None
    for part in parse(code):
        if isinstance(part.of, int):
            factor *= Fraction(part.of) ** part.exponent
        elif part.of.atom.function is not None:
            if special is not None or part.exponent != 1:
                raise _in_product(code, part.of.atom.code)
            special = part.of
        else:
            unit = _of_symbol(part.of)
            factor *= unit.factor**part.exponent
            for name, power in unit.powers:
                powers[name] = powers.get(name, 0) + power * part.exponent
    found = tuple(sorted((name, power) for name, power in powers.items() if power))
    if special is None:
        return _Measure(factor, found)
    if found:
        raise _in_product(code, special.atom.code)
    return _on_scale(special, factor)


def _on_scale(special: Symbol, factor: Fraction) -> _Measure:
    assert special.atom.unit is not None
    reference = _measure(special.atom.unit)
    return _Measure(
        factor * special.prefix, reference.powers, special.atom.function, reference.factor * special.atom.value
    )


def _of_symbol(symbol: Symbol) -> _Measure:
    atom = symbol.atom
    if atom.unit is None:
        return _Measure(symbol.prefix, ((atom.code, 1),))
    unit = _measure(atom.unit)
    return _Measure(symbol.prefix * atom.value * unit.factor, unit.powers)


def _in_product(code: str, special: str) -> Misuse:
    return Misuse(
        f"{code} cannot be computed: {special} is a scale with a zero or a curve of its own, no part of a product",
        code="special-unit-in-product",
        hint="use a unit without its own scale, for example K in place of Cel",
    )


def _times(value: Number, factor: Fraction) -> Number:
    return value * factor if isinstance(value, Fraction) else float(Fraction(value) * factor)
