"""What composite profiles report, as DataFrames of notifications that workers make.

Of a batch that is complete: one shuffle by bucket, and no files. Candidates of a bucket are detected together by one
worker. Where a silence is looked for, each bucket also gets one row that is no candidate, with the times of the first
and the last event of all. Of a batch of a stream: what was detected stands in files, together with what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from comity.connect.folder import LATE
from comity.connect.notification import notification_line
from comity.event.formats.jsonlines import encode
from comity.limits import Limits, limited, limits
from comity.pattern.notification import report_event
from comity.pattern.rows import CANDIDATES, ReportRow, found_reports
from comity.pipeline.detect.buckets import HasPatterns, Times, detect_bucket, read_found
from comity.pipeline.detect.extract import COUNTED, ROWS, staged_files
from comity.pipeline.detect.extract import LATE as LATE_BUCKET
from comity.pipeline.detect.federation import SparkPlanPatterns
from comity.pipeline.detect.patterns import bucket_count
from comity.pipeline.worker import batched
from comity.pipeline.wrap import NO_GLOBS

_TOLD = pa.schema(
    [
        *((name, pa.string()) for name in ("subscriber", "profile", "id", "source", "type")),
        ("time", pa.timestamp("us", "UTC")),
        ("data", pa.string()),
        ("notification", pa.string()),
    ]
)


def reports_of_hits(patterns: SparkPlanPatterns, hits: DataFrame, row_ends: Sequence[DataFrame]) -> DataFrame:
    """The notifications of composite profiles, each once; `row_ends` are the first and last times of tables of rows."""
    buckets = bucket_count(patterns.spark)
    rows = patterns.candidates(hits, buckets, None)
    candidates = rows.filter(F.col("bucket") >= 0)
    if patterns.shared.value.silent:
        candidates = candidates.unionByName(_clocks(rows, row_ends, buckets))
    worker = ReportWorker(patterns.shared, patterns.subscribers, buckets, limits())
    # A function, and no method: Spark would count its first argument, and hand over the key, too.
    found = candidates.groupBy("bucket").applyInArrow(lambda rows: worker.table(rows), from_arrow_schema(_TOLD))
    return found.dropDuplicates(["profile", "id"])


def _clocks(rows: DataFrame, row_ends: Sequence[DataFrame], buckets: int) -> DataFrame:
    """For each bucket a row with the times of the first and the last event."""
    counted = rows.filter(F.col("bucket") == COUNTED).select("earliest", "latest")
    ends = reduce(DataFrame.union, row_ends, counted)
    both = ends.agg(F.min("earliest").alias("earliest"), F.max("latest").alias("latest"))
    every = both.crossJoin(rows.sparkSession.range(buckets).select(F.col("id").cast("int").alias("bucket")))
    absent = [field for field in from_arrow_schema(ROWS) if field.name not in every.columns]
    return every.select("*", *(F.lit(None).cast(field.dataType).alias(field.name) for field in absent))


@dataclass(frozen=True, slots=True)
class ReportWorker:
    """The worker's side."""

    shared: HasPatterns
    subscribers: Mapping[str, str]
    buckets: int
    bounds: Limits

    def table(self, rows: pa.Table) -> pa.Table:
        """The notifications of one bucket."""
        with limited(**asdict(self.bounds)):
            bucket = rows.column("bucket")[0].as_py()
            is_candidate = pc.is_valid(rows.column("pattern"))
            candidates = rows.filter(is_candidate).select(CANDIDATES.names).cast(CANDIDATES)
            times = _times(rows.filter(pc.invert(is_candidate)))
            work = self.shared.value
            reports, _ = detect_bucket(work, bucket, self.buckets, candidates, times)
            told = [_told(one, self.subscribers) for one in found_reports(reports, work.patterns)]
            return pa.Table.from_pylist(told, schema=_TOLD)


def _told(report: ReportRow, subscribers: Mapping[str, str]) -> dict[str, object]:
    event = report_event(report)
    line = encode(event)
    return {
        "subscriber": subscribers[report.profile],
        "profile": report.profile,
        "id": event.id,
        "source": event.source,
        "type": event.type,
        "time": event.time,
        "data": bytes(_data.decode(line).data).decode(),
        "notification": notification_line(line, report.profile).decode(),
    }


class _Encoded(msgspec.Struct):
    data: msgspec.Raw


_data = msgspec.json.Decoder(_Encoded)


def _times(clocks: pa.Table) -> Times:
    """Without a clock there is no silence, and it is enough to know that there was an event."""
    if not clocks.num_rows:
        return Times()
    return Times(start=clocks.column("earliest")[0].as_py(), last=clocks.column("latest")[0].as_py())


# Of a batch of a stream


def told_rows(patterns: SparkPlanPatterns, reports: Sequence[str], staged: Path, told: Set[str]) -> DataFrame | None:
    """Rows as hits become (`to`, the identity, `line`), of reports in files but those that were told, and of events
    that were staged as late. None if there are none.
    """
    found: list[DataFrame] = []
    if reports:
        worker = ReportFiles(patterns.shared, patterns.subscribers, tuple(reports), frozenset(told), limits())
        tasks = patterns.spark.range(0, len(reports), 1, len(reports))
        made = tasks.mapInArrow(worker.batches, from_arrow_schema(_TOLD))
        to, line = F.col("subscriber").alias("to"), F.col("notification").alias("line")
        found.append(made.select(to, "profile", "source", "id", line))
    if late := staged_files(str(staged), LATE_BUCKET):
        nothing = [F.lit(None).cast("string").alias(name) for name in ("profile", "source", "id")]
        lines = patterns.spark.read.option(*NO_GLOBS).parquet(*late)
        found.append(lines.select(F.lit(LATE).alias("to"), *nothing, "line"))
    return reduce(DataFrame.union, found) if found else None


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The worker's side: from reports in files to notifications."""

    shared: HasPatterns
    subscribers: Mapping[str, str]
    files: tuple[str, ...]
    told: frozenset[str]
    """Ids of reports that are left out."""
    bounds: Limits

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The notifications in the files whose numbers come in."""
        with limited(**asdict(self.bounds)):
            for batch in batches:
                files = [self.files[number] for number in batch.column(0).to_pylist()]
                for some in batched(read_found(files, self.shared.value.patterns), _REPORTS_AT_ONCE):
                    rows = [_told(one, self.subscribers) for one in some if one.id not in self.told]
                    yield pa.RecordBatch.from_pylist(rows, schema=_TOLD)


_REPORTS_AT_ONCE = 10_000
