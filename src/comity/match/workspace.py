"""Buffers that kernels write into: one set for each thread, kept from call to call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from comity.match.access import LEVELS
from comity.match.buckets import MAX_CHANNELS
from comity.match.channels import Ints
from comity.match.kernels.arrays import Postings
from comity.match.kernels.events import match_events
from comity.match.kernels.tiles import BLOCK, DIGIT, STRIDE, gather_pairs, match_block

Offsets = npt.NDArray[np.int64]

SMALL_BATCH = 256
"""Events from which on tiles are faster than one event after the other."""


class _Tile(NamedTuple):
    """What matching a block needs."""

    columns: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.uint32]
    own: Ints
    order: Ints
    key: Ints
    order2: Ints
    key2: Ints
    digits: Ints
    sorted_columns: npt.NDArray[np.uint8]
    bucket_from: npt.NDArray[np.uint64]
    pair_event: npt.NDArray[np.uint16]
    pair_target: Ints


class Workspace:
    """The buffers for indexes with so many channels."""

    def __init__(self, channels: int) -> None:
        self._channels = channels
        self._inline = min(channels, MAX_CHANNELS)
        self._out = np.empty(1 << 12, np.int32)
        self._own = np.zeros(channels, np.int32)
        self._buckets = np.zeros(max(self._inline, 32), np.uint32)
        self._begins = np.zeros(channels * (LEVELS + 1), np.uint32)
        self._ends = np.zeros(channels * (LEVELS + 1), np.uint32)
        self._tile: _Tile | None = None

    def match(self, index: Postings, ranks: Ints) -> tuple[Offsets, Ints]:
        """Offsets and targets; the targets are good until the next call."""
        offsets = np.zeros(ranks.shape[1] + 1, np.int64)
        if ranks.shape[1] < SMALL_BATCH:
            count = self._match_events(index, ranks, offsets)
        else:
            count = self._match_tiles(index, ranks, offsets)
        return offsets, self._out[:count]

    def _match_events(self, index: Postings, ranks: Ints, offsets: Offsets) -> int:
        event = position = 0
        while True:
            count: int = match_events(
                *(index, ranks, event, position, offsets, self._out),
                *(self._own, self._buckets, self._begins, self._ends),
            )
            if count >= 0:
                return count
            event = -count - 1
            position = int(offsets[event])
            self._grow(2 * len(self._out), position)

    def _match_tiles(self, index: Postings, ranks: Ints, offsets: Offsets) -> int:
        tile = self._tile = self._tile or self._new_tile(1 << 16)
        events = ranks.shape[1]
        for start in range(0, events, BLOCK):
            count = min(BLOCK, events - start)
            while (pairs := match_block(index, ranks, start, count, tile)) < 0:
                tile = self._tile = self._with_more_pairs(tile)
            used = int(offsets[start])
            if used + pairs > len(self._out):
                self._grow(2 * (used + pairs), used)
            gather_pairs(tile, pairs, start, count, offsets, self._out)
        return int(offsets[events])

    def _grow(self, size: int, used: int) -> None:
        larger = np.empty(size, np.int32)
        larger[:used] = self._out[:used]
        self._out = larger

    def _new_tile(self, pairs: int) -> _Tile:
        def places() -> Ints:
            return np.zeros(BLOCK + 1, np.int32)

        return _Tile(
            np.zeros((self._inline, BLOCK), np.uint8),
            np.zeros((BLOCK, max(self._inline, 32)), np.uint32),
            np.zeros((BLOCK, self._channels), np.int32),
            *(places(), places(), places(), places(), np.zeros(DIGIT, np.int32)),
            np.zeros(256 * STRIDE if self._inline == MAX_CHANNELS else (self._inline + 1) * STRIDE, np.uint8),
            np.zeros(257, np.uint64),
            np.empty(pairs, np.uint16),
            np.empty(pairs, np.int32),
        )

    def _with_more_pairs(self, tile: _Tile) -> _Tile:
        size = 2 * len(tile.pair_target)
        return tile._replace(pair_event=np.empty(size, np.uint16), pair_target=np.empty(size, np.int32))
