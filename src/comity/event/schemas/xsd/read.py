"""From XML Schema to types, as in the seeds and as real schemas are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from comity.errors import Place
from comity.event.declaration import CheckUnit
from comity.event.kinds import Kind
from comity.event.schemas.draft import AttributesDraft, Draft, Imported, Path, TypeDraft
from comity.event.schemas.marks import marked
from comity.event.schemas.names import ENVELOPE_WORDS, EVENT_URI, ROOT_NAMES, identifier
from comity.event.schemas.xml_text import parse_xml
from comity.event.schemas.xsd.documents import FOLLOWED, SchemaDocument, documents_of
from comity.event.schemas.xsd.kinds import BUILT_IN
from comity.event.schemas.xsd.nodes import (
    all_of,
    children,
    documentation,
    is_built_in,
    local,
    local_name,
    marks_at,
    named,
)
from comity.event.schemas.xsd.write import LIST_ITEM, OF_LIST
from comity.event.types import AttributeType
from comity.event.validate import MAX_NESTING

_GLOBALS = ("complexType", "simpleType", "element", "attribute", "group", "attributeGroup")
_NOT_KEPT = ("default", "fixed", "substitutionGroup", "block", "final", "mixed")
_VALUE = "value"
_TRANSPARENT = ("complexContent", "sequence", "all")


def read_xsd(
    text: str, file: str | None = None, *, domain: str | None = None, check_unit: CheckUnit | None = None
) -> Imported:
    """The types of a schema: its complex types and elements that are no parts of others."""
    root = parse_xml(text, file, around="schema")
    draft = Draft(file, domain, check_unit)
    if file is not None:
        draft.namespace = identifier(file.rpartition("/")[2].split(".")[0])
    documents = documents_of(root, file, lambda message: draft.note(message, Place(file)))
    XsdReader(documents, draft).take()
    return draft.imported()


@dataclass(slots=True)
class XsdReader:
    """Reads one schema into a draft: all types of its namespace, and of others what those are made of."""

    documents: list[SchemaDocument]
    draft: Draft
    named: dict[str, dict[str, Any]] = field(default_factory=lambda: {kind: {} for kind in _GLOBALS})
    types: set[str] = field(default_factory=set)
    root_name: str | None = None
    """The base of all types, which stands for our root and is no type itself."""
    _is_partial: bool = False
    """Whether there are documents that are not followed."""
    _open: list[Any] = field(default_factory=list)

    def take(self) -> None:
        """Take everything."""
        schema = self.documents[0].root
        if local(schema) not in ("schema", "complexType"):
            hint = "a schema begins with <xs:schema> or <complexType>"
            self.draft.fault(f"<{local(schema)}> is no XML Schema", self._place(schema, ()), "bad-schema", hint)
            return
        if schema.get("targetNamespace"):
            self.draft.take_namespace(schema.get("targetNamespace"), self._place(schema, ()))
        for document in self.documents:
            self._index(document)
        self.root_name = self._find_root()
        referred = self._referred()
        elements = [one for name, one in self.named["element"].items() if name not in referred and self._is_own(one)]
        self.types = self._event_types(elements)
        for name, node in self.named["complexType"].items():
            if name in self.types:
                self._take_type(name, node)
        for node in elements:
            self._take_element(node)

    def _index(self, document: SchemaDocument) -> None:
        read = {os.path.realpath(one.file) for one in self.documents if one.file is not None}
        for node in document.nodes():
            kind, name = local(node), node.get("name")
            if kind in _GLOBALS and name:
                if name in self.named[kind]:
                    self._refuse_second(node, self.named[kind][name], document)
                self.named[kind].setdefault(name, node)
            elif kind in FOLLOWED and document.refers_to(node) in read:
                if any(True for one in children(node) if local(one) != "annotation"):
                    self.draft.note(f"what <{kind}> changes is not kept", self._place(node, ()))
            elif kind not in ("annotation", "schema"):
                self._is_partial = True
                what = node.get("schemaLocation") or node.get("namespace") or name or ""
                self.draft.note(f"<{kind}> {what} is not followed".replace("  ", " "), self._place(node, ()))

    def _refuse_second(self, node: Any, first: Any, document: SchemaDocument) -> None:
        message = f"there are two `{node.get('name')}`, the other one at {self._place(first, ())}"
        if document.own:
            self.draft.fault(message, self._place(node, ()), "duplicate-type", "rename one of them")
        else:  # in another namespace it may be called so, but names are all that is kept here
            self.draft.note(f"{message}; this one is left out", self._place(node, ()))

    def _is_own(self, node: Any) -> bool:
        top = node.getroottree().getroot()
        return any(document.own for document in self.documents if document.root is top)

    def _all_of(self, local: str) -> Iterator[Any]:
        return (node for document in self.documents for node in all_of(document.root, local))

    def _find_root(self) -> str | None:
        bases = {local_name(node.get("base")) for node in self._all_of("extension") if node.get("base")}
        for name in ROOT_NAMES:
            node = self.named["complexType"].get(name)
            if node is None and name in bases:
                return name
            if node is not None and all(each.get("name") in ENVELOPE_WORDS for each in all_of(node, "element")):
                self._note_envelope(node, name)
                return name
        return None

    def _note_envelope(self, node: Any, name: str) -> None:
        for each in all_of(node, "element"):
            meant = ENVELOPE_WORDS[each.get("name")]
            self.draft.note(f"is `event.{meant}`, which every event has", self._place(each, (name, each.get("name"))))

    def _referred(self) -> set[str]:
        return {local_name(node.get("ref")) for node in self._all_of("element") if node.get("ref")}

    def _event_types(self, elements: list[Any]) -> set[str]:
        """The complex types that are no parts of others: never used inside one, or used by an element of their own."""
        tops = list(self.named["element"].values())
        parts = {local_name(node.get("type", "")) for node in self._all_of("element") if node not in tops}
        known = {name for name, node in self.named["complexType"].items() if self._is_own(node)}
        types = known - parts - {self.root_name}
        types |= {local_name(node.get("type", "")) for node in elements} & self.named["complexType"].keys()
        waiting = [*types, *elements]
        while waiting:
            one = waiting.pop()
            node = self.named["complexType"][one] if isinstance(one, str) else one
            more = {local_name(each.get("base", "")) for each in all_of(node, "extension")} - types
            more &= self.named["complexType"].keys() - {self.root_name}
            types |= more
            waiting += more
        return types

    def _take_type(self, name: str, node: Any) -> None:
        shown = self.draft.type_name(name, self._place(node, (identifier(name),)))
        one = TypeDraft(shown, self._place(node, (shown,)), abstract=node.get("abstract") == "true")
        one.attributes, one.description = self.draft.attributes((shown,)), documentation(node)
        self._add_content(node, (shown,), one.attributes, one)
        self.draft.add(one)

    def _take_element(self, node: Any) -> None:
        """An element at the top is a type of its own, unless it has the name of its type."""
        name, place = node.get("name"), self._place(node, (node.get("name"),))
        of = local_name(node.get("type", ""))
        inline = next((one for one in children(node) if local(one) == "complexType"), None)
        if inline is not None:
            self._take_type(name, named(inline, name))
        elif of in self.types and of != name:
            shown = self.draft.type_name(name, place)
            parent = identifier(of) if identifier(of) != "Event" else "Event_"
            self.draft.add(TypeDraft(shown, place, parent, description=documentation(node)))
        elif of not in self.types and of != self.root_name:
            self.draft.note("is an element without attributes, so it is no type", place)

    def _add_content(
        self, node: Any, owner: Path, into: AttributesDraft, type: TypeDraft | None, optional: bool = False
    ) -> None:
        """What a complex type, or a group inside it, adds to attributes."""
        self._note_words(node, owner)
        if any(one is node for one in self._open) or len(self._open) > 4 * MAX_NESTING:
            self.draft.note("is left out, since it holds itself or is nested too deep", self._place(node, owner))
            return
        self._open.append(node)
        for child in children(node):
            self._add_child(child, owner, into, type, optional)
        self._open.pop()

    def _add_child(
        self, child: Any, owner: Path, into: AttributesDraft, type: TypeDraft | None, optional: bool
    ) -> None:
        kind, place = local(child), self._place(child, owner)
        if kind == "annotation":
            return
        if kind in _TRANSPARENT or kind == "choice":
            if kind == "choice":
                self.draft.note("one of several is not kept: each of them is optional", place)
            if child.get("maxOccurs", "1") != "1":
                self.draft.note(f"a <{kind}> that is repeated is read as one", place)
            may_miss = optional or kind == "choice" or child.get("minOccurs") == "0"
            self._add_content(child, owner, into, type, may_miss)
        elif kind == "element":
            self._add_element(child, owner, into, optional)
        elif kind == "complexType" and child.get("name"):
            self._add_struct(child, owner, into, optional)
        elif kind == "attribute":
            self._add_xml_attribute(child, owner, into)
        elif kind in ("group", "attributeGroup") and local_name(child.get("ref", "")) in self.named[kind]:
            self._add_content(self.named[kind][local_name(child.get("ref"))], owner, into, None, optional)
        elif kind == "extension":
            self._add_base(child, owner, into, type)
            self._add_content(child, owner, into, type, optional)
        elif kind == "simpleContent":
            self._add_simple_content(child, owner, into)
        elif kind == "restriction":
            self.draft.note(f"is derived from `{child.get('base')}` by restriction, and stands alone here", place)
            self._add_content(child, owner, into, None, optional)
        elif not (kind == "anyAttribute" and child.get("namespace") == EVENT_URI):
            self.draft.note(f"<{kind}> is not kept", place)

    def _add_base(self, node: Any, owner: Path, into: AttributesDraft, type: TypeDraft | None) -> None:
        base = local_name(node.get("base", ""))
        if base == self.root_name or not base:
            return
        if self._is_partial and base not in self.named["complexType"]:
            message = f"`{node.get('base')}` is in a document that is not followed, so what it has is missing"
            self.draft.note(message, self._place(node, owner))
        elif type is not None:
            type.parent = identifier(base) if identifier(base) != "Event" else "Event_"
        elif base in self.named["complexType"]:
            self._add_content(self.named["complexType"][base], owner, into, None)
        else:
            self.draft.note(f"`{node.get('base')}` is not in the schema", self._place(node, owner))

    def _add_simple_content(self, node: Any, owner: Path, into: AttributesDraft) -> None:
        """A text with attributes is a struct whose `value` is the text."""
        for inner in children(node):
            if local(inner) in ("extension", "restriction"):
                place = self._place(inner, (*owner, _VALUE))
                kind = self._simple_kind(inner.get("base", ""), inner, (*owner, _VALUE))
                into.put(into.name(_VALUE, place), marked(self.draft, kind or Kind.STRING, False, {}, place))
                self._add_content(inner, owner, into, None)

    def _add_struct(self, node: Any, owner: Path, into: AttributesDraft, optional: bool) -> None:
        name = into.name(node.get("name"), self._place(node, (*owner, identifier(node.get("name")))))
        into.put(name, self._struct(node, node, (*owner, name), optional))

    def _add_xml_attribute(self, node: Any, owner: Path, into: AttributesDraft) -> None:
        target = self.named["attribute"].get(local_name(node.get("ref", "")), node)
        original = target.get("name") or local_name(node.get("ref", ""))
        place = self._place(node, (*owner, identifier(original)))
        if node.get("use") == "prohibited" or not original:
            self.draft.note("is an attribute that must not be there", place)
            return
        name = into.name(original, place)
        kind = self._kind_of(target, (*owner, name)) or Kind.STRING
        self._note_words(target, (*owner, name))
        self.draft.describe((*owner, name), documentation(target))
        into.put(name, marked(self.draft, kind, node.get("use") != "required", marks_at(target), place))

    def _add_element(self, node: Any, owner: Path, into: AttributesDraft, optional: bool) -> None:
        target = self.named["element"].get(local_name(node.get("ref", "")), node)
        original = target.get("name") or local_name(node.get("ref", ""))
        place = self._place(node, (*owner, identifier(original)))
        if target is node and node.get("ref"):
            self.draft.note(f"`{node.get('ref')}` is not in the schema", place)
            return
        if node.get("maxOccurs") == "0" or not original:
            self.draft.note("is an element that must not be there", place)
            return
        name = into.name(original, place)
        self._note_words(target, (*owner, name))
        self.draft.describe((*owner, name), documentation(target))
        into.put(name, self._occurring(node, target, (*owner, name), optional))

    def _occurring(self, node: Any, target: Any, owner: Path, optional: bool) -> AttributeType | None:
        """The attribute for an element, a list if it may be repeated."""
        place, least, most = self._place(node, owner), node.get("minOccurs", "1"), node.get("maxOccurs", "1")
        is_nillable = target.get("nillable") == "true"
        if most == "1":
            return self._content(target, owner, optional or is_nillable or least == "0")
        if most != "unbounded" or least not in ("0", "1"):
            self.draft.note(f"that there are {least} to {most} is not kept", place)
        element = self._content(target, owner, False)
        if element is None:
            return None
        marks = marks_at(target, OF_LIST)
        return marked(self.draft, Kind.LIST, optional or is_nillable, marks, place, element=element)

    def _content(self, node: Any, owner: Path, optional: bool) -> AttributeType | None:
        """The attribute for what stands in an element."""
        place, marks = self._place(node, owner), marks_at(node)
        kind = node.get(f"{{{EVENT_URI}}}kind")
        if kind == Kind.POINT:
            return marked(self.draft, Kind.POINT, optional, marks, place)
        complex_type = self._complex_type(node)
        if kind == Kind.LIST and complex_type is not None:
            item = next((one for one in all_of(complex_type, "element") if one.get("name") == LIST_ITEM), node)
            return self._occurring(item, item, owner, optional) if item is not node else None
        if complex_type is not None:
            return self._struct(complex_type, node, owner, optional)
        found = self._kind_of(node, owner)
        return marked(self.draft, found, optional, marks, place) if found is not None else None

    def _struct(self, node: Any, marked_by: Any, owner: Path, optional: bool) -> AttributeType | None:
        inner, place = self.draft.attributes(owner), self._place(marked_by, owner)
        self._add_content(node, owner, inner, None)
        if not inner.found:
            self.draft.note("is left out, since nothing is left in it", place)
            return None
        return marked(self.draft, Kind.STRUCT, optional, marks_at(marked_by), place, attributes=inner.found)

    def _complex_type(self, node: Any) -> Any:
        inline = next((one for one in children(node) if local(one) == "complexType"), None)
        if inline is not None:
            return inline
        name = node.get("type", "")
        return self.named["complexType"].get(local_name(name)) if not is_built_in(node, name) else None

    def _kind_of(self, node: Any, owner: Path) -> Kind | None:
        """The kind of what has a simple type, by name or inline."""
        inline = next((one for one in children(node) if local(one) == "simpleType"), None)
        if inline is not None:
            return self._restricted_kind(inline, owner)
        if not node.get("type"):
            self.draft.note("does not say a type, so it is a text", self._place(node, owner))
            return Kind.STRING
        return self._simple_kind(node.get("type"), node, owner)

    def _simple_kind(self, name: str, node: Any, owner: Path) -> Kind | None:
        local = local_name(name)
        if local in self.named["simpleType"] and not is_built_in(node, name):
            return self._restricted_kind(self.named["simpleType"][local], owner)
        if local in BUILT_IN:
            kind, noted = BUILT_IN[local]
            if noted is not None:
                self.draft.note(noted, self._place(node, owner))
            return kind
        self.draft.note(f"is left out: the type `{name}` is not in the schema", self._place(node, owner))
        return None

    def _restricted_kind(self, node: Any, owner: Path) -> Kind | None:
        if any(one is node for one in self._open):
            self.draft.note("is left out, since its type is made of itself", self._place(node, owner))
            return None
        for inner in children(node):
            if local(inner) in ("union", "list"):
                self.draft.note(f"a <{local(inner)}> of simple types is a text", self._place(inner, owner))
                return Kind.STRING
            if local(inner) == "restriction":
                self._note_facets(inner, owner)
                self._open.append(node)
                kind = self._kind_of(inner, owner) if not inner.get("base") else None
                kind = kind or self._simple_kind(inner.get("base", ""), inner, owner)
                self._open.pop()
                return kind
        return Kind.STRING

    def _note_facets(self, node: Any, owner: Path) -> None:
        facets: dict[str, list[str]] = {}
        for facet in children(node):
            if local(facet) not in ("annotation", "simpleType"):
                facets.setdefault(local(facet), []).append(facet.get("value", ""))
        for name, values in facets.items():
            shown = ", ".join(values[:8]) + (", …" if len(values) > 8 else "")
            self.draft.note(f"`{name}` is not kept: {shown}", self._place(node, owner))

    def _note_words(self, node: Any, owner: Path) -> None:
        for word in _NOT_KEPT:
            if node.get(word) not in (None, "false"):
                self.draft.note(f"`{word}` is not kept", self._place(node, owner))

    def _place(self, node: Any, owner: Path) -> Place:
        return Place(
            node.getroottree().docinfo.URL, node.sourceline, path=".".join(one for one in owner if one) or None
        )
