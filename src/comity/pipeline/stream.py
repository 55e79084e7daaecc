"""A federation on a stream on Spark: delivered once, across restarts and changes of profiles.

A batch is what a run over stored events is, over its files. What differs is the end: workers leave out what earlier
batches delivered, write the rest and note what it is; this process publishes the files under the number of the batch
(so that doing it again replaces it), and commits them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from comity.connect.commits import first_day
from comity.connect.delivered import DeliveredSize
from comity.connect.folder import LATE, REJECTED, Results, StagedFile
from comity.connect.frames import FrameSource
from comity.connect.target import FolderTarget, Target
from comity.event.owners import ANYBODY, Owners
from comity.event.window import Window
from comity.federation.model import Federation
from comity.limits import limits
from comity.pipeline.batch import BatchFigures, PlanBatch
from comity.pipeline.batches import FileStream, named_files
from comity.pipeline.deliver import by_bucket
from comity.pipeline.detect.batches import PatternBatches
from comity.pipeline.detect.federation import SparkPlanPatterns
from comity.pipeline.detect.patterns import SparkPatterns, bucket_count
from comity.pipeline.detect.reports import told_rows
from comity.pipeline.detect.seen import Extracted
from comity.pipeline.detect.state import Progress
from comity.pipeline.failure import letting_go
from comity.pipeline.laps import Laps
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Inputs, Tables
from comity.pipeline.small import SmallBatch
from comity.pipeline.sources import Arrivals
from comity.pipeline.tables import attributes_of_profiles
from comity.pipeline.write import BatchWriter, BatchWriting
from comity.plan.compile import PlanCompiler
from comity.plan.stages import Plan, Summary

LEFT_OUT = Summary(0, 0, {})
"""What a batch did that counted already."""


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
    sources: tuple[FrameSource, ...] = field(default=(), kw_only=True)
    """Those that Spark reads by itself."""
    _arrivals: Arrivals = field(init=False)
    _arrived: Tables = field(default=Tables(), init=False)
    """What came of them with the batch that is taken."""
    _prepared: PreparedPlan | None = field(default=None, init=False)
    _known: Federation | None = field(default=None, init=False)
    _compiler: PlanCompiler = field(default_factory=PlanCompiler, init=False)
    target: Target | None = field(default=None, kw_only=True)
    """Where results go if not into files of the folder, in which there is only the state of the stream then."""
    _to: Target = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._arrivals = Arrivals(self.sources)
        in_folder = FolderTarget(self.out, self.results, lambda: self.federation.current().domains, self.clock)
        self._to = self.target or in_folder
        if self.target is not None:
            self.results = Results.JSONL  # in which reports of an end stand until they are in tables

    def check_notes(self) -> int | None:
        self._pattern_batches.states.check()
        return self._to.check()

    def remembered(self) -> DeliveredSize:
        """How much is remembered."""
        return self._to.remembered()

    def _take(self, spark: SparkSession, inputs: Inputs, number: int, work: Path, laps: Laps) -> Summary:
        if self._to.is_counted(number):
            return LEFT_OUT
        is_plain = not (self.sources or self._current(spark).plan.patterns)
        small = SmallBatch.of(inputs, self.owners) if is_plain else None
        tables = small or Tables.of(spark, inputs, self.owners).beside(self._arrived)
        return self._take_tables(spark, tables, number, work, laps)

    def _arriving(self, spark: SparkSession, paths: DataFrame | None) -> DataFrame:
        if not self.sources:
            return super()._arriving(spark, paths)
        types = (one.qualified_name for one in self._current(spark).plan.types)
        return self._arrivals.table(spark, paths, types)

    @contextmanager
    def _files_of(self, batch: DataFrame) -> Iterator[list[str]]:
        if not self.sources:
            with super()._files_of(batch) as files:
                yield files
            return
        with self._arrivals.taken(batch) as (self._arrived, paths):
            yield [] if paths is None else named_files(paths)

    def _take_tables(
        self, spark: SparkSession, tables: Tables | SmallBatch, number: int, work: Path, laps: Laps
    ) -> Summary:
        """Take a batch of tables, publish what comes of it, and let it count."""
        prepared = self._current(spark)
        laps.end("compile")
        writing = self._writing(work, number, spark)
        figures = self._match(prepared, tables, number, writing)
        laps.end("match")
        written = writing.done
        for line in written.faults:
            self.quarantine.take(number, line)
        is_again = self._is_again(number)
        after = writing.after.having_seen(figures.newest)
        self._to.publish(number, written.files, self._targets(at_end=False), after, is_again=is_again)
        self._pattern_batches.states.forget_before(number)
        laps.end("publish")
        return written.summary(prepared.plan, figures)

    def _writing(self, work: Path, number: int, spark: SparkSession) -> BatchWriting:
        """Writes a batch beside what counted before it, as far as that is remembered."""
        oldest = first_day(self.clock().date(), limits().remember_days)
        before = self._to.before(number).remembering(oldest)
        buckets = self._to.spread(before.buckets or bucket_count(spark))
        writer = BatchWriter(self._to.parts(work, number), self._to.keys, before, number, self._today)
        return BatchWriting(writer, buckets)

    def _match(
        self, prepared: PreparedPlan, tables: Tables | SmallBatch, number: int, writing: BatchWriting
    ) -> BatchFigures:
        """Write what becomes of a batch, and what patterns report."""
        batches = self._pattern_batches
        before = batches.before(number, prepared.spark)
        window = Window.around(self.clock())
        late_before = writing.after.late_before(limits().late_after_s)
        if isinstance(tables, SmallBatch):
            figures = tables.take(prepared, window, late_before, writing)
            batches.pass_by(number, before, Extracted().with_times(*figures.times))
            return figures

        def detect(hits: DataFrame, seen: Extracted) -> None:
            self._detect(prepared, hits, seen, before, number, writing)

        detecting = detect if prepared.plan.patterns else None
        batch = PlanBatch(prepared, tables, window, detecting, late_before, by_bucket(writing.buckets))
        figures = batch.stage(lambda outcomes, _: writing.write(outcomes))
        if detecting is None:  # patterns may come later, and must know how far time has come
            is_exact = all(rows.of_files for rows in tables.rows)
            batches.pass_by(number, before, batch.extracted(figures, is_exact=is_exact))
        return figures

    def _detect(
        self,
        prepared: PreparedPlan,
        hits: DataFrame,
        seen: Extracted,
        before: Progress,
        number: int,
        writing: BatchWriting,
    ) -> None:
        """Write what patterns report, and events that came too late for them."""
        batches, patterns = self._pattern_batches, prepared.patterns
        patterns.compiled = before.compiled
        detection = batches.detection(number, before, patterns.shared)
        rows = told_rows(patterns, hits, detection, seen, before.watermark, batches.told_at_ends(number))
        writing.write(by_bucket(writing.buckets)(rows, F.col("profile").isNotNull()))
        batches.save(number, detection, seen)

    @property
    def _today(self) -> str:
        return self.clock().date().isoformat()

    def _current(self, spark: SparkSession) -> PreparedPlan:
        """The plan as the files of the federation say now; prepared anew only when they changed."""
        federation = self.federation.current()
        if self._prepared is None or federation is not self._known:
            if self._prepared is not None:
                self._prepared.close()
            prepared = PreparedPlan(self._compiler.compile(federation), spark)
            self._prepared, self._known = prepared, federation
            self._to.take_profiles(lambda: attributes_of_profiles(prepared.work.ways))
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

    def _pattern_targets(self, patterns: SparkPatterns) -> tuple[str, ...]:
        assert isinstance(patterns, SparkPlanPatterns), "patterns of a federation have subscribers"
        return patterns.targets

    def _publish_end(self, number: int, files: Iterable[StagedFile]) -> None:
        self._to.publish_end(number, files, self._targets(at_end=True))

    def _let_go(self) -> None:
        self._to.let_go()
        if self._prepared is not None:
            with letting_go():
                self._prepared.close()
            self._prepared = None
