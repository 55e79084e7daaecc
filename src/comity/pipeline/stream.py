"""A federation on a stream on Spark: delivered once, across restarts and changes of profiles.

A batch is what a run over stored events is, over its files. What differs is the end: workers leave out what earlier
batches delivered, write the rest and note what it is; this process publishes the files under the number of the batch
(so that doing it again replaces it), and commits them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from comity.connect.commits import Commits, check_on_start, first_day
from comity.connect.delivered import DeliveredSize
from comity.connect.folder import LATE, REJECTED, Results, publish_batch
from comity.connect.published import stored_keys
from comity.event.owners import ANYBODY, Owners
from comity.event.window import Window
from comity.federation.model import Federation
from comity.limits import limits
from comity.pattern.rows import ReportRow
from comity.pipeline.batch import BatchFigures, CandidateStaging, PlanBatch
from comity.pipeline.batches import FileStream, Told
from comity.pipeline.deliver import by_bucket
from comity.pipeline.detect.batches import PatternBatches
from comity.pipeline.detect.extract import Extracted
from comity.pipeline.detect.federation import SparkPlanPatterns
from comity.pipeline.detect.patterns import bucket_count
from comity.pipeline.detect.reports import told_rows
from comity.pipeline.failure import letting_go
from comity.pipeline.laps import Laps
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Inputs, Tables
from comity.pipeline.small import SmallBatch
from comity.pipeline.write import BatchWriter, BatchWriting
from comity.plan.compile import PlanCompiler
from comity.plan.stages import Plan, Summary


class CurrentFederation(Protocol):
    """A federation that may change while it runs, or not."""

    def current(self) -> Federation:
        """As it is now."""
        ...


@dataclass
class StreamRun(FileStream):
    """A federation on a stream."""

    federation: CurrentFederation
    results: Results = field(default=Results.JSONL, kw_only=True)
    owners: Owners = field(default=ANYBODY, kw_only=True)
    """Whose sources the folders are."""
    _prepared: PreparedPlan | None = field(default=None, init=False)
    _known: Federation | None = field(default=None, init=False)
    _compiler: PlanCompiler = field(default_factory=PlanCompiler, init=False)
    _commits: Commits | None = field(default=None, init=False)
    _attempted: int | None = field(default=None, init=False)
    """The last batch that this process has tried."""

    def check_notes(self) -> int | None:
        self._pattern_batches.states.check()
        return check_on_start(self.out)

    @property
    def commits(self) -> Commits:
        """What counts; of results that were there before the stream, what is in them."""
        if self._commits is None:
            commits = Commits(self.out)
            if commits.needs_begin:
                domains = self.federation.current().domains
                commits.begin((key for key, _ in stored_keys(self.out, domains)), self._today)
            self._commits = commits
        return self._commits

    def remembered(self) -> DeliveredSize:
        """How much is remembered."""
        return self.commits.remembered()

    def _take(self, spark: SparkSession, inputs: Inputs, number: int, work: Path, laps: Laps) -> Summary:
        small = None if self._current(spark).plan.patterns else SmallBatch.of(inputs, self.owners)
        return self._take_tables(spark, small or Tables.of(spark, inputs, self.owners), number, work, laps)

    def _take_tables(
        self, spark: SparkSession, tables: Tables | SmallBatch, number: int, work: Path, laps: Laps
    ) -> Summary:
        """Take a batch of tables, publish what comes of it, and let it count."""
        prepared = self._current(spark)
        laps.end("compile")
        writing = self._writing(work, number, spark)
        figures, reports = self._match(prepared, tables, work, number, writing)
        laps.end("match")
        self._write_reports(prepared, work, reports, number, writing)
        written = writing.done
        for line in written.faults:
            self.quarantine.take(number, line)
        is_again = self._is_again(number)
        publish_batch(written.files, self.out, self._targets(at_end=False), self.results, number, is_again=is_again)
        self.commits.commit(number, writing.after.having_seen(figures.newest))
        self._pattern_batches.states.forget_before(number)
        laps.end("publish")
        delivered, reasons = written.delivered, written.reasons
        return Summary(
            figures.records,
            reasons.total,
            {name: delivered[name] for name in prepared.plan.profiles},
            figures.late,
            matched=figures.matched,
            rejected_by_code=dict(reasons.counts),
            rejected_examples=reasons.examples,
        )

    def _writing(self, work: Path, number: int, spark: SparkSession) -> BatchWriting:
        """Writes a batch beside what counted before it, as far as that is remembered."""
        oldest = first_day(self.clock().date(), limits().remember_days)
        before = self.commits.before(number).remembering(oldest)
        folders = str(work / "results"), str(self.commits.folder)
        writer = BatchWriter(*folders, before, self.results, number, self._today)
        return BatchWriting(writer, before.buckets or bucket_count(spark))

    def _match(
        self, prepared: PreparedPlan, tables: Tables | SmallBatch, work: Path, number: int, writing: BatchWriting
    ) -> tuple[BatchFigures, Sequence[str]]:
        """Write the outcomes of a batch; gives the figures, and the files of what patterns report."""
        batches, spark = self._pattern_batches, prepared.spark
        before, candidates = batches.before(number, spark), None
        if prepared.plan.patterns:
            candidates = CandidateStaging(work / "candidates", before.buckets, before.watermark)
            prepared.patterns.compiled = before.compiled
        window = Window.around(self.clock())
        late_before = writing.after.late_before(limits().late_after_s)
        if isinstance(tables, SmallBatch):
            figures = tables.take(prepared, window, late_before, writing)
            batches.pass_by(number, before, Extracted().with_times(*figures.times))
            return figures, ()
        batch = PlanBatch(prepared, tables, window, candidates, late_before, by_bucket(writing.buckets))
        figures = batch.stage(lambda outcomes, _: writing.write(outcomes))
        seen = batch.extracted(figures, is_exact=candidates is not None or all(rows.of_files for rows in tables.rows))
        if candidates is None:  # patterns may come later, and must know how far time has come
            batches.pass_by(number, before, seen)
            return figures, ()
        return figures, batches.detect(number, before, seen, candidates.folder, prepared.patterns.shared, spark)

    def _write_reports(
        self, prepared: PreparedPlan, work: Path, reports: Sequence[str], number: int, writing: BatchWriting
    ) -> None:
        """Write what patterns report, and events that came too late for them."""
        if prepared.plan.patterns:
            told = self._pattern_batches.told_at_ends(number)
            rows = told_rows(prepared.patterns, reports, work / "candidates", told)
            if rows is not None:
                writing.write(by_bucket(writing.buckets)(rows, F.col("profile").isNotNull()))

    def _is_again(self, number: int) -> bool:
        """Whether there may be results of an earlier attempt at a batch."""
        is_again = self._attempted is None or number <= self._attempted
        self._attempted = number if self._attempted is None else max(self._attempted, number)
        return is_again

    @property
    def _today(self) -> str:
        return self.clock().date().isoformat()

    def _current(self, spark: SparkSession) -> PreparedPlan:
        """The plan as the files of the federation say now; prepared anew only when they changed."""
        federation = self.federation.current()
        if self._prepared is None or federation is not self._known:
            if self._prepared is not None:
                self._prepared.close()
            self._prepared, self._known = PreparedPlan(self._compiler.compile(federation), spark), federation
        return self._prepared

    @property
    def _plan(self) -> Plan:
        assert self._prepared is not None, "a batch or an end is being published"
        return self._prepared.plan

    def _targets(self, at_end: bool) -> Sequence[str]:
        more = () if at_end else (REJECTED, LATE) if self._plan.patterns else (REJECTED,)
        return *self._plan.subscribers, *more

    @property
    def _pattern_batches(self) -> PatternBatches:
        return PatternBatches(self.out, limits().late_after_s * 1_000_000)

    def _patterns_of_now(self, spark: SparkSession) -> SparkPlanPatterns | None:
        prepared = self._current(spark)
        return prepared.patterns if prepared.plan.patterns else None

    def _notifications(self, found: Iterable[ReportRow]) -> Iterator[Told]:
        assert self._prepared is not None, "there are patterns"
        return self._prepared.patterns.notifications(found)

    def _let_go(self) -> None:
        self._commits = None
        if self._prepared is not None:
            with letting_go():
                self._prepared.close()
            self._prepared = None
