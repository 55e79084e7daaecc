"""A batch of a stream with little in it: one task reads it, decides what becomes of it, and writes that.

What a batch costs whatever is in it is that Spark plans it, compiles what it planned, and hands rows from stage to
stage. Some hundred events are decoded, matched and mediated in less time than that, by the code of the engine, event by
event. The end is the one that all batches have: the same buckets of identities, files and commit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec
import pyarrow as pa

from comity.connect.folder import REJECTED, landed_source
from comity.connect.notification import notification_line
from comity.event.event import Event
from comity.event.files import read_events, unreadable
from comity.event.formats.jsonlines import Rejected, decode, encode
from comity.event.formats.parquet import read_parquet_lines, trusted_footer
from comity.event.formats.table import Form, OnSpark, format_of
from comity.event.owners import ANYBODY, Owners
from comity.event.window import Window
from comity.limits import Limits, limits
from comity.pipeline.batch import BatchFigures
from comity.pipeline.doubts import reading
from comity.pipeline.in_worker import in_worker
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Inputs
from comity.pipeline.spark_hash import xxhash64
from comity.pipeline.worker import HasValue, Work
from comity.pipeline.write import WRITER_COLUMNS, BatchWriter, BatchWriting
from comity.plan.following import follow_hits
from comity.storage.place import is_address

Files = tuple[tuple[str, str | None], ...]
"""Each with the reason if nobody can read it."""
_ROW_BYTES = 64
"""What a row of Parquet counts for at least, however well its file is compressed."""


@dataclass(frozen=True, slots=True)
class SmallBatch:
    """Files with little in them."""

    files: Files
    owners: Owners = ANYBODY

    @classmethod
    def of(cls, inputs: Inputs, owners: Owners = ANYBODY) -> SmallBatch | None:
        """The batch, if there is little in it, and if a worker may read all of its files by itself."""
        if any(format_of(path).on_spark is not OnSpark.WHOLE for path in inputs.others):
            return None  # such a file made Spark or a worker fail
        left = limits().max_small_batch_bytes
        paths = sorted((*inputs.lines, *inputs.parquet, *inputs.others))
        for path in paths:
            size = _bytes_in(path)
            if size is None or size > left:
                return None
            left -= size
        return cls((*((path, None) for path in paths), *inputs.unreadable), owners)

    def take(
        self, prepared: PreparedPlan, window: Window, late_before: datetime | None, writing: BatchWriting
    ) -> BatchFigures:
        """Write what becomes of it; gives what passed by."""
        worker = SmallWorker(
            prepared.shared, window, limits(), self.owners, self.files, writing.next, writing.buckets, late_before
        )
        # A DataFrame of one row, since its workers live on; those of an RDD were seen to start anew each time.
        rows = prepared.spark.range(0, 1, 1, 1).mapInArrow(worker.batches, "told binary").collect()
        *buckets, passed_by = (bytes(row["told"]) for row in rows)
        writing.take(worker.writer.written(buckets))
        return msgspec.json.decode(passed_by, type=BatchFigures)


def _bytes_in(path: str) -> int | None:
    """About how much there is to read in a file; None where only reading it tells."""
    format = format_of(path)
    if format.on_spark is OnSpark.ROWS and not is_address(path):
        footer = trusted_footer(path)
        if footer is None:
            return None
        in_groups: int = sum(footer.row_group(at).total_byte_size for at in range(footer.num_row_groups))
        return in_groups + _ROW_BYTES * int(footer.num_rows)
    if format.form is Form.DECODED or format.is_compressed:
        return None
    if is_address(path):  # to ask for the size of each file would take longer than Spark does to plan
        return None
    try:
        return Path(path).stat().st_size
    except OSError:  # it is gone, or not on this machine
        return None


@dataclass(frozen=True, slots=True)
class SmallWorker:
    """The worker's side."""

    shared: HasValue
    window: Window
    bounds: Limits
    owners: Owners
    files: Files
    writer: BatchWriter
    buckets: int
    late_before: datetime | None

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For the one row there is: what `BatchWriter` says of each bucket, and last the figures."""
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"told": pa.array(self._take_all(), pa.binary())})

    def _take_all(self) -> Iterator[bytes]:
        rows = _Outcomes(self.shared.value, self.buckets, self.late_before)
        with in_worker(self.bounds):
            for path, reason in self.files:
                with reading(path):
                    for record in self._records(path, reason):
                        rows.records += 1
                        rows.work.take(record, rows)
        for written in self.writer.batches(rows.batches()):
            yield from written.column("done").to_pylist()
        yield msgspec.json.encode(rows.figures())

    def _records(self, path: str, reason: str | None) -> Iterator[Event | Rejected]:
        if reason is not None:
            return iter([unreadable(path, reason)])
        types = self.shared.value.types_of(self.owners.domains(path))
        if format_of(path).form is not Form.DECODED:
            return read_events(path, types, require_time=True, window=self.window)
        return (
            line
            if isinstance(line, Rejected)
            else decode(line, types, require_time=True, window=self.window, line_number=row, source_file=path)
            for row, line in read_parquet_lines(path)
        )


@dataclass(slots=True)
class _Outcomes:
    """Rows for a `BatchWriter`, put together record by record, and what passed by."""

    work: Work
    buckets: int
    late_before: datetime | None
    records: int = 0
    matched: int = 0
    late: int = 0
    newest: datetime | None = None
    times: list[int] = field(default_factory=list)
    rows: dict[int, list[dict[str, object]]] = field(default_factory=dict)
    """By bucket; what has no identity is in the first."""

    def add(self, event: Event, found: list[tuple[str | None, int]]) -> None:
        ways = self.work.ways.ways
        for outcome in follow_hits(event, [(profile, ways[way]) for profile, way in found]):
            if isinstance(outcome, Rejected):
                self._refuse({"contract": outcome.contract, "raw": outcome.raw, "faults": _faults(outcome)})
                continue
            profile, subscriber, seen = outcome
            bucket = xxhash64(profile, seen.source, seen.id) % self.buckets
            line = notification_line(encode(seen), profile)
            self._put(bucket, to=subscriber, profile=profile, source=seen.source, id=seen.id, line=line)
        if any(profile is not None for profile, _ in found):
            self._count(event)

    def reject(self, record: Rejected) -> None:
        told = {"file": record.source_file, "line": record.line_number, "origin": landed_source(record.source_file)}
        self._refuse({**told, "raw": record.raw, "faults": _faults(record)})

    def see(self, earliest: int, latest: int) -> None:
        self.times = [min(earliest, *self.times), max(latest, *self.times)] if self.times else [earliest, latest]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, bucket by bucket."""
        return (pa.RecordBatch.from_pylist(rows, schema=_ROWS) for rows in self.rows.values())

    def figures(self) -> BatchFigures:
        return BatchFigures(self.records, 0, self.matched, self.late, self.newest, tuple(self.times))

    def _refuse(self, record: dict[str, object]) -> None:
        told = {name: value for name, value in record.items() if value is not None}
        self._put(0, to=REJECTED, line=json.dumps(told, ensure_ascii=False).encode())

    def _put(self, bucket: int, **row: object) -> None:
        self.rows.setdefault(bucket, []).append({"bucket": bucket, **row})

    def _count(self, event: Event) -> None:
        assert event.time is not None, "events without a time are rejected"
        self.matched += 1
        self.late += self.late_before is not None and event.time < self.late_before
        self.newest = event.time if self.newest is None else max(self.newest, event.time)


_ROWS = pa.schema([(name, pa.int32() if name == "bucket" else pa.string()) for name in WRITER_COLUMNS]).append(
    pa.field("line", pa.binary())
)


def _faults(record: Rejected) -> list[dict[str, object]]:
    return [one.as_dict() for one in record.faults]
