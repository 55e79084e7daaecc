"""Which rows follow one of some others closely enough: what many patterns share is handed to each of them sparingly."""

from __future__ import annotations

from typing import Any

from comity.compiled import kernel


@kernel
def rows_in_windows(
    keys: Any, times: Any, begin: int, end: int, anchor_keys: Any, anchor_times: Any, least: int, most: int, out: Any
) -> int:
    """The rows from `begin` to `end`, by key and time, that are `least` to `most` after an anchor of their key.

    `keys` and `times` are by row, `anchor_keys` and `anchor_times` by anchor; keys are numbers of correlation keys,
    times and distances microseconds. Rows and anchors are ordered by key, then time, so where the rows of an anchor
    begin is never before where those of the anchor before began, and `cursor` goes forward only: a row that follows
    several anchors is written once, and `out` has room for all rows. Anchors may be far apart, hence the bisection.
    Gives how many rows were written to `out`.
    """
    count = 0
    cursor = begin
    for anchor in range(len(anchor_keys)):
        key, time = anchor_keys[anchor], anchor_times[anchor]
        low, high = cursor, end
        while low < high:
            middle = (low + high) // 2
            if keys[middle] < key or (keys[middle] == key and times[middle] - time < least):
                low = middle + 1
            else:
                high = middle
        cursor = low
        while cursor < end and keys[cursor] == key and times[cursor] - time <= most:
            out[count] = cursor
            count += 1
            cursor += 1
    return count
