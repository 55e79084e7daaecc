"""From the filters that match events to the tables in which they stand.

What the arrays are: the filters of event e are `ids[offsets[e]:offsets[e + 1]]`; row f of `places` has a bit for each
table that holds filter f, 64 to a word. What holds: a row of `out` is zero before, and then has a bit for each table
that holds any filter of the event. Work grows with matches times words, and not with filters.
"""

from __future__ import annotations

from typing import Any

from comity.compiled import kernel


@kernel
def spread(offsets: Any, ids: Any, places: Any, first: int, out: Any) -> None:
    """Writes the tables of the events from `first` on, as many as `out` has rows."""
    for event in range(out.shape[0]):
        for i in range(offsets[first + event], offsets[first + event + 1]):
            row = ids[i]
            for word in range(out.shape[1]):
                out[event, word] |= places[row, word]
