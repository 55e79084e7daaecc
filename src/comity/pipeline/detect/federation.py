"""The composite profiles of a plan on Spark: candidates out of its hits, and reports as notifications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from comity.connect.folder import LATE
from comity.connect.notification import notification_line
from comity.event.event import Event
from comity.event.formats.jsonlines import encode
from comity.limits import Limits, limited, limits
from comity.pattern.notification import report_event
from comity.pattern.rows import ReportRow
from comity.pipeline.detect.buckets import HasPatterns, read_found
from comity.pipeline.detect.candidates import OperandColumns
from comity.pipeline.detect.extract import LATE as LATE_BUCKET
from comity.pipeline.detect.extract import Extracted, stage, staged_files
from comity.pipeline.detect.patterns import SparkPatterns
from comity.pipeline.worker import batched
from comity.pipeline.wrap import NO_GLOBS
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

    def told_rows(self, reports: Sequence[str], staged: Path, told: Set[str]) -> DataFrame | None:
        """Rows as hits become (`to`, the identity, `line`), of reports in files but those that were told, made by
        workers; and of events that were staged as late. None if there are none.
        """
        found: list[DataFrame] = []
        if reports:
            worker = ReportWorker(self.shared, self._subscribers, tuple(reports), frozenset(told), limits())
            tasks = self.spark.range(0, len(reports), 1, len(reports))
            found.append(tasks.mapInArrow(worker.batches, _TOLD))
        if late := staged_files(str(staged), LATE_BUCKET):
            nothing = [F.lit(None).cast("string").alias(name) for name in ("profile", "source", "id")]
            lines = self.spark.read.option(*NO_GLOBS).parquet(*late)
            found.append(lines.select(F.lit(LATE).alias("to"), *nothing, "line"))
        return reduce(DataFrame.union, found) if found else None

    def notifications(self, found: Iterable[ReportRow]) -> Iterator[tuple[str, str, bytes]]:
        """Subscriber, profile and line of each report."""
        return ((self._subscribers[one.profile], one.profile, _line(report_event(one), one.profile)) for one in found)

    @property
    def _subscribers(self) -> dict[str, str]:
        return {one.bound.name: one.subscriber for one in self.planned}


def _line(event: Event, profile: str) -> bytes:
    return notification_line(encode(event), profile)


_TOLD = "to string, profile string, source string, id string, line string"
_TOLD_ARROW = pa.schema([(name, pa.string()) for name in ("to", "profile", "source", "id", "line")])
_REPORTS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class ReportWorker:
    """The worker's side: from reports in files to rows of notifications."""

    shared: HasPatterns
    subscribers: Mapping[str, str]
    files: tuple[str, ...]
    told: frozenset[str]
    """Ids of reports that are left out."""
    bounds: Limits

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the files whose numbers come in."""
        with limited(**asdict(self.bounds)):
            for batch in batches:
                files = [self.files[number] for number in batch.column(0).to_pylist()]
                for some in batched(read_found(files, self.shared.value.patterns), _REPORTS_AT_ONCE):
                    rows = [self._row(one) for one in some if one.id not in self.told]
                    yield pa.RecordBatch.from_pylist(rows, schema=_TOLD_ARROW)

    def _row(self, found: ReportRow) -> dict[str, str]:
        event, to = report_event(found), self.subscribers[found.profile]
        line = _line(event, found.profile).decode()
        return {"to": to, "profile": found.profile, "source": event.source, "id": event.id, "line": line}
