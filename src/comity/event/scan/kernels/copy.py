"""From the places of strings, as the scanner keeps them, to the offsets and bytes of Arrow's columns.

`spans` is a lane, by row: `start << 32 | length`, with the sign bit set when the string stands in `arena` and not in
`data`. `valid` is by row, and read only if the lane has nulls: where it is 0, the span is whatever was there before,
and must not be believed. `offsets` are Arrow's, one more than rows. Both passes are needed: the size is known when all
is measured.
"""

from __future__ import annotations

from typing import Any

from comity.compiled import inlined, kernel
from comity.event.scan.kernels.lines import IN_ARENA
from comity.event.scan.kernels.operations import copy_32

_LENGTH = (1 << 32) - 1


@kernel
def measure_texts(spans: Any, valid: Any, has_nulls: Any, offsets: Any) -> Any:
    """Fills the offsets of a column of strings; gives its size in bytes."""
    size = 0
    for row in range(len(spans)):
        offsets[row] = size
        if not has_nulls or valid[row] != 0:
            size += spans[row] & _LENGTH
    offsets[len(spans)] = size
    return size


@inlined
def copy_text(source: Any, start: Any, length: Any, out: Any, at: Any) -> None:
    """Copies bytes; `out` has room for 32 more."""
    done = 0
    if start + length + 32 <= len(source):  # else a block would be read from behind the source
        while done < length:
            copy_32(source, start + done, out, at + done)
            done += 32
    while done < length:
        out[at + done] = source[start + done]
        done += 1


@kernel
def copy_texts(spans: Any, offsets: Any, data: Any, arena: Any, out: Any) -> None:
    """Fills the bytes of a column of strings; `out` is 32 bytes longer than they are."""
    for row in range(len(spans)):
        length = offsets[row + 1] - offsets[row]
        if length == 0:
            continue
        start = (spans[row] & ~IN_ARENA) >> 32
        if spans[row] < 0:
            copy_text(arena, start, length, out, offsets[row])
        else:
            copy_text(data, start, length, out, offsets[row])
