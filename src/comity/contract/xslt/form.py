"""Events as XML, as stylesheets see them: an element named after the type, in it one for each attribute.

Before the attributes stand `id`, `src` and `ts`, the identity and the time; the rest of the envelope is in attributes
of our namespace, as in `comity.event.formats.xml.records`, which reads this form, too. A struct is an element with
elements in it, a point one with `x` and `y`, a list is its element repeated. Single values are the texts that
`text(…)` gives, bytes are in base 64. A missing value has no element; an empty element is an empty text, and no value
of another kind.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from lxml import etree  # type: ignore[import-untyped, unused-ignore]

from comity.event.kinds import Kind, Point, Value, in_range
from comity.event.schemas.names import EVENT_URI, identifier
from comity.event.times import parse_duration, parse_timestamp
from comity.event.types import AttributeType, EventType
from comity.expression.spellings import as_text

ENVELOPE_PARTS: Mapping[str, str] = {"id": "id", "source": "src", "time": "ts"}
"""The elements of what every event has, by the name in `event.…`."""
ENVELOPE_ATTRIBUTES: Mapping[str, str] = {
    **{name: name for name in ("id", "source", "time", "subject", "sequence", "mode")},
    "version": "typeversion",
}
"""All parts of an envelope as attributes in our namespace, by the name in `event.…`."""

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


_name = lru_cache(maxsize=4096)(identifier)
"""The name of an element: asked for with each event."""


def is_xml_text(text: str) -> bool:
    """Whether XML has all characters of a text.

    >>> is_xml_text("Straße\\n"), is_xml_text("\\x00")
    (True, False)
    """
    return _NOT_IN_XML.search(text) is None


def text_of(value: Value) -> str:
    """A single value as its element holds it."""
    match value:
        case str():
            return value
        case bytes():
            return base64.b64encode(value).decode()
    return as_text(value)


def value_of(text: str, kind: Kind) -> Value | None:
    """The value of a kind that a text stands for; None when it stands for none.

    >>> value_of(" 7 ", Kind.INT), value_of("7.0", Kind.INT), value_of("", Kind.STRING)
    (7, None, '')
    """
    if kind is Kind.STRING:
        return text
    return READERS[kind](text.strip()) if kind in READERS else None


def _int(text: str) -> int | None:
    found = int(text) if re.fullmatch(r"[-+]?[0-9]{1,20}", text) else None
    return found if found is not None and in_range(found) else None


def _float(text: str) -> float | None:
    found = float(text) if re.fullmatch(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", text) else None
    return found if found is not None and in_range(found) else None


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


READERS: Mapping[Kind, Callable[[str], Value | None]] = {
    Kind.INT: _int,
    Kind.FLOAT: _float,
    Kind.BOOL: {"true": True, "1": True, "false": False, "0": False}.get,
    Kind.TIMESTAMP: parse_timestamp,
    Kind.DURATION: parse_duration,
    Kind.BYTES: _bytes,
}
"""Of kinds that are not every text; those that fewer texts are of come first."""


def write_record(name: str, envelope: Mapping[str, Value], data: Mapping[str, Value], type: EventType) -> str:
    """The XML of parts of an envelope, by their names in `event.…`, and of attributes.

    A part whose element would be an attribute of the type, and one that has no element, is an attribute of ours.
    """
    root = etree.Element(_name(name), nsmap={"c": EVENT_URI})
    for part, value in envelope.items():
        element = ENVELOPE_PARTS.get(part)
        if value is not None and element is not None and element not in type.attributes:
            etree.SubElement(root, element).text = text_of(value)
        elif value is not None:
            root.set(f"{{{EVENT_URI}}}{ENVELOPE_ATTRIBUTES[part]}", text_of(value))
    _add(root, data)
    etree.cleanup_namespaces(root)
    return str(etree.tostring(root, encoding="unicode"))


def _add(above: Any, data: Mapping[str, Value]) -> None:
    for name, value in data.items():
        for one in value if isinstance(value, list) else [value]:
            if one is None:
                continue
            element = etree.SubElement(above, _name(name))
            if isinstance(one, Point):
                _add(element, one._asdict())
            elif isinstance(one, dict):
                _add(element, one)
            else:
                element.text = text_of(one)


def read_attributes(element: Any, attributes: Mapping[str, AttributeType]) -> dict[str, Any]:
    """The values of the declared attributes that are below an element."""
    found: dict[str, Any] = {}
    for name, declared in attributes.items():
        elements = [one for one in element if local_name(one) == _name(name)]
        value = _read_list(elements, declared) if declared.kind is Kind.LIST else _read(elements[:1], declared)
        if value is not None:
            found[name] = value
    return found


def local_name(element: Any) -> str:
    """The name of an element without its namespace; a comment has none."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _read_list(elements: list[Any], declared: AttributeType) -> list[Any] | None:
    inner = declared.element
    values = [_read([one], inner) for one in elements] if inner is not None else []
    return values if values and None not in values else None


def _read(elements: list[Any], declared: AttributeType) -> Value | None:
    for element in elements:
        if declared.kind is Kind.STRUCT:
            return read_attributes(element, declared.attributes)
        if declared.kind is Kind.POINT:
            parts = read_attributes(element, {"x": _COORDINATE, "y": _COORDINATE})
            return Point(parts["x"], parts["y"]) if len(parts) == 2 else None
        return value_of("".join(element.itertext()), declared.kind)
    return None


_COORDINATE = AttributeType(Kind.FLOAT)
