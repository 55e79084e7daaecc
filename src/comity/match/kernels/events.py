"""Matching event by event: for a few events, or one.

Every kernel returns the number of targets written so far, or, when `out` is full, -(e + 1): the caller grows it and
goes on at event e.

What the arrays are: `index` is `postings.Postings`; `ranks[channel, event]` are the ranks of the events. `own`,
`buckets`, `begins` and `ends` are scratch of the caller's: the ranks and buckets of the event at hand, and the lists
that it looks into. `offsets[e]` is where the targets of event e begin in `out`.

What holds: a list is the records from `list_start[k]` to `list_start[k + 1]`. There are `PADDING` records after the
last one, so that sixteen may always be loaded. A list is only begun when `out` has room for all of its records, so
nothing is checked while it is scanned. Buckets decide first; where they cannot (`AT_LOW`, `AT_HIGH`, `HAS_MORE`), the
exact ranks do. A removed record has an atom that no event passes (`buckets.NEVER`), written in place by another
thread; a scan sees the old atom or the new one, both of which are whole.

Measured: called for one event, most of the time is not here: handing over `index`, more than twenty arrays, takes
5 µs, scanning lists of a thousand profiles 0.4 µs. One event alone goes another way (`single.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from comity.compiled import inlined, kernel
from comity.match.kernels.arrays import PASSES
from comity.match.kernels.vectors import check_sixteen, copy_ints, prefetch, trailing_zeros

IS_SET = 1 << 30
"""Added to the channel of a rest predicate that is a list of intervals."""
_CHANNEL = np.uint32(255)
_LOW_HALF = np.uint32(0xFFFF)
_PASSES = np.uint32(PASSES)
_HAS_MORE = np.uint32(4 << 24)


@inlined
def is_within(rank: Any, low: Any, span: Any) -> Any:
    """Whether a rank lies in an exact interval on the circle."""
    return np.uint32(rank - low) <= span


@inlined
def rest_holds(ranks: Any, record: Any, index: Any) -> Any:
    """Whether the predicates of a record that are not inline hold."""
    for j in range(index.rest_start[record], index.rest_start[record + 1]):
        channel = index.rest_channel[j]
        if channel < IS_SET:
            if not is_within(ranks[channel], index.rest_low[j], index.rest_span[j]):
                return False
        else:
            rank = ranks[channel - IS_SET]
            found = False
            for k in range(index.rest_low[j], np.int64(index.rest_span[j])):
                found |= index.set_low[k] <= rank and rank <= index.set_high[k]
            if not found:
                return False
    return True


@inlined
def holds_exactly(ranks: Any, record: Any, index: Any) -> Any:
    """Whether all predicates of a record hold for the ranks of an event."""
    at = np.uint64(record) * np.uint64(4)
    low, span = index.low, index.span
    first = index.atoms0[record]
    if not is_within(ranks[first & _CHANNEL], low[at], span[at]):
        return False
    if not is_within(ranks[index.atoms1[record] & _CHANNEL], low[at + np.uint64(1)], span[at + np.uint64(1)]):
        return False
    if not is_within(ranks[index.atoms2[record] & _CHANNEL], low[at + np.uint64(2)], span[at + np.uint64(2)]):
        return False
    if not is_within(ranks[index.atoms3[record] & _CHANNEL], low[at + np.uint64(3)], span[at + np.uint64(3)]):
        return False
    return (first & _HAS_MORE) == 0 or rest_holds(ranks, record, index)


@inlined
def scan_sixteen(buckets: Any, record: Any, end: Any, index: Any) -> Any:
    """Sixteen records against one event: bits 0-15 those that pass, bits 16-31 those of them that are not certain."""
    one = check_sixteen(buckets, index.atoms0, record)
    other = check_sixteen(buckets, index.atoms1, record)
    passed = one & other & _LOW_HALF
    left = end - record
    if left < np.uint64(16):
        passed &= (np.uint32(1) << np.uint32(left)) - np.uint32(1)
    if passed == 0:
        return passed
    doubt = one | other
    one = check_sixteen(buckets, index.atoms2, record)
    other = check_sixteen(buckets, index.atoms3, record)
    passed &= one & other
    doubt = ((doubt | one | other) >> np.uint32(16)) & passed
    return passed | (doubt << np.uint32(16))


@inlined
def passing_run(record: Any, end: Any, atoms: Any) -> Any:
    """How many records from one that passes on do, and have nothing more to verify."""
    count = np.uint64(1)
    while record + count + np.uint64(16) <= end:
        differs = np.uint32(0)
        for i in range(16):
            differs |= atoms[record + count + np.uint64(i)] ^ _PASSES
        if differs != 0:
            break
        count += np.uint64(16)
    while record + count < end and atoms[record + count] == _PASSES:
        count += np.uint64(1)
    return count


@inlined
def scan_list(begin: Any, end: Any, buckets: Any, ranks: Any, index: Any, out: Any, position: Any) -> Any:
    """Writes the targets of a list's records that hold for one event; `out` has room for all of them."""
    record = np.uint64(begin)
    end = np.uint64(end)
    while record < end:
        if index.atoms0[record] == _PASSES:  # then more of them do: records are in the order of their atoms
            count = passing_run(record, end, index.atoms0)
            copy_ints(out, position, index.target, record, count)
            position += np.int64(count)
            record += count
            continue
        found = scan_sixteen(buckets, record, end, index)
        passed = np.uint64(found & _LOW_HALF)
        while passed:
            bit = trailing_zeros(passed)
            passed &= passed - np.uint64(1)
            hit = record + bit
            if (found >> np.uint32(bit + np.uint64(16))) & np.uint32(1) == 0 or holds_exactly(ranks, hit, index):
                out[position] = index.target[hit]
                position += 1
        record += np.uint64(16)
    return position


@inlined
def find_lists(index: Any, ranks: Any, buckets: Any, begins: Any, ends: Any) -> Any:
    """Writes where the lists begin and end that an event looks into, and its buckets; gives the number of lists."""
    lists = 0
    for channel in range(len(ranks)):
        rank = ranks[channel]
        if channel < len(index.bucket_start) - 1:
            buckets[channel] = index.bucket[index.bucket_start[channel] + rank]
        if rank == 0 and index.takes_missing[channel] == 0:
            continue
        if rank & 1 == 0 and index.equal_start[channel] >= 0:
            at = index.equal_start[channel] + (rank >> 1)
            if index.list_start[at + 1] > index.list_start[at]:
                begins[lists] = index.list_start[at]
                ends[lists] = index.list_start[at + 1]
                prefetch(index.atoms0, begins[lists])
                lists += 1
        for level in range(index.level_start[channel], index.level_start[channel + 1]):
            at = index.level_list[level] + (rank >> index.level_shift[level])
            if index.list_start[at + 1] > index.list_start[at]:
                begins[lists] = index.list_start[at]
                ends[lists] = index.list_start[at + 1]
                prefetch(index.atoms0, begins[lists])
                lists += 1
    return lists


@kernel
def match_events(
    index: Any,
    ranks: Any,
    first: int,
    position: int,
    offsets: Any,
    out: Any,
    own: Any,
    buckets: Any,
    begins: Any,
    ends: Any,
) -> Any:
    """All events from `first` on; `ranks` is by channel, then event."""
    channels, count = ranks.shape
    for event in range(first, count):
        offsets[event] = position
        for channel in range(channels):
            own[channel] = ranks[channel, event]
        for i in range(find_lists(index, own, buckets, begins, ends)):
            if position + np.int64(ends[i] - begins[i]) > len(out):
                return -(event + 1)
            position = scan_list(begins[i], ends[i], buckets, own, index, out, position)
    offsets[count] = position
    return position
