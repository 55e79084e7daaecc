"""A federation on a stream on Spark: delivered once, across restarts and changes of profiles.

A batch is what a run over stored events is, over its files. What differs is the end: Spark stages the outcomes, and
this process leaves out what earlier batches delivered, publishes the rest under the number of the batch (so that doing
it again replaces it), and notes what was delivered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

from pyarrow.dataset import dataset
from pyspark.sql import DataFrame, SparkSession

from comity.connect.delivered import Delivered
from comity.connect.folder import LATE, REJECTED, Results
from comity.connect.notification import identity_of
from comity.connect.published import stored_keys
from comity.event.owners import ANYBODY, Owners
from comity.event.times import format_timestamp, parse_timestamp
from comity.event.window import Window
from comity.federation.model import Federation
from comity.federation.watch import WatchedFederation
from comity.limits import limits
from comity.pattern.rows import ReportRow
from comity.pipeline.batch import BatchFigures, CandidateStaging, PlanBatch
from comity.pipeline.batches import FileStream, Told
from comity.pipeline.detect.batches import PatternBatches, late_lines
from comity.pipeline.detect.federation import SparkPlanPatterns
from comity.pipeline.failure import letting_go
from comity.pipeline.laps import Laps
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Inputs, Tables
from comity.plan.compile import PlanCompiler
from comity.plan.stages import Plan, Summary

_NEWEST = "newest"


@dataclass
class StreamRun(FileStream):
    """A federation on a stream."""

    federation: WatchedFederation
    results: Results = field(default=Results.JSONL, kw_only=True)
    owners: Owners = field(default=ANYBODY, kw_only=True)
    """Whose sources the folders are."""
    _prepared: PreparedPlan | None = field(default=None, init=False)
    _known: Federation | None = field(default=None, init=False)
    _compiler: PlanCompiler = field(default_factory=PlanCompiler, init=False)
    _delivered: Delivered | None = field(default=None, init=False)

    def check_notes(self) -> int | None:
        self._pattern_batches.states.check()
        return self.delivered.last_batch

    @property
    def delivered(self) -> Delivered:
        """What was delivered; of results that were there before the stream, what is in them."""
        if self._delivered is None:
            self.out.mkdir(parents=True, exist_ok=True)
            self._delivered = Delivered(self.out)
            if self._delivered.noted("taken over") is None:
                self._delivered.take(stored_keys(self.out, self.federation.current().domains))
                self._delivered.note("taken over", "yes")
        return self._delivered

    def _take(self, spark: SparkSession, inputs: Inputs, number: int, work: Path, laps: Laps) -> Summary:
        prepared = self._current(spark)
        laps.end("compile")
        figures, reports = self._match(prepared, inputs, work, number)
        laps.end("match")
        with self.delivered.batch(number):
            summary = self._publish(number, self._new(prepared, work, reports, number))
            oldest = Window.around(self.clock()).earliest
            self.delivered.forget_before(oldest.date().isoformat())
        self._pattern_batches.states.forget_before(number)
        laps.end("publish")
        told = {name: summary.delivered.get(name, 0) for name in prepared.plan.profiles}
        return replace(summary, records=figures.records, matched=figures.matched, late=figures.late, delivered=told)

    def _match(
        self, prepared: PreparedPlan, inputs: Inputs, work: Path, number: int
    ) -> tuple[BatchFigures, Sequence[str]]:
        """Stage the outcomes of the files; gives the figures, and the files of what patterns report."""
        batches, spark = self._pattern_batches, prepared.spark
        before, candidates = batches.before(number, spark), None
        if prepared.plan.patterns:
            candidates = CandidateStaging(work / "candidates", before.buckets, before.watermark)
            prepared.patterns.compiled = before.compiled
        tables, window = Tables.of(spark, inputs, self.owners), Window.around(self.clock())
        batch = PlanBatch(prepared, tables, window, candidates, self._late_before())

        def write(outcomes: DataFrame, mode: str) -> None:
            outcomes.select("to", "line").write.mode(mode).parquet(str(work / "outcomes"))

        figures = batch.stage(write)
        self._saw(figures.newest)
        seen = batch.extracted(figures)
        if candidates is None:  # patterns may come later, and must know how far time has come
            batches.pass_by(number, before, seen)
            return figures, ()
        return figures, batches.detect(number, before, seen, candidates.folder, prepared.patterns.shared, spark)

    def _new(self, prepared: PreparedPlan, work: Path, reports: Sequence[str], number: int) -> Iterator[Told]:
        """What no earlier batch delivered of what was staged and reported."""
        for line in late_lines(work / "candidates"):
            yield LATE, None, line
        reported = prepared.patterns.found(reports)
        found = self._pattern_batches.untold(number, reported) if prepared.plan.patterns else reported
        notified = ((to, line) for to, _, line in prepared.patterns.notifications(found))
        for to, line in chain(_staged_lines(work / "outcomes"), notified):
            if to == REJECTED:
                yield to, None, line
            elif self.delivered.is_new((identity := identity_of(line)).key, identity.day, number):
                yield to, identity.profile, line

    def _late_before(self) -> datetime | None:
        newest = parse_timestamp(self.delivered.noted(_NEWEST) or "")
        return None if newest is None else newest - timedelta(seconds=limits().late_after_s)

    def _saw(self, newest: datetime | None) -> None:
        before = parse_timestamp(self.delivered.noted(_NEWEST) or "")
        if newest is not None and (before is None or newest > before):
            self.delivered.note(_NEWEST, format_timestamp(newest))

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
        if self._delivered is not None:
            self._delivered.close()
            self._delivered = None
        if self._prepared is not None:
            with letting_go():
                self._prepared.close()
            self._prepared = None


def _staged_lines(staging: Path) -> Iterator[tuple[str, bytes]]:
    files = sorted(str(path) for path in staging.glob("*.parquet"))
    for batch in dataset(files, format="parquet").to_batches() if files else ():
        for to, line in zip(batch.column("to").to_pylist(), batch.column("line").to_pylist(), strict=True):
            yield to, line.encode()
