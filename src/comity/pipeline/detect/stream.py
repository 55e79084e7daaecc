"""Composite profiles on a stream: growing folders of events, each report once, across restarts and changes of profiles.

A batch of files is staged as candidates, detected together with what is kept of earlier ones, and published under its
number: reports in `reports`, records that are no events in `rejected`, events that came too late in `late`.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from comity.connect.folder import LATE, REJECTED
from comity.connect.growing import lag_s
from comity.connect.staged import staged_results
from comity.errors import ComityError
from comity.event.formats.table import is_file_fault
from comity.event.reasons import ReasonCounts
from comity.event.taxonomy import Taxonomy
from comity.event.window import Window
from comity.pattern.bound import BoundPattern
from comity.pattern.bounds import check_bounded
from comity.pattern.rows import ReportRow
from comity.pipeline.batches import FileBatches, attempt_folder
from comity.pipeline.detect.batches import PatternBatches, late_lines
from comity.pipeline.detect.buckets import read_found
from comity.pipeline.detect.extract import REFUSED, Extracted, staged_lines
from comity.pipeline.detect.run import PatternSession
from comity.pipeline.doubts import NO_DOUBTS, Doubts
from comity.pipeline.failure import letting_go, spark_failures
from comity.pipeline.quarantine import Quarantine, SetAside
from comity.pipeline.read import Inputs
from comity.plan.stages import Summary

REPORTS_FOLDER = "reports"


@dataclass(slots=True)
class DetectStream:
    """Patterns on a stream. `on_batch` is told what each batch did, after it was published and before it counts."""

    patterns: Callable[[], Sequence[BoundPattern]]
    """Those of now: they may change from batch to batch."""
    out: Path
    lateness_us: int
    taxonomy: Taxonomy | None = None
    on_batch: Callable[[int, Summary], None] = lambda number, summary: None
    start_us: int | None = None
    """Where traces start; without it, with the first event."""
    buckets: int | None = None
    compiled: bool = True
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    on_unknown: Callable[[list[Path]], None] = lambda files: None
    """Told once of files that nobody reads."""
    on_set_aside: Callable[[SetAside], None] = lambda file: None
    """Told of files that could not be read to their ends."""
    on_end: Callable[[int, Summary], None] = lambda number, summary: None
    """Told what was reported because the stream ended after a batch, when it is published."""
    quarantine: Quarantine = field(init=False)
    _files: FileBatches | None = field(default=None, init=False)
    _session: PatternSession | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.quarantine = Quarantine(self.out, self.on_set_aside)

    def start(
        self,
        spark: SparkSession,
        folders: Sequence[Path],
        *,
        landed: Sequence[Path] = (),
        trigger_s: float,
        until_empty: bool,
        files_per_batch: int,
    ) -> StreamingQuery:
        """Begin, or go on where an earlier run on the same results folder ended.

        Files in `landed` folders are ours: they are removed when they are done with.
        """
        check_bounded(self.patterns())
        self._files = FileBatches(self.out, self.take_batch, self._last_batch, self.on_unknown, self._end_again)
        return self._files.start(
            spark,
            folders,
            landed=landed,
            trigger_s=trigger_s,
            until_empty=until_empty,
            files_per_batch=files_per_batch,
        )

    @property
    def fault(self) -> ComityError | None:
        """What made a batch fail, if that was not Spark, whose own failure says it only in a long text."""
        return None if self._files is None else self._files.fault

    def _last_batch(self) -> int | None:
        self._batches.states.check()
        return self._batches.states.last_batch

    def look_around(self) -> None:
        """Tell of files in the folders that nobody reads."""
        if self._files is not None:
            self._files.look_around()

    def take_batch(self, spark: SparkSession, files: Sequence[str], number: int, doubts: Doubts = NO_DOUBTS) -> None:
        """Detect in one batch of files; doing it again changes nothing."""
        started = time.monotonic()
        patterns = self.patterns()
        check_bounded(patterns)
        work = attempt_folder(self.out, number)
        before = self._batches.before(number, spark)
        session = self._current(patterns, spark, before.compiled)
        staging, window = work / "candidates", Window.around(self.clock())
        seen = session.candidates.stage(
            Inputs.of(files, doubts), str(staging), before.buckets, window, before.watermark
        )
        staged = time.monotonic()
        found = self._batches.detect(number, before, seen, staging, session.shared, spark)
        detected = time.monotonic()
        summary = self._publish(number, seen, staging, read_found(found, patterns))
        self._batches.states.forget_before(number)
        shutil.rmtree(work, ignore_errors=True)
        seconds = {"match": staged - started, "detect": detected - staged, "publish": time.monotonic() - detected}
        told = {one.name: summary.delivered.get(one.name, 0) for one in patterns}
        self.on_batch(number, replace(summary, delivered=told, seconds=seconds, lag_s=lag_s(files)))

    def finish(self, spark: SparkSession) -> None:
        """Report what closes because nothing more comes, as for stored events; `on_end` is told.

        Should the stream go on later, it does so as if it had not ended, and what was reported is not reported again.
        """
        patterns, last = self.patterns(), self._batches.states.last_batch
        if last is None:
            return
        session = self._current(patterns, spark, self._batches.states.after(last).compiled)
        work = attempt_folder(self.out, last)
        with spark_failures():
            files = self._batches.finish(work / "candidates", session.shared, spark)
        reported: Counter[str] = Counter()
        with (
            self._batches.ending(read_found(files, patterns)) as (number, new),
            staged_results(self.out, (REPORTS_FOLDER,), batch=number, at_end=True) as results,
        ):
            for report in new:
                reported[report.profile] += 1
                results.put(REPORTS_FOLDER, report.as_json())
        shutil.rmtree(work, ignore_errors=True)
        self.on_end(number, Summary(0, 0, dict(reported)))

    def _end_again(self, spark: SparkSession) -> None:
        """Publish what was reported at an end, if a crash came in between."""
        if self._batches.states.ends.unpublished is not None:
            self.finish(spark)

    def close(self) -> None:
        """Let go of what the stream holds."""
        if self._files is not None:
            self._files.close()
            self._files = None
        if self._session is not None:
            with letting_go():
                self._session.close()
            self._session = None

    def _current(self, patterns: Sequence[BoundPattern], spark: SparkSession, compiled: bool) -> PatternSession:
        """The patterns as Spark has them; prepared anew only when they changed."""
        if self._session is None or list(self._session.patterns) != list(patterns):
            if self._session is not None:
                self._session.close()
            self._session = PatternSession(patterns, self.taxonomy, spark, compiled)
        return self._session

    @property
    def _batches(self) -> PatternBatches:
        return PatternBatches(self.out, self.lateness_us, self.start_us, self.buckets, self.compiled)

    def _publish(self, number: int, seen: Extracted, staged: Path, found: Iterator[ReportRow]) -> Summary:
        """Publish what the batch reports, in the place of an earlier attempt: no other batch reports the same."""
        delivered: Counter[str] = Counter()
        reasons = ReasonCounts()
        folders = (REPORTS_FOLDER, REJECTED, LATE)
        told = self._batches.told(number)
        with staged_results(self.out, folders, batch=number) as results:
            for report in (one for one in found if one.id not in told):
                delivered[report.profile] += 1
                results.put(REPORTS_FOLDER, report.as_json())
            for line in map(str.encode, staged_lines(str(staged), REFUSED)):
                if is_file_fault(reasons.take(json.loads(line))):
                    self.quarantine.take(number, line)
                results.put(REJECTED, line)
            late = late_lines(staged)
            for event in late:
                results.put(LATE, event)
        return Summary(
            seen.events + seen.rejected,
            seen.rejected,
            dict(delivered),
            len(late),
            rejected_by_code=dict(reasons.counts),
            rejected_examples=reasons.examples,
        )
