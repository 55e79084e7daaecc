"""Buckets: the ranks of a channel thinned out to at most 254, so that a predicate fits four bytes and 64 events fit one
register.

An atom in buckets is `channel | low << 8 | span << 16 | flags << 24`: it passes when (bucket - low) mod 256 <= span.
Where an end of the interval falls inside a bucket, the answer for that bucket is not certain, which a flag says; then
the exact ranks decide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comity.match.channels import Ints
from comity.match.selectivity import Sample

Longs = npt.NDArray[np.int64]

MAX_BUCKETS = 254
MAX_CHANNELS = 255
"""Channels that atoms can name; those beyond are always compared by their ranks."""
AT_LOW, AT_HIGH, HAS_MORE = 1, 2, 4
NEVER = 200 << 8
"""An atom that never passes: channel 0 has the same bucket for all events, and it is not this one."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """`table[start[channel] + rank]` is the bucket; `edges[channel]` are the least rank of each bucket, and the end."""

    table: npt.NDArray[np.uint8]
    start: Longs
    edges: list[Longs]

    @classmethod
    def of(cls, sample: Sample) -> Buckets:
        """Buckets that hold about equally many events each."""
        edges = [_edges(size, sample.ranks(channel)) for channel, size in enumerate(sample.sizes[:MAX_CHANNELS])]
        tables = [np.repeat(np.arange(len(e) - 1), np.diff(e)).astype(np.uint8) for e in edges]
        start = np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
        return cls(np.concatenate(tables), start, edges)

    def atoms(self, channel: Ints, low: Longs, high: Longs, outside: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint32]:
        """The packed atoms of intervals of ranks, or, where `outside`, of what lies outside of them."""
        at_low, at_high = self._bucket(channel, low), self._bucket(channel, high)
        cut_low, cut_high = np.zeros(len(low), bool), np.zeros(len(low), bool)
        for number, edges in enumerate(self.edges):
            here = np.flatnonzero(channel == number)
            cut_low[here] = edges[at_low[here]] != low[here]
            cut_high[here] = edges[at_high[here] + 1] != high[here] + 1
        first = np.where(outside, np.where(cut_high, at_high, at_high + 1), at_low)
        last = np.where(outside, np.where(cut_low, at_low, at_low - 1), at_high)
        flag_low, flag_high = np.where(outside, cut_high, cut_low), np.where(outside, cut_low, cut_high)
        one_bucket = outside & cut_low & cut_high & (at_low == at_high)  # all pass, those of this bucket perhaps
        span = np.where(one_bucket, 255, (last - first) & 255)
        flags = flag_low * AT_LOW + (flag_high & ~one_bucket) * AT_HIGH
        packed = channel.astype(np.int64) | (first & 255) << 8 | span << 16 | flags << 24
        found: npt.NDArray[np.uint32] = packed.astype(np.uint32)
        return found

    def _bucket(self, channel: Ints, rank: Longs) -> Longs:
        found: Longs = self.table[self.start[channel] + rank].astype(np.int64)
        return found


def _edges(size: int, ranks: Ints | None) -> Longs:
    """Where buckets begin, rank 0 (missing) alone in one, frequent ranks too; the size of the channel at the end."""
    if size <= MAX_BUCKETS:
        return np.arange(size + 1)
    alone = [0, 1]
    if ranks is not None:
        values, counts = np.unique(ranks, return_counts=True)
        many = counts > len(ranks) / MAX_BUCKETS
        frequent = values[many][np.argsort(-counts[many])][:100]
        alone = sorted({*alone, *frequent.tolist(), *(frequent + 1).tolist()})
    left = MAX_BUCKETS - len(alone)
    present = ranks[np.searchsorted(ranks, 1) :].astype(np.int64) if ranks is not None else np.zeros(0, np.int64)
    if len(present) == 0:
        present = np.arange(size)
    cuts = present[np.linspace(0, len(present) - 1, left).astype(np.int64)]
    edges = np.unique(np.concatenate([alone, cuts]))
    return np.concatenate([edges[edges < size], [size]])
