"""The composite profiles of a plan on Spark: candidates out of its hits, and reports as notifications."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.core.broadcast import Broadcast
from pyspark.sql import DataFrame, SparkSession

from comity.connect.notification import notification_line
from comity.event.formats.jsonlines import encode
from comity.pattern.notification import report_event
from comity.pattern.rows import ReportRow
from comity.pipeline.candidates import OperandColumns
from comity.pipeline.detect.buckets import BucketJob, PatternWork, Times, detect_buckets, read_found
from comity.pipeline.detect.extract import Extracted, stage, staged_files
from comity.plan.stages import Plan
from comity.plan.ways import Ways


@dataclass(slots=True)
class SparkPlanPatterns:
    """The patterns of a plan, ready to be detected again and again."""

    plan: Plan
    ways: Ways
    spark: SparkSession
    compiled: bool | None = None
    _columns: OperandColumns | None = field(default=None, init=False)
    _shared: Broadcast[PatternWork] | None = field(default=None, init=False)

    @property
    def columns(self) -> OperandColumns:
        """How candidates are found among hits."""
        if self._columns is None:
            self._columns = OperandColumns(self.plan.patterns, self.ways, keep_lines=True)
        return self._columns

    @property
    def shared(self) -> Broadcast[PatternWork]:
        """The patterns as the workers have them."""
        if self._shared is None:
            types = {way.target.qualified_name: way.target for way in self.ways.ways}
            work = PatternWork(tuple(one.bound for one in self.plan.patterns), types, self.compiled)
            self._shared = self.spark.sparkContext.broadcast(work)
        return self._shared

    def stage(self, hits: DataFrame, folder: Path, buckets: int, late_before: int | None, mode: str) -> Extracted:
        """Stage the candidates among hits; what is rejected is told elsewhere."""
        rows = self.columns.rows(hits, buckets, late_before, self.spark, with_rejected=False)
        return stage(rows, str(folder), buckets, mode=mode)

    def detect(self, folder: Path, buckets: int, seen: Extracted) -> list[str]:
        """Detect what was staged, which is complete; gives the files of reports."""
        jobs = [
            BucketJob(bucket, files, None, str(folder.with_name(f"{folder.name}-reports") / str(bucket)), None)
            for bucket in range(buckets)
            if (files := staged_files(str(folder), bucket)) or self.shared.value.has_silence(bucket, buckets)
        ]
        detect_buckets(jobs, self.shared, buckets, Times(start=seen.earliest, last=seen.latest), self.spark)
        return [job.reports for job in jobs]

    def found(self, files: Sequence[str]) -> Iterator[ReportRow]:
        """The reports in files, each once."""
        return read_found(files, [one.bound for one in self.plan.patterns])

    def notifications(self, found: Iterable[ReportRow]) -> Iterator[tuple[str, str, bytes]]:
        """Subscriber, profile and line of each report."""
        subscribers = {one.bound.name: one.subscriber for one in self.plan.patterns}
        for one in found:
            line = notification_line(encode(report_event(one)), one.profile)
            yield subscribers[one.profile], one.profile, line

    def close(self) -> None:
        """Forget what the workers have."""
        if self._shared is not None:
            self._shared.destroy()
            self._shared = None


def remove_staged(folder: Path) -> None:
    """Remove candidates and reports that were staged."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(folder.with_name(f"{folder.name}-reports"), ignore_errors=True)
