"""Composite profiles over stored events on Spark: one job, and one exchange, by the bucket of traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from comity.event.taxonomy import Taxonomy
from comity.event.window import Window
from comity.pattern.bound import BoundPattern
from comity.pattern.told import TOLD, lines_of
from comity.pipeline.detect.buckets import BucketDetection, StoredTime
from comity.pipeline.detect.parcels import PARCELS, BucketParcels, Parcel, exchanged
from comity.pipeline.detect.patterns import SparkPatterns, bucket_count
from comity.pipeline.detect.pieces import parcels_of
from comity.pipeline.detect.taking import ALL_TIMES, Extracting
from comity.pipeline.doubts import Attempts
from comity.pipeline.failure import spark_failures
from comity.pipeline.read import Inputs

_BYTES_A_BUCKET = 256_000_000
"""Of events; candidates are at most about as large, and a bucket of them is to fit into memory many times."""
_LINES_AT_ONCE = 65_536


@dataclass(slots=True)
class SparkReports:
    """What Spark finds; there is nothing before `find`."""

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
    counts: dict[str, int] = field(default_factory=dict)
    """By profile, its reports."""
    _told: pa.Table = field(default_factory=TOLD.empty_table, init=False)

    def find(self) -> None:
        """Find what there is."""
        patterns = patterns_over(self.patterns, self.taxonomy, self.spark)
        try:
            with spark_failures():
                came = Attempts(self.files, self.spark).run(
                    lambda doubts: self._detect(patterns, Inputs.of(self.files, doubts))
                )
        finally:
            patterns.close()
        self.events = came.seen.events
        self.rejected = [msgspec.json.decode(line) for line in came.refused]
        self._told = _in_order(pa.concat_tables([*came.tables, TOLD.empty_table()]), patterns.names)
        counts = np.bincount(self._told.column("pattern").to_numpy(), minlength=len(self.patterns)).tolist()
        self.counts = {one.name: count for one, count in zip(self.patterns, counts, strict=True) if count}

    def lines(self) -> Iterator[bytes]:
        """The lines of the reports that were found, many at a time, in the order in which they occur."""
        for begin in range(0, self._told.num_rows, _LINES_AT_ONCE):
            yield bytes(lines_of(self._told.slice(begin, _LINES_AT_ONCE)))

    def _detect(self, patterns: SparkPatterns, inputs: Inputs) -> BucketParcels:
        buckets = self.buckets or _bucket_count(self.files, self.spark)
        how = Extracting(buckets, self.window or ALL_TIMES)
        detection = BucketDetection(patterns.shared, buckets, StoredTime(self.until, self.start))
        parcels = exchanged(parcels_of(inputs, patterns.shared, how, self.spark), buckets)
        return _brought(parcels.mapInArrow(patterns.worker(detection).batches, PARCELS))


def _brought(parcels: DataFrame) -> BucketParcels:
    """All parcels together; they come to this process one task after the other."""
    came = BucketParcels()
    kept = parcels.persist(StorageLevel.DISK_ONLY)
    try:
        kept.count()  # all tasks at once
        for row in kept.toLocalIterator():
            came.take(Parcel(row["kind"]), bytes(row["content"]))
    finally:
        kept.unpersist()
    return came


def _in_order(told: pa.Table, names: Sequence[str]) -> pa.Table:
    """Reports in the order in which they occur, each once."""
    ranks = np.argsort(np.argsort(np.array(names, object), kind="stable"), kind="stable") if names else np.zeros(0, int)
    profile = pa.array(ranks[told.column("pattern").to_numpy()])
    keys = pa.table({"end": told["end"], "profile": profile, "start": told["start"], "id": told["id"]})
    order = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])
    told = told.take(order).combine_chunks()
    ids = told.column("id")
    if told.num_rows < 2:
        return told
    is_first = np.r_[True, pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1)).to_numpy()]
    return told if is_first.all() else told.filter(pa.array(is_first)).combine_chunks()


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
