"""What an attribute says beyond its kind (unit, concept, context), which other formats keep as marks of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from comity.document import parse_document
from comity.errors import Place
from comity.event.declaration import DeclarationReader
from comity.event.kinds import Kind
from comity.event.schemas.draft import Draft
from comity.event.types import AttributeType

MARKS = ("unit", "concept", "context")
"""The names of the marks; a format may write them with a prefix."""

_FILLED: Mapping[Kind, dict[str, Any]] = {Kind.STRUCT: {"attributes": {"x": "int"}}, Kind.LIST: {"of": "int"}}
_EMPTY = parse_document("{}")


def marks_of(attribute: AttributeType) -> dict[str, Any]:
    """The marks that an attribute has, in terms of JSON.

    >>> marks_of(AttributeType(Kind.FLOAT, unit="degC", concept="Temperature"))
    {'unit': 'degC', 'concept': 'Temperature'}
    """
    return {name: _plain(value) for name in MARKS if (value := getattr(attribute, name))}


def marked(
    draft: Draft, kind: Kind, optional: bool, marks: Mapping[str, Any], place: Place, **inner: Any
) -> AttributeType:
    """An attribute with its marks, without those that a file of types would refuse, which are noted."""
    declared: dict[str, Any] = {"kind": kind.value, **_FILLED.get(kind, {})}
    found = AttributeType(kind)
    for name in MARKS:
        if marks.get(name) is None:
            continue
        reader = DeclarationReader(_EMPTY, draft.check_unit)
        attribute = reader.attribute({**declared, name: marks[name]}, ())
        if attribute is None or reader.faults:
            reason = f": {reader.faults[0].message}" if reader.faults else ""
            draft.note(f"the {name} `{marks[name]}` is not kept{reason}", place)
        else:
            declared[name], found = marks[name], attribute
    return replace(found, optional=optional, **{"attributes": {}, "element": None, **inner})


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple) else value
