"""Events written as elements of XML, in the form that `records` reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from lxml import etree  # type: ignore[import-untyped, unused-ignore]

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.formats.jsonlines import encode
from comity.event.formats.xml.values import INSTANCE_URI, NIL
from comity.event.schemas.names import EVENT_URI, namespace_address
from comity.event.schemas.xsd.write import LIST_ITEM
from comity.event.types import AttributeType, EventType

HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\n<c:events xmlns:c="{EVENT_URI}">\n'.encode()
"""What a document begins with, before its events."""
TAIL = b"</c:events>\n"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ELEMENT_NAME = re.compile(r"[^\W\d][\w.-]*")
_NOT_ENVELOPE = ("specversion", "type", "data")


def encode_xml(event: Event, type: EventType | None = None) -> bytes:
    """The element of an event; raises `Misuse` for what XML cannot say, such as most control characters.

    With its type, empty lists and lists of lists come back as they were.

    >>> encode_xml(Event("1", "/a", "house.Fire", data={"heat": 40.5})).partition(b" c:id")[2]
    b'="1" c:source="/a"><heat>40.5</heat></Fire>'
    """
    record = msgspec.json.decode(encode(event))
    domain, _, name = event.type.rpartition(".")
    try:
        if _NAME.fullmatch(name) and (_NAME.fullmatch(domain) or not domain):
            space = namespace_address(domain) if domain else None
            root = etree.Element(_in(space, name), nsmap={None: space, "c": EVENT_URI} if space else {"c": EVENT_URI})
        else:
            space = None
            root = etree.Element(_in(EVENT_URI, "event"), {_in(EVENT_URI, "type"): event.type}, {"c": EVENT_URI})
        for part, value in record.items():
            if part not in _NOT_ENVELOPE:
                root.set(_in(EVENT_URI, part), str(value))
        _write_struct(root, space, record["data"], type.attributes if type else {})
    except ValueError as error:
        shown = repr(event.id).encode(errors="backslashreplace").decode()
        raise Misuse(f"event {shown} cannot be written as XML: {error}", code="not-encodable") from error
    written: bytes = etree.tostring(root, encoding="UTF-8")
    return written.partition(b"?>\n")[2] if written.startswith(b"<?xml") else written


def _in(space: str | None, name: str) -> str:
    if not _ELEMENT_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name in XML")
    return f"{{{space}}}{name}" if space else name


def _write_struct(
    node: Any, space: str | None, values: Mapping[str, Any], attributes: Mapping[str, AttributeType]
) -> None:
    ordered = dict.fromkeys((*(name for name in attributes if name in values), *values))  # a schema wants its order
    for name in ordered:
        _write(node, space, name, values[name], attributes.get(name))


def _write(node: Any, space: str | None, name: str, value: Any, attribute: AttributeType | None) -> None:
    if not isinstance(value, list):
        _write_content(etree.SubElement(node, _in(space, name)), space, value, attribute)
        return
    element = attribute.element if attribute is not None else None
    for one in value:
        _write_content(etree.SubElement(node, _in(space, name)), space, one, element)
    if not value and (attribute is None or attribute.optional):
        etree.SubElement(node, _in(space, name), {NIL: "true"}, {"xsi": INSTANCE_URI})


def _write_content(node: Any, space: str | None, value: Any, attribute: AttributeType | None) -> None:
    if isinstance(value, dict):
        _write_struct(node, space, value, attribute.attributes if attribute is not None else {})
    elif isinstance(value, list):
        _write(node, space, LIST_ITEM, value, attribute)
    else:
        node.text = str(value).lower() if isinstance(value, bool) else str(value)
