"""`comity run --stream`: a federation over a growing folder of events."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from comity.cli.failure import show
from comity.cli.output import console, write_json
from comity.cli.session import Format, Session
from comity.cli.spark import start_spark
from comity.errors import ComityError

if TYPE_CHECKING:
    from comity.plan import Summary


@dataclass(slots=True)
class StreamFigures:
    """What a stream did so far."""

    format: Format
    started: float = field(default_factory=time.monotonic)
    batches: int = 0
    rejected: int = 0
    delivered: dict[str, int] = field(default_factory=dict)

    def take(self, number: int, summary: Summary) -> None:
        """Count a batch, and say what it did."""
        self.batches += 1
        self.rejected += summary.rejected
        for name, count in summary.delivered.items():
            self.delivered[name] = self.delivered.get(name, 0) + count
        if self.format is Format.JSON:
            write_json({"batch": number, "rejected": summary.rejected, "delivered": summary.delivered})
        else:
            told = ", ".join(f"{name} {count:,}" for name, count in sorted(summary.delivered.items())) or "nothing new"
            rejected = f", {summary.rejected:,} rejected" if summary.rejected else ""
            console().print(f"batch {number}: {told}{rejected}")
            sys.stdout.flush()

    def close(self) -> None:
        """Say what it did in all."""
        seconds = time.monotonic() - self.started
        if self.format is Format.JSON:
            totals = {"batches": self.batches, "rejected": self.rejected, "delivered": self.delivered}
            write_json({**totals, "seconds": round(seconds, 3)})
        else:
            total = sum(self.delivered.values())
            console().print(
                f"{self.batches:,} batches, {total:,} notifications, {self.rejected:,} rejected, {seconds:.1f} s"
            )


def run_stream(
    federation: Path,
    events: Path,
    out: Path,
    *,
    master: str | None,
    trigger_s: float,
    until_empty: bool,
    files_per_batch: int,
    format: Format,
    session: Session,
) -> None:
    """Deliver until interrupted, or until nothing new is there. The next call on the same folder goes on from here."""
    from comity.federation.watch import WatchedFederation
    from comity.pipeline.failure import spark_failures
    from comity.pipeline.stream import StreamRun

    def report_fault(error: ComityError) -> None:
        show([error], format)

    watched = WatchedFederation(federation, report_fault)
    watched.current()
    spark = start_spark(session, master)
    figures = StreamFigures(format)
    stream = StreamRun(watched, out, figures.take)
    query = stream.start(spark, events, trigger_s=trigger_s, until_empty=until_empty, files_per_batch=files_per_batch)
    try:
        with spark_failures():
            query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()
        if format is Format.TEXT:
            console(stderr=True).print("stopped; the same command goes on from here", style="dim")
    figures.close()
