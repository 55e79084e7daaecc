"""Candidates of the composite profiles of a federation, found as those of simple profiles are: by a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from comity.event.window import Window
from comity.pipeline.candidates import OperandColumns
from comity.pipeline.detect.extract import Extracted, stage
from comity.pipeline.run import PreparedPlan, Tables


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
            for rows in tables.rows:
                more = self.prepared.doubtful_hits(rows, self.window)
                found = stage(self._rows(more, with_rejected), self.folder, self.buckets, mode="append")
        records = seen.events + tables.row_count  # rows are counted from the metadata of their files
        return replace(found, events=records - found.rejected).with_times(*self.prepared.row_times(tables, self.window))

    def _rows(self, hits: DataFrame, with_rejected: bool) -> DataFrame:
        spark = self.prepared.spark
        return self.columns.rows(hits, self.buckets, self.late_before, spark, with_rejected=with_rejected)
