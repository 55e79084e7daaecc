"""Attributes as typed columns, made from JSON by Arrow; what Arrow cannot read of it is converted value by value.

A duration is a number of microseconds, as in columns of Spark; a time has microseconds and is in UTC; bytes are bytes;
a place has its `x` and `y`. An attribute that is not there is null.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import json as arrow_json

from comity.event.arrow_types import arrow_type
from comity.event.kinds import Kind, to_microseconds
from comity.event.times import parse_duration, parse_timestamp
from comity.event.types import AttributeType

_NOT_IN_JSON = (Kind.TIMESTAMP, Kind.DURATION, Kind.BYTES)
"""Kinds whose values JSON has as texts."""


@dataclass(frozen=True, slots=True)
class TypedAttributes:
    """The attributes of notifications, each with the column that it has.

    >>> heat = TypedAttributes.of({"heat": AttributeType(Kind.FLOAT)}, ())
    >>> heat.columns([b'{"heat":20.5}', b"{}"])[0].to_pylist()
    [20.5, None]
    """

    types: Mapping[str, AttributeType]
    names: Mapping[str, str]
    """What the column of an attribute is called."""

    @classmethod
    def of(cls, types: Mapping[str, AttributeType], taken: Sequence[str]) -> TypedAttributes:
        """A column for each; beside columns that are there already, `data_` stands before the name of another."""
        return cls(types, {name: f"data_{name}" if name in taken else name for name in types})

    @property
    def fields(self) -> list[pa.Field]:
        """The columns."""
        return [pa.field(self.names[name], arrow_type(one)) for name, one in self.types.items()]

    def columns(self, given: Sequence[bytes]) -> list[pa.Array]:
        """The columns of these objects of JSON."""
        by_arrow = self._by_arrow(given)
        rest = {name: one for name, one in self.types.items() if name not in by_arrow}
        decoded = _objects.decode(b"[" + b",".join(given) + b"]") if rest else []
        for name, declared in rest.items():
            values = [_converted(record.get(name), declared) for record in decoded]
            by_arrow[name] = pa.array(values, arrow_type(declared))
        return [by_arrow[name] for name in self.types]

    def _by_arrow(self, given: Sequence[bytes]) -> dict[str, pa.ChunkedArray]:
        """The columns that Arrow can read; none if something in them is not as it reads it."""
        readable = {name: _read_type(one) for name, one in self.types.items() if _is_readable(one)}
        if not readable or not given:
            return {}
        content = b"\n".join(given)
        options = arrow_json.ParseOptions(pa.schema(readable), unexpected_field_behavior="ignore")
        whole = arrow_json.ReadOptions(use_threads=False, block_size=len(content) + 1)
        try:
            table = arrow_json.read_json(BytesIO(content), whole, options)
            return {name: table[name].cast(arrow_type(self.types[name])) for name in readable}
        except pa.ArrowInvalid:
            return {}


_objects = msgspec.json.Decoder(list[dict[str, Any]])


def _is_readable(declared: AttributeType) -> bool:
    """Whether Arrow reads it from JSON; a time it reads as a text, which is cast if it stands alone."""
    if declared.kind is Kind.STRUCT:
        return bool(declared.attributes) and all(_is_plain(one) for one in declared.attributes.values())
    return declared.kind is Kind.TIMESTAMP or _is_plain(declared)


def _is_plain(declared: AttributeType) -> bool:
    if declared.kind is Kind.LIST:
        return declared.element is not None and _is_plain(declared.element)
    if declared.kind is Kind.STRUCT:
        return _is_readable(declared)
    return declared.kind not in _NOT_IN_JSON


def _read_type(declared: AttributeType) -> pa.DataType:
    return pa.string() if declared.kind is Kind.TIMESTAMP else arrow_type(declared)


def _converted(value: Any, declared: AttributeType) -> Any:
    """A value as Arrow takes it."""
    if value is None:
        return None
    match declared.kind:
        case Kind.TIMESTAMP:
            return parse_timestamp(value)
        case Kind.DURATION:
            duration = parse_duration(value)
            return None if duration is None else to_microseconds(duration)
        case Kind.BYTES:
            return b64decode(value)
        case Kind.LIST:
            assert declared.element is not None, "a list type names its elements"
            return [_converted(one, declared.element) for one in value]
        case Kind.STRUCT:
            return {name: _converted(value.get(name), one) for name, one in declared.attributes.items()}
    return value
