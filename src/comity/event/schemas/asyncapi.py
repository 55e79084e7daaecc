"""Types as AsyncAPI 3: a message each, whose payload is JSON Schema; sources as channels.

A channel that comes from a source says so in `x-comity-source`, in the words of a domain file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from comity.event.schemas.json_schema import type_schema
from comity.event.schemas.names import namespace_address
from comity.event.taxonomy import Taxonomy

VERSION = "3.0.0"
SCHEMAS = "#/components/schemas/"
MESSAGES = "#/components/messages/"
SOURCE = "x-comity-source"


def write_asyncapi(taxonomy: Taxonomy, sources: Mapping[str, Any] | None = None) -> str:
    """The document for a taxonomy, and for the sources of its domain: `name: {kind: options}`.

    Without sources each type has a channel of its own.

    >>> from comity.event.types import EVENT, EventType
    >>> written = json.loads(write_asyncapi(Taxonomy("house", [EventType("Fire", "house", EVENT)])))
    >>> written["channels"]
    {'Fire': {'address': 'house.Fire', 'messages': {'Fire': {'$ref': '#/components/messages/Fire'}}}}
    """
    messages = {
        one.name: {"name": one.name, "contentType": "application/json", "payload": {"$ref": SCHEMAS + one.name}}
        for one in taxonomy.types
        if not one.abstract
    }
    document = {
        "asyncapi": VERSION,
        "info": {"title": taxonomy.namespace, "version": "1"},
        "id": namespace_address(taxonomy.namespace),
        "channels": _channels(taxonomy, sources or {}),
        "components": {
            "messages": messages,
            "schemas": {one.name: type_schema(one, SCHEMAS) for one in taxonomy.types},
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _channels(taxonomy: Taxonomy, sources: Mapping[str, Any]) -> dict[str, Any]:
    concrete = [one for one in taxonomy.types if not one.abstract]
    if not sources:
        return {
            one.name: {"address": one.qualified_name, "messages": {one.name: {"$ref": MESSAGES + one.name}}}
            for one in concrete
        }
    messages = {one.name: {"$ref": MESSAGES + one.name} for one in concrete}
    return {name: {"address": _address(name, how), "messages": messages, SOURCE: how} for name, how in sources.items()}


def _address(name: str, how: Any) -> str:
    """The path of a webhook; the name of any other source."""
    options = how.get("webhook") if isinstance(how, Mapping) else None
    return str(options.get("path", "/events")) if isinstance(options, Mapping) else name
