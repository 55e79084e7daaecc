"""A look at the numbers that a scanner has read, in lanes of floats: `floats` and `valid` are by lane, then by row."""

from __future__ import annotations

from typing import Any

from comity.compiled import kernel


@kernel
def has_beyond(floats: Any, valid: Any, lanes: Any, count: int, bound: float) -> bool:
    """Whether any of the first values of some lanes of floats lies beyond a bound."""
    for at in range(len(lanes)):
        lane = lanes[at]
        for row in range(count):
            if valid[lane, row] != 0 and not -bound < floats[lane, row] < bound:
                return True
    return False
