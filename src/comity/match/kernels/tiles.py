"""Matching in tiles: for thousands of events. A block of events is sorted by one channel after the other; the events
that look into the same list stand together then, and each record of the list is compared with 64 of them at a time,
in buckets.

What the arrays are: `index` is `arrays.Postings`, `ranks[channel, event]` are the ranks of the events, and `work` are
the buffers of `workspace.py`. `columns[channel, i]` and `rows[i, channel]` are the buckets of event i of the block,
`own[i, channel]` its ranks. For the channel at hand `order` are the events by their rank there, `key` these ranks, and
`sorted_columns` the buckets in that order, `STRIDE` apart, of the channels that records under this one verify. A pair
is a place in the block (`pair_event`) and a target.

What holds: a block has at most `BLOCK` events, so a place in it has 16 bits. 64 events may be loaded anywhere, because
`STRIDE` leaves room behind the last one; those beyond the list's events are masked. When a load begins there are 64
free pairs, so that none is counted while it is written; where there are not, the block is done again with larger
buffers. Buckets decide first, and ranks where an end of an interval lies within the event's bucket.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from comity.compiled import inlined, kernel
from comity.match.kernels.events import holds_exactly, rest_holds, scan_sixteen
from comity.match.kernels.vectors import bytes_at_distance, bytes_within, prefetch, trailing_zeros

BLOCK = 8192
"""Events of a block: what belongs to one stays in the cache."""
STRIDE = BLOCK + 64
FEW = 8
"""Events of a group below which they are matched one by one."""
DIGIT = 2048
AHEAD = 24
"""Pairs by which the next place to write to is known in advance."""

_ONE, _ZERO = np.uint64(1), np.uint64(0)
_BYTE = np.uint32(255)
_EDGES = np.uint32(3 << 24)
_UNSURE = np.uint32(7 << 24)
_HAS_MORE = np.uint32(4 << 24)


@kernel
def load_block(index: Any, ranks: Any, start: int, count: int, columns: Any, rows: Any, own: Any) -> None:
    """The block's ranks by event, and its buckets both by channel and by event."""
    inline = len(index.bucket_start) - 1
    for channel in range(ranks.shape[0]):
        for i in range(count):
            own[i, channel] = ranks[channel, start + i]
        if channel < inline:
            base = index.bucket_start[channel]
            for i in range(count):
                bucket = index.bucket[base + ranks[channel, start + i]]
                columns[channel, i] = bucket
                rows[i, channel] = bucket


@kernel
def sort_block(ranks: Any, takes_missing: bool, work: Any) -> Any:
    """The events of a block by their rank in one channel; gives their number, those that cannot match left out."""
    order, key = work.order, work.key
    count = _ZERO
    bits = np.int32(0)
    for i in range(len(ranks)):
        rank = ranks[i]
        key[count] = rank
        order[count] = i
        if rank > 0 or takes_missing:
            count += _ONE
            bits |= rank
    shift = 0
    flipped = False
    while bits >> shift > 0:
        if flipped:
            sort_by_digit(work.key2, work.order2, key, order, count, shift, work.digits)
        else:
            sort_by_digit(key, order, work.key2, work.order2, count, shift, work.digits)
        flipped = not flipped
        shift += 11
    if flipped:
        for j in range(count):
            key[j] = work.key2[j]
            order[j] = work.order2[j]
    return count


@inlined
def sort_by_digit(key: Any, order: Any, key2: Any, order2: Any, count: Any, shift: int, digits: Any) -> None:
    """One pass of a radix sort."""
    for digit in range(DIGIT):
        digits[digit] = 0
    for i in range(count):
        digits[(key[i] >> shift) & (DIGIT - 1)] += 1
    total = 0
    for digit in range(DIGIT):
        here = digits[digit]
        digits[digit] = total
        total += here
    for i in range(count):
        digit = (key[i] >> shift) & (DIGIT - 1)
        place = digits[digit]
        digits[digit] = place + 1
        key2[place] = key[i]
        order2[place] = order[i]


@inlined
def atom_within(atom: Any, sorted_columns: Any, at: Any) -> Any:
    """Which of 64 events an atom lets pass."""
    base = np.uint64(atom & _BYTE) * np.uint64(STRIDE) + at
    low = np.uint8((atom >> np.uint32(8)) & _BYTE)
    return bytes_within(sorted_columns, base, low, np.uint8((atom >> np.uint32(16)) & _BYTE))


@inlined
def atom_in_doubt(atom: Any, sorted_columns: Any, at: Any) -> Any:
    """Which of 64 events lie in a bucket that an end of the atom's interval cuts."""
    if atom & _EDGES == 0:
        return _ZERO
    base = np.uint64(atom & _BYTE) * np.uint64(STRIDE) + at
    low = np.uint8((atom >> np.uint32(8)) & _BYTE)
    span = np.uint8((atom >> np.uint32(16)) & _BYTE)
    first = np.uint8(0) if atom & np.uint32(1 << 24) else span
    last = span if atom & np.uint32(2 << 24) else np.uint8(0)
    return bytes_at_distance(sorted_columns, base, low, first, last)


@inlined
def settle(passed: Any, record: Any, at: Any, sorted_columns: Any, order: Any, own: Any, index: Any) -> Any:
    """Of the events that passed in buckets, those that pass by their ranks, and by the rest of the predicates."""
    doubt = atom_in_doubt(index.atoms0[record], sorted_columns, at)
    doubt |= atom_in_doubt(index.atoms1[record], sorted_columns, at)
    doubt |= atom_in_doubt(index.atoms2[record], sorted_columns, at)
    doubt |= atom_in_doubt(index.atoms3[record], sorted_columns, at)
    has_more = index.atoms0[record] & _HAS_MORE != 0
    left = passed if has_more else passed & doubt
    while left:
        bit = trailing_zeros(left)
        here = _ONE << bit
        left ^= here
        ranks = own[order[at + bit]]
        if doubt & here:
            if not holds_exactly(ranks, record, index):
                passed ^= here
        elif not rest_holds(ranks, record, index):
            passed ^= here
    return passed


@kernel
def scan_many(
    i: Any,
    j: Any,
    begin: Any,
    end: Any,
    by_channel: int,
    index: Any,
    work: Any,
    pairs: int,
) -> Any:
    """Every record of a list against events i to j of the sorted block; the pairs so far, -1 if there is no room."""
    sorted_columns, order, bucket_from = work.sorted_columns, work.order, work.bucket_from
    narrows = by_channel >= 0 and by_channel < len(index.bucket_start) - 1 and j - i >= np.uint64(128)
    if narrows:
        find_buckets(i, j, np.uint64(by_channel) * np.uint64(STRIDE), sorted_columns, bucket_from)
    capacity = len(work.pair_target) - 64
    for record in range(begin, end):
        atom0 = index.atoms0[record]
        atom1 = index.atoms1[record]
        atom2 = index.atoms2[record]
        atom3 = index.atoms3[record]
        at = i
        stop = j
        if narrows:
            atom = own_atom(np.uint32(by_channel), atom0, atom1, atom2, atom3)
            low = np.uint64((atom >> np.uint32(8)) & _BYTE)
            high = low + np.uint64((atom >> np.uint32(16)) & _BYTE)
            if high < np.uint64(255):
                at = bucket_from[low]
                stop = bucket_from[high + _ONE]
        target = index.target[record]
        while at < stop:
            passed = atom_within(atom0, sorted_columns, at) & atom_within(atom1, sorted_columns, at)
            passed &= atom_within(atom2, sorted_columns, at) & atom_within(atom3, sorted_columns, at)
            left = stop - at
            if left < np.uint64(64):
                passed &= (_ONE << left) - _ONE
            if passed:
                if (atom0 | atom1 | atom2 | atom3) & _UNSURE:
                    again = record + (
                        trailing_zeros(passed) >> np.uint64(6)
                    )  # the record, but not hoisted out of the loop
                    passed = settle(passed, again, at, sorted_columns, order, work.own, index)
                if pairs > capacity:
                    return -1
                while passed:
                    bit = trailing_zeros(passed)
                    passed &= passed - _ONE
                    work.pair_event[pairs] = order[at + bit]
                    work.pair_target[pairs] = target
                    pairs += 1
            at += np.uint64(64)
    return pairs


@inlined
def own_atom(channel: Any, atom0: Any, atom1: Any, atom2: Any, atom3: Any) -> Any:
    """The atom on a channel; one that always passes when there is none."""
    if atom0 & _BYTE == channel:
        return atom0
    if atom1 & _BYTE == channel:
        return atom1
    if atom2 & _BYTE == channel:
        return atom2
    if atom3 & _BYTE == channel:
        return atom3
    return np.uint32(255 << 16)


@inlined
def find_buckets(i: Any, j: Any, base: Any, sorted_columns: Any, bucket_from: Any) -> None:
    """Where each bucket of the channel that the block is sorted by begins."""
    at = i
    for bucket in range(np.uint64(256)):
        while at < j and sorted_columns[base + at] < bucket:
            at += _ONE
        bucket_from[bucket] = at


@kernel
def scan_few(
    i: Any,
    j: Any,
    begin: Any,
    end: Any,
    index: Any,
    work: Any,
    pairs: int,
) -> Any:
    """The same for a handful of events, sixteen records at a time."""
    capacity = len(work.pair_target) - 64
    for at in range(i, j):
        event = work.order[at]
        buckets = work.rows[event]
        ranks = work.own[event]
        record = begin
        while record < end:
            found = scan_sixteen(buckets, record, end, index)
            passed = np.uint64(found & np.uint32(0xFFFF))
            if passed and pairs > capacity:
                return -1
            while passed:
                bit = trailing_zeros(passed)
                passed &= passed - _ONE
                hit = record + bit
                sure = (found >> np.uint32(bit + np.uint64(16))) & np.uint32(1) == 0
                if sure or holds_exactly(ranks, hit, index):
                    work.pair_event[pairs] = event
                    work.pair_target[pairs] = index.target[hit]
                    pairs += 1
            record += np.uint64(16)
    return pairs


@kernel
def scan_channel(channel: int, count: Any, index: Any, work: Any, pairs: int) -> Any:
    """All lists of one channel, for a block that is sorted by it."""
    first_level = index.level_start[channel]
    for level in range(first_level - 1, index.level_start[channel + 1]):
        equality = level < first_level
        if equality and index.equal_start[channel] < 0:
            continue
        shift = 1 if equality else index.level_shift[level]
        by_channel = -1 if equality else channel
        base = index.equal_start[channel] if equality else index.level_list[level]
        i = _ZERO
        while i < count:
            cell = work.key[i] >> shift
            j = i + _ONE
            if equality:
                rank = work.key[i]
                while j < count and work.key[j] == rank:
                    j += _ONE
            else:
                while j < count and work.key[j] >> shift == cell:
                    j += _ONE
            begin = np.uint64(index.list_start[base + cell])
            end = np.uint64(index.list_start[base + cell + 1])
            if end > begin and not (equality and work.key[i] & 1):
                if j - i > np.uint64(FEW):
                    pairs = scan_many(i, j, begin, end, by_channel, index, work, pairs)
                else:
                    pairs = scan_few(i, j, begin, end, index, work, pairs)
                if pairs < 0:
                    return pairs
            i = j
    return pairs


@kernel
def match_block(index: Any, ranks: Any, start: int, count: int, work: Any) -> Any:
    """All pairs of an event of the block and a target; -1 when there is no room for them."""
    load_block(index, ranks, start, count, work.columns, work.rows, work.own)
    pairs = 0
    for channel in range(ranks.shape[0]):
        has_lists = index.equal_start[channel] >= 0 or index.level_start[channel] < index.level_start[channel + 1]
        if not has_lists:
            continue
        takes_missing = index.takes_missing[channel] != 0
        found = sort_block(ranks[channel, start : start + count], takes_missing, work)
        for k in range(index.column_start[channel], index.column_start[channel + 1]):
            column = index.column_channel[k]
            base = np.uint64(column) * np.uint64(STRIDE)
            for i in range(found):
                work.sorted_columns[base + i] = work.columns[column, work.order[i]]
        pairs = scan_channel(channel, found, index, work, pairs)
        if pairs < 0:
            return pairs
    return pairs


@kernel
def gather_pairs(work: Any, pairs: int, start: int, count: int, offsets: Any, out: Any) -> None:
    """The pairs of a block as one run of targets for each event; `offsets[start]` is where the first one begins."""
    place = work.key  # of the next target of each event; 32 bits and from the block's begin on, so that all stay close
    events = work.pair_event
    for i in range(count):
        place[i] = 0
    for i in range(pairs):
        place[events[i]] += 1
    base = offsets[start]
    total = 0
    for i in range(count):
        here = place[i]
        place[i] = total
        total += here
        offsets[start + 1 + i] = base + total
    for i in range(pairs):
        ahead = min(i + AHEAD, pairs - 1)
        prefetch(out, base + place[events[ahead]])
        at = place[events[i]]
        out[base + at] = work.pair_target[i]
        place[events[i]] = at + 1
