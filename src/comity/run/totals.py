"""What a stream did so far."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from comity.event.reasons import ReasonCounts

if TYPE_CHECKING:
    from comity.plan import Summary


@dataclass(slots=True)
class StreamTotals:
    """The batches added up."""

    started: float = field(default_factory=time.monotonic)
    batches: int = 0
    records: int = 0
    rejected: int = 0
    late: int = 0
    matched: int = 0
    delivered: Counter[str] = field(default_factory=Counter)
    reasons: ReasonCounts = field(default_factory=ReasonCounts)

    def started_now(self) -> None:
        """Time counts from now on."""
        self.started = time.monotonic()

    def take(self, summary: Summary) -> None:
        """Add a batch."""
        self.batches += 1
        self.records += summary.records
        self.rejected += summary.rejected
        self.late += summary.late
        self.matched += summary.matched
        self.reasons.add(summary.rejected_by_code, summary.rejected_examples)
        self.delivered.update(summary.delivered)

    def end(self, summary: Summary) -> None:
        """Add what was reported because the stream ended."""
        self.delivered.update(summary.delivered)

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self.started

    @property
    def is_all_rejected(self) -> bool:
        """Whether there were records, and every one was rejected."""
        return 0 < self.records <= self.rejected and not self.matched
