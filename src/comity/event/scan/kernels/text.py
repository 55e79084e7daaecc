"""Strings of JSON, and whatever else a scanner has to step over, strictly by the grammar.

Positions are those of bytes; -1 stands for a text that is not JSON, or that nobody vouches for. `data` are the bytes of
all lines, `end` is where the line ends: nothing behind it is part of an answer, though blocks that are looked at may
reach past it. What is accepted here is accepted by the decoder, too; the converse need not hold, it costs time only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from comity.compiled import inlined, kernel
from comity.event.scan.kernels.numbers import read_number
from comity.event.scan.kernels.operations import special_of_32, trailing_zeros

MAX_SKIPPED_DEPTH = 60
"""Levels of a value that is stepped over; the decoder, too, has a bound."""

_FINITE_POWER = 250
"""A number of at most 19 digits with an exponent up to this is finite; stepping over others is left to the decoder."""

_QUOTE, _BACKSLASH, _COMMA, _COLON = ord('"'), ord("\\"), ord(","), ord(":")
_BRACE, _END_BRACE, _BRACKET, _END_BRACKET = ord("{"), ord("}"), ord("["), ord("]")

_ESCAPED = np.zeros(256, np.uint8)
for _letter, _meaning in zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True):
    _ESCAPED[ord(_letter)] = ord(_meaning)

_HEX = np.full(256, 1 << 20, np.int64)
for _digit in "0123456789abcdefABCDEF":
    _HEX[ord(_digit)] = int(_digit, 16)


@inlined
def after_blanks(data: Any, at: Any, end: Any) -> Any:
    """The next place that holds no white space of JSON."""
    while at < end and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@inlined
def is_blank(data: Any, at: Any, end: Any) -> Any:
    """Whether a line holds white space only, of any kind that ASCII has."""
    while at < end and (data[at] == 32 or 9 <= data[at] <= 13):
        at += 1
    return at == end


@inlined
def code_unit(data: Any, at: Any) -> Any:
    """The number of four hexadecimal digits; 2^20 or more when they are none."""
    return _HEX[data[at]] * 4096 + _HEX[data[at + 1]] * 256 + _HEX[data[at + 2]] * 16 + _HEX[data[at + 3]]


@inlined
def after_escape(data: Any, at: Any, end: Any) -> Any:
    """Where the escape that begins with the backslash at a place ends; both halves of a surrogate pair are one."""
    if at + 1 >= end:
        return -1
    if data[at + 1] != 117:  # u
        return at + 2 if _ESCAPED[data[at + 1]] != 0 else -1
    if at + 6 > end:
        return -1
    unit = code_unit(data, at + 2)
    if unit > 0xFFFF or 0xDC00 <= unit <= 0xDFFF:
        return -1
    if unit < 0xD800 or unit > 0xDFFF:
        return at + 6
    if at + 12 > end or data[at + 6] != _BACKSLASH or data[at + 7] != 117:
        return -1
    return at + 12 if 0xDC00 <= code_unit(data, at + 8) <= 0xDFFF else -1


@inlined
def is_tail(data: Any, at: Any) -> Any:
    """Whether a byte continues a character in UTF-8."""
    return data[at] & 0xC0 == 0x80


@inlined
def after_character(data: Any, at: Any, end: Any) -> Any:
    """Where the character beyond ASCII at a place ends, in strict UTF-8."""
    lead = data[at]
    if 0xC2 <= lead <= 0xDF:
        return at + 2 if at + 1 < end and is_tail(data, at + 1) else -1
    if 0xE0 <= lead <= 0xEF:
        if at + 2 >= end or not is_tail(data, at + 1) or not is_tail(data, at + 2):
            return -1
        if (lead == 0xE0 and data[at + 1] < 0xA0) or (lead == 0xED and data[at + 1] > 0x9F):
            return -1
        return at + 3
    if 0xF0 <= lead <= 0xF4:
        if at + 3 >= end or not is_tail(data, at + 1) or not is_tail(data, at + 2) or not is_tail(data, at + 3):
            return -1
        if (lead == 0xF0 and data[at + 1] < 0x90) or (lead == 0xF4 and data[at + 1] > 0x8F):
            return -1
        return at + 4
    return -1


@inlined
def end_of_text(data: Any, at: Any, end: Any) -> Any:
    """The place of the quote that ends a string whose first byte is at a place, and whether it holds escapes."""
    is_escaped = False
    while True:
        if at + 32 <= len(data):
            # Plain characters are passed in blocks, also those behind the end of the line: it is noticed afterwards.
            special = special_of_32(data, at)
            if special == 0:
                at += 32
                continue
            at += trailing_zeros(special)
        if at >= end:
            return -1, is_escaped
        byte = data[at]
        if byte == _QUOTE:
            return at, is_escaped
        if byte == _BACKSLASH:
            is_escaped = True
            at = after_escape(data, at, end)
        elif byte >= 0x80:
            at = after_character(data, at, end)
        elif byte < 0x20:
            return -1, is_escaped
        else:  # only near the end of the data, where there are no 32 bytes to look at
            at += 1
        if at < 0:
            return -1, is_escaped


@inlined
def put_character(code: Any, out: Any, at: Any) -> Any:
    """Writes a character in UTF-8; gives the place behind it."""
    if code < 0x80:
        out[at] = code
        return at + 1
    if code < 0x800:
        out[at] = 0xC0 | (code >> 6)
        out[at + 1] = 0x80 | (code & 0x3F)
        return at + 2
    if code < 0x10000:
        out[at] = 0xE0 | (code >> 12)
        out[at + 1] = 0x80 | ((code >> 6) & 0x3F)
        out[at + 2] = 0x80 | (code & 0x3F)
        return at + 3
    out[at] = 0xF0 | (code >> 18)
    out[at + 1] = 0x80 | ((code >> 12) & 0x3F)
    out[at + 2] = 0x80 | ((code >> 6) & 0x3F)
    out[at + 3] = 0x80 | (code & 0x3F)
    return at + 4


@kernel
def unescape(data: Any, start: Any, end: Any, out: Any, at: Any) -> Any:
    """Writes a string that `end_of_text` found good, without its escapes; gives its length, never more than before."""
    first = at
    while start < end:
        if data[start] != _BACKSLASH:
            out[at] = data[start]
            at += 1
            start += 1
        elif data[start + 1] != 117:  # u
            out[at] = _ESCAPED[data[start + 1]]
            at += 1
            start += 2
        else:
            code = code_unit(data, start + 2)
            start += 6
            if 0xD800 <= code <= 0xDFFF:
                code = 0x10000 + ((code - 0xD800) << 10) + code_unit(data, start + 2) - 0xDC00
                start += 6
            at = put_character(code, out, at)
    return at - first


@inlined
def after_literal(data: Any, at: Any, end: Any) -> Any:
    """Where `true`, `false` or `null` ends."""
    first = data[at]
    if first == 102:  # false
        is_false = at + 5 <= end and data[at + 1] == 97 and data[at + 2] == 108
        return at + 5 if is_false and data[at + 3] == 115 and data[at + 4] == 101 else -1
    if at + 4 > end:
        return -1
    if first == 116:  # true
        return at + 4 if data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101 else -1
    if first == 110:  # null
        return at + 4 if data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108 else -1
    return -1


@inlined
def after_number(data: Any, at: Any, end: Any) -> Any:
    """Where a number ends that every decoder takes for a finite one."""
    at, _, exponent, _ = read_number(data, at, end)
    return at if -_FINITE_POWER <= exponent <= _FINITE_POWER else -1


@inlined
def after_scalar(data: Any, at: Any, end: Any) -> Any:
    """Where a string, a number or a literal ends."""
    byte = data[at]
    if byte == _QUOTE:
        at, _ = end_of_text(data, at + 1, end)
        return at + 1 if at >= 0 else -1
    if byte == 45 or 48 <= byte <= 57:
        return after_number(data, at, end)
    return after_literal(data, at, end)


@inlined
def after_key(data: Any, at: Any, end: Any) -> Any:
    """The place behind the colon of the key that is next."""
    at = after_blanks(data, at, end)
    if at >= end or data[at] != _QUOTE:
        return -1
    at, _ = end_of_text(data, at + 1, end)
    if at < 0:
        return -1
    at = after_blanks(data, at + 1, end)
    return at + 1 if at < end and data[at] == _COLON else -1


@kernel
def after_value(data: Any, at: Any, end: Any) -> Any:
    """Where the value at a place ends; any JSON. Of the open levels, a bit says whether it is an object."""
    depth = 0
    objects = np.uint64(0)
    while True:
        at = after_blanks(data, at, end)
        if at >= end:
            return -1
        is_object = data[at] == _BRACE
        if is_object or data[at] == _BRACKET:
            if depth == MAX_SKIPPED_DEPTH:
                return -1
            depth += 1
            objects = (objects << np.uint64(1)) | np.uint64(is_object)
            at = after_blanks(data, at + 1, end)
            if at >= end:
                return -1
            if data[at] != (_END_BRACE if is_object else _END_BRACKET):
                at = after_key(data, at, end) if is_object else at
                if at < 0:
                    return -1
                continue
        else:
            at = after_scalar(data, at, end)
            if at < 0:
                return -1
        while True:  # close whatever ends here
            if depth == 0:
                return at
            at = after_blanks(data, at, end)
            if at >= end:
                return -1
            is_object = objects & np.uint64(1) != 0
            byte = data[at]
            at += 1
            if byte == _COMMA:
                at = after_key(data, at, end) if is_object else at
                if at < 0:
                    return -1
                break
            if byte != (_END_BRACE if is_object else _END_BRACKET):
                return -1
            depth -= 1
            objects = objects >> np.uint64(1)
