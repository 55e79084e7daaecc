"""The texts of XML as values: what a type declares, or texts where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from comity.event.kinds import Kind
from comity.event.schemas.names import identifier
from comity.event.types import AttributeType
from comity.event.validate import MAX_NESTING, Fault

INSTANCE_URI = "http://www.w3.org/2001/XMLSchema-instance"
NIL = f"{{{INSTANCE_URI}}}nil"
VALUE = "value"
"""The attribute that has the text of an element with attributes."""

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = {"NaN": b"NaN", "INF": b"Infinity", "+INF": b"Infinity", "-INF": b"-Infinity"}
_WORDS = {"true": True, "false": False, "1": True, "0": False}
_POINT_PARTS = {"x": AttributeType(Kind.FLOAT), "y": AttributeType(Kind.FLOAT)}


class XmlValues:
    """Values in terms of JSON, not yet checked; what cannot be one is in `faults`."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def struct(
        self, node: Any, attributes: Mapping[str, AttributeType] | None, path: str, left_out: Collection[str] = ()
    ) -> dict[str, Any]:
        """The elements inside a node and its attributes, by name; what the type does not name is dropped."""
        found: dict[str, Any] = {}
        for original, nodes in {**_texts(node), **grouped(node)}.items():
            if original in left_out:
                continue
            name = _declared_name(original, attributes)
            if name is not None:
                inner = attributes[name] if attributes is not None else None
                found[name] = self._value(nodes, inner, f"{path}.{name}" if path else name)
        for name, one in (attributes or {}).items():
            if one.kind is Kind.LIST and not one.optional:
                found.setdefault(name, [])  # an empty list has no elements
        return found

    def _value(self, nodes: list[Any], attribute: AttributeType | None, path: str) -> Any:
        """The value of all elements of one name."""
        if path.count(".") + path.count("[") > MAX_NESTING:
            self.faults.append(Fault(path[:200], "", f"is nested deeper than {MAX_NESTING} levels", "too-deep"))
            return None
        there = [one for one in nodes if isinstance(one, str) or one.get(NIL) not in ("true", "1")]
        if attribute is not None and attribute.element is not None:
            return [self._one(one, attribute.element, f"{path}[{at}]") for at, one in enumerate(there)]
        if len(there) == 1:
            return self._one(there[0], attribute, path)
        return [self._one(one, None, f"{path}[{at}]") for at, one in enumerate(there)] if there else None

    def _one(self, node: Any, attribute: AttributeType | None, path: str) -> Any:
        if isinstance(node, str) or (not len(node) and not _texts(node)):
            text = node if isinstance(node, str) else node.text or ""
            return self._leaf(text, node, attribute, path)
        if attribute is None:
            return self.struct(node, None, path)
        if attribute.kind is Kind.LIST:
            return self._value(list(_elements(node)), attribute, path)
        if attribute.kind in (Kind.STRUCT, Kind.POINT):
            return self.struct(node, attribute.attributes or _POINT_PARTS, path)
        inside = any(True for _ in _elements(node))  # attributes of XML beside a text are dropped
        return self.struct(node, None, path) if inside else _CONVERT[attribute.kind](_text(node))

    def _leaf(self, text: str, node: Any, attribute: AttributeType | None, path: str) -> Any:
        """The value of an element without elements; a struct or a list without any is empty."""
        if attribute is None:
            return text
        if attribute.kind in _CONVERT:
            return _CONVERT[attribute.kind](text)
        if text.strip():
            return self.struct(node, attribute.attributes, path) if VALUE in attribute.attributes else text
        if attribute.kind is Kind.LIST:
            return []
        return self.struct(node, attribute.attributes, path) if not isinstance(node, str) else {}


def local(node: Any) -> str:
    """The name of an element, without its namespace."""
    return str(node.tag).rpartition("}")[2]


def namespace(node: Any) -> str:
    """The namespace of an element; empty if it has none, or a prefix that nobody bound."""
    return str(node.tag)[1:].partition("}")[0] if str(node.tag).startswith("{") else ""


def grouped(node: Any) -> dict[str, list[Any]]:
    """The elements inside a node, by name."""
    found: dict[str, list[Any]] = {}
    for one in _elements(node):
        found.setdefault(local(one), []).append(one)
    return found


def _elements(node: Any) -> Any:
    return (one for one in node if isinstance(one.tag, str))


def _texts(node: Any) -> dict[str, list[Any]]:
    """The attributes of XML that are no one's in particular, and the text beside attributes or elements."""
    if not len(node.attrib) and not len(node):
        return {}
    found: dict[str, list[Any]] = {name: [text] for name, text in node.attrib.items() if not name.startswith("{")}
    text = _text(node)
    return found | ({VALUE: [text]} if text.strip() and (found or len(node)) else {})


def _text(node: Any) -> str:
    return (node.text or "") + "".join(one.tail or "" for one in node)


def _declared_name(original: str, attributes: Mapping[str, AttributeType] | None) -> str | None:
    if attributes is None or original in attributes:
        return original
    return identifier(original) if identifier(original) in attributes else None


def _number(text: str) -> Any:
    """The digits as JSON has them, so that its decoder judges their range; what is no number stays text."""
    digits = text.strip()
    if _JSON_NUMBER.fullmatch(digits):
        return msgspec.Raw(digits.encode())
    if digits in _NOT_FINITE:
        return msgspec.Raw(_NOT_FINITE[digits])
    if not _NUMBER.fullmatch(digits) or len(digits) > 1_000:
        return text
    is_whole = digits.lstrip("+-").isdigit()
    return msgspec.Raw(str(int(digits)).encode()) if is_whole else float(digits)


def _bool(text: str) -> Any:
    return _WORDS.get(text.strip(), text)


def _trimmed(text: str) -> str:
    return text.strip()


def _bytes(text: str) -> str:
    return "".join(text.split())


_CONVERT: Mapping[Kind, Callable[[str], Any]] = {
    Kind.BOOL: _bool,
    Kind.INT: _number,
    Kind.FLOAT: _number,
    Kind.STRING: str,
    Kind.TIMESTAMP: _trimmed,
    Kind.DURATION: _trimmed,
    Kind.BYTES: _bytes,
}
