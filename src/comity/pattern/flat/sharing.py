"""Candidates that many flat patterns share, handed to each as far as it can use them.

A framed sequence needs of its later steps only what follows an event of its first step within the frame. Where a step
is shared by many patterns, most of its events are of no use to most of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comity.pattern.flat.detect import FlatPattern
from comity.pattern.flat.kernels.layout import MOST_OPERANDS
from comity.pattern.flat.kernels.windows import rows_in_windows
from comity.pattern.sharing import Asked

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Use:
    """An operand of a pattern that gets candidates."""

    pattern: int
    operand: int
    opener: int | None
    """The operand without which it is of no use: the first step of a framed sequence; None if there is no such one."""
    least_us: int
    """How long after its opener it is of use: from once it is later, or with a tie-break from the same time on …"""
    within_us: int
    """… to the end of the frame."""


def use_of(number: int, operand: int, flat: FlatPattern) -> Use:
    """How an operand of a flat pattern uses its candidates."""
    has_frame = flat.within_us >= 0 and (len(flat.steps) == 1 or not flat.gaps or not flat.gaps[-1])
    is_led = flat.kind == "sequence" and operand != flat.steps[0] and not (flat.gaps and flat.gaps[0])
    opener = flat.steps[0] if has_frame and is_led else None
    return Use(number, operand, opener, 0 if flat.has_ties else 1, flat.within_us)


@dataclass(slots=True)
class Shared:
    """The candidates of one call, by the operand that they were asked for."""

    state: pa.Table
    candidates: pa.Table
    owners: Mapping[Asked, Asked]
    """By operand, the one that its candidates are asked for."""
    upto: int | None
    by_asked: dict[Asked, Longs] = field(init=False)
    """All rows, by what they were asked for."""
    _keys: Longs | None = field(default=None, init=False)
    _state_keys: Longs | None = field(default=None, init=False)
    _sorted: dict[Asked, tuple[Longs, Longs, Longs, Longs]] = field(default_factory=dict, init=False)
    _openers: dict[tuple[int, int], tuple[Longs, Longs]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        codes = _numpy(self.candidates, "pattern").astype(np.int64) * MOST_OPERANDS + _numpy(self.candidates, "operand")
        order = np.argsort(codes, kind="stable")
        found, begins = np.unique(codes[order], return_index=True)
        parts = np.split(order, begins[1:])
        self.by_asked = {divmod(code, MOST_OPERANDS): rows for code, rows in zip(found.tolist(), parts)}

    def rows_for(self, asked: Asked, use: Use) -> Longs:
        """Those that one of its users can use; later ones wait, since what they follow may still come."""
        rows, keys, times, waiting = self._ordered(asked)
        if use.opener is None:
            return np.concatenate([rows, waiting])
        out = np.empty(len(rows), np.int64)
        anchors = self._anchors(use)
        count = rows_in_windows(keys, times, 0, len(rows), *anchors, use.least_us, use.within_us, out)
        return np.concatenate([rows[out[:count]], waiting])

    def _ordered(self, asked: Asked) -> tuple[Longs, Longs, Longs, Longs]:
        """The rows by key and time, their keys and times, and the rows whose time is not complete."""
        if asked not in self._sorted:
            rows = self.by_asked.get(asked, np.zeros(0, np.int64))
            keys, times = self._codes()[0][rows], _numpy(self.candidates, "time")[rows]
            is_due = np.ones(len(rows), bool) if self.upto is None else times <= self.upto
            waiting, rows, keys, times = rows[~is_due], rows[is_due], keys[is_due], times[is_due]
            order = np.lexsort((times, keys))
            self._sorted[asked] = rows[order], keys[order], times[order], waiting
        return self._sorted[asked]

    def _anchors(self, use: Use) -> tuple[Longs, Longs]:
        """The keys and times of the events of a pattern's first step, kept and new."""
        assert use.opener is not None, "others have no anchors"
        found = self._openers.get((use.pattern, use.opener))
        if found is None:
            kept = _numpy(self.state, "pattern") == use.pattern
            kept &= (_numpy(self.state, "mask") >> use.opener) & 1 == 1
            _, keys, times, _ = self._ordered(self.owners[use.pattern, use.opener])
            keys = np.concatenate([self._codes()[1][kept], keys])
            times = np.concatenate([_numpy(self.state, "time")[kept], times])
            order = np.lexsort((times, keys))
            found = self._openers[use.pattern, use.opener] = keys[order], times[order]
        return found

    def _codes(self) -> tuple[Longs, Longs]:
        """Numbers for the keys of candidates, and of the state."""
        if self._keys is None or self._state_keys is None:
            column = pa.chunked_array([*self.candidates.column("key").chunks, *self.state.column("key").chunks])
            codes = column.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
            self._keys, self._state_keys = codes[: self.candidates.num_rows], codes[self.candidates.num_rows :]
        return self._keys, self._state_keys


def _numpy(table: pa.Table, name: str) -> Longs:
    return np.asarray(table.column(name).to_numpy())
