"""From JSON Schema to types: what is an object and no part of others is a type; what is part of one is a struct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from comity.document import Document
from comity.errors import Place
from comity.event.kinds import Kind
from comity.event.schemas.draft import AttributesDraft, Draft, Path, TypeDraft
from comity.event.schemas.json_text import at, pointer
from comity.event.schemas.marks import MARKS, marked
from comity.event.schemas.names import identifier
from comity.event.types import AttributeType
from comity.event.validate import MAX_NESTING

DocumentPath = tuple[str | int, ...]

_NUMBER_PARTS = {"x": {"type": "number"}, "y": {"type": "number"}}
SCALARS: Mapping[Kind, dict[str, Any]] = {
    Kind.BOOL: {"type": "boolean"},
    Kind.INT: {"type": "integer"},
    Kind.FLOAT: {"type": "number"},
    Kind.STRING: {"type": "string"},
    Kind.TIMESTAMP: {"type": "string", "format": "date-time"},
    Kind.DURATION: {"type": "string", "format": "duration"},
    Kind.BYTES: {"type": "string", "format": "byte", "contentEncoding": "base64"},
    Kind.POINT: {"type": "object", "x-kind": "point", "properties": _NUMBER_PARTS, "required": ["x", "y"]},
}
"""The schemas of kinds that have no parts with a type of their own."""
_KINDS = {written["type"]: kind for kind, written in SCALARS.items() if written.keys() == {"type"}}
_FORMATS = {
    **{(written["type"], written["format"]): kind for kind, written in SCALARS.items() if "format" in written},
    ("string", "binary"): Kind.BYTES,
}
_KNOWN_FORMATS = {"int32", "int64", "float", "double", *(name for _, name in _FORMATS)}
_OWN = {f"x-{name}" for name in (*MARKS, "kind", "abstract")}
_KEPT = {"type", "title", "description", "properties", "required", "items", "format", "allOf", "$ref"}
_ABOUT_THE_DOCUMENT = {"$schema", "$id", "id", "$defs", "definitions", "$comment", "$anchor"}
_INSIDE = ("properties", "patternProperties", "dependentSchemas")
_INSIDE_ONE = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "prefixItems")
_ALTERNATIVES = ("anyOf", "oneOf")
_SAYS_THE_KIND = ("type", "format", "contentEncoding", "enum", "const", "x-kind")


@dataclass(slots=True)
class SchemaReader:
    """Reads schemas out of a document into a draft. `names` says which schemas are types, by their paths."""

    document: Document
    draft: Draft
    names: dict[DocumentPath, str] = field(default_factory=dict)
    _open: list[DocumentPath] = field(default_factory=list)

    def take_types(self, below: DocumentPath) -> None:
        """Take the definitions below a path that are types."""
        found = self.name_types(below)
        for path, name in found.items():
            self.take_type(name, path)

    def name_types(self, below: DocumentPath) -> dict[DocumentPath, str]:
        """Name the definitions that are types, before any of them is read, because they refer to each other."""
        definitions = at(self.document, below)
        if not isinstance(definitions, dict):
            return {}
        used = {target for path in ((), *((*below, name) for name in definitions)) for target in self._used_by(path)}
        found = {}
        for name, schema in definitions.items():
            path = (*below, name)
            if path in self.names or (path in used and path != self._top_target()):
                continue
            if _is_object(schema):
                found[path] = self.draft.type_name(name, self._place(path, (name,)))
            else:
                self.draft.note("is no object, and no other type has it", self._place(path, (name,)))
        self.names.update(found)
        return found

    def take_top(self) -> None:
        """Take the schema at the top of the document, if it is one itself."""
        top = self.document.data
        if not isinstance(top, dict):
            self.draft.fault("the document is no JSON object", self.document.place(()), "bad-schema")
        elif _is_object(top):
            title = top.get("title")
            name = title if isinstance(title, str) and title else self.draft.namespace
            self.take_type(self.draft.type_name(name, self._place((), ())), ())
        elif isinstance(top.get("$ref"), str):
            self._take_referred(top)
        elif not _ABOUT_THE_DOCUMENT.isdisjoint(top):
            self._note_unknown({key: top[key] for key in top if key not in ("title", "description")}, (), ())
        else:
            hint = "a JSON Schema has `properties` or `$defs`"
            self.draft.fault("there is no schema in it", self.document.place(()), "bad-schema", hint)

    def _top_target(self) -> DocumentPath | None:
        """What the document is about, if it says so by a reference: that is a type, even if others have it inside."""
        top = self.document.data
        reference = top.get("$ref") if isinstance(top, dict) else None
        return pointer(reference) if isinstance(reference, str) else None

    def _take_referred(self, top: dict[str, Any]) -> None:
        schema, path = self._resolved({"$ref": top["$ref"]}, (), ())
        if schema is not None and path not in self.names:
            if _is_object(schema):
                name = self.draft.type_name(str(path[-1]) if path else self.draft.namespace, self._place(path, ()))
                self.names[path] = name
                self.take_type(name, path)
            else:
                self.draft.note("what the document refers to is no object, so it is no type", self._place(path, ()))
        self._note_unknown({key: top[key] for key in top if key not in ("title", "description")}, (), ())

    def take_type(self, name: str, path: DocumentPath) -> None:
        """Take the schema at a path as a type."""
        schema = at(self.document, path)
        if not isinstance(schema, dict):
            self.draft.note("is no object, so it is no type", self._place(path, (name,)))
            return
        one = TypeDraft(name, self._place(path, (name,)), abstract=schema.get("x-abstract") is True)
        one.attributes = self.draft.attributes((name,))
        one.description = schema.get("description") if isinstance(schema.get("description"), str) else None
        self._add_parts(schema, path, (name,), one.attributes, one)
        self.draft.add(one)

    def _add_parts(
        self, schema: dict[str, Any], path: DocumentPath, owner: Path, into: AttributesDraft, type: TypeDraft | None
    ) -> None:
        """The properties of a schema, and of what it is made of; the first type among these is the parent."""
        if not self._enter(path, owner):
            return
        self._note_unknown(schema, path, owner)
        for index, part in enumerate(_list(schema.get("allOf"))):
            self._add_part(part, (*path, "allOf", index), owner, into, type)
        if "$ref" in schema:
            self._add_part({"$ref": schema["$ref"]}, path, owner, into, type)
        self._add_properties(schema, path, owner, into)
        self._open.pop()

    def _add_properties(self, schema: dict[str, Any], path: DocumentPath, owner: Path, into: AttributesDraft) -> None:
        properties = schema.get("properties", {})
        if not isinstance(properties, dict):
            self.draft.note("`properties` is no object, and is not kept", self._place((*path, "properties"), owner))
            return
        required = {one for one in _list(schema.get("required")) if isinstance(one, str)}
        for missing in sorted(required - properties.keys()):
            self.draft.note(f"`{missing}` is required, but not described", self._place((*path, "required"), owner))
        for original, inner in properties.items():
            at_property = (*path, "properties", original)
            name = into.name(original, self._place(at_property, (*owner, identifier(original))))
            into.put(name, self.attribute(inner, at_property, (*owner, name), original not in required))

    def _add_part(
        self, part: Any, path: DocumentPath, owner: Path, into: AttributesDraft, type: TypeDraft | None
    ) -> None:
        schema, found = self._resolved(part, path, owner)
        if schema is None:
            return
        if found in self.names and type is not None and type.parent is None:
            type.parent = self.names[found]
        else:
            if found in self.names:
                message = f"`{self.names[found]}` is a second parent; its attributes are copied"
                self.draft.note(message, self._place(path, owner))
            self._add_parts(schema, found, owner, into, type if found not in self.names else None)

    def attribute(self, schema: Any, path: DocumentPath, owner: Path, optional: bool) -> AttributeType | None:
        """The attribute that a schema describes; None, with a note, when it is none that an event can have."""
        place = self._place(path, owner)
        schema, path = self._resolved(schema, path, owner)
        if schema is None:
            return None
        schema, optional = self._without_null(schema, path, owner, optional)
        self.draft.describe(owner, schema.get("description") if isinstance(schema.get("description"), str) else None)
        kind = self._kind(schema)
        if kind is None:
            self.draft.note(f"is left out: {_why_not(schema)}", place)
            return None
        marks = {name: schema.get(f"x-{name}") for name in MARKS}
        if kind is Kind.LIST:
            self._note_unknown(schema, path, owner)
            element = self._element(schema["items"], path, owner)
            return marked(self.draft, kind, optional, marks, place, element=element) if element else None
        if kind is Kind.STRUCT:
            inner = self.draft.attributes(owner)
            self._add_parts(schema, path, owner, inner, None)
            if not inner.found:
                self.draft.note("is left out, since nothing is left in it", place)
                return None
            return marked(self.draft, kind, optional, marks, place, attributes=inner.found)
        self._note_unknown(schema, path, owner)
        return marked(self.draft, kind, optional, marks, place)

    def _element(self, items: Any, path: DocumentPath, owner: Path) -> AttributeType | None:
        if not self._enter(path, owner):
            return None
        element = self.attribute(items, (*path, "items"), owner, False)
        self._open.pop()
        if element is not None and element.optional:
            self.draft.note("elements that are null are not kept", self._place(path, owner))
            return replace(element, optional=False)
        return element

    def _enter(self, path: DocumentPath, owner: Path) -> bool:
        """Whether what stands at a path can be read as part of what is being read; it must be left in the end."""
        if path in self._open or len(self._open) > MAX_NESTING:
            self.draft.note("is left out, since it holds itself or is nested too deep", self._place(path, owner))
            return False
        self._open.append(path)
        return True

    def _resolved(self, schema: Any, path: DocumentPath, owner: Path) -> tuple[dict[str, Any] | None, DocumentPath]:
        """The schema behind references, and its path; what stands beside a reference counts, too."""
        seen: set[DocumentPath] = set()
        beside: dict[str, Any] = {}
        while isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
            beside = {key: value for key, value in schema.items() if key != "$ref"} | beside
            target = pointer(schema["$ref"])
            if target is None or target in seen or at(self.document, target) is None:
                self.draft.note(f"`{schema['$ref']}` leads nowhere in the document", self._place(path, owner))
                return None, path
            seen.add(target)
            schema, path = at(self.document, target), target
        if not isinstance(schema, dict):
            self.draft.note("is left out: it does not say a type", self._place(path, owner))
            return None, path
        return {**schema, **beside}, path

    def _without_null(
        self, schema: dict[str, Any], path: DocumentPath, owner: Path, optional: bool
    ) -> tuple[dict[str, Any], bool]:
        """A type, or one of two alternatives, that is null makes an attribute optional."""
        kinds = schema.get("type")
        if isinstance(kinds, list):
            others = [one for one in kinds if one != "null"]
            return {**schema, "type": others[0] if len(others) == 1 else others}, optional or "null" in kinds
        for key in _ALTERNATIVES:
            options = _list(schema.get(key))
            others = [one for one in options if not (isinstance(one, dict) and one.get("type") == "null")]
            if len(others) == 1 and len(options) == 2:
                inner, _ = self._resolved(others[0], path, owner)
                return {**{name: schema[name] for name in schema if name != key}, **(inner or {})}, True
            kind = self._common_kind(others, path, owner)
            if kind is not None:
                self.draft.note(f"`{key}` is not kept: all are of one kind", self._place((*path, key), owner))
                rest = {name: schema[name] for name in schema if name != key}
                return {**rest, **kind}, optional or len(others) < len(options)
        return schema, optional

    def _common_kind(self, options: list[Any], path: DocumentPath, owner: Path) -> dict[str, Any] | None:
        """What says the one kind of all alternatives; None if they have several, or parts inside."""
        found = [self._resolved(one, path, owner)[0] or {} for one in options]
        kinds = {self._kind(one) for one in found}
        if len(kinds) != 1 or not kinds.isdisjoint((None, Kind.LIST, Kind.STRUCT)):
            return None
        return {key: value for key, value in found[0].items() if key in _SAYS_THE_KIND}

    def _kind(self, schema: dict[str, Any]) -> Kind | None:
        if schema.get("x-kind") == Kind.POINT:
            return Kind.POINT
        name = schema.get("type", _type_of_values(schema))
        if name == "array":
            return Kind.LIST if "items" in schema else None
        if name == "object" or (name is None and ("properties" in schema or "allOf" in schema)):
            return Kind.STRUCT if schema.get("properties") or schema.get("allOf") else None
        if not isinstance(name, str):
            return None
        if name == "string" and schema.get("contentEncoding") == "base64":
            return Kind.BYTES
        return _FORMATS.get((name, str(schema.get("format"))), _KINDS.get(name))

    def _note_unknown(self, schema: dict[str, Any], path: DocumentPath, owner: Path) -> None:
        """Note every word that says more than a type can."""
        for key in schema.keys() - _KEPT - _OWN - _ABOUT_THE_DOCUMENT - {"contentEncoding"}:
            if (key, schema[key]) not in (("additionalProperties", True), ("nullable", True)):
                self.draft.note(f"`{key}` is not kept", self._place((*path, key), owner))
        named = schema.get("format")
        if named is not None and not (isinstance(named, str) and named in _KNOWN_FORMATS):
            self.draft.note(f"the format `{named}` is not kept", self._place((*path, "format"), owner))

    def _used_by(self, path: DocumentPath) -> Iterator[DocumentPath]:
        """The definitions that one has inside itself, which are parts and no types."""
        for reference in _references(at(self.document, path), inside=False, levels=MAX_NESTING):
            target = pointer(reference)
            if target is not None and target != path:
                yield target

    def _place(self, path: DocumentPath, owner: Path) -> Place:
        found = self.document.place(path, key=True)
        return Place(found.file, found.line, path=".".join(owner) or None)


def _references(schema: Any, *, inside: bool, levels: int) -> Iterator[str]:
    """The references in what a schema has inside itself."""
    if not isinstance(schema, dict) or not levels:
        return
    if inside and isinstance(schema.get("$ref"), str):
        yield schema["$ref"]
    for key in _INSIDE:
        for inner in (schema[key] if isinstance(schema.get(key), dict) else {}).values():
            yield from _references(inner, inside=True, levels=levels - 1)
    for key in (*_INSIDE_ONE, *_ALTERNATIVES):
        value = schema.get(key)
        for inner in value if isinstance(value, list) else [value]:
            yield from _references(inner, inside=inside or key in _INSIDE_ONE, levels=levels - 1)
    for inner in _list(schema.get("allOf")):
        yield from _references(inner, inside=inside, levels=levels - 1)


def _is_object(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    return schema.get("type") == "object" or "properties" in schema or "allOf" in schema


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _type_of_values(schema: dict[str, Any]) -> str | None:
    """The type that all the values have to which a schema restricts an attribute."""
    values = _list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    found = {names.get(type(one)) for one in values if one is not None}
    return found.pop() if len(found) == 1 else None


def _why_not(schema: dict[str, Any]) -> str:
    name = schema.get("type")
    if isinstance(name, list) or any(key in schema for key in _ALTERNATIVES):
        return "an attribute has one kind, not one of several"
    if name == "object" or "additionalProperties" in schema:
        return "a struct names its attributes, and this object does not"
    return f"there is no kind for the type `{name}`" if name else "it does not say a type"
