"""From lines and files to candidates, in one crossing into Python: the workers decode, check and test each event.

The rows that come back are candidates, each with its bucket. In buckets of their own are rejected records, events that
came too late, and rows that only count: in `counted` how many events stand behind the rows around it, in `earliest` and
`latest` the times of the first and the last one of them, of whatever type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, encode
from comity.event.window import Window
from comity.limits import Limits, limited, limits
from comity.match.match import INDEXED, BoundProfile, Matcher
from comity.pattern.bank import Bank
from comity.pattern.extract import Extraction, Fulfilled, one_by_one
from comity.pattern.occurrence import microseconds
from comity.pattern.rows import CANDIDATES
from comity.pipeline.detect.buckets import HasPatterns, Times, bucket_of, salts_of
from comity.pipeline.files import file_table, records_in
from comity.pipeline.line_numbers import LineNumbers
from comity.pipeline.read import Inputs
from comity.pipeline.worker import batched
from comity.pipeline.wrap import cut_lines, decoded, read_lines, rejected_fields

REFUSED, LATE, COUNTED = -1, -2, -3
"""The buckets of records that were rejected, of events that came too late, and of rows that count."""
ROWS = pa.schema(
    [
        *CANDIDATES,
        pa.field("bucket", pa.int32()),
        pa.field("counted", pa.int64()),
        pa.field("earliest", pa.int64()),
        pa.field("latest", pa.int64()),
    ]
)
_RECORDS_AT_ONCE = 16_384


@dataclass(frozen=True, slots=True)
class Extracting:
    """How candidates are made of records."""

    buckets: int
    window: Window | None = None
    """The times that are believed; None when all are."""
    late_before: int | None = None
    """Where the time begins that is not complete yet."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What passed by while candidates were staged."""

    events: int = 0
    rejected: int = 0
    late: int = 0
    earliest: int | None = None
    latest: int | None = None

    @property
    def times(self) -> Times:
        """When all of it is there: from the first event to the last."""
        return Times(start=self.earliest, last=self.latest)

    def with_times(self, *times: int) -> Extracted:
        """The same, with events at these times."""
        known = [*times, *(time for time in (self.earliest, self.latest) if time is not None)]
        return replace(self, earliest=min(known, default=None), latest=max(known, default=None))


@dataclass(frozen=True, slots=True)
class OpenCandidates:
    """Stages the candidates of patterns over events without types."""

    shared: HasPatterns
    spark: SparkSession

    def stage(
        self, inputs: Inputs, folder: str, buckets: int, window: Window | None, late_before: int | None
    ) -> Extracted:
        """Stage the candidates in files."""
        how = Extracting(buckets, window, late_before)
        return stage(_candidates_in(inputs, how, self.shared, self.spark), folder, buckets)


def _candidates_in(inputs: Inputs, how: Extracting, shared: HasPatterns, spark: SparkSession) -> DataFrame:
    """The rows of all files, whatever their form."""
    schema = from_arrow_schema(ROWS)
    worker = _Extractor(shared, how, limits())
    found = []
    if inputs.lines:
        lines = cut_lines(read_lines(spark, inputs.lines), limits())
        found.append(lines.mapInArrow(worker.of_lines, schema))
    if others := [*((file, None) for file in (*inputs.others, *inputs.parquet)), *inputs.unreadable]:
        found.append(file_table(others, spark).mapInArrow(worker.of_files, schema))
    return reduce(DataFrame.unionByName, found) if found else spark.createDataFrame([], schema)


def stage(rows: DataFrame, folder: str, buckets: int, *, mode: str = "overwrite") -> Extracted:
    """Write candidates by bucket, for the tasks that detect them, and say what there was."""
    rows.repartitionById(buckets, F.col("bucket")).write.mode(mode).partitionBy("bucket").parquet(folder)
    return staged_figures(folder)


def staged_figures(folder: str) -> Extracted:
    """What there was when candidates were staged in a folder."""
    # Spark's own observations are lost when a shuffle turns out to be empty.
    counted = _read_counted(folder)
    return Extracted(
        pc.sum(counted.column("counted")).as_py() or 0,
        _row_count(folder, REFUSED),
        _row_count(folder, LATE),
        pc.min(counted.column("earliest")).as_py(),
        pc.max(counted.column("latest")).as_py(),
    )


def _read_counted(folder: str) -> pa.Table:
    files = staged_files(folder, COUNTED)
    columns = ["counted", "earliest", "latest"]
    tables = [parquet.read_table(file, columns=columns, partitioning=None) for file in files]
    return pa.concat_tables(tables or [pa.schema([ROWS.field(name) for name in columns]).empty_table()])


def _row_count(folder: str, bucket: int) -> int:
    return sum(parquet.read_metadata(file).num_rows for file in staged_files(folder, bucket))


def operands_fulfilled(bank: Bank) -> Fulfilled:
    """Which operands an event fulfils, by an index where there are many."""
    asked = list(bank.sharing.users)
    if len(asked) < INDEXED:
        return one_by_one(bank)
    patterns = bank.patterns
    filters = [patterns[number].filters[patterns[number].operand_names[at]] for number, at in asked]
    matcher = Matcher.of([BoundProfile(str(at), condition, None) for at, condition in enumerate(filters)])
    return lambda event: [asked[int(name)] for name in matcher.match(event)]


@dataclass(frozen=True, slots=True)
class _Extractor:
    """The worker's side."""

    shared: HasPatterns
    how: Extracting
    bounds: Limits

    def of_lines(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of lines that `cut_lines` gave."""
        numbers = LineNumbers()
        bounds, window = self.bounds, self.how.window
        return self._rows(decoded(batch, numbers.of(batch), None, bounds, True, window) for batch in batches)

    def of_files(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of whole files."""
        records = records_in(batches, require_time=True, window=self.how.window)
        return self._rows(batched(records, _RECORDS_AT_ONCE))

    def _rows(self, groups: Iterable[Iterable[Event | Rejected]]) -> Iterator[pa.RecordBatch]:
        with limited(**asdict(self.bounds)):
            bank = self.shared.value.bank
            fulfilled = operands_fulfilled(bank)
            for records in groups:
                group = _Group(self.how, Extraction(bank, fulfilled), fulfilled)
                for record in records:
                    group.take(record)
                yield from group.batches()


class _Group:
    """The rows of some records."""

    def __init__(self, how: Extracting, extraction: Extraction, fulfilled: Fulfilled) -> None:
        self.how, self.extraction, self.fulfilled = how, extraction, fulfilled
        self.counted = 0
        self.apart: list[dict[str, Any]] = []

    def take(self, checked: Event | Rejected) -> None:
        """A record of whatever kind."""
        if isinstance(checked, Rejected):
            self.apart.append({"bucket": REFUSED, "line": rejected_text(checked)})
            return
        assert checked.time is not None, "events without a time are rejected"
        self.counted += 1
        time = microseconds(checked.time)
        if self.how.late_before is None or time >= self.how.late_before:
            self.extraction.take(checked)
        elif any(True for _ in self.fulfilled(checked)):
            self.apart.append({"bucket": LATE, "line": encode(checked).decode()})

    def batches(self) -> list[pa.RecordBatch]:
        """All rows, and the one that counts."""
        times = {"earliest": self.extraction.earliest, "latest": self.extraction.latest}
        counted = {"bucket": COUNTED, "counted": self.counted, **times}
        others = pa.RecordBatch.from_pylist([*self.apart, counted], schema=ROWS)
        found = self.extraction.table().combine_chunks()
        return [others, *self._with_buckets(found).to_batches()]

    def _with_buckets(self, found: pa.Table) -> pa.Table:
        salts, buckets = salts_of(self.extraction.bank), self.how.buckets
        pairs = zip(found.column("pattern").to_pylist(), found.column("key").to_pylist(), strict=True)
        known: dict[tuple[int, str], int] = {}
        column = [
            known[pair] if pair in known else known.setdefault(pair, bucket_of(salts[pair[0]], pair[1], buckets))
            for pair in pairs
        ]
        nothing = [pa.nulls(len(found), pa.int64())] * 3
        return pa.table([*found.columns, pa.array(column, pa.int32()), *nothing], schema=ROWS)


def rejected_text(record: Rejected) -> str:
    """A rejected record as it is kept: its file, its line, its text and the faults."""
    fields = rejected_fields(record)
    told = {name: fields[name] for name in ("file", "line", "raw")}
    return msgspec.json.encode({**told, "faults": msgspec.Raw(fields["reason"].encode())}).decode()


def staged_files(folder: str, bucket: int) -> tuple[str, ...]:
    """The files that hold a bucket of what `stage` wrote."""
    return tuple(sorted(str(path) for path in Path(folder).glob(f"bucket={bucket}/*.parquet")))


def staged_lines(folder: str, bucket: int) -> Iterator[str]:
    """The lines that were staged in a bucket."""
    for file in staged_files(folder, bucket):
        with parquet.ParquetFile(file) as table:
            for batch in table.iter_batches(columns=["line"]):
                yield from batch.column(0).to_pylist()
