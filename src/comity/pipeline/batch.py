"""One batch of events, the same for stored events and for streams: match, mediate and observe, deduplicate, stage.

A stored run is one batch; a stream is one after the other, with numbers and with identities that are remembered. What
becomes of the outcomes is the caller's: a batch hands them over as a DataFrame. Rows in doubt are matched in a second
pass, which counts as the first one does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from comity.event.window import Window
from comity.pattern.occurrence import microseconds
from comity.pipeline.deliver import Together, is_wanted, observe_hits, once_each
from comity.pipeline.detect.seen import Extracted
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Tables

Write = Callable[[DataFrame, str], None]
"""Writes outcomes somewhere, in one of Spark's modes: `overwrite`, or `append` for more of the same batch."""


@dataclass(frozen=True, slots=True)
class BatchFigures:
    """What passed by in a batch."""

    records: int = 0
    doubtful: int = 0
    matched: int = 0
    late: int = 0
    newest: datetime | None = None
    """The time of the newest event that somebody wants."""
    times: tuple[int, ...] = ()
    """Those of the first and the last event that came as lines or was decoded, wanted or not, in microseconds."""

    def with_doubtful(self, decoded: BatchFigures) -> BatchFigures:
        """The same after the rows in doubt were decoded; as records these were counted when they were read."""
        times = [time for time in (self.newest, decoded.newest) if time is not None]
        return replace(
            self,
            matched=self.matched + decoded.matched,
            late=self.late + decoded.late,
            newest=max(times, default=None),
            times=self.times + decoded.times,
        )


Detect = Callable[[DataFrame, Extracted], None]
"""Takes all hits of a batch, worked out already, and from when to when there were events, to see what patterns make of
them."""


@dataclass(frozen=True, slots=True)
class PlanBatch:
    """What is to be carried out of a plan."""

    prepared: PreparedPlan
    tables: Tables
    window: Window
    detect: Detect | None = None
    """None when the plan has no patterns."""
    late_before: datetime | None = None
    together: Together = once_each

    def stage(self, write: Write) -> BatchFigures:
        """Hand the outcomes to `write`, and then the hits to the patterns."""
        with ExitStack() as kept:
            tables = self.tables.counting()
            hits = self._worked_out_once(self.prepared.hits(tables, self.window), kept)
            figures = self._write(hits, write, "overwrite")
            if figures.doubtful:
                more = self._worked_out_once(self.prepared.doubtful_hits(self.tables, self.window), kept)
                figures = figures.with_doubtful(self._write(more, write, "append"))
                hits = hits.unionByName(more, allowMissingColumns=True)
            figures = replace(figures, records=figures.records + tables.records)
            if self.detect is not None:
                self.detect(hits, self.extracted(figures))
        return figures

    def _worked_out_once(self, hits: DataFrame, kept: ExitStack) -> DataFrame:
        """Hits that are looked at twice if there are patterns."""
        if self.detect is None:
            return hits
        found = hits.persist()
        kept.callback(found.unpersist)
        return found

    def extracted(self, figures: BatchFigures, *, is_exact: bool = True) -> Extracted:
        """From when to when there were events; if it need not be exact, those that somebody wants will do."""
        if not is_exact:
            newest = () if figures.newest is None else (microseconds(figures.newest),)
            return Extracted().with_times(*figures.times, *newest)
        times = self.prepared.row_times(self.tables, self.window, are_all_vouched=not figures.doubtful)
        return Extracted().with_times(*figures.times, *times)

    def _write(self, hits: DataFrame, write: Write, mode: str) -> BatchFigures:
        seen = Observation()
        time = F.col("time") if "time" in hits.columns else F.lit(None).cast("timestamp")
        is_late = F.lit(False) if self.late_before is None else time < F.lit(self.late_before)
        late = F.count(F.when(is_wanted() & is_late, True)).alias("late")
        newest = F.max(F.when(is_wanted(), time)).alias("newest")
        ends = [end(name).alias(name) for name, end in _ENDS.items() if name in hits.columns]
        observed = observe_hits(hits, seen, late, newest, *ends)
        write(self.prepared.outcomes(observed, self.together), mode)
        counted = seen.get
        moment = counted["newest"]
        return BatchFigures(
            int(counted["counted"]),
            int(counted["doubtful"]),
            int(counted["matched"]),
            int(counted["late"]),
            moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment,
            tuple(counted[name] for name in _ENDS if counted.get(name) is not None),
        )


_ENDS: Mapping[str, Callable[[str], Column]] = {"earliest": F.min, "latest": F.max}
