"""Units that are no multiple of another one: of temperature, of level, of acidity.

`to_special` gives the number on the special scale for a ratio to the reference unit, `from_special` the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Context as Precision
from decimal import Decimal, Overflow
from fractions import Fraction

Number = Fraction | float

OFFSETS: Mapping[str, Fraction] = {
    "Cel": Fraction("273.15"),
    "degF": Fraction("459.67"),
    "degRe": Fraction("218.52"),
}
"""Scales that only have another zero: the ratio to the reference unit is the number plus this."""

_LOGARITHMS: Mapping[str, tuple[int, int | None]] = {
    "lg": (1, 10),
    "lgTimes2": (2, 10),
    "pH": (-1, 10),
    "ln": (1, None),
    "ld": (1, 2),
    "hpX": (-1, 10),
    "hpC": (-1, 100),
    "hpM": (-1, 1_000),
    "hpQ": (-1, 50_000),
}
"""Scales that are a multiple of a logarithm, by multiple and base; the natural one has none."""

_PRECISE = Precision(prec=40)


def to_special(function: str, ratio: Number) -> Number:
    """The number on a special scale; a ValueError where the scale has none.

    >>> to_special("pH", Fraction(1, 10**7))
    Fraction(7, 1)
    """
    if function in OFFSETS:
        return ratio - OFFSETS[function]
    if function in _LOGARITHMS:
        multiple, base = _LOGARITHMS[function]
        return multiple * _logarithm(ratio, base)
    return _TO[function](ratio)


def from_special(function: str, number: Number) -> Number:
    """The ratio to the reference unit that a number on a special scale stands for."""
    if function in OFFSETS:
        return number + OFFSETS[function]
    if function in _LOGARITHMS:
        multiple, base = _LOGARITHMS[function]
        return _power(base, number / multiple)
    return _FROM[function](number)


def _logarithm(ratio: Number, base: int | None) -> Number:
    if ratio <= 0:
        raise ValueError("only a positive quantity has a logarithm")
    found = _PRECISE.ln(_decimal(ratio))
    if base is not None:
        found = _PRECISE.divide(found, _PRECISE.ln(Decimal(base)))
        whole = Fraction(int(found.to_integral_value()))
        if -1_000 < whole < 1_000 and _power(base, whole) == ratio:
            return whole
    return float(found)


def _power(base: int | None, exponent: Number) -> Number:
    if base is not None and exponent == int(exponent) and -1_000 < exponent < 1_000:
        return Fraction(base ** int(exponent)) if exponent >= 0 else Fraction(1, base ** -int(exponent))
    try:
        exact = _decimal(exponent)
        found = float(_PRECISE.exp(exact) if base is None else _PRECISE.power(Decimal(base), exact))
    except (Overflow, OverflowError):
        found = math.inf
    if math.isinf(found):
        raise ValueError("the result is larger than a number can be")
    return found


def _decimal(number: Number) -> Decimal:
    exact = Fraction(number)
    return _PRECISE.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def _slope(degrees: Number) -> float:
    if not -90 < degrees < 90:
        raise ValueError("a slope is less than 90 degrees")
    return 100 * math.tan(math.radians(degrees))


_TO: Mapping[str, Callable[[Number], Number]] = {
    "tanTimes100": lambda ratio: 100 * math.tan(ratio),
    "100tan": _slope,
    "sqrt": lambda ratio: math.sqrt(ratio),
}
_FROM: Mapping[str, Callable[[Number], Number]] = {
    "tanTimes100": lambda number: math.atan(number / 100),
    "100tan": lambda number: math.degrees(math.atan(number / 100)),
    "sqrt": lambda number: number * number,
}
