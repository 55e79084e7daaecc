"""Calls of extension functions on Spark columns: their Python runs in the workers, on whole columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from comity.event.arrow_types import arrow_type
from comity.event.kinds import Kind, Point, Value, timestamp_from_microseconds, to_microseconds
from comity.event.types import AttributeType
from comity.expression.extensions import ExtensionFunction
from comity.pipeline.operands import BOUNDS, Alternatives, ColumnOperand, first_present, not_in_columns, sized
from comity.pipeline.wrap import spark_type

Call = Callable[[tuple[Value | None, ...]], Value | None]


def extension(function: ExtensionFunction, arguments: tuple[Alternatives, ...]) -> Alternatives:
    """The result of an extension function, for every combination of kinds that it takes."""
    if function.takes_missing:
        return {function.gives: _with_missing(function, arguments)}
    accepted = [
        [(kind, operand) for kind, operand in argument.items() if kind in kinds]
        for argument, kinds in zip(arguments, function.takes, strict=True)
    ]
    found = [_called(function, chosen) for chosen in product(*accepted)]
    return {function.gives: first_present(found)} if found else {}


def _called(function: ExtensionFunction, chosen: tuple[tuple[Kind, ColumnOperand], ...]) -> ColumnOperand:
    return in_python(function.call, function.gives, chosen)


def _with_missing(function: ExtensionFunction, arguments: tuple[Alternatives, ...]) -> ColumnOperand:
    """With arguments of one kind each: of several, each would be missing where another one is there."""
    chosen: list[tuple[Kind, ColumnOperand]] = []
    for argument in arguments:
        if len(argument) > 1:
            raise not_in_columns(f"{function.name} takes missing values, and the kind of an argument is not known")
        chosen.append(next(iter(argument.items()), (Kind.STRING, ColumnOperand(F.lit(None).cast("string")))))
    return in_python(function.call, function.gives, tuple(chosen))


def in_python(call: Call, gives: Kind, chosen: tuple[tuple[Kind, ColumnOperand], ...]) -> ColumnOperand:
    """What a Python function gives for each row, in a column of its kind; it runs in the workers."""
    readers = [_reader(kind, operand.type) for kind, operand in chosen]
    stored = AttributeType(Kind.INT if gives is Kind.TIMESTAMP else gives)
    arrow = arrow_type(stored)

    @F.arrow_udf(spark_type(stored))  # type: ignore[attr-defined, untyped-decorator]
    def called(*columns: pa.Array) -> pa.Array:
        lists = [
            [None if value is None else read(value) for value in column.to_pylist()]
            for read, column in zip(readers, columns, strict=False)
        ]
        rows = zip(*lists, strict=True) if readers else (() for _ in columns[0])
        results = map(call, rows)
        return pa.array([None if result is None else _stored(result) for result in results], arrow)

    # A column is needed also where there is no argument, to say how many rows there are.
    made: Column = called(*([_readable(kind, operand.settled()) for kind, operand in chosen] or [F.lit(True)]))
    column = F.timestamp_micros(made) if gives is Kind.TIMESTAMP else made
    size = 2 * sum(operand.size for _, operand in chosen) + 2
    return sized(ColumnOperand(column, bound=BOUNDS.get(gives, 0.0), size=size))


def _readable(kind: Kind, operand: ColumnOperand) -> Column:
    """Timestamps go as microseconds, because Arrow would give them in the zone of the machine."""
    if kind in (Kind.STRUCT, Kind.LIST) and operand.type is None:
        raise not_in_columns("an extension function takes a struct or a list whose type is not known")
    return F.unix_micros(operand.column) if kind is Kind.TIMESTAMP else operand.column


def _reader(kind: Kind, type: AttributeType | None) -> Callable[[Any], Value]:
    """From what Arrow gives to the value of the language."""
    match kind:
        case Kind.TIMESTAMP:
            return timestamp_from_microseconds
        case Kind.DURATION:
            return _span
        case Kind.POINT:
            return _point
        case Kind.LIST if type is not None and type.element is not None:
            inner = _inner_reader(type.element)
            return lambda items: [inner(item) for item in items]
        case Kind.STRUCT if type is not None:
            fields = {name: _inner_reader(one) for name, one in type.attributes.items()}
            return lambda found: {
                name: read(found[name]) for name, read in fields.items() if found.get(name) is not None
            }
    return _itself


def _inner_reader(type: AttributeType) -> Callable[[Any], Value]:
    """Inside structs and lists a timestamp is a datetime already."""
    return _instant if type.kind is Kind.TIMESTAMP else _reader(type.kind, type)


def _instant(value: datetime) -> Value:
    return timestamp_from_microseconds(to_microseconds(value))


def _span(count: int) -> timedelta:
    return timedelta(microseconds=count)


def _point(found: Mapping[str, float]) -> Point:
    return Point(found["x"], found["y"])


def _itself(value: Value) -> Value:
    return value


def _stored(value: Value) -> Any:
    """The value as a column holds it."""
    if isinstance(value, datetime | timedelta):
        return to_microseconds(value)
    return value._asdict() if isinstance(value, Point) else value
