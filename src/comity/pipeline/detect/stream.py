"""Composite profiles on a stream on Spark: each report once, across restarts and changes of profiles.

A batch of files is one job: workers read it, detect it together with what is kept of earlier ones, and write what is
published under its number: reports in `reports`, records that are no events in `rejected`, events that came too late in
`late`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from comity.connect.folder import LATE, REJECTED, publish_batch
from comity.event.taxonomy import Taxonomy
from comity.event.window import Window
from comity.pattern.bound import BoundPattern
from comity.pattern.bounds import check_bounded
from comity.pipeline.batches import FileStream
from comity.pipeline.detect.batches import PatternBatches
from comity.pipeline.detect.patterns import SparkPatterns
from comity.pipeline.detect.pieces import parcels_of
from comity.pipeline.detect.run import patterns_over
from comity.pipeline.detect.taking import Extracting
from comity.pipeline.detect.telling import ReportWriter, tell
from comity.pipeline.failure import letting_go
from comity.pipeline.laps import Laps
from comity.pipeline.read import Inputs
from comity.plan.stages import Summary

REPORTS_FOLDER = "reports"


@dataclass
class DetectStream(FileStream):
    """Patterns on a stream."""

    patterns: Callable[[], Sequence[BoundPattern]]
    """Those of now: they may change from batch to batch."""
    lateness_us: int = field(kw_only=True)
    taxonomy: Taxonomy | None = field(default=None, kw_only=True)
    start_us: int | None = field(default=None, kw_only=True)
    """Where traces start; without it, with the first event."""
    buckets: int | None = field(default=None, kw_only=True)
    compiled: bool = field(default=True, kw_only=True)
    _prepared: SparkPatterns | None = field(default=None, init=False)

    def check_notes(self) -> int | None:
        check_bounded(self.patterns())
        self._pattern_batches.states.check()
        return self._pattern_batches.states.last_batch

    def _take(self, spark: SparkSession, inputs: Inputs, number: int, work: Path, laps: Laps) -> Summary:
        batches, patterns = self._pattern_batches, self._patterns_of_now(spark)
        before = batches.before(number, spark)
        patterns.compiled = before.compiled
        how = Extracting(before.buckets, Window.around(self.clock()), before.watermark)
        detection = batches.detection(number, before, patterns.shared)
        known, targets = batches.told_at_ends(number), self._pattern_targets(patterns)
        writer = ReportWriter(str(work), self.results, patterns.names, targets, known)
        told = tell(parcels_of(inputs, patterns.shared, how, spark), patterns.worker(detection), writer)
        laps.end("detect")
        for line in told.faults:
            self.quarantine.take(number, line)
        batches.save(number, detection, told.seen)
        is_again = self._is_again(number)
        publish_batch(told.staged, self.out, self._targets(at_end=False), self.results, number, is_again=is_again)
        batches.states.forget_before(number)
        laps.end("publish")
        reasons, delivered = told.reasons, told.delivered
        return Summary(
            told.seen.events + told.seen.rejected,
            reasons.total,
            {name: delivered[name] for name in patterns.names},
            told.late,
            rejected_by_code=dict(reasons.counts),
            rejected_examples=reasons.examples,
        )

    def _targets(self, at_end: bool) -> Sequence[str]:
        return (REPORTS_FOLDER,) if at_end else (REPORTS_FOLDER, REJECTED, LATE)

    def _pattern_targets(self, patterns: SparkPatterns) -> tuple[str, ...]:
        return (REPORTS_FOLDER,) * len(patterns.patterns)

    @property
    def _pattern_batches(self) -> PatternBatches:
        return PatternBatches(self.out, self.lateness_us, self.start_us, self.buckets, self.compiled)

    def _patterns_of_now(self, spark: SparkSession) -> SparkPatterns:
        """The patterns as Spark has them; prepared anew only when they changed."""
        patterns = self.patterns()
        check_bounded(patterns)
        if self._prepared is None or list(self._prepared.patterns) != list(patterns):
            self._let_go()
            self._prepared = patterns_over(patterns, self.taxonomy, spark)
        return self._prepared

    def _let_go(self) -> None:
        if self._prepared is not None:
            with letting_go():
                self._prepared.close()
            self._prepared = None
