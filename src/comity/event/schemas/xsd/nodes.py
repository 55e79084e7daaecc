"""The nodes of an XML Schema: their names, children, marks and documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from comity.event.schemas.marks import MARKS
from comity.event.schemas.names import EVENT_URI

_SCHEMA_URIS = (
    "http://www.w3.org/2001/XMLSchema",
    "http://www.w3.org/2000/10/XMLSchema",
    "http://www.w3.org/1999/XMLSchema",
)
_SCHEMA_PREFIXES = ("xs", "xsd")


def children(node: Any) -> Iterator[Any]:
    """The elements of a schema below a node; comments and what is of others are left out."""
    return (one for one in node if isinstance(one.tag, str) and _is_of_schema(one))


def all_of(node: Any, local: str) -> Iterator[Any]:
    """All the nodes of a name, at any depth."""
    return (one for one in node.iter("{*}" + local) if _is_of_schema(one))


def _is_of_schema(node: Any) -> bool:
    """Whether it is an element of a schema; the seeds leave the namespace out."""
    space = node.tag[1:].partition("}")[0] if node.tag.startswith("{") else ""
    return space in ("", *_SCHEMA_URIS)


def local(node: Any) -> str:
    """The name of a node, without its namespace."""
    return str(node.tag).rpartition("}")[2]


def local_name(name: str) -> str:
    """A name without its prefix."""
    return name.rpartition(":")[2]


def is_built_in(node: Any, name: str) -> bool:
    """Whether a name with a prefix is one of the schema language; a prefix that nobody bound may be the usual one."""
    prefix, _, _ = name.rpartition(":")
    if not prefix:
        return False
    return node.nsmap.get(prefix) in _SCHEMA_URIS or (prefix not in node.nsmap and prefix in _SCHEMA_PREFIXES)


def named(node: Any, name: str) -> Any:
    """A type without a name of its own takes that of its element."""
    node.set("name", name)
    return node


def documentation(node: Any) -> str | None:
    """What a node says to people."""
    texts = ["".join(one.itertext()).strip() for note in children(node) for one in note if _is_documentation(one)]
    return "\n".join(text for text in texts if text) or None


def _is_documentation(node: Any) -> bool:
    return isinstance(node.tag, str) and local(node) == "documentation"


def marks_at(node: Any, prefix: str = "") -> dict[str, Any]:
    """The marks of an element: attributes of our namespace, or elements below `appinfo`."""
    found: dict[str, Any] = {}
    for info in (one for note in children(node) if local(note) == "annotation" for one in children(note)):
        if local(info) == "appinfo" and not prefix:
            found |= {local(one): one.text for one in info if isinstance(one.tag, str) and local(one) in MARKS}
    written = {name: node.get(f"{{{EVENT_URI}}}{prefix}{name}") for name in MARKS}
    found |= {name: text for name, text in written.items() if text}
    if isinstance(found.get("context"), str):
        found["context"] = _json(found["context"])
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
