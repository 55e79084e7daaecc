"""From Avro to types: a record at the top, alone or in a union, is a type; a record inside one is a struct."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from comity.document import Document
from comity.errors import Place
from comity.event.declaration import CheckUnit
from comity.event.kinds import Kind
from comity.event.schemas.avro import SCALARS
from comity.event.schemas.draft import AttributesDraft, Draft, Imported, Path, TypeDraft
from comity.event.schemas.json_text import at, parse_json
from comity.event.schemas.marks import MARKS, marked
from comity.event.schemas.names import identifier
from comity.event.types import AttributeType
from comity.event.validate import MAX_NESTING

DocumentPath = tuple[str | int, ...]

_PRIMITIVES: Mapping[str, Kind] = {
    **{written: kind for kind, written in SCALARS.items() if isinstance(written, str)},
    "int": Kind.INT,
    "float": Kind.FLOAT,
}
_LOGICAL: Mapping[str, tuple[Kind, str | None]] = {
    **{written["logicalType"]: (kind, None) for kind, written in SCALARS.items() if not isinstance(written, str)},
    "timestamp-millis": (Kind.TIMESTAMP, None),
    "timestamp-nanos": (Kind.TIMESTAMP, "what is below a microsecond is not kept"),
    "local-timestamp-millis": (Kind.TIMESTAMP, "a time without a zone is read as one of UTC"),
    "local-timestamp-micros": (Kind.TIMESTAMP, "a time without a zone is read as one of UTC"),
    "duration": (Kind.DURATION, "a duration with months is rejected"),
    "decimal": (Kind.FLOAT, "a `decimal` is a float, with some 15 digits"),
    "uuid": (Kind.STRING, None),
    "date": (Kind.STRING, "there is no kind for a `date`, so it is a text"),
    "time-millis": (Kind.STRING, "there is no kind for a time of day, so it is a text"),
    "time-micros": (Kind.STRING, "there is no kind for a time of day, so it is a text"),
}
_KEPT = {"type", "name", "namespace", "doc", "fields", "items", "logicalType", "kind", *MARKS}
_OF_TYPES = {"extends", "abstract"}
_Marks = Mapping[str, Any]
_NO_MARKS: _Marks = {}
_OF_DECIMALS = {"precision", "scale", "size"}


def read_avro(
    text: str, file: str | None = None, *, domain: str | None = None, check_unit: CheckUnit | None = None
) -> Imported:
    """The types of an Avro schema."""
    draft = Draft(file, domain, check_unit)
    if file is not None:
        draft.namespace = identifier(file.rpartition("/")[2].split(".")[0])
    AvroReader(parse_json(text, file), draft).take_types(())
    return draft.imported()


@dataclass(slots=True)
class AvroReader:
    """Reads schemas out of a document into a draft."""

    document: Document
    draft: Draft
    records: dict[str, tuple[DocumentPath, str]] = field(default_factory=dict)
    """By full name: where a named schema stands, and in which namespace."""
    _open: list[str] = field(default_factory=list)

    def take_types(self, path: DocumentPath, name: str | None = None) -> None:
        """Take the record at a path, or the records of the union there, as types."""
        self._index(at(self.document, path), path, "", MAX_NESTING)
        tops = self._tops(path)
        found = [one for one in tops if self._is_record(one)]
        if found:
            self._take_namespace(found[0])
        for one in found:
            self._take_type(one, name if len(tops) == 1 else None)
        for one in tops:
            if one not in found:
                self.draft.note("is no record, so it is no type", self._place(one, ()))
        if not found:
            hint = "an Avro schema of events is a record, or a union of records"
            self.draft.fault("there is no record in it", self._place(path, ()), "bad-schema", hint)

    def has_types(self, path: DocumentPath) -> bool:
        """Whether there is a record at a path, or in the union there."""
        return any(self._is_record(one) for one in self._tops(path))

    def _tops(self, path: DocumentPath) -> list[DocumentPath]:
        schema = at(self.document, path)
        return [(*path, index) for index in range(len(schema))] if isinstance(schema, list) else [path]

    def _is_record(self, path: DocumentPath) -> bool:
        schema = at(self.document, path)
        return isinstance(schema, dict) and schema.get("type") in ("record", "error") and _is_named(schema)

    def _take_namespace(self, path: DocumentPath) -> None:
        _, space = _full_name(at(self.document, path), "")
        if space:
            self.draft.take_namespace(space, self._place((*path, "namespace"), ()))

    def _take_type(self, path: DocumentPath, name: str | None) -> None:
        schema = at(self.document, path)
        full, space = _full_name(schema, "")
        shown = self.draft.type_name(name or full.rpartition(".")[2], self._place(path, ()))
        one = TypeDraft(shown, self._place(path, (shown,)), abstract=schema.get("abstract") is True)
        one.description = schema["doc"] if isinstance(schema.get("doc"), str) else None
        extends = schema.get("extends")
        if isinstance(extends, str):
            one.parent = identifier(extends.rpartition(".")[2])
        self._note_unknown(schema, path, (shown,), _OF_TYPES)
        one.attributes = self._fields(schema, path, (shown,), full, space)
        self.draft.add(one)

    def _fields(self, schema: Any, path: DocumentPath, owner: Path, full: str, space: str) -> AttributesDraft:
        into = self.draft.attributes(owner)
        self._open.append(full)
        fields = schema.get("fields")
        for index, one in enumerate(fields if isinstance(fields, list) else []):
            at_field = (*path, "fields", index)
            if not isinstance(one, dict) or not isinstance(one.get("name"), str) or "type" not in one:
                self.draft.note("is no field with a name and a type, and is left out", self._place(at_field, owner))
                continue
            name = into.name(one["name"], self._place(at_field, (*owner, identifier(one["name"]))))
            self.draft.describe((*owner, name), one["doc"] if isinstance(one.get("doc"), str) else None)
            self._note_field(one, at_field, (*owner, name))
            into.put(name, self._attribute(one["type"], (*at_field, "type"), (*owner, name), space, False, _marks(one)))
        self._open.pop()
        return into

    def _attribute(
        self,
        schema: Any,
        path: DocumentPath,
        owner: Path,
        space: str,
        optional: bool,
        marks: _Marks = _NO_MARKS,
    ) -> AttributeType | None:
        """The attribute that a schema describes; None, with a note, when it is none that an event can have."""
        if isinstance(schema, list):
            return self._union(schema, path, owner, space, marks)
        if isinstance(schema, dict) and not isinstance(schema.get("type"), str):  # a schema with marks around it
            self._note_unknown(schema, path, owner)
            return self._attribute(
                schema.get("type"), (*path, "type"), owner, space, optional, {**_marks(schema), **marks}
            )
        if isinstance(schema, str):
            schema = {"type": schema}
        if not isinstance(schema, dict):
            return self._left_out("it is no schema", path, owner)
        marks = {**_marks(schema), **marks}
        kind_name, place = schema["type"], self._place(path, owner)
        if kind_name == "array":
            return self._list(schema, path, owner, space, optional, marks)
        if kind_name == "record":
            return self._struct(schema, path, owner, space, optional, marks)
        if kind_name not in _PRIMITIVES and kind_name not in ("enum", "fixed", "map", "null"):
            return self._named(kind_name, path, owner, space, optional, marks)
        kind = self._scalar(schema, path, owner)
        return marked(self.draft, kind, optional, marks, place) if kind is not None else None

    def _union(
        self, schema: list[Any], path: DocumentPath, owner: Path, space: str, marks: _Marks
    ) -> AttributeType | None:
        others = [index for index, one in enumerate(schema) if one != "null" and one != {"type": "null"}]
        kinds = {_PRIMITIVES.get(schema[index]) if isinstance(schema[index], str) else None for index in others}
        if len(others) != 1 and (len(kinds) != 1 or None in kinds):
            return self._left_out("an attribute has one kind, not one of several", path, owner)
        index, is_optional = others[0], len(others) < len(schema)
        return self._attribute(schema[index], (*path, index), owner, space, is_optional, marks)

    def _list(
        self, schema: Any, path: DocumentPath, owner: Path, space: str, optional: bool, marks: _Marks
    ) -> AttributeType | None:
        self._note_unknown(schema, path, owner)
        if len(path) > 4 * MAX_NESTING:
            return self._left_out("it is nested too deep", path, owner)
        element = self._attribute(schema.get("items"), (*path, "items"), owner, space, False)
        if element is None:
            return None
        place = self._place(path, owner)
        if element.optional:
            return self._left_out("its elements may be null", path, owner)
        return marked(self.draft, Kind.LIST, optional, marks, place, element=element)

    def _struct(
        self, schema: Any, path: DocumentPath, owner: Path, space: str, optional: bool, marks: _Marks
    ) -> AttributeType | None:
        if not _is_named(schema):
            return self._left_out("it is a record without a name", path, owner)
        full, inner_space = _full_name(schema, space)
        if schema.get("kind") == Kind.POINT:
            return marked(self.draft, Kind.POINT, optional, marks, self._place(path, owner))
        if full in self._open or len(self._open) > MAX_NESTING:
            return self._left_out("it holds itself or is nested too deep", path, owner)
        self._note_unknown(schema, path, owner)
        inner = self._fields(schema, path, owner, full, inner_space)
        if not inner.found:
            return self._left_out("nothing is left in it", path, owner)
        return marked(self.draft, Kind.STRUCT, optional, marks, self._place(path, owner), attributes=inner.found)

    def _named(
        self, name: str, path: DocumentPath, owner: Path, space: str, optional: bool, marks: _Marks
    ) -> AttributeType | None:
        """What a name stands for that was defined elsewhere in the document."""
        found = self.records.get(name if "." in name or not space else f"{space}.{name}") or self.records.get(name)
        if found is None:
            return self._left_out(f"`{name}` is not in the document", path, owner)
        target, its_space = found
        return self._attribute(at(self.document, target), target, owner, its_space, optional, marks)

    def _scalar(self, schema: dict[str, Any], path: DocumentPath, owner: Path) -> Kind | None:
        place, name, logical = self._place(path, owner), schema["type"], schema.get("logicalType")
        if name in ("map", "null"):
            self._left_out(f"there is no kind for a `{name}`", path, owner)
            return None
        if name == "enum":
            self.draft.note(f"the symbols of an `enum` are not kept: {_shown(schema.get('symbols'))}", place)
            return Kind.STRING
        if isinstance(logical, str) and logical in _LOGICAL:
            kind, noted = _LOGICAL[logical]
            if noted is not None:
                self.draft.note(noted, place)
            self._note_unknown(schema, path, owner, _OF_DECIMALS)
            return kind
        if logical is not None:
            self.draft.note(f"the logical type `{logical}` is not kept", place)
        if name == "fixed":
            self.draft.note("the size of a `fixed` is not kept", place)
        self._note_unknown(schema, path, owner, {"size"})
        return _PRIMITIVES.get(name, Kind.BYTES)

    def _index(self, schema: Any, path: DocumentPath, space: str, levels: int) -> None:
        """Remember where each named schema stands."""
        if isinstance(schema, list) and levels:
            for index, one in enumerate(schema):
                self._index(one, (*path, index), space, levels - 1)
        if not isinstance(schema, dict) or not levels:
            return
        if schema.get("type") in ("record", "error", "enum", "fixed") and _is_named(schema):
            full, space = _full_name(schema, space)
            if full in self.records:
                earlier = self._place(self.records[full][0], ())
                message = f"there are two types `{full}`, the other one at {earlier}"
                self.draft.fault(message, self._place(path, ()), "duplicate-type", "rename one of them")
            self.records.setdefault(full, (path, space))
        for key in ("type", "items", "values", "fields"):
            self._index(schema.get(key), (*path, key), space, levels - 1)

    def _left_out(self, reason: str, path: DocumentPath, owner: Path) -> AttributeType | None:
        self.draft.note(f"is left out: {reason}", self._place(path, owner))
        return None

    def _note_field(self, one: dict[str, Any], path: DocumentPath, owner: Path) -> None:
        for key in one.keys() - {"name", "type", "doc", *MARKS}:
            if (key, one[key]) != ("default", None):
                self.draft.note(f"`{key}` is not kept", self._place((*path, key), owner))

    def _note_unknown(
        self, schema: dict[str, Any], path: DocumentPath, owner: Path, also: Set[str] = frozenset()
    ) -> None:
        for key in schema.keys() - _KEPT - also:
            self.draft.note(f"`{key}` is not kept", self._place((*path, key), owner))

    def _place(self, path: DocumentPath, owner: Path) -> Place:
        found = self.document.place(path)
        return Place(found.file, found.line, path=".".join(owner) or None)


def _is_named(schema: dict[str, Any]) -> bool:
    return isinstance(schema.get("name"), str) and bool(schema["name"])


def _full_name(schema: dict[str, Any], space: str) -> tuple[str, str]:
    """The full name of a schema, and the namespace of what is inside it."""
    name = schema["name"]
    if "." in name:
        return name, name.rpartition(".")[0]
    own = schema.get("namespace")
    space = own if isinstance(own, str) else space
    return (f"{space}.{name}" if space else name), space


def _marks(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: schema[name] for name in MARKS if name in schema}


def _shown(symbols: Any) -> str:
    known = [str(one) for one in symbols] if isinstance(symbols, list) else []
    return ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
