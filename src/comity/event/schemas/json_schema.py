"""Types as JSON Schema (2020-12): a definition each, `allOf` with a reference for what it extends.

The schemas are those of an event's `data`. Marks of ours are `x-unit`, `x-concept`, `x-context`, `x-abstract`, and
`x-kind` for a point.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from comity.event.declaration import CheckUnit
from comity.event.kinds import Kind
from comity.event.schemas.draft import Draft, Imported
from comity.event.schemas.json_schema_in import SCALARS, SchemaReader
from comity.event.schemas.json_text import parse_json
from comity.event.schemas.marks import marks_of
from comity.event.schemas.names import identifier, namespace_address
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DEFINITIONS = "#/$defs/"

Schema = dict[str, Any]


def write_json_schema(taxonomy: Taxonomy) -> str:
    """The document for a taxonomy.

    >>> fire = EventType("Fire", "house", EVENT, {"heat": AttributeType(Kind.FLOAT, unit="degC")})
    >>> json.loads(write_json_schema(Taxonomy("house", [fire])))["$defs"]["Fire"]["properties"]
    {'heat': {'type': 'number', 'x-unit': 'degC'}}
    """
    definitions = {one.name: type_schema(one, DEFINITIONS) for one in taxonomy.types}
    document = {"$schema": DIALECT, "$id": namespace_address(taxonomy.namespace), "$defs": definitions}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read_json_schema(
    text: str, file: str | None = None, *, domain: str | None = None, check_unit: CheckUnit | None = None
) -> Imported:
    """The types of a document: its definitions that are no parts of others, and the schema at its top."""
    document = parse_json(text, file)
    draft = Draft(file, domain, check_unit)
    reader = SchemaReader(document, draft)
    address = document.data.get("$id", document.data.get("id")) if isinstance(document.data, dict) else None
    if isinstance(address, str) and address:
        draft.take_namespace(address.removesuffix(".schema.json").removesuffix(".json"), document.place(("$id",)))
    elif file is not None:
        draft.namespace = identifier(file.rpartition("/")[2].split(".")[0])
    for key in ("$defs", "definitions"):
        reader.take_types((key,))
    reader.take_top()
    return draft.imported()


def type_schema(one: EventType, base: str) -> Schema:
    """The schema of a type, which refers to that of its parent below `base`."""
    schema: Schema = {"description": one.description} if one.description else {}
    if one.abstract:
        schema["x-abstract"] = True
    if one.parent is not None and one.parent != EVENT:
        schema["allOf"] = [{"$ref": base + one.parent.name}]
    inherited = one.parent.attributes if one.parent else {}
    return schema | _object({name: each for name, each in one.own.items() if name not in inherited})


def _object(attributes: Mapping[str, AttributeType]) -> Schema:
    schema: Schema = {"type": "object", "properties": {name: _attribute(one) for name, one in attributes.items()}}
    required = [name for name, one in attributes.items() if not one.optional]
    return schema | ({"required": required} if required else {})


def _attribute(attribute: AttributeType) -> Schema:
    marks = {f"x-{name}": value for name, value in marks_of(attribute).items()}
    if attribute.kind is Kind.STRUCT:
        return _object(attribute.attributes) | marks
    if attribute.element is not None:
        return {"type": "array", "items": _attribute(attribute.element)} | marks
    return dict(SCALARS[attribute.kind]) | marks
