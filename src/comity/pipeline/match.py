"""Many simple profiles over events on Spark.

A few profiles become Spark columns. Many of them are matched by the workers, in the same crossing into Python that
decodes the events: a row then costs one crossing, however many profiles there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow.dataset import dataset
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from comity.event.jsonlines import Rejected
from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.expression.tree import FALSE, attributes
from comity.limits import Limits, limited, limits
from comity.match.match import BoundProfile, Matcher
from comity.pipeline.columns import OpenColumns, TypedColumns, compile_filter
from comity.pipeline.failure import spark_failures
from comity.pipeline.line_numbers import LineNumbers, NumberOf
from comity.pipeline.operands import quoted
from comity.pipeline.wrap import (
    REJECTED_TYPE,
    cut_lines,
    cut_rows,
    decode_line,
    placed,
    read_lines,
    rejected_fields,
    wrap_open,
    wrap_typed,
)


@dataclass(slots=True)
class SparkMatches:
    """What Spark finds. The figures are complete once the last pair was taken."""

    table: DataFrame
    observed: Observation
    events: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Name of a profile and id of an event that it matches."""
        with TemporaryDirectory(prefix="comity-match-") as folder:
            found = f"{folder}/found"  # one pass over the events, and then a look at what it found, in bounded memory
            with spark_failures():
                self.table.write.parquet(found)
                self.events = int(self.observed.get["events"])
            for batch in dataset(found, format="parquet").to_batches():
                yield from self._pairs_of(batch)

    def _pairs_of(self, batch: pa.RecordBatch) -> Iterator[tuple[str, str]]:
        for row in batch.to_pylist():
            if row["rejected"] is not None:
                self.rejected.append(_rejected_dict(row["rejected"]))
            for name in row["names"] or ():
                yield name, row["id"]


def match_on_spark(
    profiles: Sequence[BoundProfile], events: Sequence[str], taxonomy: Taxonomy | None, spark: SparkSession
) -> SparkMatches:
    """The profiles that want each event of these files."""
    lines = read_lines(spark, events)
    observed = Observation("matched")
    if len(profiles) > limits().max_column_profiles:
        matched = _in_workers(lines, profiles, taxonomy)
    elif taxonomy is None:
        matched = _in_open_columns(lines, profiles)
    else:
        matched = _in_typed_columns(lines, profiles, taxonomy)
    counted = matched.observe(observed, F.count(F.when(F.col("rejected").isNull(), True)).alias("events"))
    found = counted.filter((F.size("names") > 0) | F.col("rejected").isNotNull())
    return SparkMatches(found, observed)


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
    return cut_lines(lines, limits()).mapInArrow(worker.batches, _ROW)


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

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher, schema = Matcher.of(self.profiles), to_arrow_schema(_ROW, timezone="UTC")
        numbers = LineNumbers()
        with limited(**asdict(self.bounds)):
            for batch in batches:
                rows = list(self.rows(batch, matcher, numbers.of(batch)))
                yield pa.RecordBatch.from_pylist(rows, schema=schema)

    def rows(self, batch: pa.RecordBatch, matcher: Matcher, number_of: NumberOf) -> Iterator[dict[str, Any]]:
        for at, (line, size, file) in enumerate(cut_rows(batch)):
            if not line.strip():
                continue
            found = decode_line(line, size, file, self.taxonomy, self.bounds)
            if isinstance(found, Rejected):
                yield {"rejected": rejected_fields(placed(found, number_of(at)))}
            else:
                yield {"id": found.id, "names": matcher.match(found)}


def _rejected_dict(row: Mapping[str, Any]) -> dict[str, Any]:
    faults = msgspec.json.decode(row["reason"])
    return {"file": row["file"], "line": row["line"], "raw": row["raw"], "faults": faults}
