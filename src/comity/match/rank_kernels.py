"""From values to ranks, a column at a time, straight on Arrow's buffers.

Numbers are ranked against `floors`: for each constant the largest value of the column's own kind that is not above it. For a value v of that
kind, `constant < v` is the same as `floor < v`, and `constant == v` is `floor == v and is_exact`: so integers and floats compare exactly.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from comity.match.compiled import INLINED, KERNEL
from comity.match.vectors import load_word

_MULTIPLIER = np.uint64(0x9FB21C651E98DF25)


@nb.njit(**INLINED)
def is_there(bits: Any, has_bits: bool, at: int) -> Any:
    """Whether Arrow's validity bitmap has a value at a place."""
    return not has_bits or (bits[at >> 3] >> (at & 7)) & 1 == 1


@nb.njit(**INLINED)
def cell_of(value: float, origin: float, scale: float, cells: int) -> Any:
    """The cell of a grid over the constants that a number lies in; monotonous, so that it brackets the search."""
    if scale == 0.0:
        return 0
    return int(min(max((value - origin) * scale, 0.0), float(cells)))


@nb.njit(**KERNEL)
def count_cells(floors: Any, origin: float, scale: float, grid: Any) -> None:
    """Fills the grid: constants before each cell; the last entry is their number."""
    cells = len(grid) - 2
    for i in range(len(grid)):
        grid[i] = 0
    for i in range(len(floors)):
        grid[cell_of(float(floors[i]), origin, scale, cells) + 1] += 1
    for i in range(1, len(grid)):
        grid[i] += grid[i - 1]


@nb.njit(**KERNEL)
def rank_numbers(
    values: Any,
    bits: Any,
    has_bits: bool,
    offset: int,
    floors: Any,
    exact: Any,
    grid: Any,
    origin: float,
    scale: float,
    base: int,
    out: Any,
) -> None:
    """Ranks of a column of int64 or float64; `base` is the rank of the gap below all constants."""
    cells = len(grid) - 2
    count = len(floors)
    for i in range(len(out)):
        value = values[offset + i]
        if not is_there(bits, has_bits, offset + i) or value != value:
            out[i] = 0
            continue
        cell = cell_of(float(value), origin, scale, cells)
        low = grid[cell]
        high = grid[cell + 1]
        while low < high:
            middle = (low + high) >> 1
            if floors[middle] < value:
                low = middle + 1
            else:
                high = middle
        rank = base + 2 * low
        if low < count and floors[low] == value and exact[low]:
            rank += 1
        out[i] = rank


@nb.njit(**KERNEL)
def rank_small_integers(
    values: Any, bits: Any, has_bits: bool, offset: int, least: int, table: Any, below: int, above: int, out: Any
) -> None:
    """Ranks of a column of int64 whose constants lie close together: a look-up."""
    size = len(table)
    for i in range(len(out)):
        if not is_there(bits, has_bits, offset + i):
            out[i] = 0
            continue
        value = values[offset + i]
        if value < least:
            out[i] = below
        elif value - least >= size:
            out[i] = above
        else:
            out[i] = table[value - least]


@nb.njit(**KERNEL)
def rank_bools(values: Any, bits: Any, has_bits: bool, offset: int, if_false: int, if_true: int, out: Any) -> None:
    """Ranks of a column of bools, which Arrow keeps as bits."""
    for i in range(len(out)):
        at = offset + i
        if not is_there(bits, has_bits, at):
            out[i] = 0
        else:
            out[i] = if_true if (values[at >> 3] >> (at & 7)) & 1 else if_false


@nb.njit(**KERNEL)
def rank_presence(bits: Any, has_bits: bool, offset: int, if_present: int, out: Any) -> None:
    """One rank for whatever is there."""
    for i in range(len(out)):
        out[i] = if_present if is_there(bits, has_bits, offset + i) else 0


@nb.njit(**KERNEL)
def rank_codes(codes: Any, bits: Any, has_bits: bool, offset: int, table: Any, out: Any) -> None:
    """Ranks of a dictionary-encoded column, from the ranks of its dictionary."""
    for i in range(len(out)):
        out[i] = table[codes[offset + i]] if is_there(bits, has_bits, offset + i) else 0


@nb.njit(**INLINED)
def hash_text(data: Any, start: int, length: int) -> Any:
    """A 64-bit hash of bytes, eight at a time."""
    h = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(length)
    if length >= 8:
        i = 0
        while i + 8 <= length:
            h = (h ^ load_word(data, start + i)) * _MULTIPLIER
            h ^= h >> np.uint64(32)
            i += 8
        h = (h ^ load_word(data, start + length - 8)) * _MULTIPLIER
    else:
        for i in range(length):
            h = (h ^ np.uint64(data[start + i])) * np.uint64(0x100000001B3)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


@nb.njit(**INLINED)
def same_text(left: Any, i: int, right: Any, j: int, length: int) -> Any:
    """Whether two runs of bytes are equal."""
    if length < 8:
        for k in range(length):
            if left[i + k] != right[j + k]:
                return False
        return True
    k = 0
    while k + 8 <= length:
        if load_word(left, i + k) != load_word(right, j + k):
            return False
        k += 8
    return load_word(left, i + length - 8) == load_word(right, j + length - 8)


@nb.njit(**INLINED)
def is_less(left: Any, i: int, left_length: int, right: Any, j: int, right_length: int) -> Any:
    """Order of bytes, which in UTF-8 is the order of code points."""
    shorter = min(left_length, right_length)
    for k in range(shorter):
        if left[i + k] != right[j + k]:
            return left[i + k] < right[j + k]
    return left_length < right_length


@nb.njit(**KERNEL)
def fill_table(offsets: Any, data: Any, table: Any) -> None:
    """A hash table over texts: open addressing, a power of two of slots, -1 where empty."""
    mask = np.uint64(len(table) - 1)
    for i in range(len(offsets) - 1):
        slot = hash_text(data, offsets[i], offsets[i + 1] - offsets[i]) & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = i


@nb.njit(**KERNEL)
def rank_texts(
    offsets: Any,
    data: Any,
    bits: Any,
    has_bits: bool,
    offset: int,
    known_offsets: Any,
    known: Any,
    table: Any,
    bounds: Any,
    base: int,
    unknown: int,
    out: Any,
) -> None:
    """Ranks of a column of strings; `unknown` is that of a text that no constant equals, where nothing is compared by order."""
    mask = np.uint64(len(table) - 1)
    count = len(known_offsets) - 1
    for i in range(len(out)):
        if not is_there(bits, has_bits, offset + i):
            out[i] = 0
            continue
        start = offsets[offset + i]
        length = offsets[offset + i + 1] - start
        slot = hash_text(data, start, length) & mask
        rank = -1
        while table[slot] >= 0:
            at = table[slot]
            begin = known_offsets[at]
            if known_offsets[at + 1] - begin == length and same_text(known, begin, data, start, length):
                rank = base + 1 + 2 * at
                break
            slot = (slot + np.uint64(1)) & mask
        if rank < 0:
            rank = unknown
            if len(bounds) > 0:
                low = 0
                high = len(bounds)
                while low < high:
                    middle = (low + high) >> 1
                    begin = known_offsets[bounds[middle]]
                    if is_less(known, begin, known_offsets[bounds[middle] + 1] - begin, data, start, length):
                        low = middle + 1
                    else:
                        high = middle
                rank = base + 2 * (bounds[low] if low < len(bounds) else count)
        out[i] = rank
