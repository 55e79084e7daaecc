"""Types as XML Schema: a `complexType` each, `extension base` for what it extends, an element of its name.

The root is `Event`, whose elements carry the envelope as attributes of our namespace. Units, concepts and contexts are
attributes of our namespace in the schema, too. A list is an element that is repeated; one that may be missing is
nillable, so that an empty list differs from none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lxml import etree  # type: ignore[import-untyped, unused-ignore]

from comity.errors import Misuse
from comity.event.kinds import Kind
from comity.event.schemas.marks import marks_of
from comity.event.schemas.names import EVENT_URI, namespace_address
from comity.event.schemas.xsd.kinds import SCALARS
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType

SCHEMA_URI = "http://www.w3.org/2001/XMLSchema"
LIST_ITEM = "item"
"""The elements of a list that is itself an element of a list."""
OF_LIST = "list-"
"""Before a mark that is one of the list, not of its elements."""

_POINT_PARTS = {"x": AttributeType(Kind.FLOAT), "y": AttributeType(Kind.FLOAT)}


def write_xsd(taxonomy: Taxonomy) -> str:
    """The document for a taxonomy; raises `Misuse` if a text in it has a character that XML has not.

    >>> fire = EventType("Fire", "house", EVENT, {"heat": AttributeType(Kind.FLOAT, unit="degC")})
    >>> '<xs:element name="heat" type="xs:double" c:unit="degC"/>' in write_xsd(Taxonomy("house", [fire]))
    True
    """
    address = namespace_address(taxonomy.namespace)
    spaces = {"xs": SCHEMA_URI, None: address, "c": EVENT_URI}
    schema = etree.Element(_name("schema"), nsmap=spaces)
    schema.set("targetNamespace", address)
    schema.set("elementFormDefault", "qualified")
    _write_root(schema)
    try:
        for one in taxonomy.types:
            _write_type(schema, one)
    except ValueError as error:
        raise Misuse(f"the types cannot be written as XML: {error}", code="not-encodable") from error
    written: bytes = etree.tostring(schema, pretty_print=True, xml_declaration=True, encoding="UTF-8")
    return written.decode()


def _name(local: str) -> str:
    return f"{{{SCHEMA_URI}}}{local}"


def _add(parent: Any, local: str, **attributes: str) -> Any:
    return etree.SubElement(parent, _name(local), attributes)


def _write_root(schema: Any) -> None:
    """The root of all types: it has nothing but the envelope, which is in attributes."""
    root = _add(schema, "complexType", name=EVENT.name, abstract="true")
    _add(root, "anyAttribute", namespace=EVENT_URI, processContents="lax")


def _write_type(schema: Any, one: EventType) -> None:
    flags = {"abstract": "true"} if one.abstract else {}
    node = _add(schema, "complexType", name=one.name, **flags)
    if one.description:
        _add(_add(node, "annotation"), "documentation").text = one.description
    parent = one.parent or EVENT
    extension = _add(_add(node, "complexContent"), "extension", base=parent.name)
    own = {name: each for name, each in one.own.items() if name not in parent.attributes}
    if own:
        _write_sequence(extension, own)
    if not one.abstract:
        _add(schema, "element", name=one.name, type=one.name)


def _write_sequence(parent: Any, attributes: Mapping[str, AttributeType]) -> None:
    sequence = _add(parent, "sequence")
    for name, one in attributes.items():
        _write_attribute(sequence, name, one)


def _write_attribute(sequence: Any, name: str, attribute: AttributeType) -> None:
    node = _add(sequence, "element", name=name)
    if attribute.element is not None:
        node.set("minOccurs", "0")
        node.set("maxOccurs", "unbounded")
        if attribute.optional:
            node.set("nillable", "true")
        _write_marks(node, attribute, OF_LIST)
        _write_content(node, attribute.element)
        return
    if attribute.optional:
        node.set("minOccurs", "0")
    _write_content(node, attribute)


def _write_content(node: Any, attribute: AttributeType) -> None:
    """What stands in an element."""
    if attribute.kind in SCALARS:
        node.set("type", f"xs:{SCALARS[attribute.kind]}")
    elif attribute.kind is Kind.LIST:
        node.set(f"{{{EVENT_URI}}}kind", Kind.LIST.value)
        _write_sequence(_add(node, "complexType"), {LIST_ITEM: attribute})
        return  # the element inside has its marks
    elif attribute.kind is Kind.POINT:
        node.set(f"{{{EVENT_URI}}}kind", Kind.POINT.value)
        _write_sequence(_add(node, "complexType"), _POINT_PARTS)
    else:
        _write_sequence(_add(node, "complexType"), attribute.attributes)
    _write_marks(node, attribute)


def _write_marks(node: Any, attribute: AttributeType, prefix: str = "") -> None:
    for name, value in marks_of(attribute).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        node.set(f"{{{EVENT_URI}}}{prefix}{name}", text)
