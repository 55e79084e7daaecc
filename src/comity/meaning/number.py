"""Numbers as they are written, exactly."""

from __future__ import annotations

import re
from decimal import Context as Precision
from decimal import Decimal
from fractions import Fraction

from comity.errors import Misuse

_WRITTEN = re.compile(
    r"[+-]?(?:\d{1,1000}(?:\.\d{0,1000})?|\.\d{1,1000})(?:[eE][+-]?\d{1,3})?|[+-]?\d{1,1000}/\d{1,1000}", re.A
)
"""Bounded, because a few characters more can stand for a number that no memory holds."""
_DIGITS = 17
"""Significant digits of a number that has no end as a decimal."""


def exact(value: int | float | Decimal | Fraction | str) -> Fraction:
    """A number without rounding; a float is the decimal number that it is written as.

    >>> exact(6.3), exact("2/3")
    (Fraction(63, 10), Fraction(2, 3))
    """
    if isinstance(value, int | Fraction):
        return Fraction(value)
    text = str(value).strip()
    if not _WRITTEN.fullmatch(text) or re.search(r"/0+$", text):
        raise Misuse(f"{text[:60]!r} is no number", code="bad-number", hint="write it as 86, 3.5, 1e-3 or 2/3")
    return Fraction(text)


def print_number(number: Fraction) -> str:
    """A number as a decimal, exactly if it has an end.

    >>> print_number(Fraction(77, 20)), print_number(Fraction(1, 3))
    ('3.85', '0.33333333333333333')
    """
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    digits = _DIGITS if rest != 1 else len(str(number.numerator)) + number.denominator.bit_length()
    found = Precision(prec=max(digits, 1)).divide(Decimal(number.numerator), Decimal(number.denominator))
    if found == found.to_integral_value() and abs(found) < 10**21:
        return str(int(found))
    return str(found.normalize(Precision(prec=max(digits, 1))))
