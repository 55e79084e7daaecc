"""How often predicates hold, estimated from a sample of events. Estimates never change results, only speed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from comity.match.channels import Ints
from comity.match.predicates import Predicates

Floats = npt.NDArray[np.float64]


class Sample:
    """The ranks of some events, sorted, for each channel; without events every rank counts as equally frequent."""

    def __init__(self, sizes: list[int], ranks: Ints | None) -> None:
        self.sizes = sizes
        self._sorted = None if ranks is None or ranks.shape[1] == 0 else np.sort(ranks, axis=1)

    def ranks(self, channel: int) -> Ints | None:
        """The sorted ranks that occurred in a channel."""
        return None if self._sorted is None else self._sorted[channel]

    def share(self, channel: int, low: Ints, high: Ints) -> Floats:
        """The share of events whose rank lies in each interval."""
        if self._sorted is None:
            uniform: Floats = (high - low + 1) / self.sizes[channel]
            return uniform
        ranks = self._sorted[channel]
        count = np.searchsorted(ranks, high, "right") - np.searchsorted(ranks, low, "left")
        found: Floats = np.maximum(count, 0.3) / len(ranks)
        return found


def selectivity(table: Predicates, sample: Sample) -> Floats:
    """The estimated share of events for which each predicate holds."""
    share = np.zeros(len(table.low))
    of_interval = np.repeat(table.channel, np.diff(table.starts))
    for channel in range(len(table.layouts)):
        here = np.flatnonzero(of_interval == channel)
        share[here] = sample.share(channel, table.low[here], table.high[here])
    inside = np.add.reduceat(share, table.starts[:-1]) if table.count else share
    return np.clip(np.where(table.outside, 1.0 - inside, inside), 1e-9, 1.0)
