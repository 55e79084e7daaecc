"""JSON Lines in Spark: from lines of text to typed columns, in one crossing into Python.

The workers decode and check each line with the code of the engine, so that both accept and reject the same records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from comity.connect.folder import landed_source
from comity.event.arrow_types import arrow_type
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, TypeLookup, decode, rejected, too_long
from comity.event.kinds import Kind, Value, to_microseconds
from comity.event.taxonomy import Taxonomy
from comity.event.times import parse_duration, parse_timestamp
from comity.event.types import ENVELOPE, AttributeType, EventType
from comity.event.window import Window
from comity.limits import Limits, limits
from comity.pipeline.in_worker import in_worker
from comity.pipeline.line_numbers import BEGIN, FILE, LineNumbers, NumberOf
from comity.pipeline.operands import open_column_name
from comity.pipeline.stores import plain_name

OPEN_TYPE = T.StructType(
    [
        T.StructField("b", T.BooleanType()),
        T.StructField("i", T.LongType()),
        T.StructField("f", T.DoubleType()),
        T.StructField("s", T.StringType()),
        T.StructField("t", T.TimestampType()),
        T.StructField("d", T.LongType()),
        T.StructField("texts", T.ArrayType(T.StringType())),
        T.StructField("other", T.StringType()),
    ]
)
"""An attribute without a type: the field of its kind is set; `t` and `d` are the time that the string `s` spells.

A list or a struct is in `other`, as a text that is the same for equal values and begins with `[` or `{`; `texts` are
the strings of a list.
"""
REJECTED_TYPE = T.StructType(
    [
        T.StructField("file", T.StringType()),
        T.StructField("line", T.LongType()),
        T.StructField("raw", T.StringType()),
        T.StructField("reason", T.StringType()),
        T.StructField("origin", T.StringType()),
    ]
)
"""A record that was refused: its file, its line where that is known, its text, cut short, every fault as JSON, and the
live source that it came from, if there is one.
"""


def spark_type(attribute: AttributeType) -> T.DataType:
    """How values of an attribute stand in a Spark column; durations are microseconds.

    >>> spark_type(AttributeType(Kind.LIST, element=AttributeType(Kind.DURATION))).simpleString()
    'array<bigint>'
    """
    found: T.DataType = from_arrow_type(arrow_type(attribute))
    return found


def cast(column: Column, type: T.DataType) -> Column:
    """The column in this type; by its name where that says all, since to hand a type over takes many calls to Java."""
    return column.cast(type.simpleString() if isinstance(type, _NAMED) else type)


_NAMED = (T.StringType, T.LongType, T.DoubleType, T.BooleanType)

NO_GLOBS = ("__globPaths__", "false")
"""The option by which Spark takes the names of files as they are, and not as patterns."""


def read_lines(spark: SparkSession, paths: str | Sequence[str]) -> DataFrame:
    """The lines of text files, compressed or not, as columns `value`, `file` and `begin`, which is where in the file
    Spark began to read. Lines may hold any bytes.
    """
    reader = spark.read.option(*NO_GLOBS)
    place = {FILE: "_metadata.file_path", BEGIN: "_metadata.file_block_start"}
    columns = [F.col("value"), *(F.col(path).alias(name) for name, path in place.items())]
    given = [paths] if isinstance(paths, str) else paths
    plain = [path for path in given if not looks_like_a_pattern(path)]
    groups = [plain] * bool(plain) + [[path] for path in given if looks_like_a_pattern(path)]
    return reduce(DataFrame.union, (reader.text(group, lineSep="\n").select(*columns) for group in groups))


def looks_like_a_pattern(path: str) -> bool:
    """Whether a file must be read by itself: beside it Spark would read others twice, though it takes names as such."""
    return not set("[]{}*?").isdisjoint(path)


def wrap_typed(lines: DataFrame, types: Sequence[EventType], *, require_time: bool = False) -> DataFrame:
    """The events in the lines: the envelope, a struct column for each type by its qualified name, and `rejected`.

    A row has the struct of its own type, or `rejected` and nothing else. `lines` has a column `value`, and maybe
    `file`.
    """
    concrete = [one for one in types if not one.abstract]
    payload = [T.StructField(one.qualified_name, struct_type(one.attributes)) for one in concrete]
    indexes = {one.qualified_name: index for index, one in enumerate(concrete)}
    convert = [struct_converter(one.attributes) for one in concrete]

    def put(event: Event, columns: list[list[Any]]) -> None:
        own = indexes[event.type]
        for index, column in enumerate(columns):
            column.append(convert[own](event.data) if index == own else None)

    return _wrapped(lines, payload, put, type_lookup(types), require_time)


def wrap_open(lines: DataFrame, paths: Sequence[tuple[str, ...]], *, require_time: bool = False) -> DataFrame:
    """The events in the lines without types: the envelope, a column of `OPEN_TYPE` for each path, and `rejected`."""
    payload = [T.StructField(open_column_name(path), OPEN_TYPE) for path in paths]

    def put(event: Event, columns: list[list[Any]]) -> None:
        for path, column in zip(paths, columns, strict=True):
            column.append(open_value(event.get(path)))

    return _wrapped(lines, payload, put, None, require_time)


def open_value(value: Value | None) -> dict[str, Any] | None:
    """A JSON value as the fields of `OPEN_TYPE`.

    >>> open_value(True), open_value(["a", 1.0])
    ({'b': True}, {'texts': ['a'], 'other': '["a", 1]'})
    """
    kind = type(value)
    if kind is str:
        return _open_text(value)  # type: ignore[arg-type]
    if kind is list:
        assert isinstance(value, list)
        return {"texts": [item for item in value if type(item) is str], "other": _canonical_text(value)}
    if kind is dict:
        return {"other": _canonical_text(value)}
    return None if value is None else {_OPEN_FIELDS[kind]: value}


_OPEN_FIELDS = {bool: "b", int: "i", float: "f"}


def _open_text(text: str) -> dict[str, Any]:
    """The first characters tell most texts from times, without the cost of trying."""
    fields: dict[str, Any] = {"s": text}
    if text[4:5] == "-" and (moment := parse_timestamp(text)) is not None:
        fields["t"] = moment
    if text[:1] in _DURATION_STARTS and (span := parse_duration(text)) is not None:
        fields["d"] = to_microseconds(span)
    return fields


_DURATION_STARTS = frozenset("P+-0123456789")


def _canonical_text(value: Value) -> str:
    return json.dumps(_canonical(value), sort_keys=True, ensure_ascii=False)


def _canonical(value: Value) -> Value:
    """Equal values become the same: inside lists and structs 1, 1.0 and true are equal, as they are in Python."""
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {name: _canonical(item) for name, item in value.items()}
    is_whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
    return int(value) if is_whole else value


# The crossing

ENVELOPE_FIELDS = [T.StructField(name, spark_type(attribute)) for name, attribute in ENVELOPE.items()]
_Put = Callable[[Event, list[list[Any]]], None]


def _wrapped(
    lines: DataFrame, payload: list[T.StructField], put: _Put, types: TypeLookup | None, require_time: bool
) -> DataFrame:
    schema = T.StructType([*ENVELOPE_FIELDS, *payload, T.StructField("rejected", REJECTED_TYPE)])
    wrap = _Wrapper(schema, len(payload), put, types, require_time, limits())
    return cut_lines(lines, limits()).mapInArrow(wrap.batches, schema)


def cut_lines(lines: DataFrame, bounds: Limits) -> DataFrame:
    """What crosses: the bytes of each line, only the first ones of a line that is too long, its size and its place."""
    line, size = F.col("value").cast("binary"), F.octet_length("value")
    kept = F.substring(line, 1, 4 * bounds.max_rejected_chars)
    bounded = F.when(size > bounds.max_record_bytes, kept).otherwise(line)
    place = {FILE: "string", BEGIN: "long"}
    known = [
        F.col(name) if name in lines.columns else F.lit(None).cast(kind).alias(name) for name, kind in place.items()
    ]
    return lines.select(bounded.alias("line"), size.alias("size"), *known)


class _Wrapper:
    """The worker's side: from batches of lines to batches of columns."""

    def __init__(
        self,
        schema: T.StructType,
        payload: int,
        put: _Put,
        types: TypeLookup | None,
        require_time: bool,
        bounds: Limits,
    ) -> None:
        self.schema, self.payload, self.put = schema, payload, put
        self.types, self.require_time, self.bounds = types, require_time, bounds

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(self.schema, timezone="UTC")
        numbers = LineNumbers()
        with in_worker(self.bounds):
            for batch in batches:
                yield self.batch(batch, schema, numbers.of(batch))

    def batch(self, batch: pa.RecordBatch, schema: pa.Schema, number_of: NumberOf) -> pa.RecordBatch:
        columns: list[list[Any]] = [[] for _ in schema]
        envelope, payload, refused = columns[: len(ENVELOPE)], columns[len(ENVELOPE) : -1], columns[-1]
        for found in decoded(batch, number_of, self.types, self.bounds, self.require_time):
            if isinstance(found, Rejected):
                _fill(envelope + payload)
                refused.append(rejected_fields(found))
            else:
                for name, column in zip(ENVELOPE, envelope, strict=True):
                    column.append(getattr(found, name))
                self.put(found, payload)
                refused.append(None)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def decode_line(
    line: bytes,
    size: int,
    file: str | None,
    types: TypeLookup | Taxonomy | None,
    bounds: Limits,
    require_time: bool = False,
    window: Window | None = None,
) -> Event | Rejected:
    """The event in a line that was cut by `cut_lines`, or why it is none."""
    if size > bounds.max_record_bytes:
        return rejected(line, [too_long(f"{size} bytes")], None, file)
    return decode(line.removesuffix(b"\r"), types, require_time=require_time, source_file=file, window=window)


def decoded(
    batch: pa.RecordBatch,
    number_of: NumberOf,
    types: TypeLookup | Taxonomy | None,
    bounds: Limits,
    require_time: bool = False,
    window: Window | None = None,
) -> Iterator[Event | Rejected]:
    """The records in the lines that `cut_lines` gave; the place of a line stands for its number."""
    lines = zip(*(column.to_pylist() for column in batch.columns[:3]), strict=True)
    for at, (line, size, file) in enumerate(lines):
        if line and not line.isspace():
            found = decode_line(line, size, file, types, bounds, require_time, window)
            yield placed(found, number_of(at)) if isinstance(found, Rejected) else found


def placed(record: Rejected, number: int | None) -> Rejected:
    """The rejected record with the number of its line."""
    return replace(record, line_number=number)


def _fill(columns: list[list[Any]]) -> None:
    for column in columns:
        column.append(None)


def rejected_fields(record: Rejected) -> dict[str, Any]:
    reason = msgspec.json.encode([fault.as_dict() for fault in record.faults]).decode()
    file = plain_name(record.source_file)
    told = {"file": file, "line": record.line_number, "raw": record.raw, "reason": reason}
    return {**told, "origin": landed_source(file)}


def type_lookup(types: Sequence[EventType]) -> TypeLookup:
    """By qualified name; types of one namespace also by simple name, as their taxonomy finds them."""
    by_name = {one.qualified_name: one for one in types}
    if len({one.namespace for one in types}) == 1:
        by_name |= {one.name: one for one in types}
    return by_name.get


# Values in Arrow's terms


def struct_type(attributes: Mapping[str, AttributeType]) -> T.StructType:
    return T.StructType([T.StructField(name, spark_type(attribute)) for name, attribute in attributes.items()])


_Converter = Callable[[Any], Any]


def _converter(attribute: AttributeType) -> _Converter | None:
    """What Arrow cannot take as it is; None for values that it can."""
    if attribute.kind is Kind.DURATION:
        return to_microseconds
    if attribute.kind is Kind.POINT:
        return lambda point: {"x": point.x, "y": point.y}
    if attribute.kind is Kind.STRUCT:
        return struct_converter(attribute.attributes)
    inner = _converter(attribute.element) if attribute.element else None
    return None if inner is None else lambda items: [inner(item) for item in items]


def struct_converter(attributes: Mapping[str, AttributeType]) -> _Converter:
    converters = {name: convert for name, attribute in attributes.items() if (convert := _converter(attribute))}
    if not converters:
        return lambda struct: struct
    return lambda struct: {
        name: converters[name](value) if name in converters else value for name, value in struct.items()
    }
