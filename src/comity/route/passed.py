"""Which events of a batch pass which filters, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comity.match.access import expand
from comity.match.channels import Ints
from comity.match.index import Matches

Rows = NDArray[np.int64]
"""Events by their place in the batch, ascending."""
NO_ROWS: Rows = np.zeros(0, np.int64)


class PassedFilters(NamedTuple):
    """The filters that the events in `rows` pass: of the one in `rows[e]` they are `numbers[offsets[e]:offsets[e+1]]`.

    >>> one = PassedFilters.of([2, 5], [[7], [7, 8]])
    >>> both = PassedFilters.joined([one, PassedFilters.of([3], [[9]])])
    >>> both.rows.tolist(), both.offsets.tolist(), both.numbers.tolist()
    ([2, 3, 5], [0, 1, 2, 4], [7, 9, 7, 8])
    """

    rows: Rows
    offsets: Rows
    numbers: Ints

    @classmethod
    def matched(cls, rows: Rows, matches: Matches) -> PassedFilters:
        """What an index found for the events in these rows."""
        return cls(rows, matches.offsets, matches.ids)

    @classmethod
    def of(cls, rows: Sequence[int], numbers: Sequence[Sequence[int]]) -> PassedFilters:
        """The numbers of the filters for each of these rows."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(list(map(len, numbers)), out=offsets[1:])
        return cls(np.array(rows, np.int64), offsets, np.array([n for own in numbers for n in own], np.int32))

    @classmethod
    def joined(cls, parts: Sequence[PassedFilters]) -> PassedFilters:
        """Those of different events, in the order of these."""
        if len(parts) <= 1:
            return parts[0] if parts else cls(NO_ROWS, np.zeros(1, np.int64), np.zeros(0, np.int32))
        rows, numbers = np.concatenate([part.rows for part in parts]), np.concatenate([part.numbers for part in parts])
        counts = np.concatenate([np.diff(part.offsets) for part in parts])
        begins, order = np.cumsum(counts) - counts, np.argsort(rows, kind="stable")
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(counts[order], out=offsets[1:])
        return cls(rows[order], offsets, numbers[expand(begins[order], counts[order])])


def rows_among(rows: Rows, size: int) -> Rows:
    """Rows of a batch of so many events, each once and ascending."""
    is_there = np.zeros(size, np.bool_)
    is_there[rows] = True
    return np.flatnonzero(is_there)
