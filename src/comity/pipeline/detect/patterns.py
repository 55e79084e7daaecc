"""Patterns as Spark's workers have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from comity.event.types import EventType
from comity.limits import limits
from comity.pattern.bound import BoundPattern
from comity.pattern.told import told_reports
from comity.pipeline.detect.buckets import BucketDetection, BucketWorker, PatternWork, Tell
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

    @property
    def names(self) -> tuple[str, ...]:
        """By pattern, the profile."""
        return tuple(one.name for one in self.patterns)

    @property
    def tell(self) -> Tell:
        """How reports are told."""
        return told_reports

    def worker(self, detection: BucketDetection) -> BucketWorker:
        """What detects the buckets of parcels in workers."""
        return BucketWorker(detection, self.tell, limits())

    def close(self) -> None:
        """Forget what the workers have."""
        if self._shared is not None:
            self._shared.destroy()
            self._shared = None


def bucket_count(spark: SparkSession) -> int:
    """Over how many buckets traces are spread, if nothing else is known."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
