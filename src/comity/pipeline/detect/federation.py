"""The composite profiles of a plan on Spark: candidates out of its hits, and reports as notifications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from comity.connect.notification import notification_line
from comity.event.formats.jsonlines import encode
from comity.pattern.notification import report_event
from comity.pattern.rows import ReportRow
from comity.pipeline.detect.candidates import OperandColumns
from comity.pipeline.detect.extract import Extracted, stage
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

    def stage(self, hits: DataFrame, folder: Path, buckets: int, late_before_us: int | None, mode: str) -> Extracted:
        """Stage the candidates among hits."""
        return stage(self.candidates(hits, buckets, late_before_us), str(folder), buckets, mode=mode)

    def notifications(self, found: Iterable[ReportRow]) -> Iterator[tuple[str, str, bytes]]:
        """Subscriber, profile and line of each report."""
        subscribers = self.subscribers
        for one in found:
            yield subscribers[one.profile], one.profile, notification_line(encode(report_event(one)), one.profile)

    @property
    def subscribers(self) -> dict[str, str]:
        """By profile, who is told."""
        return {one.bound.name: one.subscriber for one in self.planned}
