"""Candidates of patterns over typed events, found as the profiles of a federation are: by a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession

from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.event.window import Window
from comity.expression.simplify import simplify
from comity.expression.tree import TRUE, And, Expression, IsType, Literal, conjunction
from comity.pattern.bank import Bank
from comity.pattern.bound import BoundPattern
from comity.pipeline.candidates import OperandColumns
from comity.pipeline.detect_extract import Extracted, stage
from comity.pipeline.read import Inputs
from comity.pipeline.run import PreparedPlan, Tables
from comity.plan.stages import Delivery, Plan, PlannedPattern, Route

_ALL_TIMES = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


def plan_of(patterns: Sequence[BoundPattern], taxonomy: Taxonomy) -> Plan:
    """The plan that finds what operands of the patterns want; there are no profiles beside."""
    planned = tuple(PlannedPattern(one, taxonomy.namespace) for one in patterns)
    asked = Bank(patterns).sharing.users
    types = tuple(one for one in taxonomy.types if not one.abstract)
    routes = []
    for one in types:
        deliveries = tuple(
            Delivery(pattern.delivery(name), pattern.subscriber, condition, None, _wanted(condition, one))
            for number, pattern in enumerate(planned)
            for at, name in enumerate(pattern.bound.operand_names)
            if (number, at) in asked
            for condition in (pattern.bound.filters[name],)
        )
        routes.append(Route(one, None, None, deliveries))
    abstract = tuple(one for one in taxonomy.types if one.abstract)
    return Plan(taxonomy.namespace, types, tuple(routes), abstract, planned)


def _wanted(condition: Expression, type: EventType) -> Expression:
    """The condition on events of a type."""
    items = condition.items if isinstance(condition, And) else (condition,)
    known = [Literal(type.qualified_name in one.names) if isinstance(one, IsType) else one for one in items]
    return simplify(conjunction([one for one in known if one != TRUE]), type)


@dataclass(slots=True)
class PlannedCandidates:
    """Stages the candidates of patterns over typed events."""

    patterns: Sequence[BoundPattern]
    taxonomy: Taxonomy
    spark: SparkSession
    _prepared: PreparedPlan = field(init=False)
    _columns: OperandColumns = field(init=False)

    def __post_init__(self) -> None:
        self._prepared = PreparedPlan(plan_of(self.patterns, self.taxonomy), self.spark)
        self._columns = OperandColumns(self._prepared.plan.patterns, self._prepared.work.ways, keep_lines=False)

    def stage(
        self, files: Sequence[str], folder: str, buckets: int, window: Window | None, late_before: int | None
    ) -> Extracted:
        """Stage the candidates in files."""
        tables = Tables.of(self.spark, Inputs.of(files))
        staging = Staging(self._prepared, self._columns, folder, buckets, window or _ALL_TIMES, late_before)
        return staging.stage(tables, with_rejected=True)

    def close(self) -> None:
        """Forget what the workers have."""
        self._prepared.close()


@dataclass(frozen=True, slots=True)
class Staging:
    """Where the candidates of a plan's patterns are staged."""

    prepared: PreparedPlan
    columns: OperandColumns
    folder: str
    buckets: int
    window: Window
    late_before: int | None

    def stage(self, tables: Tables, *, with_rejected: bool) -> Extracted:
        """Stage the candidates in tables."""
        hits = self.prepared.hits(tables, self.window)
        seen = stage(self._rows(hits, with_rejected), self.folder, self.buckets)
        found = seen
        if seen.doubtful:
            for rows, _ in tables.rows:
                more = self.prepared.doubtful_hits(rows, self.window)
                found = stage(self._rows(more, with_rejected), self.folder, self.buckets, mode="append")
        records = seen.events + tables.row_count  # rows are counted from the metadata of their files
        return replace(found, events=records - found.rejected).with_times(*self.prepared.row_times(tables, self.window))

    def _rows(self, hits: DataFrame, with_rejected: bool) -> DataFrame:
        spark = self.prepared.spark
        return self.columns.rows(hits, self.buckets, self.late_before, spark, with_rejected=with_rejected)
