"""What a batch reads: files of events by their form, and the tables that Spark makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow.parquet import FileMetaData
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from comity.event.files import event_files
from comity.event.formats.parquet import trusted_footer
from comity.event.formats.table import OnSpark, format_of
from comity.event.owners import ANYBODY, Domains, Owners
from comity.event.places import footer_of
from comity.pipeline.doubts import NO_DOUBTS, Doubts
from comity.pipeline.facts import Facts, facts_of
from comity.pipeline.line_numbers import BEGIN, FILE
from comity.pipeline.stores import is_spark_own, readable_by_spark
from comity.pipeline.wrap import NO_GLOBS, looks_like_a_pattern, read_lines
from comity.storage.access import NO_ACCESS, StorageAccess
from comity.storage.place import is_address

_FOOTERS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files of a run, by their form."""

    lines: tuple[str, ...]
    parquet: tuple[str, ...]
    others: tuple[str, ...]
    """What workers read themselves: CSV, XML and Avro, and compressed files, which cannot be read from the middle."""
    unreadable: tuple[tuple[str, str], ...] = ()
    """Files that nobody can read, each with the reason."""
    access: StorageAccess = field(default=NO_ACCESS, repr=False)
    """How those in stores are reached."""

    @classmethod
    def of(cls, files: Iterable[str], doubts: Doubts = NO_DOUBTS, access: StorageAccess = NO_ACCESS) -> Inputs:
        """Files told apart by their names; what has no known suffix is JSON Lines. A folder is the files in it.

        >>> Inputs.of(["a.jsonl", "b.csv.gz", "c.parquet"])
        Inputs(lines=('a.jsonl',), parquet=('c.parquet',), others=('b.csv.gz',), unreadable=())
        """
        found: dict[OnSpark, list[str]] = {how: [] for how in (OnSpark.LINES, OnSpark.ROWS, OnSpark.WHOLE)}
        given = tuple(file for path in files for file in _files_at(path))
        for file in given:
            if file not in doubts.unreadable:
                found[OnSpark.WHOLE if file in doubts.whole else format_of(file).on_spark].append(file)
        unreadable = tuple((file, doubts.unreadable[file]) for file in given if file in doubts.unreadable)
        lines, rows, whole = (tuple(sorted(some)) for some in found.values())
        return cls(lines, rows, whole, unreadable, access)

    def for_spark(self, spark: SparkSession) -> Inputs:
        """The same, with files of stores that Spark cannot reach among those that workers read."""
        files = (*self.lines, *self.parquet)
        known = readable_by_spark(files, spark, self.access)
        others = sorted(file for file in files if not is_spark_own(file, known))
        if not others:
            return self
        lines, rows = (tuple(one for one in some if is_spark_own(one, known)) for some in (self.lines, self.parquet))
        return replace(self, lines=lines, parquet=rows, others=(*self.others, *others))

    def parquet_groups(self, owners: Owners = ANYBODY) -> tuple[list[ParquetGroup], list[str]]:
        """The Parquet files, those with the same columns and owners together; and those that Spark cannot read, or not
        alike.
        """
        groups: dict[tuple[str, Domains | None, str | None], list[tuple[str, FileMetaData]]] = {}
        others: list[str] = []
        for file, footer in zip(self.parquet, self._footers(), strict=True):
            schema = None if footer is None else footer.schema.to_arrow_schema().remove_metadata()
            if footer is None or schema is None or not all(_is_known(one.type) for one in schema):
                others.append(file)
            else:
                apart = file if looks_like_a_pattern(file) else None
                groups.setdefault((str(schema), owners.domains(file), apart), []).append((file, footer))
        return [ParquetGroup.of(group, domains) for (_, domains, _), group in groups.items()], others

    def _footers(self) -> Iterable[FileMetaData | None]:
        """Those of stores many at a time, since each is a request or two."""
        if not any(map(is_address, self.parquet)):
            return map(trusted_footer, self.parquet)
        with ThreadPoolExecutor(_FOOTERS_AT_ONCE, "comity-footers") as pool:
            return list(pool.map(lambda file: footer_of(file, self.access), self.parquet))


def _files_at(path: str) -> list[str]:
    if is_address(path):
        return [path]
    return [str(file) for file in event_files(Path(path))] if Path(path).is_dir() else [path]


def _is_known(kind: pa.DataType) -> bool:
    """Whether Spark reads values of the type as the in-process reader does, to the microsecond and without loss."""
    inner = [kind.field(at).type for at in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    is_odd = pa.types.is_duration(kind) or pa.types.is_time(kind)
    return not is_odd and kind not in (_NANOSECONDS, _NANOSECONDS_UTC) and all(map(_is_known, inner))


_NANOSECONDS, _NANOSECONDS_UTC = pa.timestamp("ns"), pa.timestamp("ns", "UTC")


@dataclass(frozen=True, slots=True)
class ParquetGroup:
    """Files with the same columns, what their footers prove, and how many rows they have."""

    files: list[str]
    facts: Facts
    rows: int
    domains: Domains | None = None
    """Whose events they may hold; None for all domains."""

    @classmethod
    def of(cls, group: list[tuple[str, FileMetaData]], domains: Domains | None = None) -> ParquetGroup:
        footers = [footer for _, footer in group]
        rows = sum(footer.num_rows for footer in footers)
        return cls([file for file, _ in group], facts_of(footers), rows, domains)


class SourceRows(NamedTuple):
    """Rows with the same columns, what is known about them, and whose events they may be; None for all domains."""

    table: DataFrame
    facts: Facts
    domains: Domains | None = None
    of_files: bool = True
    """Whether Spark knows of each row in which file it stands."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What a batch is made of: lines of JSON, rows, one table for each form of them, and files that workers read."""

    lines: DataFrame | None = None
    rows: tuple[SourceRows, ...] = ()
    row_count: int = 0
    files: tuple[tuple[str, str | None], ...] = ()
    """Each with the reason if nobody can read it."""
    owners: Owners = ANYBODY
    observed: tuple[Observation, ...] = ()
    """What counts rows that no file tells the number of, as they pass."""
    access: StorageAccess = field(default=NO_ACCESS, repr=False)

    @classmethod
    def of(cls, spark: SparkSession, inputs: Inputs, owners: Owners = ANYBODY) -> Tables:
        inputs = inputs.for_spark(spark)
        groups, others = inputs.parquet_groups(owners)
        reader = spark.read.option(*NO_GLOBS)
        rows = tuple(SourceRows(reader.parquet(*group.files), group.facts, group.domains) for group in groups)
        lines = read_lines(spark, inputs.lines) if inputs.lines else None
        whole = ((file, None) for file in (*inputs.others, *others))
        unread, count = (*whole, *inputs.unreadable), sum(group.rows for group in groups)
        return cls(lines, rows, count, unread, owners, access=inputs.access)

    def beside(self, other: Tables) -> Tables:
        """Both together, with the owners of this one."""
        return replace(
            self,
            lines=_union_of_lines([one for one in (self.lines, other.lines) if one is not None]),
            rows=self.rows + other.rows,
            row_count=self.row_count + other.row_count,
            files=self.files + other.files,
        )

    def counting(self) -> Tables:
        """The same, whose rows are counted as they pass, where no file tells how many there are."""
        counts = {at: Observation() for at, rows in enumerate(self.rows) if not rows.of_files}
        counted = tuple(
            rows._replace(table=rows.table.observe(counts[at], F.count(F.lit(1)).alias("rows")))
            if at in counts
            else rows
            for at, rows in enumerate(self.rows)
        )
        return replace(self, rows=counted, observed=tuple(counts.values()))

    @property
    def records(self) -> int:
        """The rows, after those that are counted as they pass have passed."""
        return self.row_count + sum(int(count.get["rows"]) for count in self.observed)


def _union_of_lines(some: list[DataFrame]) -> DataFrame | None:
    if len(some) < 2:
        return some[0] if some else None
    first, *rest = (one.select(F.col("value").cast("binary").alias("value"), FILE, BEGIN) for one in some)
    for one in rest:
        first = first.union(one)
    return first
