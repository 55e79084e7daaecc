"""Rows that are columns already, such as Parquet's: checked and matched without leaving Java.

A row is vouched for when it surely is the event that the in-process reader makes of it. The others (a mandatory value
missing, NaN, a text where the type wants a number, …) are decoded in the workers, by that reader, which gives the event
or the reasons.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import and_, or_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.functions import ArrowUDFType, arrow_udf  # type: ignore[attr-defined]

from comity.event.formats.csv import ENVELOPE_COLUMNS
from comity.event.kinds import Kind
from comity.event.owners import Domains
from comity.event.types import ENVELOPE, MODES, AttributeType, EventType
from comity.event.window import Window
from comity.expression.tree import attributes
from comity.limits import Limits, limits
from comity.pipeline.columns.columns import TypedColumns, compile_filter
from comity.pipeline.deliver import FOUND_TYPE, hits_schema
from comity.pipeline.facts import NO_FACTS, Facts
from comity.pipeline.in_worker import in_worker
from comity.pipeline.operands import MAX_FLOAT, quoted
from comity.pipeline.parts import Parts, is_present, whole
from comity.pipeline.worker import PLACE, HasValue, RowWorker, Work
from comity.pipeline.wrap import cast, spark_type
from comity.plan.ways import Test

_DATA = "data"
_WIDER = {("int", "bigint"), ("smallint", "bigint"), ("tinyint", "bigint"), ("float", "double"), ("int", "double")}
"""Casts that keep every value."""


class _Reader:
    """Finds the parts of events in the columns of a table."""

    def __init__(self, schema: T.StructType, facts: Facts) -> None:
        self.facts = facts
        self.top = {field.name: field.dataType for field in schema}
        data = self.top.get(_DATA)
        self.inner = {field.name: field.dataType for field in data} if isinstance(data, T.StructType) else None
        self.has_opaque_data = _DATA in self.top and self.inner is None

    def envelope(self, window: Window) -> tuple[dict[str, Column], Column]:
        """The envelope, and whether it is vouched for."""
        found: dict[str, Column] = {}
        tests: list[Column] = []
        for name, declared in ENVELOPE.items():
            value, of_value = self._typed(self._top(_column_of(name)), declared)
            found[name] = whole(value)
            tests += of_value
        unsure = [found[name] for name in ("id", "source", "type") if not self.facts.is_never_empty(name)]
        tests += [column.isNotNull() & (column != "") for column in unsure]
        if not self.facts.is_within("time", window.earliest, window.latest):
            tests.append(found["time"].between(F.lit(window.earliest), F.lit(window.latest)))
        if self.has("mode"):
            tests.append(found["mode"].isNull() | found["mode"].isin(*MODES))
        tests += [F.coalesce(found[name] != "", F.lit(True)) for name in ("subject", "version") if self.has(name)]
        if self.has_opaque_data:
            tests.append(quoted(_DATA).isNull())
        return found, _all(tests)

    def has(self, name: str) -> bool:
        """Whether there is a column for this part of the envelope."""
        return _column_of(name) in self.top

    def attributes(self, type: EventType) -> tuple[dict[str, Column | Parts], Column]:
        """The attributes of a type, as they stand in the row, and whether they are vouched for."""
        found: dict[str, Column | Parts] = {}
        tests: list[Column] = []
        for name, declared in type.attributes.items():
            found[name], of_value = self._typed(self._attribute(name), declared)
            tests += of_value
            if not declared.optional and self._path(name) not in self.facts.complete:
                tests.append(is_present(found[name]))
        return found, _all(tests)

    def _path(self, name: str) -> str:
        return name if self.inner is None else f"{_DATA}.{name}"

    def _top(self, name: str) -> tuple[Column, T.DataType] | None:
        return (quoted(name), self.top[name]) if name in self.top else None

    def _attribute(self, name: str) -> tuple[Column, T.DataType] | None:
        if self.inner is not None:
            return (quoted(_DATA).getField(name), self.inner[name]) if name in self.inner else None
        return None if name in ENVELOPE_COLUMNS or name == _DATA else self._top(name)

    def _typed(
        self, found: tuple[Column, T.DataType] | None, declared: AttributeType
    ) -> tuple[Column | Parts, list[Column]]:
        """A value in the type that its kind has, and what must be true of it to be vouched for."""
        wanted = spark_type(declared)
        if found is None:
            return cast(F.lit(None), wanted), []
        column, kind = found
        if declared.kind in (Kind.STRUCT, Kind.POINT) and isinstance(kind, T.StructType):
            return self._nested(column, kind, declared)
        if declared.kind is Kind.TIMESTAMP and isinstance(kind, T.TimestampType | T.TimestampNTZType):
            moment = cast(column, wanted)
            return moment, [F.coalesce(moment.between(F.lit(_FIRST_MOMENT), F.lit(_LAST_MOMENT)), F.lit(True))]
        is_same = kind == wanted and declared.kind not in (Kind.DURATION, Kind.LIST, Kind.STRUCT, Kind.POINT)
        if is_same or (kind.simpleString(), wanted.simpleString()) in _WIDER:
            value = column if is_same else cast(column, wanted)
            return value, [_is_finite(value)] if declared.kind is Kind.FLOAT else []
        return cast(F.lit(None), wanted), [column.isNull()]

    def _nested(
        self, column: Column, kind: T.StructType, declared: AttributeType
    ) -> tuple[Column | Parts, list[Column]]:
        """A struct or a point, part by part; a point is put together, since nearly all uses of it want it whole."""
        present = {field.name: field.dataType for field in kind}
        parts: dict[str, Column | Parts] = {}
        tests: list[Column] = []
        for name, inner in (declared.attributes if declared.kind is Kind.STRUCT else _POINT).items():
            found = (column.getField(name), present[name]) if name in present else None
            parts[name], of_value = self._typed(found, inner)
            tests += of_value if inner.optional else [*of_value, is_present(parts[name])]
        struct = Parts(parts, (column,))
        value = struct if declared.kind is Kind.STRUCT else struct.together
        return value, [column.isNull() | _all(tests)] if tests else []


def _column_of(name: str) -> str:
    """The column for a part of the envelope."""
    return "typeversion" if name == "version" else name


_FIRST_MOMENT, _LAST_MOMENT = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_POINT = {name: AttributeType(Kind.FLOAT) for name in ("x", "y")}


def _all(tests: list[Column]) -> Column:
    return reduce(and_, tests) if tests else F.lit(True)


def _is_finite(column: Column) -> Column:
    return F.coalesce(F.abs(column) <= MAX_FLOAT, F.lit(True))


class RowTable:
    """A table of rows, seen as events of these types."""

    def __init__(
        self,
        rows: DataFrame,
        work: Work,
        window: Window,
        facts: Facts = NO_FACTS,
        domains: Domains | None = None,
        *,
        of_files: bool = True,
    ) -> None:
        self.rows, self.work, self.window, self.domains, self.of_files = rows, work, window, domains, of_files
        self._reader = _Reader(rows.schema, facts)
        self._only = facts.constant("type")
        self.envelope, is_fine = self._reader.envelope(window)
        self._attributes: dict[str, dict[str, Column | Parts]] = {}
        fits = F.lit(False)
        for one in self._types():
            self._attributes[one.qualified_name], is_fit = self._reader.attributes(one)
            if one.version is not None and self._reader.has("version"):
                is_fit &= F.coalesce(self.envelope["version"] == one.version, F.lit(True))
            fits = F.when(self._is(one.qualified_name), is_fit).otherwise(fits)
        self.vouched = F.coalesce(is_fine & fits, F.lit(False))
        """Whether a row surely is an event that fits its type; never null."""

    def hits_by_columns(self) -> DataFrame:
        """The hits, by Spark columns alone."""
        # Over the columns as they stand there: a struct would be put together for each look at it.
        tests = [(test, condition) for name in self._tested() for test, condition in self._conditions(name)]
        wanted = reduce(or_, [condition for _, condition in tests], F.lit(False))
        # Arrays put together: to leave nulls out of one, Spark would go through it for every row.
        nothing = F.array().cast(FOUND_TYPE)
        each = [F.when(condition, F.array(_pair(test))).otherwise(nothing) for test, condition in tests]
        found = F.concat(nothing, *each)
        return self._as_hits(self.rows.filter(~self.vouched | wanted), found)

    def hits_by_kernel(self, shared: HasValue) -> DataFrame:
        """The hits, by the index in the workers; only what the profiles look at crosses."""
        found = [self._kernel(name, shared) for name in self._tested()]
        together = F.coalesce(*found) if found else F.lit(None).cast(FOUND_TYPE)
        rows = self.rows.withColumn(_FOUND, together)
        return self._as_hits(rows.filter(~self.vouched | (F.size(_FOUND) > 0)), F.col(_FOUND))

    def doubtful_hits(self, shared: HasValue) -> DataFrame:
        """The hits among the rows that are not vouched for, decoded as the in-process reader does."""
        worker = RowWorker(shared, self.window, limits(), domains=self.domains)
        rows = self.rows.select("*", *(column.alias(name) for name, column in zip(PLACE, self._place(), strict=True)))
        return rows.filter(~self.vouched).mapInArrow(worker.batches, hits_schema(self.work.types))

    def _place(self) -> tuple[Column, Column]:
        """The file of a row, and its number there."""
        if not self.of_files:
            return F.lit(None).cast("string"), F.lit(None).cast("long")
        read = self.rows.metadataColumn("_metadata")
        return read.getField("file_path"), read.getField("row_index") + 1

    def _types(self) -> list[EventType]:
        """The types that rows can have."""
        types = [one for one in self.work.types if self._only in (None, one.qualified_name)]
        return [one for one in types if self.domains is None or one.namespace in self.domains]

    def _tested(self) -> list[str]:
        known = {one.qualified_name for one in self._types()}
        return [name for name in self.work.ways.tests if name in known]

    def _is(self, name: str) -> Column:
        return F.lit(True) if self._only == name else self.envelope["type"] == name

    def _columns(self, name: str) -> TypedColumns:
        type = self.work.matchers[name].type
        return TypedColumns(type, self._attributes[name], self.envelope)

    def _conditions(self, name: str) -> Iterator[tuple[Test, Column]]:
        columns, is_own = self._columns(name), self._is(name)
        for test in self.work.ways.tests[name]:
            yield test, is_own & compile_filter(test.condition, columns)

    def _as_hits(self, rows: DataFrame, found: Column) -> DataFrame:
        """Those columns of hits that the table has; of a row that is not vouched for only that it is doubtful."""
        columns = {name: column for name, column in self.envelope.items() if self._reader.has(name)}
        for one in self._types():
            parts = [whole(part).alias(name) for name, part in self._attributes[one.qualified_name].items()]
            columns[one.qualified_name] = F.when(self._is(one.qualified_name), F.struct(*parts))
        columns["found"] = found
        is_sure = F.col(_VOUCHED)
        told = {name: F.when(is_sure, column) for name, column in columns.items()}
        told |= {"counted": F.lit(None).cast("long"), "doubtful": F.when(~is_sure, F.lit(1).cast("long"))}
        return rows.withColumn(_VOUCHED, self.vouched).select(*(column.alias(name) for name, column in told.items()))

    def _kernel(self, name: str, shared: HasValue) -> Column:
        paths = sorted({path for test in self.work.ways.tests[name] for path in attributes(test.condition)})
        own = self._columns(name)
        columns = [own.column(path) for path in paths]
        kernel = _Kernel(name, tuple(".".join(path) for path in paths), shared, limits())
        is_own = self.vouched & self._is(name)
        return arrow_column(kernel.match, FOUND_TYPE, is_own, *columns)


def arrow_column(make: Callable[..., pa.Array], type: T.DataType, *columns: Column) -> Column:
    """A column that workers make out of others, as arrays of Arrow."""
    with warnings.catch_warnings():  # Spark prefers hints, which cannot tell how many columns there are
        warnings.simplefilter("ignore", UserWarning)
        made: Column = arrow_udf(make, type, ArrowUDFType.SCALAR)(*columns)
    return made


_FOUND, _VOUCHED = "comity found", "comity vouched"
"""Columns that no file has."""


def _pair(test: Test) -> Column:
    return F.struct(F.lit(test.profile).cast("string").alias("profile"), F.lit(test.way).alias("way"))


@dataclass(slots=True)
class _Kernel:
    """The worker's side."""

    name: str
    paths: tuple[str, ...]
    shared: HasValue
    bounds: Limits

    def match(self, is_own: pa.Array, *columns: pa.Array) -> pa.Array:
        """For each row the profiles and ways, null for rows of other types."""
        with in_worker(self.bounds):
            rows = pa.RecordBatch.from_arrays([is_own, *columns], names=["", *self.paths])
            work = self.shared.value
            matches = work.matchers[self.name].match_batch(rows)
            found = work.found(self.name, matches.offsets, matches.ids)
            return found if is_own.true_count == len(is_own) else pc.if_else(is_own, found, None)
