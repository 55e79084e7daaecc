"""What happens to a batch of a stream when its results are published: they are sent, counted, logged, and told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from comity.run.metrics import MetricsOutput
from comity.run.observer import Observer
from comity.run.sinks import log_summary, sent
from comity.run.totals import StreamTotals

if TYPE_CHECKING:
    from comity.connect.delivered import DeliveredSize
    from comity.connect.outbox import Outbox
    from comity.federation import Federation
    from comity.plan import Summary


@dataclass(slots=True)
class Accounts:
    """Takes batches, and the end of the stream; the outbox has the priorities that the federation has by then."""

    outbox: Outbox | None
    federation: Callable[[], Federation]
    observer: Observer
    measured: MetricsOutput
    remembered: Callable[[], DeliveredSize] | None = None
    """What is remembered as delivered, for the metrics."""
    totals: StreamTotals = field(default_factory=StreamTotals)

    def take(self, number: int, summary: Summary) -> None:
        """A batch was published."""
        if self.outbox is not None:
            self.outbox.priorities = self.federation().priorities()
        done = sent(self.outbox, summary)
        log_summary("batch done", done, batch=number, seconds=round(sum(done.seconds.values()), 3))
        self.measured.take(done, lag_s=done.lag_s, remembered=self.remembered)
        self.totals.take(done)
        self.observer.batch_done(number, done, self.totals)

    def end(self, number: int, summary: Summary) -> None:
        """What the end of the stream decided was published."""
        done = sent(self.outbox, summary)
        log_summary("stream ended", done, batch=number)
        self.totals.end(done)
        self.observer.ended(done)

    def start(self) -> None:
        """Send what a run that was killed had published but not sent, and count from now on."""
        self.totals.started_now()
        self.observer.started()
        if self.outbox is not None:
            self.outbox.send()

    def stop(self) -> None:
        """Let go of sinks: one that is down would hold the stop until its retries are over."""
        self.observer.stopping()
        if self.outbox is not None:
            self.outbox.stop()
