"""From the lanes that the scanner fills straight to ranks, without columns of Arrow between.

What the arrays are: `values` and `valid` are a lane, by row; where `valid` is 0 the value is whatever was there before.
Texts are places in `data`, or in `arena`, as in `event/scan/kernels/copy.py`. `scale` and `texts` are those of
`ranks.Ranking`; `out` takes one rank for each row.
"""

from __future__ import annotations

from typing import Any

from comity.compiled import kernel
from comity.match.kernels.ranks import rank_number, rank_text

_LENGTH = (1 << 32) - 1
_PLACE = (1 << 31) - 1


@kernel
def rank_lane_numbers(values: Any, valid: Any, scale: Any, out: Any) -> None:
    """Ranks of a lane of floats."""
    for row in range(len(out)):
        value = values[row]
        out[row] = rank_number(value, scale) if valid[row] != 0 and value == value else 0


@kernel
def rank_lane_texts(spans: Any, valid: Any, data: Any, arena: Any, texts: Any, out: Any) -> None:
    """Ranks of a lane of texts."""
    for row in range(len(out)):
        span = spans[row]
        length = span & _LENGTH
        start = (span >> 32) & _PLACE
        if valid[row] == 0:
            out[row] = 0
        elif span < 0:
            out[row] = rank_text(texts, arena, start, length)
        else:
            out[row] = rank_text(texts, data, start, length)
