"""Scales: a unit can have a number in front, `1000 mile`, and then a value counts thousands of miles."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache

from comity.errors import Misuse

_SCALED = re.compile(r"\s*(?P<scale>\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?:/\d+)?)\s+(?P<unit>\S.*?)\s*", re.A)


@cache
def split_scale(unit: str) -> tuple[Fraction, str]:
    """The scale of a unit, exactly, and the unit without it.

    >>> split_scale("1000 mile"), split_scale("degC")
    ((Fraction(1000, 1), 'mile'), (Fraction(1, 1), 'degC'))
    """
    found = _SCALED.fullmatch(unit)
    if found is None:
        return Fraction(1), unit
    top, _, bottom = found["scale"].partition("/")
    if not Fraction(top) or (bottom and not int(bottom)):
        raise Misuse(f"the scale of {unit!r} is not above zero", code="bad-scale", hint="write it as in `1000 mile`")
    return Fraction(top) / int(bottom or 1), found["unit"]


def with_scale(scale: Fraction, unit: str) -> str:
    """The unit with a scale in front; one that is 1 is left out.

    >>> with_scale(Fraction(1000), "USD"), with_scale(Fraction(1, 8), "mile")
    ('1000 USD', '1/8 mile')
    """
    return unit if scale == 1 else f"{scale} {unit}"
