"""What composite profiles report of a batch that is complete, as a DataFrame: one shuffle by bucket, and no files.

Candidates of a bucket are detected together by one worker, which gives notifications. Where a silence is looked for,
each bucket also gets one row that is no candidate, with the times of the first and the last event of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from comity.connect.notification import notification_line
from comity.event.formats.jsonlines import encode
from comity.limits import Limits, limited, limits
from comity.pattern.notification import report_event
from comity.pattern.rows import CANDIDATES, ReportRow, found_reports
from comity.pipeline.detect.buckets import HasPatterns, Times, detect_bucket
from comity.pipeline.detect.extract import COUNTED, ROWS
from comity.pipeline.detect.federation import SparkPlanPatterns
from comity.pipeline.detect.patterns import bucket_count

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
    worker = ReportWorker(
        patterns.shared, {one.bound.name: one.subscriber for one in patterns.planned}, buckets, limits()
    )
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
            told = [self._told(one) for one in found_reports(reports, work.patterns)]
            return pa.Table.from_pylist(told, schema=_TOLD)

    def _told(self, report: ReportRow) -> dict[str, object]:
        event = report_event(report)
        line = encode(event)
        return {
            "subscriber": self.subscribers[report.profile],
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
