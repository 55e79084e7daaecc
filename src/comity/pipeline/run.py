"""The Spark runner, in batch: one pass from files of events to results for each subscriber."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from pyspark.core.broadcast import Broadcast
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from comity.connect.claim import locked_folder
from comity.connect.folder import REJECTED, STAGING, Results, publish
from comity.connect.staged import StagedResults
from comity.event.owners import ANYBODY, Domains, Owners
from comity.event.reasons import ReasonCounts
from comity.event.window import Window
from comity.limits import limits
from comity.pipeline.deliver import IDENTITY, Outcome, complete, deliver, observe_hits, outcome_of_hit
from comity.pipeline.detect.extract import staged_figures
from comity.pipeline.detect.federation import SparkPlanPatterns, remove_staged
from comity.pipeline.doubts import Attempts, Doubts
from comity.pipeline.facts import Facts
from comity.pipeline.failure import spark_failures
from comity.pipeline.read import Inputs
from comity.pipeline.results import count_profiles, read_reasons, told_in, write_results
from comity.pipeline.rows import RowTable
from comity.pipeline.worker import ALL_TIMES, Work, hits_in_files, hits_in_lines
from comity.pipeline.wrap import NO_GLOBS, read_lines
from comity.plan.matching import How, choose_matching
from comity.plan.stages import Plan, Summary


def run_on_spark(
    plan: Plan,
    events: Sequence[str],
    out: Path,
    spark: SparkSession,
    *,
    now: datetime | None = None,
    results: Results = Results.JSONL,
    owners: Owners = ANYBODY,
) -> Summary:
    """Deliver the events of these files into a folder for each subscriber, and what is refused into `rejected`.

    Of files that are sources of domains, `owners` says of which.
    """
    with locked_folder(out):
        return _run(plan, events, out, spark, now, results, owners)


def _run(
    plan: Plan,
    events: Sequence[str],
    out: Path,
    spark: SparkSession,
    now: datetime | None,
    results: Results,
    owners: Owners,
) -> Summary:
    started = time.monotonic()
    window = Window.of_history(now or datetime.now(UTC))
    prepared = PreparedPlan(plan, spark)
    staging = out / STAGING
    compiled = time.monotonic()

    def attempt(doubts: Doubts) -> Summary:
        tables = Tables.of(spark, Inputs.of(events, doubts), owners)
        summary = prepared.write(tables, window, staging, results)
        if plan.patterns:
            summary = prepared.report(tables, window, staging, results, summary)
        return replace(summary, records=summary.records + tables.row_count)

    try:
        with spark_failures():
            summary = Attempts(events, spark).run(attempt)
    finally:
        prepared.close()
        remove_staged(candidates_beside(staging))
    written = time.monotonic()
    publish(staging, out, [*plan.subscribers, REJECTED], results)
    done = time.monotonic()
    seconds = {"compile": compiled - started, "run": written - compiled, "publish": done - written}
    return replace(summary, seconds=seconds)


class SourceRows(NamedTuple):
    """Rows with the same columns, what is known about them, and whose events they may be; None for all domains."""

    table: DataFrame
    facts: Facts
    domains: Domains | None = None


@dataclass(frozen=True, slots=True)
class Tables:
    """What is read: lines of JSON, rows, one table for each form of them, and files that the workers read."""

    lines: DataFrame | None = None
    rows: tuple[SourceRows, ...] = ()
    row_count: int = 0
    files: tuple[str, ...] = ()
    owners: Owners = ANYBODY
    unreadable: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, spark: SparkSession, inputs: Inputs, owners: Owners = ANYBODY) -> Tables:
        groups, others = inputs.parquet_groups(owners)
        reader = spark.read.option(*NO_GLOBS)
        rows = tuple(SourceRows(reader.parquet(*group.files), group.facts, group.domains) for group in groups)
        lines = read_lines(spark, inputs.lines) if inputs.lines else None
        whole = (*inputs.others, *others)
        return cls(lines, rows, sum(group.rows for group in groups), whole, owners, inputs.unreadable)


@dataclass(slots=True)
class PreparedPlan:
    """A plan, ready to be carried out again and again."""

    plan: Plan
    spark: SparkSession
    work: Work = field(init=False)
    _shared: Broadcast[Work] | None = field(default=None, init=False)
    _outcome: Outcome | None = field(default=None, init=False)
    patterns: SparkPlanPatterns = field(init=False)

    def __post_init__(self) -> None:
        self.work = Work.of(self.plan)
        self.patterns = SparkPlanPatterns(self.plan, self.work.ways, self.spark)

    @property
    def shared(self) -> Broadcast[Work]:
        """The work as the workers have it, sent to each of them once."""
        if self._shared is None:
            self._shared = self.spark.sparkContext.broadcast(self.work)
        return self._shared

    @property
    def outcome(self) -> Outcome:
        """What becomes of a hit; putting it together takes hundreds of calls to Java."""
        if self._outcome is None:
            self._outcome = outcome_of_hit(self.work.ways)
        return self._outcome

    def close(self) -> None:
        """Forget what the workers have."""
        if self._shared is not None:
            self._shared.destroy()
            self._shared = None
        self.patterns.close()

    def hits(self, tables: Tables, window: Window) -> DataFrame:
        """The hits of all tables, with those columns that some of them has."""
        found = [self._hits_of_rows(rows, window) for rows in tables.rows]
        if tables.lines is not None:
            found.append(hits_in_lines(tables.lines, self.work, window, self.shared, tables.owners))
        if tables.files or tables.unreadable or not found:
            files = [*((file, None) for file in tables.files), *tables.unreadable]
            found.append(hits_in_files(files, self.work, window, self.shared, self.spark, tables.owners))
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), found)

    def doubtful_hits(self, rows: SourceRows, window: Window) -> DataFrame:
        """The hits among the rows of a table that had to be decoded in the workers."""
        return RowTable(rows.table, self.work, window, domains=rows.domains).doubtful_hits(self.shared)

    def row_times(self, tables: Tables, window: Window) -> list[int]:
        """The times of the first and the last event among the rows that are vouched for, in microseconds."""
        found: list[int] = []
        for rows in tables.rows:
            table = RowTable(rows.table, self.work, window, rows.facts, rows.domains)
            time = F.unix_micros(table.envelope["time"])
            begin, end = self.work.seen
            counts = table.vouched if self.work.seen == ALL_TIMES else table.vouched & time.between(begin, end - 1)
            ends = rows.table.filter(counts).select(F.min(time), F.max(time)).first()
            assert ends is not None, "an aggregate has one row"
            found += [time for time in ends if time is not None]
        return found

    def deliver(self, hits: DataFrame) -> DataFrame:
        """What becomes of hits: a row for each notification and each rejected record."""
        return deliver(complete(hits, self.work.types), self.outcome, has_patterns=bool(self.plan.patterns))

    def _hits_of_rows(self, rows: SourceRows, window: Window) -> DataFrame:
        table = RowTable(rows.table, self.work, window, rows.facts, rows.domains)
        if choose_matching(self.plan, of_lines=False).how is How.KERNEL:
            return table.hits_by_kernel(self.shared)
        return table.hits_by_columns()

    def write(self, tables: Tables, window: Window, staging: Path, results: Results) -> Summary:
        """Write the outcomes into a staging folder."""
        summary, doubtful = self._write(self.hits(tables, window), staging, results, None, "overwrite")
        if doubtful:
            known = told_in(staging, results, self.spark)
            for rows in tables.rows:
                added, _ = self._write(self.doubtful_hits(rows, window), staging, results, known, "append")
                added = replace(added, records=0)  # rows are counted from the metadata of their files
                summary = add(summary, added)
        if self._has_many_profiles:
            summary = replace(summary, delivered=self._counted(staging, results))
        reasons = read_reasons(staging, self.spark) if summary.rejected else ReasonCounts()
        return replace(summary, rejected_by_code=dict(reasons.counts), rejected_examples=reasons.examples)

    @property
    def _has_many_profiles(self) -> bool:
        """Whether they are too many to be counted one by one while they are written."""
        return len(self.plan.profiles) > limits().max_column_profiles

    def _counted(self, staging: Path, results: Results) -> dict[str, int]:
        found = count_profiles(staging, results, self.spark)
        return {name: found.get(name, 0) for name in self.plan.profiles}

    def report(self, tables: Tables, window: Window, staging: Path, results: Results, summary: Summary) -> Summary:
        """Add what the patterns report to the outcomes, whose candidates were staged beside them."""
        folder = candidates_beside(staging)
        seen = staged_figures(str(folder)).with_times(*self.row_times(tables, window))
        files = self.patterns.detect(folder, self._buckets, seen)
        delivered = Counter(summary.delivered)
        staged = StagedResults(staging, results)
        try:
            for subscriber, profile, line in self.patterns.notifications(self.patterns.found(files)):
                delivered[profile] += 1
                staged.put(subscriber, line)
        finally:
            staged.close()
        return replace(summary, delivered=dict(delivered))

    @property
    def _buckets(self) -> int:
        return int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1)

    def _write(
        self, hits: DataFrame, staging: Path, results: Results, before: DataFrame | None, mode: str
    ) -> tuple[Summary, int]:
        if not self.plan.patterns:
            return self._write_outcomes(hits, staging, results, before, mode)
        with kept(hits) as found:
            self.patterns.stage(found, candidates_beside(staging), self._buckets, None, mode)
            return self._write_outcomes(found, staging, results, before, mode)

    def _write_outcomes(
        self, hits: DataFrame, staging: Path, results: Results, before: DataFrame | None, mode: str
    ) -> tuple[Summary, int]:
        read, done = Observation("read"), Observation("done")
        profiles = () if self._has_many_profiles else self.plan.profiles
        counts = [_count(F.col("profile") == name).alias(f"profile {name}") for name in profiles]
        fresh = self.deliver(observe_hits(hits, read))
        if before is not None:
            fresh = fresh.join(before, list(IDENTITY), "left_anti")
        fresh = fresh.observe(done, _count(F.col("to") == REJECTED).alias("rejected"), *counts)
        write_results(fresh, staging, results, mode)
        found = done.get
        delivered = {name: int(found[f"profile {name}"]) for name in profiles}
        summary = Summary(int(read.get["counted"]), int(found["rejected"]), delivered, matched=int(read.get["matched"]))
        return summary, int(read.get["doubtful"])


def candidates_beside(staging: Path) -> Path:
    """Where the candidates of a run are staged."""
    return staging.with_name(f"{staging.name}-candidates")


@contextmanager
def kept(hits: DataFrame) -> Iterator[DataFrame]:
    """Hits that are looked at twice, and worked out once."""
    cached = hits.persist()
    try:
        yield cached
    finally:
        cached.unpersist()


def add(one: Summary, other: Summary) -> Summary:
    """Both summaries together."""
    delivered = {
        name: one.delivered.get(name, 0) + other.delivered.get(name, 0) for name in {**one.delivered, **other.delivered}
    }
    return replace(
        one,
        records=one.records + other.records,
        rejected=one.rejected + other.rejected,
        matched=one.matched + other.matched,
        delivered=delivered,
    )


def _count(test: Column) -> Column:
    return F.count(F.when(test, True))
