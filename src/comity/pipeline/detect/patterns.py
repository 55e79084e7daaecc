"""Patterns as Spark's workers have them, and the reports that are found with them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from comity.event.types import EventType
from comity.pattern.bound import BoundPattern
from comity.pattern.rows import ReportRow
from comity.pipeline.detect.buckets import BucketJob, PatternWork, Times, detect_buckets, read_found
from comity.pipeline.detect.extract import staged_files
from comity.pipeline.guest import SharedValue, share


@dataclass(slots=True)
class SparkPatterns:
    """Patterns, ready to be detected again and again."""

    patterns: Sequence[BoundPattern]
    types: Mapping[str, EventType] | None
    """By qualified name, the types in which lines of candidates are written; None when there are no types."""
    spark: SparkSession
    compiled: bool | None = None
    """Whether compiled code detects what it can; None when that depends on how much there is."""
    _shared: SharedValue[PatternWork] | None = field(default=None, init=False)

    @property
    def shared(self) -> SharedValue[PatternWork]:
        """The patterns as the workers have them."""
        if self._shared is None:
            self._shared = share(PatternWork(tuple(self.patterns), self.types, self.compiled), self.spark)
        return self._shared

    def detect_stored(self, folder: Path, buckets: int, times: Times) -> list[str]:
        """Detect what was staged in a folder, which is complete; gives the files of reports, which are beside it."""
        jobs = [
            BucketJob(bucket, files, None, reports_of(folder, bucket), None)
            for bucket in range(buckets)
            if (files := staged_files(str(folder), bucket)) or self.shared.value.has_silence(bucket, buckets)
        ]
        detect_buckets(jobs, self.shared, buckets, times, self.spark)
        return [job.reports for job in jobs]

    def found(self, files: Sequence[str]) -> Iterator[ReportRow]:
        """The reports in files, each once."""
        return read_found(files, self.patterns)

    def close(self) -> None:
        """Forget what the workers have."""
        if self._shared is not None:
            self._shared.destroy()
            self._shared = None


def bucket_count(spark: SparkSession) -> int:
    """Over how many buckets traces are spread, if nothing else is known."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def candidates_beside(staging: Path) -> Path:
    """Where the candidates are staged of a batch whose outcomes are staged in a folder."""
    return staging.with_name(f"{staging.name}-candidates")


def remove_staged(folder: Path) -> None:
    """Remove candidates that were staged in a folder, and the reports on them."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(_reports(folder), ignore_errors=True)


def reports_of(folder: Path, bucket: int) -> str:
    """The file of reports on a bucket of what was staged in a folder."""
    return str(_reports(folder) / str(bucket))


def _reports(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-reports")
