"""A plan on Spark, between reading and writing: tables become hits, hits become outcomes, all of them DataFrames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from comity.event.window import Window
from comity.pattern.occurrence import microseconds
from comity.pipeline.deliver import Outcome, Together, complete, deliver, once_each, outcome_of_hit
from comity.pipeline.detect.federation import SparkPlanPatterns
from comity.pipeline.guest import SharedValue, share
from comity.pipeline.read import SourceRows, Tables
from comity.pipeline.rows import RowTable
from comity.pipeline.worker import ALL_TIMES, Work, hits_in_files, hits_in_lines
from comity.plan.matching import How, choose_matching
from comity.plan.stages import Plan


@dataclass(slots=True)
class PreparedPlan:
    """A plan, ready to be carried out again and again."""

    plan: Plan
    spark: SparkSession
    work: Work = field(init=False)
    patterns: SparkPlanPatterns = field(init=False)
    _shared: SharedValue[Work] | None = field(default=None, init=False)
    _outcome: Outcome | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.work = Work.of(self.plan)
        self.patterns = SparkPlanPatterns.of(self.plan, self.work.ways, self.spark)

    @property
    def shared(self) -> SharedValue[Work]:
        """The work as the workers have it."""
        if self._shared is None:
            self._shared = share(self.work, self.spark)
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
        """The hits of all tables, with those columns that some of them has; of rows that are in doubt only how many."""
        by_kernel = choose_matching(self.plan, of_lines=False).how is How.KERNEL
        found = [
            table.hits_by_kernel(self.shared) if by_kernel else table.hits_by_columns()
            for table in (self._seen_as_events(rows, window) for rows in tables.rows)
        ]
        if tables.lines is not None:
            found.append(hits_in_lines(tables.lines, self.work, window, self.shared, tables.owners))
        if tables.files or not found:
            found.append(
                hits_in_files(tables.files, self.work, window, self.shared, self.spark, tables.owners, tables.access)
            )
        return _together(found)

    def doubtful_hits(self, tables: Tables, window: Window) -> DataFrame:
        """The hits among the rows in doubt, which workers decode; there are such rows."""
        return _together([self._seen_as_events(rows, window).doubtful_hits(self.shared) for rows in tables.rows])

    def outcomes(self, hits: DataFrame, together: Together = once_each) -> DataFrame:
        """What becomes of hits: a row for each notification and each rejected record."""
        found = complete(hits, self.work.types)
        return deliver(found, self.outcome, together, has_patterns=bool(self.plan.patterns))

    def row_times(self, tables: Tables, window: Window, *, are_all_vouched: bool) -> list[int]:
        """The times of the first and the last event among the rows that are vouched for, in microseconds."""
        found: list[int] = []
        unproven: list[SourceRows] = []
        for rows in tables.rows:
            proven = rows.facts.times if are_all_vouched and self.work.seen == ALL_TIMES else None
            if proven is None:
                unproven.append(rows)
            else:  # no job needs to be run for it
                found += [microseconds(proven.least), microseconds(proven.most)]
        for one in self.row_ends(unproven, window):
            ends = one.first()
            assert ends is not None, "an aggregate has one row"
            found += [time for time in ends if time is not None]
        return found

    def row_ends(self, tables: Iterable[SourceRows], window: Window) -> list[DataFrame]:
        """The same, for each table as a row `earliest`, `latest` that is yet to be worked out."""
        found: list[DataFrame] = []
        for rows in tables:
            table = self._seen_as_events(rows, window)
            time = F.unix_micros(table.envelope["time"])
            begin, end = self.work.seen
            counts = table.vouched if self.work.seen == ALL_TIMES else table.vouched & time.between(begin, end - 1)
            found.append(rows.table.filter(counts).select(F.min(time).alias("earliest"), F.max(time).alias("latest")))
        return found

    def _seen_as_events(self, rows: SourceRows, window: Window) -> RowTable:
        return RowTable(rows.table, self.work, window, rows.facts, rows.domains, of_files=rows.of_files)


def _together(tables: list[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), tables)
