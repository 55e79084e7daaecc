"""A taxonomy as the YAML file of a domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from comity.document.write import write_yaml
from comity.event.schemas.draft import Path
from comity.event.schemas.marks import marks_of
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType


def write_domain_file(
    taxonomy: Taxonomy, sources: Mapping[str, Any] | None = None, descriptions: Mapping[Path, str] | None = None
) -> str:
    """The file, which gives the same taxonomy when it is read.

    >>> from comity.event.kinds import Kind
    >>> fire = EventType("Fire", "house", EVENT, {"heat": AttributeType(Kind.FLOAT, True, "degC")})
    >>> print(write_domain_file(Taxonomy("house", [fire])), end="")
    domain: house
    types:
      Fire:
        attributes:
          heat: float degC?
    """
    document: dict[str, Any] = {"domain": taxonomy.namespace}
    if sources:
        document["sources"] = sources
    document["types"] = {one.name: type_declaration(one, descriptions) for one in taxonomy.types}
    return write_yaml(document)


def type_declaration(one: EventType, descriptions: Mapping[Path, str] | None = None) -> dict[str, Any]:
    """The declaration of a type, as a file has it."""
    declared: dict[str, Any] = {}
    if one.parent is not None and one.parent != EVENT:
        declared["extends"] = one.parent.name
    if one.abstract:
        declared["abstract"] = True
    if one.version is not None:
        declared["version"] = one.version
    if one.description:
        declared["description"] = one.description
    if one.own:
        declared["attributes"] = _attributes(one.own, (one.name,), descriptions or {})
    return declared


def _attributes(attributes: Mapping[str, AttributeType], owner: Path, texts: Mapping[Path, str]) -> dict[str, Any]:
    return {name: _attribute(one, (*owner, name), texts) for name, one in attributes.items()}


def attribute_declaration(attribute: AttributeType) -> Any:
    """The declaration of an attribute, as a file has it."""
    return _attribute(attribute, (), {})


def _attribute(attribute: AttributeType, path: Path, texts: Mapping[Path, str]) -> Any:
    """In short if that says it all, else in full."""
    marks = marks_of(attribute)
    unit = marks.pop("unit", None)
    inner = attribute.attributes or attribute.element
    if not marks and not inner and path not in texts and "?" not in (unit or ""):
        return f"{attribute.kind.value}{' ' + unit if unit else ''}{'?' if attribute.optional else ''}"
    declared: dict[str, Any] = {"kind": attribute.kind.value}
    if unit is not None:
        declared["unit"] = unit
    declared |= marks | ({"optional": True} if attribute.optional else {})
    if path in texts:
        declared["description"] = texts[path]
    if attribute.attributes:
        declared["attributes"] = _attributes(attribute.attributes, path, texts)
    if attribute.element is not None:
        declared["of"] = _attribute(attribute.element, path, {})
    return declared
