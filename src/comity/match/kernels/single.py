"""One event, from a Python object to a list or an array of profiles, in one call.

What the arrays are: at `call` stand, one after the other and packed (`packed.py`), `PythonObjects`, `Scratch`,
`Postings`, `Conditions` and for each channel `ChannelReading`, `KnownTexts` and `NumberScale`. `match_record` is bound
to a tuple: the address of a packed `SingleWay`, and the object for which that is made. The targets go to `scratch.out`,
and the profiles behind them to `scratch.found`, if any target may stand for something else than its profile.

What holds: whoever binds keeps the arrays, and what is in the lists of names and paths. The interpreter's lock is
held, so that objects may be looked at. Python may still come between, where a dict compares keys of a class of its own
or memory is collected, and run another event: so the scratch is marked as busy, and who finds it busy goes beside. It
stays busy until the Python function that does the rest is done with it. A rank of -1 in `own` is left to Python: a
time, a text that is no UTF-8, a number beyond the floats. All lists together fit `out`, and all profiles `found`, or
nothing is written there.

Measured, times of this kernel for 100 profiles of which twelve match: 0.4 of what it took behind three functions of
Python and numba's own way to be called. For 10,000 of which 1,359 match, with a record for each profile: 2.2 µs for an
array, of which a record for all that ask the same left 0.9, but only with `copy_ints`: loops with signed places, which
numba may count from the end, took 3.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from comity.compiled import inlined, locked_kernel
from comity.match.kernels.arrays import (
    IN_DATA,
    IN_ENVELOPE,
    INSIDE,
    PLAIN,
    TESTED,
    ChannelReading,
    Conditions,
    KnownTexts,
    NumberScale,
    Postings,
    PythonObjects,
    Scratch,
    SingleWay,
)
from comity.match.kernels.events import find_lists, scan_list
from comity.match.kernels.objects import (
    answer_of,
    bytes_at,
    field_of,
    float_of,
    int_of,
    ints_in,
    item_of,
    items_of,
    length_of,
    new_array,
    new_int,
    new_list,
    part_of,
    shared,
    text_of,
    type_of,
    value_at,
    write_word,
)
from comity.match.kernels.packed import packed_size, unpacking
from comity.match.kernels.ranks import rank_number, rank_text
from comity.match.kernels.vectors import copy_ints

UNRANKED, FULL, UNREAD, UNTESTED = -1, -2, -3, -4
"""What is left to Python: to rank values first, to make `out` larger, to read the values, or to evaluate tests."""
LIST, DICT, EVENT = range(3)
"""Where values are taken from."""
_EXACT = 1 << 53
"""Integers up to this are floats."""

_way = unpacking(SingleWay)
_python = unpacking(PythonObjects)
_scratch = unpacking(Scratch)
_postings = unpacking(Postings)
_conditions = unpacking(Conditions)
_reading = unpacking(ChannelReading)
_texts = unpacking(KnownTexts)
_numbers = unpacking(NumberScale, floors=np.float64)

_SCRATCH = packed_size(PythonObjects)
_POSTINGS = _SCRATCH + packed_size(Scratch)
_CONDITIONS = _POSTINGS + packed_size(Postings)
_CHANNELS = _CONDITIONS + packed_size(Conditions)
_TEXTS = packed_size(ChannelReading)
_NUMBERS = _TEXTS + packed_size(KnownTexts)
_CHANNEL = _NUMBERS + packed_size(NumberScale)


@inlined
def rank_float(value: float, reading: Any, channel: int) -> Any:
    """The rank of a number in a channel."""
    if reading.takes_numbers == 0 or value != value:  # NaN is no value, as in columns
        return np.int64(0)
    return np.int64(rank_number(value, _numbers(channel + _NUMBERS)))


@inlined
def rank_object(item: int, channel: int, reading: Any, python: Any) -> Any:
    """The rank of a value in the channel at an address."""
    if item == python.none:
        return np.int64(0)
    if reading.in_python != 0:
        return np.int64(UNRANKED)
    kind = type_of(item)
    if kind == python.text:
        address, length = text_of(item)
        if address == 0:
            return np.int64(UNRANKED)
        return np.int64(rank_text(_texts(channel + _TEXTS), bytes_at(address, length), 0, length))
    if kind == python.real:
        return rank_float(float_of(item), reading, channel)
    if kind == python.whole:
        whole, is_large = int_of(item)
        if is_large != 0 or whole > _EXACT or whole < -_EXACT:
            return np.int64(UNRANKED)
        return rank_float(float(whole), reading, channel)
    if kind == python.boolean:
        return reading.if_true if item == python.true else reading.if_false
    return reading.others


@inlined
def value_inside(item: int, path: int, python: Any) -> Any:
    """The value at a path of several names, from that at the first one: 0 if none, -1 if Python has to look."""
    for at in range(1, length_of(path)):
        if item == 0 or item == python.none:
            return np.int64(0)
        kind = type_of(item)
        if kind != python.mapping:
            is_plain = kind == python.text or kind == python.real or kind == python.whole or kind == python.boolean
            return np.int64(0) if is_plain else np.int64(-1)
        item = value_at(item, part_of(path, at))
    return item


@inlined
def rank_there(item: int, channel: int, reading: Any, python: Any) -> Any:
    """The rank of a value that may be missing."""
    return np.int64(0) if item == 0 else rank_object(item, channel, reading, python)


@inlined
def rank_in_event(record: int, data: int, channel: int, reading: Any, python: Any) -> Any:
    """The rank of an event's value in the channel at an address."""
    if reading.where == IN_DATA:
        return rank_there(value_at(data, item_of(python.names, reading.place)), channel, reading, python)
    if reading.where == INSIDE:
        path = item_of(python.paths, reading.place)
        item = value_inside(value_at(data, item_of(python.names, reading.place)), path, python)
        return np.int64(UNRANKED) if item == -1 else rank_there(item, channel, reading, python)
    if reading.where == IN_ENVELOPE:
        return rank_there(field_of(record, reading.offset), channel, reading, python)
    return np.int64(0)


@inlined
def rank_in(source: int, record: int, data: int, channel: int, reading: Any, python: Any) -> Any:
    """The rank of a value in the channel at an address: of a list of values, a dict by paths, or an event."""
    if source == EVENT:
        return rank_in_event(record, data, channel, reading, python)
    if source == LIST:
        return rank_there(item_of(data, reading.place), channel, reading, python)
    return rank_there(value_at(data, item_of(python.paths, reading.place)), channel, reading, python)


@inlined
def rank_values(call: int, source: int, record: int, data: int, python: Any, own: Any) -> Any:
    """Writes the rank of a record in each channel; gives how many are left to Python."""
    unranked = 0
    for at in range(len(own)):
        channel = call + _CHANNELS + at * _CHANNEL
        reading = _reading(channel)
        rank = reading.fixed
        if reading.place >= 0:
            rank = rank_in(source, record, data, channel, reading, python)
        own[at] = rank
        unranked += rank == UNRANKED
    return unranked


@inlined
def rank_record(call: int, record: int, python: Any, own: Any) -> Any:
    """The same for what `match_record` is given; below zero if Python has to read its values."""
    kind = type_of(record)
    if kind == python.event:
        data = field_of(record, python.data)
        return rank_values(call, EVENT, record, data, python, own) if type_of(data) == python.mapping else UNREAD
    return rank_values(call, DICT, record, record, python, own) if kind == python.mapping else UNREAD


@inlined
def find_targets(call: int, scratch: Any) -> Any:
    """The number of targets, which stand in `out` then; or `FULL`."""
    index = _postings(call + _POSTINGS)
    lists = find_lists(index, scratch.own, scratch.buckets, scratch.begins, scratch.ends)
    needed = np.int64(0)
    for i in range(lists):
        needed += np.int64(scratch.ends[i]) - np.int64(scratch.begins[i])
    if needed > len(scratch.out):
        scratch.needed[0] = needed
        return np.int64(FULL)
    count = np.int64(0)
    for i in range(lists):
        count = scan_list(scratch.begins[i], scratch.ends[i], scratch.buckets, scratch.own, index, scratch.out, count)
    return count


@inlined
def find_profiles(targets: Any, count: Any, conditions: Any, scratch: Any) -> Any:
    """The number of profiles, which stand in `found` then; or `FULL`, or `UNTESTED`."""
    needed = np.int64(0)
    for i in range(count):
        entry = -1 - targets[i]
        if entry < 0:
            needed += 1
        elif conditions.kind[entry] == TESTED:
            return np.int64(UNTESTED)
        else:
            needed += conditions.member_start[entry + 1] - conditions.member_start[entry]
    if needed > len(scratch.found):
        scratch.needed[0] = needed
        return np.int64(FULL)
    scratch.events[0] += 1
    position = np.int64(0)
    for i in range(count):
        entry = -1 - targets[i]
        if entry < 0:
            scratch.found[position] = targets[i]
            position += 1
        elif conditions.kind[entry] == PLAIN:
            begin = np.int64(conditions.member_start[entry])
            size = conditions.member_start[entry + 1] - begin
            copy_ints(scratch.found, position, conditions.profile, begin, size)
            position += size
        else:
            position = report_members(entry, conditions, scratch, position)
    return position


@inlined
def report_members(entry: Any, conditions: Any, scratch: Any, position: Any) -> Any:
    """Writes the members of an entry that are there and were not reported for this event."""
    event = scratch.events[0]
    for member in range(conditions.member_start[entry], conditions.member_start[entry + 1]):
        slot = conditions.slot[member]
        if conditions.profile[member] < 0 or (slot >= 0 and scratch.seen[slot] == event):
            continue
        if slot >= 0:
            scratch.seen[slot] = event
        scratch.found[position] = conditions.profile[member]
        position += 1
    return position


@inlined
def list_of(profiles: Any, count: Any, ints: Any) -> Any:
    """Numbers as a new Python list, those that `ints` has as the objects that are there."""
    made = new_list(count)
    if made != 0:
        places = items_of(made)
        for i in range(np.uint64(count)):  # without a sign, numba need not look for places counted from the end
            number = np.uint64(profiles[i])
            write_word(places, i, shared(ints[number]) if number < np.uint64(len(ints)) else new_int(number))
    return made


@inlined
def array_of(profiles: Any, count: Any, python: Any) -> Any:
    """Numbers as a new array."""
    made = new_array(python.make_array, python.array, python.int32, count)
    if made != 0:
        copy_ints(ints_in(made, count), 0, profiles, 0, count)
    return made


@inlined
def made_of(way: Any, scratch: Any, count: Any, python: Any) -> Any:
    """The profiles behind so many targets as a new object; 0 if something is left to Python, which `left` says."""
    conditions = _conditions(way.call + _CONDITIONS)
    profiles = scratch.out
    scratch.left[0] = count
    if len(conditions.kind) > 0:
        profiles = scratch.found
        count = find_profiles(scratch.out, count, conditions, scratch)
        if count < 0:
            if count == FULL:
                scratch.left[0] = FULL
            return np.int64(0)
    return array_of(profiles, count, python) if way.makes_array != 0 else list_of(profiles, count, python.ints)


@locked_kernel
def match_record(bound: int, record: int) -> Any:
    """The profiles that match an event: a new list or array, or what the function in Python gives."""
    address, _ = int_of(part_of(bound, 0))
    way = _way(address)
    scratch = _scratch(way.call + _SCRATCH)
    if scratch.busy[0] != 0:
        return answer_of(way.beside, part_of(bound, 1), record)
    scratch.busy[0] = 1
    python = _python(way.call)
    left = np.int64(rank_record(way.call, record, python, scratch.own))
    scratch.left[0] = UNRANKED if left > 0 else left
    if left == 0:
        count = find_targets(way.call, scratch)
        scratch.left[0] = count
        if count >= 0:
            made = made_of(way, scratch, count, python)
            if made != 0:
                scratch.busy[0] = 0
                return made
    return answer_of(way.go_on, part_of(bound, 1), record)


@locked_kernel
def match_values(call: int, values: int) -> Any:
    """The number of targets of a list of values, or, if there is none, for the ranks in `own`; or what is left."""
    scratch = _scratch(call + _SCRATCH)
    if values != 0 and rank_values(call, LIST, 0, values, _python(call), scratch.own) > 0:
        return np.int64(UNRANKED)
    return find_targets(call, scratch)
