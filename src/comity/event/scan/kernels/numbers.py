"""Numbers of JSON, exactly: integers of 64 bits, and the nearest double of any decimal.

Short decimals take one division or product of exact doubles (Clinger). The others are multiplied with a power of five
of 128 bits (Eisel and Lemire; Mushtak and Lemire proved that this decides every decimal of up to 19 digits).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from comity.compiled import inlined
from comity.event.scan.kernels.operations import float_of_bits, high_product, leading_zeros

NEGATIVE, IS_FLOAT, IS_CUT = 1, 2, 4
"""Flags of a number: it has a sign, a point or an exponent, or digits beyond the 19th that are not zeros."""

MOST_DIGITS = 19
LEAST_POWER, MOST_POWER = -342, 308
"""Decimal exponents of an integer below 2^64 beyond which doubles are zero or infinite."""

_MOST_EXPONENT = 99_999
_LEAST_EVEN = -27
_INFINITE = 0x7FF
_EXACT_POWER = 22
_EXACT = np.uint64(1 << 53)
_HIDDEN = np.uint64(1 << 52)
_ONE = np.uint64(1)
_PRECISION = np.uint64((1 << 9) - 1)


def _power_of_five(exponent: int) -> int:
    """The first 128 bits, cut off; of inverses that can be half way between doubles, rounded up."""
    power: int = 5 ** abs(exponent)
    if exponent < 0:
        bits = power.bit_length() + (127 if exponent >= _LEAST_EVEN else 128 + power.bit_length())
        power = (1 << bits) // power + 1
    excess = power.bit_length() - 128
    return power >> excess if excess > 0 else power << -excess


def _fives() -> tuple[Any, Any]:
    powers = [_power_of_five(exponent) for exponent in range(LEAST_POWER, MOST_POWER + 1)]
    low = (1 << 64) - 1
    return np.array([one >> 64 for one in powers], np.uint64), np.array([one & low for one in powers], np.uint64)


FIVES_HIGH, FIVES_LOW = _fives()
TENS = np.array([10.0**exponent for exponent in range(_EXACT_POWER + 1)])


@inlined
def is_digit(data: Any, at: Any, end: Any) -> Any:
    """Whether there is a digit."""
    return at < end and np.uint8(data[at] - 48) < 10


@inlined
def read_number(data: Any, at: Any, end: Any) -> Any:
    """Where the number ends (-1 when there is none), its first 19 digits, their decimal exponent, and its flags."""
    digits = np.uint64(0)
    count = 0
    exponent = 0
    flags = 0
    if at < end and data[at] == 45:  # a minus
        flags = NEGATIVE
        at += 1
    if not is_digit(data, at, end):
        return -1, digits, exponent, flags
    if data[at] == 48:  # a zero that begins an integer is all of it
        at += 1
        if is_digit(data, at, end):
            return -1, digits, exponent, flags
    while is_digit(data, at, end):
        if count < MOST_DIGITS:
            digits = digits * np.uint64(10) + np.uint64(data[at] - 48)
            count += 1
        else:
            exponent += 1
            if data[at] != 48:
                flags |= IS_CUT
        at += 1
    if at < end and data[at] == 46:  # a point
        flags |= IS_FLOAT
        at += 1
        if not is_digit(data, at, end):
            return -1, digits, exponent, flags
        while is_digit(data, at, end):
            if count < MOST_DIGITS:
                digits = digits * np.uint64(10) + np.uint64(data[at] - 48)
                exponent -= 1
                if digits != 0:
                    count += 1
            elif data[at] != 48:
                flags |= IS_CUT
            at += 1
    if at < end and (data[at] | 32) == 101:  # e or E
        flags |= IS_FLOAT
        at, power = read_exponent(data, at + 1, end)
        exponent += power
    return at, digits, exponent, flags


@inlined
def read_exponent(data: Any, at: Any, end: Any) -> Any:
    """Where the exponent ends, or -1, and the exponent, at most a little more than any double can have."""
    negative = False
    if at < end and (data[at] == 43 or data[at] == 45):
        negative = data[at] == 45
        at += 1
    if not is_digit(data, at, end):
        return -1, 0
    power = 0
    while is_digit(data, at, end):
        if power <= _MOST_EXPONENT:
            power = power * 10 + int(data[at] - 48)
        at += 1
    return at, -power if negative else power


@inlined
def as_int(digits: Any, exponent: Any, flags: Any) -> Any:
    """Whether a number is an integer of 64 bits, and that integer."""
    if flags & (IS_FLOAT | IS_CUT) != 0 or exponent != 0:
        return False, 0
    if flags & NEGATIVE != 0:
        return digits <= np.uint64(1 << 63), np.int64(np.uint64(0) - digits)
    return digits < np.uint64(1 << 63), np.int64(digits)


@inlined
def as_float(digits: Any, exponent: Any, flags: Any) -> Any:
    """Whether the nearest double is known and finite, and that double."""
    if digits == 0:  # an integer has no negative zero
        return True, -0.0 if flags & NEGATIVE != 0 and flags & IS_FLOAT != 0 else 0.0
    if digits <= _EXACT and -_EXACT_POWER <= exponent <= _EXACT_POWER and flags & IS_CUT == 0:
        value = float(digits)
        value = value / TENS[-exponent] if exponent < 0 else value * TENS[exponent]
        return True, -value if flags & NEGATIVE != 0 else value
    bits = nearest(digits, exponent)
    is_known = bits != np.uint64(_INFINITE << 52)
    if flags & IS_CUT != 0:  # the number lies between these two
        is_known = is_known and bits == nearest(digits + _ONE, exponent)
    value = float_of_bits(bits)
    return is_known, -value if flags & NEGATIVE != 0 else value


@inlined
def nearest(digits: Any, exponent: Any) -> Any:
    """The bits of the double nearest to digits * 10^exponent; those of infinity beyond all."""
    if exponent < LEAST_POWER:
        return np.uint64(0)
    if exponent > MOST_POWER:
        return np.uint64(_INFINITE << 52)
    zeros = leading_zeros(digits)
    digits = digits << np.uint64(zeros)
    high = high_product(digits, FIVES_HIGH[exponent - LEAST_POWER])
    low = digits * FIVES_HIGH[exponent - LEAST_POWER]
    if high & _PRECISION == _PRECISION:  # the rest of the power may carry
        more = high_product(digits, FIVES_LOW[exponent - LEAST_POWER])
        low += more
        if low < more:
            high += _ONE
    return rounded(high, low, exponent, zeros)


@inlined
def rounded(high: Any, low: Any, exponent: Any, zeros: Any) -> Any:
    """The bits of the double for a product whose binary point the decimal exponent tells."""
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    mantissa = high >> shift
    power = ((217706 * exponent) >> 16) + 63 + np.int64(upper) - zeros + 1023
    if power <= 0:
        if power < -62:
            return np.uint64(0)
        mantissa = mantissa >> np.uint64(1 - power)
        mantissa += mantissa & _ONE
        return mantissa >> _ONE  # a carry makes it the least normal double, whose bits are just these
    if low <= _ONE and -4 <= exponent <= 23 and mantissa & np.uint64(3) == _ONE and mantissa << shift == high:
        mantissa &= ~_ONE  # half way: to the even one
    mantissa += mantissa & _ONE
    mantissa = mantissa >> _ONE
    if mantissa == _HIDDEN << _ONE:
        mantissa = _HIDDEN
        power += 1
    if power >= _INFINITE:
        return np.uint64(_INFINITE << 52)
    return (np.uint64(power) << np.uint64(52)) | (mantissa & ~_HIDDEN)
