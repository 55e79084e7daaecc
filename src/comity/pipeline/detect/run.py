"""Composite profiles over stored events on Spark.

One pass over the events stages the candidates by the bucket of their trace; then each bucket is detected by one task.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from comity.event.taxonomy import Taxonomy
from comity.event.window import Window
from comity.pattern.bound import BoundPattern
from comity.pattern.rows import ReportRow
from comity.pipeline.detect.buckets import Times
from comity.pipeline.detect.extract import REFUSED, OpenCandidates, staged_lines
from comity.pipeline.detect.patterns import SparkPatterns, bucket_count
from comity.pipeline.detect.pieces import PieceCandidates
from comity.pipeline.doubts import Attempts
from comity.pipeline.failure import spark_failures
from comity.pipeline.read import Inputs

_BYTES_A_BUCKET = 256_000_000
"""Of events; candidates are at most about as large, and a bucket of them is to fit into memory many times."""


@dataclass(slots=True)
class SparkReports:
    """What Spark finds. The figures are complete once the last report was taken."""

    patterns: Sequence[BoundPattern]
    files: Sequence[str]
    taxonomy: Taxonomy | None
    spark: SparkSession
    window: Window | None = None
    until: int | None = None
    start: int | None = None
    buckets: int | None = None
    events: int = 0
    late: int = 0
    """None: all events are there."""
    rejected: list[dict[str, Any]] = field(default_factory=list)

    def found(self) -> Iterator[ReportRow]:
        """The reports, in no order."""
        patterns = patterns_over(self.patterns, self.taxonomy, self.spark)
        with TemporaryDirectory(prefix="comity-detect-") as folder:
            try:
                with spark_failures():
                    files = Attempts(self.files, self.spark).run(
                        lambda doubts: self._detect(Path(folder), patterns, Inputs.of(self.files, doubts))
                    )
            finally:
                patterns.close()
            yield from patterns.found(files)

    def _detect(self, folder: Path, patterns: SparkPatterns, inputs: Inputs) -> list[str]:
        """The files of reports."""
        shutil.rmtree(folder, ignore_errors=True)  # what an attempt left that failed
        buckets = self.buckets or _bucket_count(self.files, self.spark)
        staged = folder / "candidates"
        seen = candidates_of(patterns).stage(inputs, str(staged), buckets, self.window, None)
        self.events = seen.events
        self.rejected = [msgspec.json.decode(line) for line in staged_lines(str(staged), REFUSED)]
        start = seen.earliest if self.start is None else self.start
        return patterns.detect_stored(staged, buckets, Times(None, self.until, start, seen.latest))


def detect_on_spark(
    patterns: Sequence[BoundPattern],
    events: Sequence[str],
    taxonomy: Taxonomy | None,
    spark: SparkSession,
    *,
    window: Window | None = None,
    until: int | None = None,
    start: int | None = None,
    buckets: int | None = None,
) -> SparkReports:
    """What the patterns report of the events in these files, which are complete: nothing happens after them.

    With `until`, events and reports after it are left out; traces start at `start`, else with the first event. Times
    outside the window are rejected. Traces are spread over `buckets`, by default as many as the files need.
    """
    return SparkReports(patterns, events, taxonomy, spark, window, until, start, buckets)


def candidates_of(patterns: SparkPatterns) -> OpenCandidates | PieceCandidates:
    """How the candidates of patterns are staged: as columns where events have types, else one by one."""
    staging = OpenCandidates if patterns.types is None else PieceCandidates
    return staging(patterns.shared, patterns.spark)


def patterns_over(
    patterns: Sequence[BoundPattern], taxonomy: Taxonomy | None, spark: SparkSession, compiled: bool | None = None
) -> SparkPatterns:
    """Patterns over events as they come, with or without types."""
    types = None if taxonomy is None else {one.qualified_name: one for one in taxonomy.types}
    return SparkPatterns(patterns, types, spark, compiled)


def _bucket_count(files: Sequence[str], spark: SparkSession) -> int:
    sizes = (Path(file).stat().st_size for name in files for file in _files_of(Path(name)))
    return max(bucket_count(spark), sum(sizes) // _BYTES_A_BUCKET)


def _files_of(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in path.iterdir() if file.is_file())
    elif path.exists():
        yield path
