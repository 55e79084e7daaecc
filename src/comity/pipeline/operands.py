"""Values inside Spark expressions: where attributes come from, constants, and the alternatives that a value can be."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from comity.errors import Misuse
from comity.event.kinds import INT_MAX, Kind, Point, Value, kind_of, to_microseconds
from comity.event.times import parse_duration, parse_timestamp
from comity.event.types import ENVELOPE, ENVELOPE_NAME, AttributeType, EventType
from comity.pipeline.parts import Parts, inside, is_present, whole

MAX_FLOAT = sys.float_info.max
MAX_NODES = 20_000
"""Nodes of one Spark expression; a larger one is matched in the workers instead."""
BOUNDS = {Kind.FLOAT: MAX_FLOAT, Kind.INT: float(INT_MAX), Kind.DURATION: float(INT_MAX)}


@dataclass(frozen=True, slots=True)
class ColumnOperand:
    """A column that holds the value, or null when the value is missing or of another kind."""

    column: Column
    constant: Value | None = None
    bound: float = 0.0
    """No number in the column is further from zero. Beyond the largest float: infinities and NaN may stand for missing.

    Rounding is monotone, so the same float operation on the bounds of the operands bounds the result.
    """
    doubtful: Column | None = None
    """A part that may be infinite or NaN, while the value is finite whenever the part is; the column itself if None."""
    is_chain: bool = False
    """Whether it is a sum or product of ints, which Spark would join with the next one and reorder."""
    type: AttributeType | None = None
    """Of a struct or a list."""
    texts: Column | None = None
    """The strings of a list."""
    as_timestamp: Column | None = None
    as_duration: Column | None = None
    """A string read as a time, where that has been done already."""
    size: int = 1

    @property
    def is_finite(self) -> bool:
        return self.bound <= MAX_FLOAT

    @property
    def is_within(self) -> Column:
        """Whether arithmetic has stayed in the range of floats."""
        return F.abs(self.column if self.doubtful is None else self.doubtful) <= MAX_FLOAT

    @property
    def present(self) -> Column:
        """The value, null if it is missing, also where arithmetic has left the range of floats."""
        return self.column if self.is_finite else F.when(self.is_within, self.column)

    def settled(self) -> ColumnOperand:
        """The same operand, free of infinities and NaN."""
        return (
            self
            if self.is_finite
            else replace(self, column=self.present, bound=MAX_FLOAT, doubtful=None, size=2 * self.size)
        )


Alternatives = Mapping[Kind, ColumnOperand]
"""The kinds that a value can have; in a row at most one of the columns is not null."""


class AttributeColumns(Protocol):
    """Where the columns of attributes come from."""

    def alternatives(self, path: tuple[str, ...]) -> Alternatives:
        """The columns that the attribute's value can stand in; none when it is always missing."""

    def present(self, path: tuple[str, ...]) -> Column:
        """Whether the attribute is there, of any kind; never null."""


@dataclass(frozen=True, slots=True)
class TypedColumns:
    """Attributes of a type in a struct, or without a root in columns of their own; the envelope beside them."""

    type: EventType
    root: str | Column | Mapping[str, Column | Parts] | None = None
    """The struct, the name of its column, or its attributes by name."""
    envelope: Mapping[str, Column] | None = None
    """The columns of the envelope where they are not called as its parts are."""

    def alternatives(self, path: tuple[str, ...]) -> Alternatives:
        declared = self.type.attribute_at(path)
        if declared is None:
            return {}
        column = self.column(path)
        texts = column if declared.element and declared.element.kind is Kind.STRING else None
        nested = declared if declared.kind in (Kind.STRUCT, Kind.LIST) else None
        return {declared.kind: ColumnOperand(column, bound=BOUNDS.get(declared.kind, 0.0), type=nested, texts=texts)}

    def present(self, path: tuple[str, ...]) -> Column:
        known = self.type.attribute_at(path) is not None
        return is_present(self.found(path)) if known else F.lit(False)

    def column(self, path: tuple[str, ...]) -> Column:
        """The column of an attribute, as it stands there."""
        return whole(self.found(path))

    def found(self, path: tuple[str, ...]) -> Column | Parts:
        """The column of an attribute, or its parts where a struct is not put together."""
        if path[0] == ENVELOPE_NAME:
            return quoted(path[1]) if self.envelope is None else self.envelope[path[1]]
        if self.root is None:
            return inside(quoted(path[0]), path[1:])
        if isinstance(self.root, Mapping):
            return inside(self.root[path[0]], path[1:])
        return inside(quoted(self.root) if isinstance(self.root, str) else self.root, path)


@dataclass(frozen=True, slots=True)
class OpenColumns:
    """Attributes without a type, each a struct with a field for each kind (`wrap.OPEN_TYPE`), null when missing."""

    def alternatives(self, path: tuple[str, ...]) -> Alternatives:
        if path[0] == ENVELOPE_NAME:
            return _envelope(path)
        column = quoted(open_column_name(path))
        other = column.getField("other")
        return {
            Kind.BOOL: ColumnOperand(column.getField("b")),
            Kind.INT: ColumnOperand(column.getField("i"), bound=BOUNDS[Kind.INT]),
            Kind.FLOAT: ColumnOperand(column.getField("f"), bound=BOUNDS[Kind.FLOAT]),
            Kind.STRING: ColumnOperand(
                column.getField("s"), as_timestamp=column.getField("t"), as_duration=column.getField("d")
            ),
            Kind.LIST: ColumnOperand(F.when(other.startswith("["), other), texts=column.getField("texts")),
            Kind.STRUCT: ColumnOperand(F.when(other.startswith("{"), other)),
        }

    def present(self, path: tuple[str, ...]) -> Column:
        if path[0] == ENVELOPE_NAME:
            return quoted(path[1]).isNotNull() if _envelope(path) else F.lit(False)
        return quoted(open_column_name(path)).isNotNull()


def open_column_name(path: tuple[str, ...]) -> str:
    """The name of an open attribute's column: a JSON Pointer, so that no two paths share one.

    >>> open_column_name(("device", "a/b"))
    '/device/a~1b'
    """
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)


def quoted(name: str) -> Column:
    """The column of exactly this name."""
    return F.col("`" + name.replace("`", "``") + "`")


def constant(value: Value | None) -> Alternatives:
    """The one alternative of a constant; none when it is missing."""
    kind = kind_of(value)
    if kind is None:
        return {}
    bound = 0.0
    if kind is Kind.DURATION:
        bound = abs(float(to_microseconds(value)))  # type: ignore[arg-type]
    elif kind.is_number:
        bound = abs(float(value))  # type: ignore[arg-type]
    return {kind: ColumnOperand(literal(value), constant=value, bound=bound)}


def literal(value: Value) -> Column:
    """A constant column in the representation of its kind."""
    if isinstance(value, datetime):
        return F.timestamp_micros(F.lit(to_microseconds(value)).cast("long"))
    if isinstance(value, timedelta):
        return F.lit(to_microseconds(value)).cast("long")
    if isinstance(value, Point):
        return F.struct(F.lit(value.x).alias("x"), F.lit(value.y).alias("y"))
    if isinstance(value, int) and not isinstance(value, bool):
        return F.lit(value).cast("long")
    if isinstance(value, bytes):
        return F.lit(bytearray(value))
    return F.lit(value)


def read_as_time(text: ColumnOperand, kind: Kind) -> ColumnOperand | None:
    """A string as the timestamp or duration that it spells, null where it spells none."""
    if text.constant is not None:
        return constant(_PARSERS[kind](text.constant)).get(kind)
    known = text.as_timestamp if kind is Kind.TIMESTAMP else text.as_duration
    column = known if known is not None else _TIME_READERS[kind](text.column)
    return ColumnOperand(column, bound=BOUNDS.get(kind, 0.0), size=text.size)


def joined(operands: Sequence[ColumnOperand], build: Callable[[list[Column]], Column]) -> ColumnOperand:
    """One operand built out of several of one kind, none of whose facets is lost."""
    if any(operand.type != operands[0].type for operand in operands):
        raise not_in_columns("it joins structs or lists of different types")

    def facet(columns: list[Column | None]) -> Column | None:
        known = [column for column in columns if column is not None]
        return build(known) if len(known) == len(columns) else None

    size = sum(operand.size for operand in operands) + 1
    return sized(
        ColumnOperand(
            build([operand.column for operand in operands]),
            bound=max((operand.bound for operand in operands), key=_nan_last),
            type=operands[0].type,
            texts=facet([operand.texts for operand in operands]),
            as_timestamp=facet([operand.as_timestamp for operand in operands]),
            as_duration=facet([operand.as_duration for operand in operands]),
            size=size,
        )
    )


def first_present(operands: Sequence[ColumnOperand]) -> ColumnOperand:
    """The one that is not null."""
    return operands[0] if len(operands) == 1 else joined(operands, lambda columns: F.coalesce(*columns))


def sized(operand: ColumnOperand) -> ColumnOperand:
    """The operand, unless it has become too large an expression."""
    if operand.size > MAX_NODES:
        raise not_in_columns(f"it needs more than {MAX_NODES:,} nodes")
    return operand


def not_in_columns(reason: str) -> Misuse:
    """An expression that is right, but not one for Spark columns."""
    return Misuse(
        f"the expression cannot be a Spark column: {reason}", code="not-in-columns", hint="match it in the workers"
    )


def _nan_last(number: float) -> float:
    return math.inf if math.isnan(number) else number


def _envelope(path: tuple[str, ...]) -> Alternatives:
    declared = ENVELOPE.get(path[1]) if len(path) == 2 else None
    if declared is None:
        return {}
    return {declared.kind: ColumnOperand(quoted(path[1]), bound=BOUNDS.get(declared.kind, 0.0))}


_PARSERS: Mapping[Kind, Callable[[str], Value | None]] = {
    Kind.TIMESTAMP: parse_timestamp,
    Kind.DURATION: parse_duration,
}


def _microseconds_read(texts: pa.Array, kind: Kind) -> pa.Array:
    parse = _PARSERS[kind]
    found = (None if text is None else parse(text) for text in texts.to_pylist())
    return pa.array([None if value is None else to_microseconds(value) for value in found], pa.int64())


def _read_timestamp(text: Column) -> Column:
    @F.arrow_udf("long")  # type: ignore[attr-defined, untyped-decorator]
    def microseconds(texts: pa.Array) -> pa.Array:
        return _microseconds_read(texts, Kind.TIMESTAMP)

    return F.timestamp_micros(microseconds(text))


def _read_duration(text: Column) -> Column:
    @F.arrow_udf("long")  # type: ignore[attr-defined, untyped-decorator]
    def microseconds(texts: pa.Array) -> pa.Array:
        return _microseconds_read(texts, Kind.DURATION)

    column: Column = microseconds(text)
    return column


_TIME_READERS = {Kind.TIMESTAMP: _read_timestamp, Kind.DURATION: _read_duration}
