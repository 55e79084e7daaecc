"""What composite profiles report, as DataFrames that workers make: one exchange by bucket, and no files.

Candidates of a bucket are detected together by one worker. Where a silence is looked for, each bucket also gets one row
that is no candidate, with the times of the first and the last event of all, unless these are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from comity.connect.folder import LATE
from comity.connect.notification import notification_line
from comity.event.formats.jsonlines import encode
from comity.limits import Limits, limits
from comity.pattern.notification import report_event, report_source
from comity.pattern.rows import CANDIDATES, ReportRow, found_reports
from comity.pipeline.detect.buckets import BucketDetection, HasPatterns, Tell, Times, detect_bucket
from comity.pipeline.detect.candidates import COUNTED, ROWS
from comity.pipeline.detect.candidates import LATE as LATE_BUCKET
from comity.pipeline.detect.ends import NOTHING_TOLD, ToldAtEnds
from comity.pipeline.detect.federation import SparkPlanPatterns
from comity.pipeline.detect.patterns import bucket_count
from comity.pipeline.detect.seen import Extracted
from comity.pipeline.in_worker import in_worker

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
        with in_worker(self.bounds):
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


# Of a batch whose times are known


def told_rows(
    patterns: SparkPlanPatterns,
    hits: DataFrame,
    detection: BucketDetection,
    seen: Extracted,
    late_before: int | None = None,
    known: ToldAtEnds = NOTHING_TOLD,
) -> DataFrame:
    """Rows as hits become (`to`, the identity, `day`, `line`), of what is reported on hits but was not told at an end,
    and of events that came too late. A report may come twice, if its events did.
    """
    rows = patterns.candidates(hits, detection.buckets, late_before).filter(F.col("bucket") != COUNTED)
    crc = F.crc32(F.col("line").cast("binary")) % detection.buckets
    place = F.when(F.col("bucket") == LATE_BUCKET, crc).otherwise(F.col("bucket")).cast("int").alias(_PLACE)
    every = patterns.spark.range(detection.buckets).select(F.col("id").cast("int").alias(_PLACE))
    columns = [place, *(name for name in (*CANDIDATES.names, "bucket"))]
    sent = rows.select(*columns).unionByName(every, allowMissingColumns=True)
    worker = CandidateWorker(detection, patterns.tell, patterns.targets, seen, known, limits())
    sent = sent.repartitionById(detection.buckets, F.col(_PLACE))
    return sent.mapInArrow(worker.batches, from_arrow_schema(_OUTCOMES))


_PLACE = "place"
_OUTCOMES = pa.schema([(name, pa.string()) for name in ("to", "profile", "source", "id", "day", "line")])


@dataclass(frozen=True, slots=True)
class CandidateWorker:
    """The worker's side: from the candidates of buckets to what is told."""

    detection: BucketDetection
    tell: Tell
    targets: tuple[str, ...]
    """By pattern, who is told."""
    seen: Extracted
    known: ToldAtEnds
    bounds: Limits

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The outcomes of the buckets whose rows come; each has one row at least."""
        with in_worker(self.bounds):
            rows = pa.Table.from_batches(list(batches))
            if not rows.num_rows:
                return
            for bucket in pc.unique(rows.column(_PLACE)).to_pylist():
                yield from self._bucket(bucket, rows.filter(pc.equal(rows.column(_PLACE), bucket)))

    def _bucket(self, bucket: int, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        own = rows.filter(pc.equal(rows.column("bucket"), bucket))
        late = rows.filter(pc.equal(rows.column("bucket"), LATE_BUCKET))
        lines = pc.unique(late.column("line")).to_pylist()
        yield from pa.Table.from_pylist([{"to": LATE, "line": line} for line in lines], schema=_OUTCOMES).to_batches()
        candidates = own.select(CANDIDATES.names).cast(CANDIDATES)
        patterns = self.detection.work.patterns
        told = self.known.without(self.tell(self.detection.reports(bucket, candidates, self.seen), patterns))
        for batch in told.to_batches(_REPORTS_AT_ONCE):
            yield self._outcomes(batch)

    def _outcomes(self, told: pa.RecordBatch) -> pa.RecordBatch:
        numbers = told.column("pattern")
        names = [one.name for one in self.detection.work.patterns]
        days = pc.strftime(told.column("end").cast(pa.timestamp("us")), "%Y-%m-%d")
        columns = [
            pa.array(self.targets, pa.string()).take(numbers),
            pa.array(names, pa.string()).take(numbers),
            pa.array([report_source(name) for name in names], pa.string()).take(numbers),
            pa.array([one.hex() for one in told.column("id").to_pylist()], pa.string()),
            days,
            pc.utf8_rtrim(told.column("line").cast(pa.large_string()), "\n").cast(pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=_OUTCOMES)


_REPORTS_AT_ONCE = 10_000
