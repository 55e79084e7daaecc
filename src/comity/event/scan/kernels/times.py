"""Timestamps of RFC 3339, as `times.parse_timestamp` reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from comity.compiled import inlined

NO_TIME = -(2**63)
"""What stands for a text that is no timestamp."""

FIRST_US, LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 to 9999."""

_MOST_FRACTION_DIGITS = 30
_DAYS_TO_1970 = 719_162
_BEFORE_MONTH = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365], np.int64)


@inlined
def two_digits(data: Any, at: Any) -> Any:
    """The number of two digits; 1000 or more when they are none."""
    tens = np.int64(np.uint8(data[at] - 48))
    ones = np.int64(np.uint8(data[at + 1] - 48))
    return tens * 10 + ones if tens < 10 and ones < 10 else 1000


@inlined
def days_since_1970(year: Any, month: Any, day: Any) -> Any:
    """The number of a day, or `NO_TIME` when the calendar has none such."""
    if year < 1 or year > 9999 or month < 1 or month > 12 or day < 1:
        return NO_TIME
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    last = _BEFORE_MONTH[month] - _BEFORE_MONTH[month - 1] + (1 if is_leap and month == 2 else 0)
    if day > last:
        return NO_TIME
    years = year - 1
    before = years * 365 + years // 4 - years // 100 + years // 400
    return before + _BEFORE_MONTH[month - 1] + (1 if is_leap and month > 2 else 0) + day - 1 - _DAYS_TO_1970


@inlined
def read_clock(data: Any, at: Any) -> Any:
    """Seconds of `12:34:56`, or `NO_TIME`."""
    hour, minute, second = two_digits(data, at), two_digits(data, at + 3), two_digits(data, at + 6)
    if hour > 23 or minute > 59 or second > 59 or data[at + 2] != 58 or data[at + 5] != 58:
        return NO_TIME
    return hour * 3600 + minute * 60 + second


@inlined
def read_offset_s(data: Any, at: Any, end: Any) -> Any:
    """Seconds of `Z` or `+02:00`, or `NO_TIME`."""
    if at + 1 == end and (data[at] | 32) == 122:  # z or Z
        return 0
    if at + 6 != end or (data[at] != 43 and data[at] != 45) or data[at + 3] != 58:
        return NO_TIME
    hour, minute = two_digits(data, at + 1), two_digits(data, at + 4)
    if hour > 23 or minute > 59:
        return NO_TIME
    seconds = hour * 3600 + minute * 60
    return -seconds if data[at] == 45 else seconds


@inlined
def read_time_us(data: Any, at: Any, end: Any) -> Any:
    """Microseconds since 1970 of the text from `at` to `end`, or `NO_TIME`."""
    if end - at < 20:
        return NO_TIME
    century, year = two_digits(data, at), two_digits(data, at + 2)
    year = century * 100 + year if century < 100 and year < 100 else 0
    days = days_since_1970(year, two_digits(data, at + 5), two_digits(data, at + 8))
    seconds = read_clock(data, at + 11)
    is_formed = data[at + 4] == 45 and data[at + 7] == 45 and (data[at + 10] | 32) == 116  # t or T
    if days == NO_TIME or seconds == NO_TIME or not is_formed:
        return NO_TIME
    at += 19
    fraction = 0
    if data[at] == 46:
        at += 1
        begin = at
        scale = 100_000
        while at < end and np.uint8(data[at] - 48) < 10:
            fraction += scale * int(data[at] - 48)
            scale //= 10  # zero below a microsecond
            at += 1
        if at in (begin, end) or at - begin > _MOST_FRACTION_DIGITS:
            return NO_TIME
    offset = read_offset_s(data, at, end)
    if offset == NO_TIME:
        return NO_TIME
    moment = (days * 86_400 + seconds - offset) * 1_000_000 + fraction
    return moment if FIRST_US <= moment <= LAST_US else NO_TIME
