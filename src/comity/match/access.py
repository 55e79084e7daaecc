"""Under which list each conjunction stands: that of its most selective predicate.

An equality stands in the list of its constant, a list of constants in each of theirs, an interval in one cell or two
neighbouring ones of a grid over ranks, at the level (a power of two) that fits its length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from comity.match.buckets import Longs
from comity.match.predicates import Predicates

Flags = npt.NDArray[np.bool_]

MAX_POSTED = 64
"""Intervals of one predicate that are posted one by one; of more, what lies around them."""
CELL_RECORDS = 8
"""Records that a cell of the finest level should hold on average."""
LEVELS = 33


class Posted(NamedTuple):
    """Entries of lists: of which conjunction (its place among those in the table), and what is left to verify."""

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


def post(table: Predicates, access: Longs, sizes: list[int]) -> Posted:
    """The entries for conjunctions whose most selective predicates are these; `sizes` are those of the channels."""
    counts = np.diff(table.starts)[access]
    outside, many = table.outside[access], counts > MAX_POSTED
    first, last = table.starts[access], table.starts[access + 1] - 1
    single = np.where(outside | many, 1, counts)
    place = np.repeat(np.arange(len(access)), single)
    at = expand(first, single)
    channel = table.channel[access][place].astype(np.int64)
    top = np.array(sizes, np.int64)[channel] - 1
    low = np.where(outside[place], 0, table.low[at]).astype(np.int64)
    high = np.where(outside[place], top, np.where(many[place], table.high[last[place]], table.high[at])).astype(
        np.int64
    )
    whole = (outside | many)[place]
    equal = (low == high) & (low % 2 == 0) & ~whole
    equal_start, lists = _equality_lists(channel[equal], sizes)
    key = np.where(equal, equal_start[channel] + (low >> 1), -1)
    grid = _Grid(channel[~equal], low[~equal], high[~equal], sizes, lists)
    entries = np.concatenate([np.flatnonzero(equal), np.flatnonzero(~equal)[grid.interval]])
    return Posted(
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


def expand(starts: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]) -> Longs:
    """The numbers from each start on, so many of them, one after the other.

    >>> expand(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    counts = counts.astype(np.int64)
    before = np.cumsum(counts) - counts
    found: Longs = np.repeat(starts.astype(np.int64) - before, counts) + np.arange(int(counts.sum()))
    return found
