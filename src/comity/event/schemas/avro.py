"""Types as Avro: a record each, with all the attributes of an event's `data`.

Avro has no inheritance, so what a type extends is a property of its record, and so are `abstract`, and `unit`,
`concept` and `context` of a field. A duration is a long with the logical type `duration-micros`, since Avro's own one
cannot be negative and ends at milliseconds. A point is a record whose `kind` says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from comity.event.kinds import Kind
from comity.event.schemas.marks import marks_of
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType

DURATION = "duration-micros"
"""The logical type of a duration: microseconds in a long."""

SCALARS: Mapping[Kind, Any] = {
    Kind.BOOL: "boolean",
    Kind.INT: "long",
    Kind.FLOAT: "double",
    Kind.STRING: "string",
    Kind.TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros"},
    Kind.DURATION: {"type": "long", "logicalType": DURATION},
    Kind.BYTES: "bytes",
}
"""The types of kinds that have no parts."""
_POINT_FIELDS = [{"name": "x", "type": "double"}, {"name": "y", "type": "double"}]


def write_avro(taxonomy: Taxonomy) -> str:
    """The document for a taxonomy: a record, or a union of records.

    >>> fire = EventType("Fire", "house", EVENT, {"heat": AttributeType(Kind.FLOAT, unit="degC")})
    >>> json.loads(write_avro(Taxonomy("house", [fire])))["fields"]
    [{'name': 'heat', 'type': {'type': 'double', 'unit': 'degC'}}]
    """
    records = record_schemas(taxonomy.types)
    return json.dumps(records[0] if len(records) == 1 else records, indent=2, ensure_ascii=False) + "\n"


def record_schemas(types: Iterable[EventType]) -> list[dict[str, Any]]:
    """The records of types; those of structs and points inside them have the paths to them as names."""
    return [_type_record(one) for one in types]


def _type_record(one: EventType) -> dict[str, Any]:
    record: dict[str, Any] = {"type": "record", "name": one.name, "namespace": one.namespace}
    if one.description:
        record["doc"] = one.description
    if one.parent is not None and one.parent != EVENT:
        record["extends"] = one.parent.qualified_name
    if one.abstract:
        record["abstract"] = True
    return record | {"fields": _fields(one.attributes, one.qualified_name)}


def _fields(attributes: Mapping[str, AttributeType], owner: str) -> list[dict[str, Any]]:
    return [_field(name, one, owner) for name, one in attributes.items()]


def _field(name: str, attribute: AttributeType, owner: str) -> dict[str, Any]:
    schema = _schema(name, attribute, owner)
    if attribute.optional:
        return {"name": name, "type": ["null", schema], "default": None}
    return {"name": name, "type": schema}


def _schema(name: str, attribute: AttributeType, owner: str) -> Any:
    """The schema of a value; the record of a struct has the path to it as its name."""
    marks = marks_of(attribute)
    if attribute.element is not None:
        return {"type": "array", "items": _schema(name, attribute.element, owner)} | marks
    record = {"type": "record", "name": name, "namespace": owner}
    if attribute.kind is Kind.STRUCT:
        return record | marks | {"fields": _fields(attribute.attributes, f"{owner}.{name}")}
    if attribute.kind is Kind.POINT:
        return record | {"kind": Kind.POINT.value} | marks | {"fields": _POINT_FIELDS}
    scalar = SCALARS[attribute.kind]
    return (scalar if isinstance(scalar, dict) else {"type": scalar}) | marks if marks else scalar
