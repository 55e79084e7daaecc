"""What goes through the one exchange of a batch: parcels, each with very many rows of one bucket as bytes of Arrow.

For Spark a parcel is a row with a number and some bytes. What it does with a row it does with a parcel, so candidates
cost it hardly anything, however many they are; and no worker needs to see a file that another one wrote.

Each task that reads events sends what passed by, and the times of its first and last event, to every bucket. So a
bucket knows how far time has come in all of them before it looks at its candidates, and has something to do even if
there are none.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from comity.pattern.rows import CANDIDATES
from comity.pipeline.detect.seen import Extracted

PARCELS = "bucket int, kind tinyint, content binary"
_PARCELS = pa.schema([("bucket", pa.int32()), ("kind", pa.int8()), ("content", pa.binary())])
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
_MOST_ROWS = 262_144
"""In one parcel: larger ones would not be sent faster."""


class Parcel(IntEnum):
    """What is in a parcel."""

    SEEN = 0
    """What passed by, as JSON; to every bucket from every task."""
    CANDIDATES = 1
    REFUSED = 2
    """Rejected records, as lines."""
    LATE = 3
    """Events that came too late, as lines; equal ones have the same bucket."""
    REPORTS = 4
    DONE = 5
    """What became of a bucket, as JSON."""


def parcel(bucket: int, kind: Parcel, content: bytes) -> pa.RecordBatch:
    """A parcel as a row."""
    return pa.RecordBatch.from_pylist([{"bucket": bucket, "kind": kind, "content": content}], schema=_PARCELS)


def seen_parcels(seen: Extracted, buckets: int) -> Iterator[pa.RecordBatch]:
    """What passed by, for every bucket."""
    content = msgspec.json.encode(seen)
    return (parcel(bucket, Parcel.SEEN, content) for bucket in range(buckets))


def line_parcels(kind: Parcel, lines: Sequence[bytes], buckets: int) -> Iterator[pa.RecordBatch]:
    """Lines, equal ones in one bucket."""
    by_bucket: dict[int, list[bytes]] = {}
    for line in lines:
        by_bucket.setdefault(zlib.crc32(line) % buckets, []).append(line)
    return (parcel(bucket, kind, b"\n".join(own)) for bucket, own in by_bucket.items())


def table_parcels(kind: Parcel, table: pa.Table, buckets: npt.NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """The rows of a table, each with the number of its bucket."""
    order = np.argsort(buckets, kind="stable")
    begins = np.flatnonzero(np.r_[True, np.diff(buckets[order]) != 0]).tolist() if len(order) else []
    for begin, end in pairwise([*begins, len(order)]):
        own = table.take(pa.array(order[begin:end]))
        for first in range(0, own.num_rows, _MOST_ROWS):
            yield parcel(int(buckets[order[begin]]), kind, packed(own.slice(first, _MOST_ROWS)))


def packed(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def unpacked(content: bytes) -> pa.Table:
    """The table that `packed` made such bytes of."""
    return pa.ipc.open_stream(content).read_all()


@dataclass(slots=True)
class BucketParcels:
    """What came for a bucket."""

    seen: Extracted = field(default_factory=Extracted)
    tables: list[pa.Table] = field(default_factory=list)
    """Candidates or reports."""
    refused: list[bytes] = field(default_factory=list)
    late: dict[bytes, None] = field(default_factory=dict)
    """Each once: several tasks may have met the same event."""
    done: list[bytes] = field(default_factory=list)

    @property
    def candidates(self) -> pa.Table:
        """All candidates."""
        return pa.concat_tables(self.tables) if self.tables else CANDIDATES.empty_table()

    def take(self, kind: Parcel, content: bytes) -> None:
        """One more parcel."""
        match kind:
            case Parcel.SEEN:
                self.seen = self.seen.beside(msgspec.json.decode(content, type=Extracted))
            case Parcel.CANDIDATES | Parcel.REPORTS:
                self.tables.append(unpacked(content))
            case Parcel.REFUSED:
                self.refused += content.split(b"\n")
            case Parcel.LATE:
                self.late.update(dict.fromkeys(content.split(b"\n")))
            case Parcel.DONE:
                self.done.append(content)

    def lines(self, bucket: int) -> Iterator[pa.RecordBatch]:
        """Rejected records and late events, to be sent on."""
        for kind, lines in ((Parcel.REFUSED, self.refused), (Parcel.LATE, self.late)):
            if lines:
                yield parcel(bucket, kind, b"\n".join(lines))


def by_bucket(batches: Iterable[pa.RecordBatch]) -> dict[int, BucketParcels]:
    """What came, by bucket; a task may get several."""
    found: dict[int, BucketParcels] = {}
    for batch in batches:
        for bucket, kind, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            found.setdefault(bucket, BucketParcels()).take(Parcel(kind), content)
    return found


def exchanged(parcels: DataFrame, buckets: int) -> DataFrame:
    """The parcels, all of a bucket in one task."""
    return parcels.repartitionById(buckets, F.col("bucket"))


def nothing_seen(buckets: int, spark: SparkSession) -> DataFrame:
    """Parcels for every bucket, when nothing came."""
    bucket = F.col("id").cast("int").alias("bucket")
    content = F.lit(msgspec.json.encode(Extracted())).alias("content")
    return spark.range(0, buckets, 1, 1).select(bucket, F.lit(int(Parcel.SEEN)).cast("tinyint").alias("kind"), content)
