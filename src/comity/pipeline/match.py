"""Many simple profiles over events on Spark.

A few profiles become Spark columns. Many of them are matched by the workers, in the same crossing into Python that
decodes the events: a row then costs one crossing, however many profiles there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow.dataset import dataset
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected
from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.expression.tree import FALSE, attributes
from comity.limits import Limits, limits
from comity.match.match import BoundProfile, Matcher
from comity.pipeline.columns.columns import OpenColumns, TypedColumns, compile_filter
from comity.pipeline.doubts import Attempts
from comity.pipeline.failure import spark_failures
from comity.pipeline.files import file_table, records_in
from comity.pipeline.in_worker import in_worker
from comity.pipeline.line_numbers import LineNumbers
from comity.pipeline.operands import quoted
from comity.pipeline.read import Inputs
from comity.pipeline.worker import batched
from comity.pipeline.wrap import (
    REJECTED_TYPE,
    cut_lines,
    decoded,
    read_lines,
    rejected_fields,
    wrap_open,
    wrap_typed,
)

_EVENTS_AT_ONCE = 10_000


@dataclass(slots=True)
class SparkMatches:
    """What Spark finds in files. The figures are complete once the last pair was taken."""

    profiles: Sequence[BoundProfile]
    files: Sequence[str]
    taxonomy: Taxonomy | None
    spark: SparkSession
    events: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Name of a profile and id of an event that it matches."""
        with TemporaryDirectory(prefix="comity-match-") as folder:
            found = f"{folder}/found"  # one pass over the events, and then a look at what it found, in bounded memory
            with spark_failures():
                attempts = Attempts(self.files, self.spark)
                self.events = attempts.run(lambda doubts: self._write(Inputs.of(self.files, doubts), found))
            for batch in dataset(found, format="parquet").to_batches():
                yield from self._pairs_of(batch)

    def _write(self, inputs: Inputs, folder: str) -> int:
        """Write what is worth a look; gives how many events there were."""
        matched, observed = self._matched(inputs), Observation("matched")
        counted = matched.observe(observed, F.count(F.when(F.col("rejected").isNull(), True)).alias("events"))
        worth = counted.filter((F.size("names") > 0) | F.col("rejected").isNotNull())
        worth.write.mode("overwrite").parquet(folder)
        return int(observed.get["events"])

    def _matched(self, inputs: Inputs) -> DataFrame:
        """A row for each record: the id and the profiles that want it, or why it is rejected."""
        parts = []
        if inputs.lines:
            parts.append(_in_lines(read_lines(self.spark, inputs.lines), self.profiles, self.taxonomy))
        others = [*((file, None) for file in (*inputs.parquet, *inputs.others)), *inputs.unreadable]
        if others or not parts:
            worker = _Worker(list(self.profiles), self.taxonomy, limits())
            parts.append(file_table(others, self.spark).mapInArrow(worker.files, _ROW))
        return reduce(DataFrame.unionByName, parts)

    def _pairs_of(self, batch: pa.RecordBatch) -> Iterator[tuple[str, str]]:
        for row in batch.to_pylist():
            if row["rejected"] is not None:
                self.rejected.append(_rejected_dict(row["rejected"]))
            for name in row["names"] or ():
                yield name, row["id"]


def match_on_spark(
    profiles: Sequence[BoundProfile], events: Sequence[str], taxonomy: Taxonomy | None, spark: SparkSession
) -> SparkMatches:
    """The profiles that want each event of these files, or of the files in these folders."""
    return SparkMatches(profiles, events, taxonomy, spark)


def _in_lines(lines: DataFrame, profiles: Sequence[BoundProfile], taxonomy: Taxonomy | None) -> DataFrame:
    if len(profiles) > limits().max_column_profiles:
        return _in_workers(lines, profiles, taxonomy)
    return _in_open_columns(lines, profiles) if taxonomy is None else _in_typed_columns(lines, profiles, taxonomy)


def _in_open_columns(lines: DataFrame, profiles: Sequence[BoundProfile]) -> DataFrame:
    paths = sorted({path for one in profiles for path in attributes(one.tree) if path[0] != "event"})
    columns = OpenColumns()

    def test(one: BoundProfile) -> Column:
        wanted = compile_filter(one.tree, columns)
        return wanted if one.types is None else F.col("type").isin(*one.types) & wanted

    return _with_names(wrap_open(lines, paths), [(one.name, test(one)) for one in profiles])


def _in_typed_columns(lines: DataFrame, profiles: Sequence[BoundProfile], taxonomy: Taxonomy) -> DataFrame:
    concrete = [one for one in taxonomy.types if not one.abstract]

    def test(one: BoundProfile) -> Column:
        about = [type for type in concrete if one.types is None or type.qualified_name in one.types]
        wanted = F.lit(False)
        for type in about:
            wanted = wanted | _test_of_type(one, type)
        return wanted

    return _with_names(wrap_typed(lines, concrete), [(one.name, test(one)) for one in profiles])


def _test_of_type(profile: BoundProfile, type: EventType) -> Column:
    if profile.tree == FALSE:
        return F.lit(False)
    columns = TypedColumns(type, type.qualified_name)
    return quoted(type.qualified_name).isNotNull() & compile_filter(profile.tree, columns)


def _with_names(wrapped: DataFrame, tests: Iterable[tuple[str, Column]]) -> DataFrame:
    accepted = F.col("rejected").isNull()
    names = [F.when(accepted & test, F.lit(name)) for name, test in tests]
    found = F.array_compact(F.array(*names)) if names else F.array().cast("array<string>")
    return wrapped.select("id", found.alias("names"), "rejected")


def _in_workers(lines: DataFrame, profiles: Sequence[BoundProfile], taxonomy: Taxonomy | None) -> DataFrame:
    worker = _Worker(list(profiles), taxonomy, limits())
    return cut_lines(lines, limits()).mapInArrow(worker.lines, _ROW)


_ROW = T.StructType(
    [
        T.StructField("id", T.StringType()),
        T.StructField("names", T.ArrayType(T.StringType())),
        T.StructField("rejected", REJECTED_TYPE),
    ]
)


@dataclass(slots=True)
class _Worker:
    """Decodes and matches in one go."""

    profiles: list[BoundProfile]
    taxonomy: Taxonomy | None
    bounds: Limits

    def lines(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of lines that `cut_lines` gave."""
        numbers = LineNumbers()
        return self._rows(decoded(batch, numbers.of(batch), self.taxonomy, self.bounds) for batch in batches)

    def files(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same for the files of a `file_table`."""
        return self._rows(batched(records_in(batches, self.taxonomy), _EVENTS_AT_ONCE))

    def _rows(self, groups: Iterable[Iterable[Event | Rejected]]) -> Iterator[pa.RecordBatch]:
        matcher, schema = Matcher.of(self.profiles), to_arrow_schema(_ROW, timezone="UTC")
        with in_worker(self.bounds):
            for records in groups:
                yield pa.RecordBatch.from_pylist([_row(one, matcher) for one in records], schema=schema)


def _row(found: Event | Rejected, matcher: Matcher) -> dict[str, Any]:
    if isinstance(found, Rejected):
        return {"rejected": rejected_fields(found)}
    return {"id": found.id, "names": matcher.match(found)}


def _rejected_dict(row: Mapping[str, Any]) -> dict[str, Any]:
    faults = msgspec.json.decode(row["reason"])
    return {"file": row["file"], "line": row["line"], "raw": row["raw"], "faults": faults}
