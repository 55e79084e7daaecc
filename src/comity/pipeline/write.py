"""The end of a batch of a stream, in the workers: what was delivered before is left out, the rest is written.

A task has a bucket: all rows that may be the same notification, and the keys of those that were delivered. It writes
files as they are published and a file of the new keys, and tells the names and what it counted. The driver gives the
files their names and commits the list, so nothing that grows with the events passes it. A task that runs twice writes
other files, of which only those are taken that Spark says are its result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from comity.connect.commits import Commit, WrittenKeys, after_batch, note_keys
from comity.connect.folder import REJECTED, StagedFile
from comity.connect.key_files import DeliveredKeys, as_keys, map_keys
from comity.connect.notification import key_digests
from comity.connect.tables.parts import TableFile
from comity.connect.target import ResultParts
from comity.connect.topics.parts import TopicPart, TopicParts
from comity.errors import Misuse, Permanent, Place
from comity.event.formats.table import is_file_fault
from comity.event.reasons import ReasonCounts
from comity.limits import Limits, limits
from comity.pipeline.batch import BatchFigures
from comity.pipeline.deliver import BUCKET
from comity.pipeline.in_worker import in_worker
from comity.plan.stages import Plan, Summary
from comity.storage.place import Storage

WRITER_COLUMNS = (BUCKET, "to", "profile", "source", "id")
_DONE = "bucket int, done binary"
_DONE_ARROW = pa.schema([("bucket", pa.int32()), ("done", pa.binary())])
_SPECULATION = "spark.speculation"
_EXCLUDED = "spark.sql.adaptive.optimizer.excludedRules"
_DROPS_EMPTY = "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"


@dataclass(slots=True)
class BucketWritten:
    """What a task did with its bucket."""

    staged: list[tuple[str, str, str | None, str | None]] = field(default_factory=list)
    """Target, path, day and profile of each file of results that is published later."""
    tables: list[TableFile] = field(default_factory=list)
    """Files of results that stand in tables."""
    keys: list[WrittenKeys] = field(default_factory=list)
    delivered: dict[str, int] = field(default_factory=dict)
    """By profile."""
    rejected: dict[str, int] = field(default_factory=dict)
    """By reason."""
    examples: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """Rejected records that stand for files which could not be read to their ends."""


@dataclass(slots=True)
class BatchWritten:
    """What all tasks of a batch did."""

    buckets: list[BucketWritten] = field(default_factory=list)

    @property
    def staged(self) -> Iterator[StagedFile]:
        """The files of results that are published later."""
        return (StagedFile(to, Path(path), *more) for one in self.buckets for to, path, *more in one.staged)

    @property
    def files(self) -> Iterator[StagedFile | TableFile]:
        """The files of results."""
        yield from self.staged
        for one in self.buckets:
            yield from one.tables

    @property
    def keys(self) -> Iterator[WrittenKeys]:
        """What was noted of notifications."""
        return (keys for one in self.buckets for keys in one.keys)

    @property
    def delivered(self) -> Counter[str]:
        """Notifications by profile."""
        return sum((Counter(one.delivered) for one in self.buckets), Counter[str]())

    @property
    def reasons(self) -> ReasonCounts:
        """Why records were rejected."""
        found = ReasonCounts()
        for one in self.buckets:
            found.add(one.rejected, one.examples)
        return found

    def summary(self, plan: Plan, figures: BatchFigures) -> Summary:
        """What a batch of a plan did."""
        delivered, reasons = self.delivered, self.reasons
        return Summary(
            figures.records,
            reasons.total,
            {name: delivered[name] for name in plan.profiles},
            figures.late,
            matched=figures.matched,
            rejected_by_code=dict(reasons.counts),
            rejected_examples=reasons.examples,
        )

    @property
    def faults(self) -> Iterator[bytes]:
        """Rejected records that stand for files."""
        return (line.encode() for one in self.buckets for line in one.faults)


@dataclass(frozen=True, slots=True)
class BatchWriter:
    """Writes the rows of a batch; sent to the workers."""

    parts: ResultParts
    """Where rows go."""
    keys: Storage
    before: Commit
    batch: int
    day: str
    """The day on which the batch came."""
    step: int = 0
    """Which writing of the batch it is."""
    bounds: Limits = field(default_factory=limits)

    def write(self, rows: DataFrame) -> BatchWritten:
        """Write rows that were brought together by bucket."""
        with keeping_observations(rows.sparkSession):
            sent = rows.select(*WRITER_COLUMNS, F.col("line").cast("binary").alias("line"))
            told = sent.mapInArrow(self.batches, _DONE).collect()
        return self.written(bytes(row["done"]) for row in told)

    def written(self, told: Iterable[bytes]) -> BatchWritten:
        """What tasks say that they wrote, if it can be seen from here."""
        found = BatchWritten([msgspec.json.decode(one, type=BucketWritten) for one in told])
        for file in found.files:
            path = self.parts.path(file)
            if path is not None and not path.exists():
                raise _not_shared(path)
        return found

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The worker's side: one row for each bucket."""
        with in_worker(self.bounds):
            buckets: dict[int, _Bucket] = {}
            for batch in batches:
                present = pc.unique(batch.column(0)).to_pylist()  # one, unless Spark puts small partitions together
                for bucket in present:
                    if bucket not in buckets:
                        buckets[bucket] = _Bucket(self, bucket)
                    own = batch if len(present) == 1 else batch.filter(pc.equal(batch.column(0), bucket))
                    buckets[bucket].take(own)
            for bucket, found in buckets.items():
                done = msgspec.json.encode(found.done())
                yield pa.RecordBatch.from_pylist([{"bucket": bucket, "done": done}], schema=_DONE_ARROW)


class _Bucket:
    """A bucket while its rows come."""

    def __init__(self, writer: BatchWriter, bucket: int) -> None:
        self.writer, self.bucket = writer, bucket
        self.part = writer.parts.open(bucket, writer.step)
        before = Commit(keys=writer.before.of_bucket(bucket))
        self.delivered_before = self._earlier(before)
        """What an earlier attempt at the batch has delivered for good."""
        self.known_files = after_batch(before, 0, self.delivered_before).keys
        self.known = DeliveredKeys([map_keys(writer.keys, file) for file in self.known_files])
        self.seen = DeliveredKeys([])
        """Lines without an identity, of which each is kept once in a batch."""
        self.delivered: Counter[str] = Counter()
        self.reasons = ReasonCounts()
        self.faults: list[str] = []

    def take(self, rows: pa.RecordBatch) -> None:
        has_identity = pc.is_valid(rows.column("profile"))
        told = rows if rows.column("profile").null_count == 0 else rows.filter(has_identity)
        if told.num_rows:
            self._take_told(told)
        if told.num_rows < rows.num_rows:
            self._take_others(rows.filter(pc.invert(has_identity)))

    def done(self) -> BucketWritten:
        """Close the files; gives what they are."""
        new, written = self.known.taken(), list(self.delivered_before)
        if len(new):
            writer = self.writer
            written.append(note_keys(writer.keys, self.known_files, new, writer.batch, self.bucket, writer.day))
        if isinstance(self.part, TopicPart):
            self.part.commit(written)
        else:
            self.part.close()
        return BucketWritten(
            [
                (file.to, str(file.path), file.day, file.profile)
                for file in self.part.files
                if isinstance(file, StagedFile)
            ],
            [file for file in self.part.files if isinstance(file, TableFile)],
            written,
            dict(self.delivered),
            dict(self.reasons.counts),
            {code: dict(record) for code, record in self.reasons.examples.items()},
            self.faults,
        )

    def _earlier(self, before: Commit) -> list[WrittenKeys]:
        """What counts by itself of this batch, and was not known when it began."""
        if not isinstance(self.part, TopicPart):
            return []
        known = {file.name for file in before.keys}
        return [one for one in self.part.mark.keys if one.file.name not in known]

    def _take_told(self, rows: pa.RecordBatch) -> None:
        identity = (rows.column(name).to_pylist() for name in ("profile", "source", "id"))
        is_new = self.known.take(as_keys(key_digests(*identity)))
        if not is_new.any():
            return
        new = rows if is_new.all() else rows.filter(pa.array(is_new))
        for pair in pc.value_counts(new.column("profile")):
            self.delivered[pair["values"].as_py()] += pair["counts"].as_py()
        self._put(new)

    def _take_others(self, rows: pa.RecordBatch) -> None:
        refused = pc.equal(rows.column("to"), REJECTED)
        for line in rows.filter(refused).column("line").to_pylist():
            if is_file_fault(self.reasons.take(msgspec.json.decode(line))):
                self.faults.append(line.decode())
            self.part.put(REJECTED, line)
        rest = rows.filter(pc.invert(refused))
        if rest.num_rows:
            digests = key_digests(*(rest.column(name).cast(pa.string()).to_pylist() for name in ("to", "to", "line")))
            rest = rest.filter(pa.array(self.seen.take(as_keys(digests))))
            self._put(rest)

    def _put(self, rows: pa.RecordBatch) -> None:
        targets = pc.unique(rows.column("to")).to_pylist()
        for to in targets:
            own = rows if len(targets) == 1 else rows.filter(pc.equal(rows.column("to"), to))
            self.part.put_all(to, own.column("line"))


@dataclass(slots=True)
class BatchWriting:
    """Writes a batch in one go or in several, of which each knows what those before it wrote."""

    writer: BatchWriter
    buckets: int
    after: Commit = field(init=False)
    """What counts when the batch does."""
    done: BatchWritten = field(default_factory=BatchWritten, init=False)
    _steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.after = self.writer.before

    def write(self, rows: DataFrame) -> None:
        """Write rows that were brought together by bucket."""
        if isinstance(self.writer.parts, TopicParts):
            refuse_doubles(rows.sparkSession.conf.get(_SPECULATION, "false"))
        self.take(self.next.write(rows))

    @property
    def next(self) -> BatchWriter:
        """Writes more of the batch."""
        return replace(self.writer, before=self.after, step=self._steps)

    def take(self, written: BatchWritten) -> None:
        """What was written of the batch is a part of it."""
        self.after = after_batch(self.after, self.buckets, written.keys)
        self.done.buckets += written.buckets
        self._steps += 1


@contextmanager
def keeping_observations(spark: SparkSession) -> Iterator[None]:
    """What is observed below an exchange is kept, also if no row passes it: Spark would leave that part out."""
    before = spark.conf.get(_EXCLUDED, "") or ""
    spark.conf.set(_EXCLUDED, f"{before},{_DROPS_EMPTY}" if before else _DROPS_EMPTY)
    try:
        yield
    finally:
        spark.conf.set(_EXCLUDED, before)


def refuse_doubles(speculation: str | None) -> None:
    """Raise `Misuse` if Spark begins doubles of slow tasks.

    The broker shuts out the first of two writers, so they would shut out each other.
    """
    if speculation == "true":
        hint = f"leave out {_SPECULATION}=true"
        raise Misuse("topics cannot be written by tasks that have doubles", code="task-doubles", hint=hint)


def _not_shared(path: Path) -> Permanent:
    return Permanent(
        "a worker wrote this file, and it is not here",
        code="folder-not-shared",
        place=Place(str(path)),
        hint="name a results folder that the driver and all workers share",
    )
