"""Posting lists: each conjunction stands under its most selective predicate, with the others beside it to be verified.

An event looks into one list for each channel whose rank is a constant (equality), and into one for each channel and
level of a grid of powers of two over ranks (an interval stands in one cell or two neighbouring ones, at the level
that fits its length). An entry of a list is a *record*: four atoms in buckets, the same four as exact ranks, the rest
of the predicates in a table, and a target. A target is the number of a profile, or below zero something that has to
be looked at again (`finish.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from comity.match.access import Flags, Posted, expand, post
from comity.match.buckets import HAS_MORE, MAX_CHANNELS, Buckets, Longs
from comity.match.channels import Ints
from comity.match.kernels.arrays import PADDING, PASSES, Postings, Words
from comity.match.kernels.events import IS_SET
from comity.match.pace import Rest, no_rest
from comity.match.predicates import Predicates
from comity.match.selectivity import Floats, Sample, selectivity

INLINE = 4
"""Predicates of a record that are verified in buckets."""
MAX_SPLIT = 8
"""Intervals of one verified predicate for which a record is written several times, once for each."""
EVERYTHING = 0xFFFFFFFF


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


def build_postings(table: Predicates, targets: Ints, sample: Sample, rest: Rest = no_rest) -> Postings:
    """The lists for a table; `targets` are those of its conjunctions."""
    share = selectivity(table, sample)
    rest()
    buckets = Buckets.of(sample)
    rest()
    order = np.lexsort((share, table.conjunction))
    conjunction = table.conjunction[order]
    begins = np.flatnonzero(np.concatenate([[True], conjunction[1:] != conjunction[:-1]])) if len(order) else order
    posted = post(table, order[begins], sample.sizes)
    rest()
    counts = np.diff(np.concatenate([begins, [len(order)]]))
    rows = _verified(table, posted, order, begins, counts, share)
    rest()
    rows, split = _split(table, rows, len(posted.key))
    rest()
    return _packed(table, posted, rows, split, targets[table.conjunction[order[begins]]], buckets, rest)


def _verified(table: Predicates, posted: Posted, order: Longs, begins: Longs, counts: Longs, share: Floats) -> _Rows:
    """What is left to verify of each entry: all predicates but its own one, and of that one its interval."""
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
    table: Predicates, posted: Posted, rows: _Rows, entry: Longs, target: Ints, buckets: Buckets, rest: Rest
) -> Postings:
    """The arrays, records in the order of their lists."""
    records = len(entry)
    simple = (rows.set_at < 0) & (rows.channel < MAX_CHANNELS)
    order = np.lexsort((rows.share, ~simple, rows.record))
    counts = np.bincount(rows.record, minlength=records)
    column = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    inline = simple[order] & (column < INLINE)
    rest()
    atoms, low, span = _inline(rows, order[inline], column[inline], buckets, records)
    rest()
    more = order[~inline]
    rest_count = np.bincount(rows.record[more], minlength=records)
    atoms[0, rest_count > 0] |= np.uint32(HAS_MORE << 24)
    key = posted.key[entry]
    final = np.lexsort((atoms[1] & 0xFFFF, atoms[0] & 0xFFFF, key))
    rest_order = expand((np.cumsum(rest_count) - rest_count)[final], rest_count[final])
    rest_channel, rest_low, rest_span, set_low, set_high = _rest(table, rows, more[rest_order])
    rest()
    column_start, column_channel = _columns(posted.channel[entry], atoms, len(table.layouts))
    atoms0, atoms1, atoms2, atoms3 = (_padded(column[final], PASSES) for column in atoms)
    return Postings(
        bucket=buckets.table,
        bucket_start=buckets.start,
        equal_start=posted.equal_start,
        level_start=posted.level_start,
        level_shift=posted.level_shift,
        level_list=posted.level_list,
        takes_missing=_takes_missing(posted, len(table.layouts)),
        column_start=column_start,
        column_channel=column_channel,
        list_start=_starts(np.bincount(key, minlength=posted.lists)),
        atoms0=atoms0,
        atoms1=atoms1,
        atoms2=atoms2,
        atoms3=atoms3,
        low=_padded(low[final].ravel(), 0, INLINE),
        span=_padded(span[final].ravel(), EVERYTHING, INLINE),
        rest_start=_starts(_padded(rest_count[final], 0)),
        rest_channel=rest_channel,
        rest_low=rest_low,
        rest_span=rest_span,
        set_low=set_low,
        set_high=set_high,
        target=_padded(target[posted.place[entry[final]]], 0),
    )


def _inline(
    rows: _Rows, at: Longs, column: Longs, buckets: Buckets, records: int
) -> tuple[npt.NDArray[np.uint32], Ints, Words]:
    """The atoms of records by column, and their exact bounds."""
    record = rows.record[at]
    atoms = np.full((INLINE, records), PASSES, np.uint32)
    low, span = np.zeros((records, INLINE), np.int32), np.full((records, INLINE), EVERYTHING, np.uint32)
    atoms[column, record] = buckets.atoms(rows.channel[at], rows.low[at], rows.high[at], rows.outside[at])
    low[record, column], span[record, column] = _circular(rows.low[at], rows.high[at], rows.outside[at])
    return atoms, low, span


def _takes_missing(posted: Posted, channels: int) -> npt.NDArray[np.uint8]:
    found = np.zeros(channels, np.uint8)
    found[posted.channel[posted.low == 0]] = 1
    return found


def _padded(values: npt.NDArray[Any], value: int, times: int = 1) -> npt.NDArray[Any]:
    return np.concatenate([values, np.full(PADDING * times, value, values.dtype)])


def _starts(counts: npt.NDArray[Any]) -> Words:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)


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
