"""The composite profiles of a plan on Spark: candidates out of its hits, and reports as notifications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from comity.connect.notification import notification_line
from comity.event.formats.jsonlines import encode
from comity.pattern.bound import BoundPattern
from comity.pattern.notification import report_event
from comity.pattern.told import told_as
from comity.pipeline.detect.buckets import Tell
from comity.pipeline.detect.candidates import OperandColumns
from comity.pipeline.detect.patterns import SparkPatterns
from comity.plan.stages import Plan, PlannedPattern
from comity.plan.ways import Ways


@dataclass(slots=True)
class SparkPlanPatterns(SparkPatterns):
    """The patterns of a plan: operands are found among its hits, on its ways."""

    planned: tuple[PlannedPattern, ...] = ()
    ways: Ways = field(kw_only=True)
    _columns: OperandColumns | None = field(default=None, init=False)

    @classmethod
    def of(cls, plan: Plan, ways: Ways, spark: SparkSession) -> SparkPlanPatterns:
        """Those of a plan."""
        types = {way.target.qualified_name: way.target for way in ways.ways}
        return cls([one.bound for one in plan.patterns], types, spark, planned=tuple(plan.patterns), ways=ways)

    def candidates(self, hits: DataFrame, buckets: int, late_before_us: int | None) -> DataFrame:
        """The candidates among hits, with the buckets of their traces; what is rejected is told elsewhere."""
        if self._columns is None:
            self._columns = OperandColumns(self.planned, self.ways)
        return self._columns.rows(hits, buckets, late_before_us, self.spark)

    @property
    def tell(self) -> Tell:
        return told_notifications

    @property
    def targets(self) -> tuple[str, ...]:
        """By pattern, who is told."""
        return tuple(one.subscriber for one in self.planned)

    @property
    def subscribers(self) -> dict[str, str]:
        """By profile, who is told."""
        return dict(zip(self.names, self.targets, strict=True))


def told_notifications(reports: pa.Table, patterns: Sequence[BoundPattern]) -> pa.Table:
    """Reports with their identities, and as notifications, which have the events in them."""
    return told_as(reports, patterns, lambda one: notification_line(encode(report_event(one)), one.profile))
