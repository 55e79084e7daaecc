"""From lines of CloudEvents JSON to lanes of 64 bits, a line after the other.

Text that the scanner does not vouch for makes its line doubtful; what it has written of the line is then overwritten.
A string in a lane is `start << 32 | length`, with the sign bit set when it stands in the arena, without its escapes.

`data` holds the bytes of all lines, one behind the other, and `offsets` where each begins, and the end of the last. A
line that is an event becomes a row; rows are numbered as events are found, so a doubtful line leaves no gap. A lane is
a column of one attribute (or part of the envelope) of whatever type a row has: lanes of different types share memory,
and only the row's type tells what is in them.

What a slot expects is in the plan (`words.py`); what came is checked against it as it is read, so that a line is read
once. Keys are guessed before they are looked up: often a key is followed by the key that followed it in the
line before, and comparing the bytes of a guess needs neither the end of the key nor its hash. A wrong guess costs a
lookup and is corrected. Words of eight bytes are read, hence the care near the ends of arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from comity.compiled import inlined, kernel
from comity.event.scan.kernels.numbers import as_float, as_int, is_digit, read_number
from comity.event.scan.kernels.operations import load_word
from comity.event.scan.kernels.text import after_blanks, after_literal, after_value, end_of_text, is_blank, unescape
from comity.event.scan.kernels.times import NO_TIME, read_time_us
from comity.event.scan.kernels.words import Bytes, Longs, Node, Of, Role

_QUOTE, _COMMA, _COLON, _MINUS = ord('"'), ord(","), ord(":"), ord("-")
_BRACE, _END_BRACE, _BRACKET, _END_BRACKET = ord("{"), ord("}"), ord("["), ord("]")
_N, _T, _F = ord("n"), ord("t"), ord("f")
IN_ARENA = -(1 << 63)
_DOUBTFUL = -1
LEVEL = 4
"""Numbers that the stack keeps of an open object."""
_MOST_BYTES = (1 << 31) - 1
"""Bytes of one batch, because Arrow's strings have offsets of 32 bits; lines behind them are doubtful."""

# Kernels take constants of an enumeration as plain numbers.
_START, _KEY_LENGTH, _ROLE, _LANE, _INNER, _NODE, _MANDATORY, _NULLABLE = (int(one) for one in Of)
_ENVELOPE, _TYPES, _MODES, _VERSIONS = (int(one) for one in Node)
_STRING, _TEXT, _TIMESTAMP, _TIME, _SEQUENCE, _INT, _FLOAT, _BOOL = (int(one) for one in list(Role)[:8])
_TYPE, _MODE, _VERSION, _STRUCT, _POINT, _DATA, _REFUSED, _FORBIDDEN = (int(one) for one in list(Role)[8:])


class Bounds(NamedTuple):
    """What makes a line doubtful that is an event."""

    longest: int
    earliest_us: int
    latest_us: int


class ScanBuffers(NamedTuple):
    """Buffers of one batch."""

    follow: Longs
    """By slot, then by node: the slot that came next the last time, or first in the object. A guess, never trusted."""
    seen: Longs
    """By slot: the last line it was in, counted from 1. A key that comes twice in a line makes it doubtful."""
    stack: Longs
    """LEVEL numbers for each level of objects that is open; the depth of types is known, so it never overflows."""
    ints: Any
    """By lane and row: integers, truths, microseconds since 1970, places of strings."""
    floats: Any
    """The same memory as `ints`."""
    valid: Any
    """By lane and row: 1 where a lane that may be null has a value. Zeros at first, and again after a doubtful line."""
    arena: Bytes
    """Strings without their escapes. They are never longer than in the data, so they fit into as many bytes; 32 more
    let them be copied in blocks."""


class LineVerdicts(NamedTuple):
    """What came of the lines."""

    lines: Longs
    """By row: the number of its line, as in `doubtful`; these are ascending."""
    types: Longs
    """By row: the number of its type."""
    doubtful: Longs
    """By doubtful line."""


@inlined
def hash_key(data: Any, start: Any, length: Any, node: Any) -> Any:
    """A hash of a key of a node."""
    found = np.uint64(node + 1) * np.uint64(0x9E3779B97F4A7C15)
    for i in range(length):
        found = (found ^ np.uint64(data[start + i])) * np.uint64(0x100000001B3)
    return np.int64((found ^ (found >> np.uint64(29))) & np.uint64(0x7FFFFFFFFFFFFFFF))


@kernel
def fill_table(plan: Any) -> None:
    """Fills the hash table of a plan: open addressing, a power of two of places, -1 where empty."""
    mask = len(plan.table) - 1
    for slot in range(len(plan.slots)):
        row = plan.slots[slot]
        at = hash_key(plan.keys, row[_START], row[_KEY_LENGTH], row[_NODE]) & mask
        while plan.table[at] >= 0:
            at = (at + 1) & mask
        plan.table[at] = slot


@kernel
def find_slot(plan: Any, node: Any, data: Any, start: Any, length: Any) -> Any:
    """The slot of a key, or -1."""
    if length > plan.longest:
        return -1
    mask = len(plan.table) - 1
    at = hash_key(data, start, length, node) & mask
    while plan.table[at] >= 0:
        slot = plan.table[at]
        begin = plan.slots[slot, _START]
        if plan.slots[slot, _NODE] == node and plan.slots[slot, _KEY_LENGTH] == length:
            same = 0
            while same < length and plan.keys[begin + same] == data[start + same]:
                same += 1
            if same == length:
                return slot
        at = (at + 1) & mask
    return -1


@inlined
def begins_with_key(plan: Any, slot: Any, data: Any, at: Any, end: Any) -> Any:
    """Whether the key of a slot and a quote are next; also false near the end of the data."""
    length = plan.slots[slot, _KEY_LENGTH] + 1
    begin = plan.slots[slot, _START]
    if at + length > end or at + length + 8 > len(data):
        return False
    done = 0
    while done + 8 <= length:
        if load_word(data, at + done) != load_word(plan.keys, begin + done):
            return False
        done += 8
    different = load_word(data, at + done) ^ load_word(plan.keys, begin + done)
    return different & ((np.uint64(1) << np.uint64(8 * (length - done))) - np.uint64(1)) == 0


@inlined
def read_name(plan: Any, node: Any, guess: Any, data: Any, at: Any, end: Any, arena: Any, used: Any) -> Any:
    """The place behind the string whose first byte is at a place, or -1, and the slot that it names, or -1."""
    if guess >= 0 and begins_with_key(plan, guess, data, at, end):
        return at + plan.slots[guess, _KEY_LENGTH] + 1, guess
    stop, is_escaped = end_of_text(data, at, end)
    if stop < 0:
        return -1, -1
    if is_escaped:
        length = unescape(data, at, stop, arena, used)
        return stop + 1, find_slot(plan, node, arena, used, length)
    return stop + 1, find_slot(plan, node, data, at, stop - at)


@inlined
def read_digits(data: Any, at: Any, end: Any) -> Any:
    """Whether a text is an integer of 64 bits with at most 19 digits, and that integer."""
    is_negative = at < end and data[at] == _MINUS
    at += 1 if is_negative else 0
    digits = np.uint64(0)
    if at == end or end - at > 19:
        return False, 0
    while is_digit(data, at, end):
        digits = digits * np.uint64(10) + np.uint64(data[at] - 48)
        at += 1
    known, value = as_int(digits, 0, 1 if is_negative else 0)
    return known and at == end, value


@inlined
def read_key(plan: Any, node: Any, guess: Any, data: Any, at: Any, end: Any, arena: Any, used: Any) -> Any:
    """The place of the value behind the key whose first byte is at a place, or -1, and its slot, or -1."""
    at, slot = read_name(plan, node, guess, data, at, end, arena, used)
    if at < 0:
        return -1, slot
    at = after_blanks(data, at, end)
    if at >= end or data[at] != _COLON:
        return -1, slot
    at = after_blanks(data, at + 1, end)
    return at if at < end else -1, slot


@inlined
def read_text(bounds: Any, role: Any, data: Any, begin: Any, end: Any, arena: Any, used: Any) -> Any:
    """The place behind a string whose first byte is at a place, or -1, its value, and how much of the arena is used."""
    at, is_escaped = end_of_text(data, begin, end)
    if at < 0 or (role == _TEXT and at == begin):
        return -1, 0, used
    if role <= _TEXT:
        if is_escaped:
            length = unescape(data, begin, at, arena, used)
            return at + 1, IN_ARENA | (used << 32) | length, used + length
        return at + 1, (begin << 32) | (at - begin), used
    is_known = False
    value = 0
    if role <= _TIME:
        value = read_time_us(data, begin, at)
        is_known = value != NO_TIME and (role != _TIME or bounds.earliest_us <= value <= bounds.latest_us)
    else:
        is_known, value = read_digits(data, begin, at)
    return at + 1 if is_known and not is_escaped else -1, value, used


@inlined
def push(stack: Any, depth: Any, node: Any, count: Any, previous: Any, place: Any) -> None:
    """Remembers where to go on after an object."""
    top = depth * LEVEL
    stack[top] = node
    stack[top + 1] = count
    stack[top + 2] = previous
    stack[top + 3] = place


@inlined
def scan_line(plan: Any, work: Any, bounds: Any, data: Any, at: Any, end: Any, stamp: Any, row: Any, used: Any) -> Any:
    """The number of the event's type, or -1, and how much of the arena is used then.

    `node` is the object that is open, `count` how many of its mandatory slots were there, `previous` its last slot, and
    `place` the place in a point that is written as an array, else -1. `later` is where data stands whose type comes
    behind: it is stepped over, and scanned when the rest of the line is done (`is_over`). A null counts as missing. An
    object ends well only if all its mandatory slots had values. The stack takes the place of recursion, as an inlined
    function cannot call itself.
    """
    ints, floats, follow, stack, arena = work.ints, work.floats, work.follow, work.stack, work.arena
    nothing = _DOUBTFUL, used
    start = len(plan.slots)
    node, depth, place, count, previous = _ENVELOPE, 0, -1, 0, start + _ENVELOPE
    kind, later, has_data, is_over = -1, -1, False, False
    at = after_blanks(data, at, end)
    if at >= end or data[at] != _BRACE:
        return nothing
    at += 1
    is_first = True
    while True:
        at = after_blanks(data, at, end)
        slot = -1
        is_empty = False
        if at >= end or place > 1:
            return nothing
        if place >= 0:
            slot = plan.first[node] + place
        elif data[at] == _QUOTE:
            at, slot = read_key(plan, node, follow[previous], data, at + 1, end, arena, used)
            if at < 0:
                return nothing
        elif is_first and data[at] == _END_BRACE:
            is_empty = True
        else:
            return nothing
        is_first = False

        if slot >= 0:
            if work.seen[slot] == stamp:
                return nothing
            work.seen[slot] = stamp
            follow[previous] = slot
            previous = slot
            byte = data[at]
            role = plan.slots[slot, _ROLE]
            lane = plan.slots[slot, _LANE]
            if byte == _N:
                at = after_literal(data, at, end)
                if role in (_VERSION, _FORBIDDEN):
                    return nothing
            else:
                count += plan.slots[slot, _MANDATORY]
                if plan.slots[slot, _NULLABLE] != 0 and lane >= 0:
                    work.valid[lane, row] = 1
                if byte == _QUOTE:
                    if role <= _SEQUENCE:
                        at, ints[lane, row], used = read_text(bounds, role, data, at + 1, end, arena, used)
                    elif _TYPE <= role <= _VERSION:
                        names = role - _TYPE + _TYPES
                        at, name = read_name(plan, names, follow[start + names], data, at + 1, end, arena, used)
                        if name < 0:
                            return nothing
                        follow[start + names] = name
                        if role == _TYPE:
                            kind = plan.slots[name, _INNER]
                        elif role == _MODE:
                            ints[lane, row] = plan.slots[name, _INNER]
                    else:
                        return nothing
                elif _SEQUENCE <= role <= _FLOAT:
                    at, digits, exponent, flags = read_number(data, at, end)
                    if role == _FLOAT:
                        is_known, floats[lane, row] = as_float(digits, exponent, flags)
                    else:
                        is_known, ints[lane, row] = as_int(digits, exponent, flags)
                    if not is_known:
                        return nothing
                elif role == _BOOL and byte in (_T, _F):
                    ints[lane, row] = 1 if byte == _T else 0
                    at = after_literal(data, at, end)
                elif role == _DATA and kind < 0:
                    later = at
                    at = after_value(data, at, end)
                elif byte == _BRACE and _STRUCT <= role <= _DATA:
                    push(stack, depth, node, count, previous, place)
                    node = plan.data[kind] if role == _DATA else plan.slots[slot, _INNER]
                    depth, count, place, previous = depth + 1, 0, -1, start + node
                    has_data = is_first = True
                    at += 1
                    continue
                elif byte == _BRACKET and role == _POINT:
                    push(stack, depth, node, count, previous, place)
                    node = plan.slots[slot, _INNER]
                    depth, count, place, previous = depth + 1, 0, 0, start + node
                    at += 1
                    continue
                else:
                    return nothing
        elif not is_empty:
            at = after_value(data, at, end)
        if at < 0:
            return nothing

        while True:  # what ends here
            at = after_blanks(data, at, end)
            if at >= end:
                return nothing
            byte = data[at]
            at += 1
            if byte == _COMMA:
                place += 1 if place >= 0 else 0
                break
            if byte != (_END_BRACKET if place >= 0 else _END_BRACE) or count != plan.mandatory[node]:
                return nothing
            if depth > 0:
                depth -= 1
                top = depth * LEVEL
                node, count, previous, place = stack[top], stack[top + 1], stack[top + 2], stack[top + 3]
                continue
            if not is_over and after_blanks(data, at, end) != end:
                return nothing
            if later < 0:
                is_whole = has_data or plan.mandatory[plan.data[kind]] == 0
                return kind if is_whole else _DOUBTFUL, used
            if data[later] != _BRACE:
                return nothing
            at, later = later + 1, -1
            node, count, place = plan.data[kind], 0, -1
            previous = start + node
            has_data = is_over = is_first = True
            break


@kernel
def scan_lines(plan: Any, work: Any, bounds: Any, data: Any, offsets: Any, found: Any) -> Any:
    """Scans lines; gives how many events there are and how many doubtful lines. Blank lines are neither."""
    rows = 0
    doubts = 0
    used = 0
    for line in range(len(offsets) - 1):
        begin, end = offsets[line], offsets[line + 1]
        if is_blank(data, begin, end):
            continue
        kind = _DOUBTFUL
        if end - begin <= bounds.longest and end <= _MOST_BYTES:
            kind, used = scan_line(plan, work, bounds, data, begin, end, line + 1, rows, used)
        if kind >= 0:
            found.lines[rows] = line
            found.types[rows] = kind
            rows += 1
        else:
            found.doubtful[doubts] = line
            doubts += 1
            for lane in range(len(work.valid)):
                work.valid[lane, rows] = 0
    return rows, doubts
