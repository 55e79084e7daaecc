"""What a schema document says, on its way to a taxonomy: types with their places, notes, faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from comity.document import did_you_mean
from comity.errors import ComityError, Faults, Misuse, Place
from comity.event.declaration import CheckUnit
from comity.event.schemas.names import identifier, namespace_address, namespace_name
from comity.event.taxonomy import MAX_INHERITANCE, Taxonomy
from comity.event.types import ENVELOPE_NAME, EVENT, AttributeType, EventType

MAX_ATTRIBUTES = 20_000
"""Attributes that one document may come to, since references can make a short one stand for very many."""

Path = tuple[str, ...]
"""The name of a type, and of attributes below it."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a taxonomy cannot keep of a document, or keeps otherwise, and where it stands there.

    >>> print(Note("`pattern` is not kept", Place("a.json", 3, path="Fire.room")))
    a.json:3 (Fire.room): `pattern` is not kept
    """

    message: str
    place: Place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if str(self.place) else self.message

    def as_dict(self) -> dict[str, object]:
        """Its JSON shape."""
        place = {name: getattr(self.place, name) for name in ("file", "line", "path")}
        return {"message": self.message} | {name: value for name, value in place.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Imported:
    """The types of a document, what could not be kept of it, and what a file of a domain has beside its types."""

    taxonomy: Taxonomy
    notes: tuple[Note, ...] = ()
    sources: Mapping[str, Any] = field(default_factory=dict)
    """By name: `{kind: options}`, as files of domains write it."""
    descriptions: Mapping[Path, str] = field(default_factory=dict)
    """Of attributes, which a taxonomy does not keep."""


@dataclass(slots=True)
class TypeDraft:
    """A type as the document has it. `parent` is a name; None is the root."""

    name: str
    place: Place
    parent: str | None = None
    attributes: AttributesDraft | None = None
    abstract: bool = False
    description: str | None = None


@dataclass(slots=True)
class Draft:
    """Gathers the types of one document. `domain` is the namespace that the caller wants, whatever the document says.

    >>> draft = Draft("a.xsd")
    >>> draft.namespace = "city"
    >>> draft.add(TypeDraft(draft.type_name("Bus Position", Place("a.xsd", 3)), Place("a.xsd", 3)))
    >>> found = draft.imported()
    >>> found.taxonomy.types[0].qualified_name, str(found.notes[0])
    ('city.Bus_Position', 'a.xsd:3: `Bus Position` becomes `Bus_Position`')
    """

    file: str | None = None
    domain: str | None = None
    check_unit: CheckUnit | None = None
    namespace: str = ""
    notes: list[Note] = field(default_factory=list)
    faults: list[ComityError] = field(default_factory=list)
    sources: dict[str, Any] = field(default_factory=dict)
    descriptions: dict[Path, str] = field(default_factory=dict)
    types: dict[str, TypeDraft] = field(default_factory=dict)
    _attributes: int = 0

    def note(self, message: str, place: Place) -> None:
        """Note what is not kept."""
        self.notes.append(Note(message, place))

    def fault(self, message: str, place: Place, code: str, hint: str | None = None) -> None:
        """Note what is wrong; the import is refused in the end."""
        self.faults.append(Misuse(message, code=code, place=place, hint=hint))

    def take_namespace(self, address: str, place: Place) -> None:
        """The namespace that the document names; noted if it is not the name of a domain."""
        self.namespace = namespace_name(address)
        known = self.domain or self.namespace
        if address not in (known, namespace_address(known)):
            self.note(f"the namespace `{address}` becomes `{known}`", place)

    def type_name(self, name: str, place: Place) -> str:
        """The name of a type; noted if it is another one."""
        return self._renamed(name, EVENT.name, place)

    def attribute_name(self, name: str, place: Place) -> str:
        """The name of an attribute; noted if it is another one."""
        return self._renamed(name, ENVELOPE_NAME, place)

    def attributes(self, owner: Path) -> AttributesDraft:
        """A place for the attributes of a type or struct."""
        return AttributesDraft(self, owner)

    def count_attribute(self, place: Place) -> None:
        """Refuse a document that comes to too many attributes."""
        self._attributes += 1
        if self._attributes > MAX_ATTRIBUTES:
            raise Misuse(f"the document comes to more than {MAX_ATTRIBUTES} attributes", code="too-large", place=place)

    def describe(self, path: Path, text: str | None) -> None:
        """Keep the description of an attribute."""
        if text and text.strip():
            self.descriptions[path] = " ".join(text.split())

    def add(self, type: TypeDraft) -> None:
        """Take a type; two of one name are refused."""
        earlier = self.types.get(type.name)
        if earlier is not None:
            message = f"there are two types `{type.name}`, the other one at {earlier.place}"
            self.fault(message, type.place, "duplicate-type", "rename one of them")
        else:
            self.types[type.name] = type

    def imported(self) -> Imported:
        """The taxonomy and the notes; raises `Faults` with everything that is wrong, each at its place."""
        namespace = self.domain or self.namespace
        built: dict[str, EventType] = {EVENT.name: EVENT}
        for one in list(self.types.values()):
            self._build(one, namespace, built, ())
        if not namespace:
            hint = "name it with --domain NAME"
            self.fault("the document does not name a domain", Place(self.file), "no-namespace", hint)
        elif identifier(namespace) != namespace:
            hint = "use letters, digits and underscores, and no digit in front"
            self.fault(f"`{namespace}` cannot name a domain", Place(self.file), "bad-name", hint)
        if self.faults:
            raise Faults(sorted(self.faults, key=_line))
        taxonomy = Taxonomy(namespace, [built[name] for name in self.types])
        return Imported(taxonomy, tuple(sorted(self.notes, key=_line)), self.sources, self.descriptions)

    def _renamed(self, name: str, reserved: str, place: Place) -> str:
        found = identifier(name)
        if found == reserved:
            found = f"{found}_"
        if found != name:
            self.note(f"`{name}` becomes `{found}`", place)
        return found

    def _build(self, one: TypeDraft, namespace: str, built: dict[str, EventType], below: Path) -> EventType:
        if one.name in built:
            return built[one.name]
        parent = self._parent(one, namespace, built, below)
        given = one.attributes.found.items() if one.attributes else ()
        own = {name: each for name, each in given if self._is_fitting(one, name, each, parent)}
        built[one.name] = EventType(one.name, namespace, parent, own, one.abstract, one.description)
        return built[one.name]

    def _parent(self, one: TypeDraft, namespace: str, built: dict[str, EventType], below: Path) -> EventType:
        chain = (*below, one.name)
        if one.parent is None:
            return EVENT
        if one.parent in chain:
            circle = " -> ".join((*chain[chain.index(one.parent) :], one.parent))
            self.fault(f"`{one.name}` descends from itself: {circle}", one.place, "cyclic-inheritance")
            return EVENT
        if one.parent not in self.types:
            hint = did_you_mean(one.parent, self.types)
            self.fault(f"unknown parent type `{one.parent}` of `{one.name}`", one.place, "unknown-type", hint)
            return EVENT
        if len(chain) > MAX_INHERITANCE:
            self.fault(f"more than {MAX_INHERITANCE} types up to the root", one.place, "too-deep")
            return EVENT
        return self._build(self.types[one.parent], namespace, built, chain)

    def _is_fitting(self, one: TypeDraft, name: str, attribute: AttributeType, parent: EventType) -> bool:
        inherited = parent.attributes.get(name)
        if inherited is not None and inherited != attribute:
            message = f"`{name}` is inherited from `{parent.name}` as `{inherited}` and cannot change"
            place = one.attributes.places[name] if one.attributes else one.place
            self.fault(message, place, "attribute-redefined", "leave it out or rename it")
        return inherited is None


@dataclass(slots=True)
class AttributesDraft:
    """The attributes of one type or struct; two names that become one are refused."""

    draft: Draft
    owner: Path
    found: dict[str, AttributeType] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    _originals: dict[str, str] = field(default_factory=dict)

    def name(self, original: str, place: Place) -> str:
        """The name that an attribute gets; asked before what is in it is read, so that its path is known."""
        self.draft.count_attribute(place)
        name = self.draft.attribute_name(original, place)
        if name in self._originals:
            both = f"`{self._originals[name]}` and `{original}` both become" if self._originals[name] != name else "two"
            message = f"{both} `{name}` in `{'.'.join(self.owner)}`"
            self.draft.fault(message, place, "name-conflict", "rename one of them")
        self._originals[name], self.places[name] = original, place
        return name

    def put(self, name: str, attribute: AttributeType | None) -> None:
        """Keep an attribute; None is one that was left out."""
        if attribute is not None:
            self.found[name] = attribute


def _line(one: Note | ComityError) -> int:
    return (one.place.line or 0) if one.place else 0
