"""From values to ranks, a column at a time, straight on Arrow's buffers.

Numbers are ranked against `floors`: for each constant the largest value of the column's own kind that is not above
it. For a value v of that kind, `constant < v` is the same as `floor < v`, and `constant == v` is `floor == v and
is_exact`: so integers and floats compare exactly.

What the arrays are: `column` is `columns.Buffers`, Arrow's memory as it is, with the offset of a slice; `scale`,
`lookup` and `texts` are those of `ranks.Ranking`; `out` takes one rank for each row.

What holds: `floors` ascends; `grid[c]` counts the floors before cell c, so the place of a value lies between `grid[c]`
and `grid[c + 1]`, and only these are searched. `texts.table` is a hash table with a power of two of slots, at most half
of them taken, so that a search ends. `texts.data` has eight bytes after its last text, so that a word may be loaded
anywhere. `texts.words` are ordered like the bounds they are taken from; equal words are decided byte by byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from comity.compiled import inlined, kernel
from comity.match.kernels.vectors import load_word, swap_bytes

_MULTIPLIER = np.uint64(0x9FB21C651E98DF25)


@inlined
def is_there(column: Any, at: Any) -> Any:
    """Whether Arrow's validity bitmap has a value at a place."""
    return not column.has_bits or (column.bits[at >> 3] >> (at & 7)) & 1 == 1


@inlined
def cell_of(value: float, origin: float, scale: float, cells: int) -> Any:
    """The cell of a grid over the constants that a number lies in; monotonous, so that it brackets the search."""
    if scale == 0.0:
        return 0
    return int(min(max((value - origin) * scale, 0.0), float(cells)))


@kernel
def count_cells(floors: Any, origin: float, scale: float, grid: Any) -> None:
    """Fills the grid: constants before each cell; the last entry is their number."""
    cells = len(grid) - 2
    for i in range(len(grid)):
        grid[i] = 0
    for i in range(len(floors)):
        grid[cell_of(float(floors[i]), origin, scale, cells) + 1] += 1
    for i in range(1, len(grid)):
        grid[i] += grid[i - 1]


@inlined
def rank_number(value: Any, scale: Any) -> Any:
    """The rank of a number of the scale's kind, which is no NaN."""
    floors = scale.floors
    cell = cell_of(float(value), scale.origin, scale.scale, len(scale.grid) - 2)
    low = scale.grid[cell]
    high = scale.grid[cell + 1]
    while low < high:
        middle = (low + high) >> 1
        if floors[middle] < value:
            low = middle + 1
        else:
            high = middle
    rank = scale.base + 2 * low
    if low < len(floors) and floors[low] == value and scale.exact[low]:
        rank += 1
    return rank


@kernel
def rank_numbers(column: Any, scale: Any, out: Any) -> None:
    """Ranks of a column of int64 or float64."""
    for i in range(len(out)):
        at = column.offset + i
        value = column.values[at]
        out[i] = rank_number(value, scale) if is_there(column, at) and value == value else 0


@kernel
def rank_small_integers(column: Any, lookup: Any, out: Any) -> None:
    """Ranks of a column of int64 whose constants lie close together."""
    for i in range(len(out)):
        at = column.offset + i
        if not is_there(column, at):
            out[i] = 0
            continue
        value = column.values[at]
        if value < lookup.least:
            out[i] = lookup.below
        elif value > lookup.most:  # their difference could overflow
            out[i] = lookup.above
        else:
            out[i] = lookup.table[value - lookup.least]


@kernel
def rank_bools(column: Any, if_false: Any, if_true: Any, out: Any) -> None:
    """Ranks of a column of bools, which Arrow keeps as bits."""
    for i in range(len(out)):
        at = column.offset + i
        if not is_there(column, at):
            out[i] = 0
        else:
            out[i] = if_true if (column.values[at >> 3] >> (at & 7)) & 1 else if_false


@kernel
def rank_presence(column: Any, if_present: Any, out: Any) -> None:
    """One rank for whatever is there."""
    for i in range(len(out)):
        out[i] = if_present if is_there(column, column.offset + i) else 0


@kernel
def rank_codes(column: Any, table: Any, out: Any) -> None:
    """Ranks of a dictionary-encoded column, from the ranks of its dictionary."""
    for i in range(len(out)):
        at = column.offset + i
        out[i] = table[column.values[at]] if is_there(column, at) else 0


@inlined
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


@inlined
def same_text(left: Any, i: int, right: Any, j: int, length: int) -> Any:
    """Whether two runs of bytes are equal."""
    if length < 8:
        for k in range(length):  # noqa: SIM110 - compiled code has no generators
            if left[i + k] != right[j + k]:
                return False
        return True
    k = 0
    while k + 8 <= length:
        if load_word(left, i + k) != load_word(right, j + k):
            return False
        k += 8
    return load_word(left, i + length - 8) == load_word(right, j + length - 8)


@inlined
def is_less(left: Any, i: int, left_length: int, right: Any, j: int, right_length: int) -> Any:
    """Order of bytes, which in UTF-8 is the order of code points."""
    shorter = min(left_length, right_length)
    for k in range(shorter):
        if left[i + k] != right[j + k]:
            return left[i + k] < right[j + k]
    return left_length < right_length


@inlined
def word_at(data: Any, start: Any, length: Any) -> Any:
    """The first eight bytes of a text as a number that is ordered like the text; zeros where it is shorter."""
    word = np.uint64(0)
    if start + 8 <= len(data):
        word = swap_bytes(load_word(data, start))
        if length >= 8:
            return word
        return word & ~(~np.uint64(0) >> np.uint64(8 * length))
    for k in range(8):
        word = word << np.uint64(8)
        if k < length:
            word |= np.uint64(data[start + k])
    return word


@inlined
def words_below(words: Any, wanted: Any, or_equal: bool) -> Any:
    """How many of ascending numbers are below the wanted one, or equal to it."""
    low = 0
    high = len(words)
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < wanted or (or_equal and words[middle] == wanted):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def fill_table(offsets: Any, data: Any, table: Any) -> None:
    """A hash table over texts: open addressing, a power of two of slots, -1 where empty."""
    mask = np.uint64(len(table) - 1)
    for i in range(len(offsets) - 1):
        slot = hash_text(data, offsets[i], offsets[i + 1] - offsets[i]) & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = i


@inlined
def text_at(column: Any, at: Any) -> Any:
    """Where a text of a column of strings starts in its data, and how long it is."""
    start = column.values[at]
    return start, column.values[at + 1] - start


@inlined
def rank_between(texts: Any, data: Any, start: Any, length: Any) -> Any:
    """The rank of a text that no constant equals."""
    if len(texts.bounds) == 0:
        return texts.unknown
    low = 0
    high = len(texts.bounds)
    first = texts.offsets[texts.bounds[0]]
    if length >= texts.shared and same_text(texts.data, first, data, start, texts.shared):
        word = word_at(data, start + texts.shared, length - texts.shared)
        low = words_below(texts.words, word, False)
        if low < len(texts.words) and texts.words[low] == word:
            high = words_below(texts.words, word, True)
        else:
            high = low
    while low < high:
        middle = (low + high) >> 1
        bound = texts.bounds[middle]
        begin = texts.offsets[bound]
        if is_less(texts.data, begin, texts.offsets[bound + 1] - begin, data, start, length):
            low = middle + 1
        else:
            high = middle
    place = texts.bounds[low] if low < len(texts.bounds) else len(texts.offsets) - 1
    return texts.base + 2 * place


@inlined
def rank_text(texts: Any, data: Any, start: Any, length: Any) -> Any:
    """The rank of a text."""
    mask = np.uint64(len(texts.table) - 1)
    slot = hash_text(data, start, length) & mask
    while texts.table[slot] >= 0:
        known = texts.table[slot]
        begin = texts.offsets[known]
        if texts.offsets[known + 1] - begin == length and same_text(texts.data, begin, data, start, length):
            return texts.base + 1 + 2 * known
        slot = (slot + np.uint64(1)) & mask
    return rank_between(texts, data, start, length)


@kernel
def rank_texts(column: Any, texts: Any, out: Any) -> None:
    """Ranks of a column of strings."""
    for i in range(len(out)):
        at = column.offset + i
        out[i] = 0
        if is_there(column, at):
            start, length = text_at(column, at)
            out[i] = rank_text(texts, column.data, start, length)
