"""Files that workers read themselves, each in one piece, with the reader of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from comity.event.event import Event
from comity.event.files import read_events, unreadable
from comity.event.formats.jsonlines import Rejected, TypeLookup
from comity.event.taxonomy import Taxonomy
from comity.event.window import Window
from comity.pipeline.doubts import reading

_MOST_PARTS = 1_000


def file_table(files: Sequence[tuple[str, str | None]], spark: SparkSession) -> DataFrame:
    """A row for each file, which one task reads; with it comes the reason if nobody can read it."""
    parts = max(1, min(len(files), _MOST_PARTS))  # a batch of a stream may have nothing but empty files
    return spark.createDataFrame(list(files), "path string, unreadable string").repartition(parts)


def files_in(batch: pa.RecordBatch) -> Iterator[tuple[str, str | None]]:
    """The rows of such a table."""
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def records_in(
    batches: Iterator[pa.RecordBatch],
    types: TypeLookup | Taxonomy | None = None,
    *,
    require_time: bool = False,
    window: Window | None = None,
) -> Iterator[Event | Rejected]:
    """The records of the files in such a table; one rejected record stands for a file that nobody can read."""
    for path, reason in (one for batch in batches for one in files_in(batch)):
        with reading(path):
            if reason is not None:
                yield unreadable(path, reason)
            else:
                yield from read_events(path, types, require_time=require_time, window=window)
