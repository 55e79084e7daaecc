"""Sources of domains that Spark reads by itself, as tables of a batch or of a stream."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from comity.connect.frames import DELTA, ColumnText, FrameSource, Sql
from comity.errors import Misuse, Permanent, Place
from comity.event.types import EventType
from comity.pipeline.delta_versions import follow_versions, read_version
from comity.pipeline.facts import Facts
from comity.pipeline.failure import cause_of, next_step
from comity.pipeline.given import EventColumns, GivenEvents
from comity.pipeline.line_numbers import BEGIN, FILE
from comity.pipeline.read import SourceRows, Tables

LINE_COLUMNS = ("value", FILE, BEGIN)
_NO_PACKAGE = ("DATA_SOURCE_NOT_FOUND", "UNSUPPORTED_DATA_SOURCE")
_NO_CLASS = ("Failed to find data source", "ClassNotFoundException", "No suitable driver")


def tables_of(spark: SparkSession, sources: Iterable[FrameSource], types: Iterable[EventType]) -> Tables:
    """What the sources hold now, of which Spark reads what events of their domains' types may have."""
    known = list(types)
    return joined([_tables(source, read(spark, source), known) for source in sources])


def joined(tables: Sequence[Tables]) -> Tables:
    """Several tables as one."""
    first, *rest = tables or [Tables()]
    for one in rest:
        first = first.beside(one)
    return first


def read(spark: SparkSession, source: FrameSource, *, is_stream: bool = False) -> DataFrame:
    """The DataFrame of a source, a stream or a batch; raises `Misuse` if Spark lacks what it needs for it."""
    with failures_of(source):
        found = _loaded(spark, source, is_stream)
        return found if source.where is None else found.filter(F.expr(source.where))


def lines(source: FrameSource, found: DataFrame) -> DataFrame | None:
    """The lines of a source: `value`, and where a line stands; None if it has rows.

    What has no value, as what is deleted from a topic, is no record.
    """
    if source.lines is None:
        return None
    with failures_of(source):
        file, begin = F.lit(source.full_name), F.lit(None).cast("long")
        if source.place is not None:
            where, number = (F.expr(text) for text in source.place)
            # A negative place is the number of the line itself, and no part of a file in which lines are counted.
            file, begin = F.concat(file, F.lit("/"), where), (F.lit(-1) - number).cast("long")
        value = _column(source.lines).cast("binary")
        told = found.select(value.alias("value"), file.alias(FILE), begin.alias(BEGIN))
        return told.filter(F.col("value").isNotNull())


def rows(
    source: FrameSource, found: DataFrame, types: Iterable[str], only: Collection[str] | None = None
) -> SourceRows:
    """The rows of a source, seen as events of its domain; with no other attributes than `only`, if that is given."""
    with failures_of(source):
        given = GivenEvents.of(found, _columns(source, found.columns))
        return given.tables(types, source.domain, only).rows[0]


@contextmanager
def failures_of(source: FrameSource) -> Iterator[None]:
    """What Spark says about a source, with its name and without its secrets."""
    try:
        yield
    except (PySparkException, Py4JError, Misuse) as error:
        raise _told(source, error) from None  # what Spark says may have secrets in it


def _told(source: FrameSource, error: Exception) -> Exception:
    place = Place(path=source.full_name)
    if isinstance(error, Misuse):
        return Misuse(error.message, code=error.code, place=place, hint=error.hint)
    reason = source.hidden(cause_of(error))
    if _lacks_package(error):
        package = f" --spark-config spark.jars.packages={source.package}" if source.package else " its jars"
        hint = f"give it to Spark:{package}"
        return Misuse(f"Spark has no connector for {source.format}", code="no-connector", place=place, hint=hint)
    if isinstance(error, AnalysisException):
        return Misuse(reason, code="unreadable-source", place=place, hint="look at its options in the domain's file")
    return Permanent(f"Spark stopped: {reason}", code="spark-failed", place=place, hint=next_step(reason))


def _lacks_package(error: Exception) -> bool:
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return condition in _NO_PACKAGE or any(text in str(error) for text in _NO_CLASS)


def _loaded(spark: SparkSession, source: FrameSource, is_stream: bool) -> DataFrame:
    if source.format == DELTA and source.at is not None:
        return follow_versions(spark, source.at) if is_stream else read_version(spark, source.at)
    if source.table is not None:
        named = spark.readStream.options(**source.options) if is_stream else spark.read.options(**source.options)
        return named.table(source.table)
    if not is_stream:
        return spark.read.format(source.format).options(**source.options).load(source.at)
    options = {**source.options, **source.stream_options}
    reader = spark.readStream.format(source.format).options(**options)
    if source.at is not None:  # a stream of files must be told what is in them
        reader = reader.schema(_loaded(spark, source, is_stream=False).schema)
    return reader.load(source.at)


def _tables(source: FrameSource, found: DataFrame, types: Sequence[EventType]) -> Tables:
    told = lines(source, found)
    if told is not None:
        return Tables(lines=told)
    own = {name for one in types if one.namespace == source.domain for name in one.attributes}
    return Tables(rows=(rows(source, found, [one.qualified_name for one in types], own),))


def _columns(source: FrameSource, present: Sequence[str]) -> EventColumns:
    """Where the parts are; a type without a domain is one of the source's own, and a source has a name."""
    found: EventColumns = {}
    for name, given in source.columns.items():
        found[name] = given if isinstance(given, str) else _column(given)  # type: ignore[literal-required]
    alike = found.get("type")
    if isinstance(alike, str) and alike not in present and "." not in alike:
        found["type"] = f"{source.domain}.{alike}"
    if "source" not in found and "source" not in present:
        found["source"] = f"/{source.domain}/{source.name}"
    return found


def _column(given: ColumnText) -> Column:
    return F.expr(given.sql) if isinstance(given, Sql) else F.col(f"`{given.replace('`', '``')}`")


@dataclass(slots=True)
class Arrivals:
    """The sources of a stream that Spark reads itself, and files that are new, in one DataFrame.

    Spark has one query for a stream. A row of it has the path of a file, a line, or a row of one of the sources; each
    stands in a column of its own, since their columns differ.
    """

    sources: tuple[FrameSource, ...]
    _facts: dict[int, Facts] = field(default_factory=dict, init=False)
    """Of the sources that have rows, by their numbers."""

    def table(self, spark: SparkSession, paths: DataFrame | None, types: Iterable[str]) -> DataFrame:
        """All of it, as a stream."""
        known = list(types)
        parts = [] if paths is None else [paths.select("path")]
        for number, source in enumerate(self.sources):
            found = read(spark, source, is_stream=True)
            told = lines(source, found)
            if told is not None:
                parts.append(told.select(F.struct(*LINE_COLUMNS).alias(_LINE)))
            else:
                own = rows(source, found, known)
                self._facts[number] = own.facts
                parts.append(own.table.select(F.struct("*").alias(_name(number))))
        first, *rest = parts
        for one in rest:
            first = first.unionByName(one, allowMissingColumns=True)
        return first

    @contextmanager
    def taken(self, batch: DataFrame) -> Iterator[tuple[Tables, DataFrame | None]]:
        """The lines and the rows of a batch, and the paths of files if there are folders, as long as the block runs.

        Spark forgets how a batch came about, so that whatever is looked at, all is read. What is looked at several
        times is therefore kept.
        """
        is_kept = len(batch.columns) > 1
        kept = batch.persist() if is_kept else batch
        try:
            paths = kept.select("path").filter(F.col("path").isNotNull()) if "path" in kept.columns else None
            yield joined(list(self._parts(kept))), paths
        finally:
            if is_kept:
                kept.unpersist()

    def _parts(self, batch: DataFrame) -> Iterator[Tables]:
        if _LINE in batch.columns:
            yield Tables(lines=_those_in(batch, _LINE))
        for number, facts in self._facts.items():
            domains = frozenset({self.sources[number].domain})
            table = _those_in(batch, _name(number))
            yield Tables(rows=(SourceRows(table, facts, domains, of_files=False),))


_LINE = "comity line"


def _name(number: int) -> str:
    return f"comity source {number}"


def _those_in(batch: DataFrame, name: str) -> DataFrame:
    """The rows that have something in a struct column, with the columns inside of it."""
    return batch.filter(F.col(f"`{name}`").isNotNull()).select(F.col(f"`{name}`.*"))
