"""Posting lists: each conjunction stands under its most selective predicate, with the others beside it to be verified.

An event looks into one list for each channel whose rank is a constant (equality), and into one for each channel and level of a grid of
powers of two over ranks (an interval stands in one cell or two neighbouring ones, at the level that fits its length). An entry of a list
is a *record*: four atoms in buckets, the same four as exact ranks, the rest of the predicates in a table, and a target. A target is
the number of a profile, or below zero something that has to be looked at again (`finish.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from comity.match.buckets import HAS_MORE, MAX_CHANNELS, PASSES, Buckets, Longs
from comity.match.channels import Ints
from comity.match.predicates import Predicates
from comity.match.selectivity import Floats, Sample, selectivity

Words = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]

INLINE = 4
"""Predicates of a record that are verified in buckets."""
PADDING = 64
"""Records after the last one, so that vectors may read past it."""
MAX_POSTED = 64
"""Intervals of one predicate that are posted one by one; of more, what lies around them."""
MAX_SPLIT = 8
"""Intervals of one verified predicate for which a record is written several times, once for each."""
CELL_RECORDS = 8
"""Records that a cell of the finest level should hold on average."""
LEVELS = 33
EVERYTHING = 0xFFFFFFFF
IS_SET = 1 << 30
"""Added to the channel of a rest predicate that is a list of intervals."""


class Postings(NamedTuple):
    """The arrays that kernels read."""

    bucket: npt.NDArray[np.uint8]
    bucket_start: Longs
    equal_start: Longs
    """List of rank 0, by channel; below zero where a channel has no lists for equality."""
    level_start: Longs
    level_shift: Longs
    level_list: Longs
    takes_missing: npt.NDArray[np.uint8]
    """Whether an event without the attribute has to look into the channel's lists at all."""
    column_start: Longs
    column_channel: Longs
    """The channels that the records under a channel verify in buckets."""
    list_start: Words
    atoms0: Words
    atoms1: Words
    atoms2: Words
    atoms3: Words
    low: Ints
    """Exact bounds, four to a record: it passes when rank - low, as 32 bits without sign, is at most span."""
    span: Words
    rest_start: Words
    rest_channel: Ints
    rest_low: Ints
    rest_span: Words
    set_low: Ints
    set_high: Ints
    target: Ints

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self)

    @property
    def record_count(self) -> int:
        return len(self.target) - PADDING


@dataclass(slots=True)
class _Rows:
    """Something about records: interval predicates (`high` inclusive) of records, by the record's number."""

    record: Longs
    channel: Ints
    low: Longs
    high: Longs
    outside: Flags
    set_at: Longs
    """The predicate whose intervals must be searched, -1 for an interval."""
    share: Floats


def build_postings(table: Predicates, targets: Ints, sample: Sample) -> Postings:
    """The lists for a table; `targets` are those of its conjunctions."""
    share = selectivity(table, sample)
    buckets = Buckets.of(sample)
    order = np.lexsort((share, table.conjunction))
    conjunction = table.conjunction[order]
    begins = np.flatnonzero(np.concatenate([[True], conjunction[1:] != conjunction[:-1]])) if len(order) else order
    posted = _post(table, order[begins], sample.sizes)
    counts = np.diff(np.concatenate([begins, [len(order)]]))
    rows = _verified(table, posted, order, begins, counts, share)
    rows, split = _split(table, rows, len(posted.key))
    return _packed(table, posted, rows, split, targets, buckets, table.conjunction[order[begins]])


class _Posted(NamedTuple):
    """Entries of lists: which conjunction (by its place among those that have any), under which list, and what is left to verify."""

    place: Longs
    channel: Longs
    key: Longs
    low: Longs
    high: Longs
    keeps_interval: Flags
    """The interval itself must be verified."""
    keeps_predicate: Flags
    """The whole predicate must be verified."""
    equal_start: Longs
    level_start: Longs
    level_shift: Longs
    level_list: Longs
    lists: int


def _post(table: Predicates, access: Longs, sizes: list[int]) -> _Posted:
    counts = np.diff(table.starts)[access]
    outside, many = table.outside[access], counts > MAX_POSTED
    first, last = table.starts[access], table.starts[access + 1] - 1
    single = np.where(outside | many, 1, counts)
    place = np.repeat(np.arange(len(access)), single)
    at = expand(first, single)
    channel = table.channel[access][place].astype(np.int64)
    top = np.array(sizes, np.int64)[channel] - 1
    low = np.where(outside[place], 0, table.low[at]).astype(np.int64)
    high = np.where(outside[place], top, np.where(many[place], table.high[last[place]], table.high[at])).astype(np.int64)
    whole = (outside | many)[place]
    equal = (low == high) & (low % 2 == 0) & ~whole
    equal_start, lists = _equality_lists(channel[equal], sizes)
    key = np.where(equal, equal_start[channel] + (low >> 1), -1)
    grid = _Grid(channel[~equal], low[~equal], high[~equal], sizes, lists)
    entries = np.concatenate([np.flatnonzero(equal), np.flatnonzero(~equal)[grid.interval]])
    return _Posted(
        place[entries],
        channel[entries],
        np.concatenate([key[equal], grid.key]),
        low[entries],
        high[entries],
        ~equal[entries] & ~whole[entries],
        whole[entries],
        equal_start,
        grid.level_start,
        grid.level_shift,
        grid.level_list,
        grid.lists,
    )


def _equality_lists(channel: Longs, sizes: list[int]) -> tuple[Longs, int]:
    """Where the lists of each channel begin, and their number."""
    used = np.bincount(channel, minlength=len(sizes)) > 0
    counts = np.where(used, (np.array(sizes, np.int64) + 1) // 2, 0)
    return np.where(used, np.cumsum(counts) - counts, -1), int(counts.sum())


class _Grid:
    """The cells of intervals, in lists from `lists` on."""

    def __init__(self, channel: Longs, low: Longs, high: Longs, sizes: list[int], lists: int) -> None:
        level = np.maximum(_fitting_levels(low, high), _least_levels(channel, sizes)[channel])
        used = np.zeros((len(sizes), LEVELS), bool)
        used[channel, level] = True
        start, shift, first = [0], [], []
        base = np.zeros((len(sizes), LEVELS), np.int64)
        for number, size in enumerate(sizes):
            for one in np.flatnonzero(used[number]).tolist():
                base[number, one] = lists
                shift.append(one)
                first.append(lists)
                lists += ((size - 1) >> one) + 1
            start.append(len(shift))
        self.lists = lists
        self.level_start, self.level_shift, self.level_list = (
            np.array(part, np.int64) for part in (start, [*shift, 0], [*first, 0])
        )
        cells = (high >> level) - (low >> level) + 1
        self.interval = np.repeat(np.arange(len(channel)), cells)
        self.key = expand(base[channel, level] + (low >> level), cells)


def _fitting_levels(low: Longs, high: Longs) -> Longs:
    """The finest level at which each interval touches at most two cells."""
    level = np.zeros(len(low), np.int64)
    for one in range(LEVELS - 1):
        wide = (high >> one) - (low >> one) > 1
        if not wide.any():
            break
        level[wide] = one + 1
    return level


def _least_levels(channel: Longs, sizes: list[int]) -> Longs:
    """The finest level of each channel whose cells hold enough records to be worth a look."""
    wanted = np.maximum(1, np.bincount(channel, minlength=len(sizes)) // CELL_RECORDS).tolist()
    return np.array(
        [max(0, (size - 1).bit_length() - cells.bit_length() + 1) for size, cells in zip(sizes, wanted, strict=True)],
        np.int64,
    )


def _verified(
    table: Predicates, posted: _Posted, order: Longs, begins: Longs, counts: Longs, share: Floats
) -> _Rows:
    """What is left to verify of each entry: all predicates but the one that it stands under, and of that one its interval."""
    skipped = (~posted.keeps_predicate).astype(np.int64)
    left = counts[posted.place] - skipped
    predicate = order[expand(begins[posted.place] + skipped, left)]
    record = np.repeat(np.arange(len(posted.key)), left)
    several = np.diff(table.starts)[predicate] > 1
    first = table.starts[predicate]
    own = np.flatnonzero(posted.keeps_interval)
    access = order[begins[posted.place[own]]]
    return _Rows(
        np.concatenate([record, own]),
        np.concatenate([table.channel[predicate], table.channel[access]]),
        np.concatenate([table.low[first].astype(np.int64), posted.low[own]]),
        np.concatenate([table.high[first].astype(np.int64), posted.high[own]]),
        np.concatenate([table.outside[predicate], np.zeros(len(own), bool)]),
        np.concatenate([np.where(several, predicate, -1), np.full(len(own), -1)]),
        np.concatenate([share[predicate], share[access]]),
    )


def _split(table: Predicates, rows: _Rows, records: int) -> tuple[_Rows, Longs]:
    """Records with a short list of intervals, once for each of them; also which entry each record is of."""
    sizes = np.diff(table.starts)[rows.set_at]
    short = np.flatnonzero((rows.set_at >= 0) & (sizes <= MAX_SPLIT))
    if len(short) == 0:
        return rows, np.arange(records)
    _, first = np.unique(rows.record[short], return_index=True)
    chosen = short[first]
    copies = np.ones(records, np.int64)
    copies[rows.record[chosen]] = sizes[chosen]
    entry = np.repeat(np.arange(records), copies)
    begins = np.cumsum(copies) - copies
    times = copies[rows.record]
    source = np.repeat(np.arange(len(rows.record)), times)
    copy = expand(np.zeros(len(times), np.int64), times)
    is_chosen = np.zeros(len(rows.record), bool)
    is_chosen[chosen] = True
    at = table.starts[rows.set_at[source]] + copy
    mine = is_chosen[source]
    at = np.where(mine, at, 0)
    return (
        _Rows(
            begins[rows.record[source]] + copy,
            rows.channel[source],
            np.where(mine, table.low[at], rows.low[source]),
            np.where(mine, table.high[at], rows.high[source]),
            rows.outside[source],
            np.where(mine, -1, rows.set_at[source]),
            rows.share[source] / np.where(mine, times[source], 1),
        ),
        entry,
    )


def _packed(
    table: Predicates,
    posted: _Posted,
    rows: _Rows,
    entry: Longs,
    targets: Ints,
    buckets: Buckets,
    conjunctions: Ints,
) -> Postings:
    records = len(entry)
    simple = (rows.set_at < 0) & (rows.channel < MAX_CHANNELS)
    order = np.lexsort((rows.share, ~simple, rows.record))
    record, simple = rows.record[order], simple[order]
    counts = np.bincount(record, minlength=records)
    column = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    inline = simple & (column < INLINE)
    atoms = np.full((INLINE, records), PASSES, np.uint32)
    low, span = np.zeros((records, INLINE), np.int32), np.full((records, INLINE), EVERYTHING, np.uint32)
    at = order[inline]
    cell = record[inline], column[inline]
    atoms[cell[1], cell[0]] = buckets.atoms(rows.channel[at], rows.low[at], rows.high[at], rows.outside[at])
    low[cell], span[cell] = _circular(rows.low[at], rows.high[at], rows.outside[at])
    rest = order[~inline]
    rest_count = np.bincount(rows.record[rest], minlength=records)
    atoms[0, rest_count > 0] |= np.uint32(HAS_MORE << 24)
    key = posted.key[entry]
    final = np.lexsort((atoms[1] & 0xFFFF, atoms[0] & 0xFFFF, key))
    rest_order = expand((np.cumsum(rest_count) - rest_count)[final], rest_count[final])
    channels = len(table.layouts)
    takes_missing = np.zeros(channels, np.uint8)
    takes_missing[posted.channel[posted.low == 0]] = 1
    padding = np.full(PADDING, PASSES, np.uint32)
    return Postings(
        buckets.table,
        buckets.start,
        posted.equal_start,
        posted.level_start,
        posted.level_shift,
        posted.level_list,
        takes_missing,
        *_columns(posted.channel[entry], atoms, channels),
        np.concatenate([[0], np.cumsum(np.bincount(key, minlength=posted.lists))]).astype(np.uint32),
        *(np.concatenate([atoms[k][final], padding]) for k in range(INLINE)),
        np.concatenate([low[final].ravel(), np.zeros(PADDING * INLINE, np.int32)]),
        np.concatenate([span[final].ravel(), np.full(PADDING * INLINE, EVERYTHING, np.uint32)]),
        _rest_starts(rest_count[final]),
        *_rest(table, rows, rest[rest_order]),
        np.concatenate([targets[conjunctions[posted.place[entry[final]]]], np.zeros(PADDING, np.int32)]).astype(np.int32),
    )


def _circular(low: Longs, high: Longs, outside: Flags) -> tuple[Ints, Words]:
    """Exact bounds on the circle of 32-bit numbers, on which the outside of an interval is an interval too."""
    width = high - low
    first = np.where(outside, high + 1, low)
    return first.astype(np.int32), np.where(outside, EVERYTHING - width - 1, width).astype(np.uint32)


def _columns(channel: Longs, atoms: npt.NDArray[np.uint32], channels: int) -> tuple[Longs, Longs]:
    used = np.zeros((channels, MAX_CHANNELS + 1), bool)
    for column in atoms:
        used[channel, column & 255] = True
    return np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64), np.nonzero(used)[1].astype(np.int64)


def _rest(table: Predicates, rows: _Rows, at: Longs) -> tuple[Ints, Ints, Words, Ints, Ints]:
    """Predicates beyond the inline ones: an interval, or the place of a list of intervals; and these lists."""
    low, span = _circular(rows.low[at], rows.high[at], rows.outside[at])
    is_set = rows.set_at[at] >= 0
    sets, which = np.unique(rows.set_at[at][is_set], return_inverse=True)
    counts = np.diff(table.starts)[sets].astype(np.int64)
    ends = np.cumsum(counts)
    channel = rows.channel[at] + np.where(is_set, IS_SET, 0)
    low[is_set], span[is_set] = (ends - counts)[which], ends[which]
    members = expand(table.starts[sets], counts)
    return (
        _closed(channel.astype(np.int32)),
        _closed(low),
        _closed(span),
        _closed(table.low[members]),
        _closed(table.high[members]),
    )


def _closed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """With an element after the last one, so that no array is empty."""
    return np.concatenate([values, np.zeros(1, values.dtype)])


def _rest_starts(counts: Longs) -> Words:
    ends = np.cumsum(counts)
    last = ends[-1] if len(ends) else 0
    return np.concatenate([[0], ends, np.full(PADDING, last)]).astype(np.uint32)


def expand(starts: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]) -> Longs:
    """The numbers from each start on, so many of them, one after the other.

    >>> expand(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    counts = counts.astype(np.int64)
    before = np.cumsum(counts) - counts
    found: Longs = np.repeat(starts.astype(np.int64) - before, counts) + np.arange(int(counts.sum()))
    return found
