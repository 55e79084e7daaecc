"""Composite profiles on a stream on Spark: each report once, across restarts and changes of profiles.

A batch of files is staged as candidates, detected together with what is kept of earlier ones, and published under its
number: reports in `reports`, records that are no events in `rejected`, events that came too late in `late`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from comity.connect.folder import LATE, REJECTED
from comity.event.taxonomy import Taxonomy
from comity.event.window import Window
from comity.pattern.bound import BoundPattern
from comity.pattern.bounds import check_bounded
from comity.pattern.rows import ReportRow
from comity.pipeline.batches import FileStream, Told
from comity.pipeline.detect.batches import PatternBatches, late_lines
from comity.pipeline.detect.extract import REFUSED, staged_lines
from comity.pipeline.detect.patterns import SparkPatterns
from comity.pipeline.detect.run import candidates_of, patterns_over
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
        batches, staged = self._pattern_batches, work / "candidates"
        before = batches.before(number, spark)
        patterns = self._patterns_of_now(spark)
        patterns.compiled = before.compiled
        window = Window.around(self.clock())
        seen = candidates_of(patterns).stage(inputs, str(staged), before.buckets, window, before.watermark)
        laps.end("match")
        files = batches.detect(number, before, seen, staged, patterns.shared, spark)
        laps.end("detect")
        told = batches.told_at_ends(number)
        found = (one for one in patterns.found(files) if one.id not in told)
        summary = self._publish(number, self._told_of(staged, found))
        batches.states.forget_before(number)
        laps.end("publish")
        counts = {one.name: summary.delivered.get(one.name, 0) for one in patterns.patterns}
        return replace(summary, records=seen.events + seen.rejected, delivered=counts)

    def _told_of(self, staged: Path, found: Iterable[ReportRow]) -> Iterator[Told]:
        yield from self._notifications(found)
        for line in staged_lines(str(staged), REFUSED):
            yield REJECTED, None, line.encode()
        for event in late_lines(staged):
            yield LATE, None, event

    def _targets(self, at_end: bool) -> Sequence[str]:
        return (REPORTS_FOLDER,) if at_end else (REPORTS_FOLDER, REJECTED, LATE)

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

    def _notifications(self, found: Iterable[ReportRow]) -> Iterator[Told]:
        return ((REPORTS_FOLDER, one.profile, one.as_json()) for one in found)

    def _let_go(self) -> None:
        if self._prepared is not None:
            with letting_go():
                self._prepared.close()
            self._prepared = None
