"""The formats of types, in one table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from comity.document import did_you_mean, read_text
from comity.errors import Misuse, Place
from comity.event.declaration import CheckUnit
from comity.event.schemas.asyncapi import write_asyncapi
from comity.event.schemas.asyncapi_in import read_asyncapi
from comity.event.schemas.avro import write_avro
from comity.event.schemas.avro_in import read_avro
from comity.event.schemas.draft import Imported
from comity.event.schemas.json_schema import read_json_schema, write_json_schema
from comity.event.schemas.xsd.read import read_xsd
from comity.event.schemas.xsd.write import write_xsd
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT


class Read(Protocol):
    """From the text of a document to types."""

    def __call__(
        self, text: str, file: str | None = None, *, domain: str | None = None, check_unit: CheckUnit | None = None
    ) -> Imported: ...


Write = Callable[[Taxonomy, Mapping[str, Any]], str]
"""From a taxonomy and the sources of its domain to the text of a document."""


@dataclass(frozen=True, slots=True)
class SchemaFormat:
    """A format: its name, the suffix of its files, what its documents look like, and both ways."""

    name: str
    suffix: str
    looks_like: Callable[[str], bool]
    read: Read
    write: Write


def _begins(text: str, *keys: str) -> bool:
    """Whether one of the keys stands at the top of a document of JSON or YAML."""
    if text.lstrip()[:1] not in ("{", "["):
        return any(line.partition(":")[0].strip("'\" ") in keys for line in text.splitlines() if line[:1].strip())
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return False
    tops = data if isinstance(data, list) else [data]
    return any(isinstance(one, dict) and not one.keys().isdisjoint(keys) for one in tops)


FORMATS: Mapping[str, SchemaFormat] = {
    one.name: one
    for one in (
        SchemaFormat(
            "xsd", ".xsd", lambda text: text.lstrip()[:1] == "<", read_xsd, lambda taxonomy, _: write_xsd(taxonomy)
        ),
        SchemaFormat(
            "asyncapi", ".asyncapi.json", lambda text: _begins(text, "asyncapi"), read_asyncapi, write_asyncapi
        ),
        SchemaFormat(
            "avro",
            ".avsc",
            lambda text: _begins(text, "fields"),
            read_avro,
            lambda taxonomy, _: write_avro(taxonomy),
        ),
        SchemaFormat(
            "json-schema",
            ".schema.json",
            lambda text: _begins(text, "$schema", "$defs", "definitions", "properties"),
            read_json_schema,
            lambda taxonomy, _: write_json_schema(taxonomy),
        ),
    )
}
"""By name, in the order in which a document is tried."""


def format_named(name: str) -> SchemaFormat:
    """The format of a name; raises `Misuse` with a hint when there is none."""
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS) or f"there are: {', '.join(FORMATS)}"
        raise Misuse(f"there is no format `{name}`", code="unknown-format", hint=hint)
    return FORMATS[name]


def format_of(text: str, file: str | None = None) -> SchemaFormat:
    """The format of a document, by what it looks like.

    >>> format_of('{"asyncapi": "3.0.0"}').name
    'asyncapi'
    """
    for one in FORMATS.values():
        if one.looks_like(text):
            return one
    hint = f"say which it is with --from {'|'.join(FORMATS)}"
    raise Misuse("what is in this file cannot be told", code="unknown-file", place=Place(file), hint=hint)


def read_types(
    path: str | Path, format: str | None = None, *, domain: str | None = None, check_unit: CheckUnit | None = None
) -> Imported:
    """The types of a file in any of the formats, and what could not be kept of them."""
    text = read_text(path)
    found = format_named(format) if format else format_of(text, str(path))
    return found.read(text, str(path), domain=domain, check_unit=check_unit)


def select(taxonomy: Taxonomy, name: str) -> Taxonomy:
    """A taxonomy of one type, and of what it extends."""
    wanted = taxonomy.type(name).lineage
    if wanted == EVENT.lineage:
        raise Misuse("the root is in every document anyway", code="unknown-type", hint="name another type")
    return Taxonomy(taxonomy.namespace, [one for one in taxonomy.types if one.qualified_name in wanted])
