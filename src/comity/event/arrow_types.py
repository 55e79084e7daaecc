"""How values stand in columns of Arrow, and so in those of Spark and in tables."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from comity.event.kinds import Kind
from comity.event.types import AttributeType

TIMESTAMP = pa.timestamp("us", "UTC")
ARROW_TYPES: Mapping[Kind, pa.DataType] = {
    Kind.BOOL: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.TIMESTAMP: TIMESTAMP,
    Kind.DURATION: pa.int64(),
    Kind.BYTES: pa.binary(),
    Kind.POINT: pa.struct([("x", pa.float64()), ("y", pa.float64())]),
}
"""Of kinds that have no parts with a type of their own; durations are microseconds."""


def arrow_type(declared: AttributeType, types: Mapping[Kind, pa.DataType] = ARROW_TYPES) -> pa.DataType:
    """How values of an attribute stand in a column, as `types` have it.

    >>> arrow_type(AttributeType(Kind.LIST, element=AttributeType(Kind.DURATION)))
    ListType(list<item: int64>)
    """
    if declared.kind is Kind.STRUCT:
        return pa.struct([(name, arrow_type(one, types)) for name, one in declared.attributes.items()])
    if declared.kind is Kind.LIST:
        assert declared.element is not None, "a list type names its elements"
        return pa.list_(arrow_type(declared.element, types))
    return types[declared.kind]
