"""The types of a domain, each with one parent, all of them below `Event`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from comity.document import Document, did_you_mean, read_document
from comity.errors import Faults, Misuse
from comity.event.declaration import CheckUnit, DeclarationReader
from comity.event.types import ENVELOPE_NAME, EVENT, AttributeType, EventType

MAX_INHERITANCE = 64
"""Types between one and the root."""

_TYPE_KEYS = {"extends", "description", "abstract", "version", "attributes"}
_NAMESPACE_KEYS = ("namespace", "domain", "contract")
_TOP_KEYS = {*_NAMESPACE_KEYS, "types"}


class Taxonomy:
    """The types of one namespace. `types` has them in the order of the file, without `Event`.

    >>> alarm = EventType("Alarm", "house", parent=EVENT)
    >>> house = Taxonomy("house", [alarm, EventType("Fire", "house", parent=alarm)])
    >>> [one.name for one in house.subtypes("Alarm")], house.is_a("house.Fire", "Event")
    (['Alarm', 'Fire'], True)
    """

    def __init__(self, namespace: str, types: Iterable[EventType] = ()) -> None:
        self.namespace = namespace
        self.types = tuple(types)
        self._by_name = {EVENT.name: EVENT}
        self._children: dict[str, list[EventType]] = {}
        for one in self.types:
            self._add(one)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taxonomy) and (self.namespace, self.types) == (other.namespace, other.types)

    def __hash__(self) -> int:
        return hash((self.namespace, len(self.types)))

    @classmethod
    def read(cls, path: str | Path, *, ignore: Collection[str] = (), check_unit: CheckUnit | None = None) -> Taxonomy:
        """The taxonomy in a YAML file; see `from_document`."""
        return cls.from_document(read_document(path), ignore=ignore, check_unit=check_unit)

    @classmethod
    def from_document(
        cls, document: Document, *, ignore: Collection[str] = (), check_unit: CheckUnit | None = None
    ) -> Taxonomy:
        """The taxonomy under `types`; raises `Faults` with everything that is wrong.

        The namespace is that of the key `namespace`, `domain` or `contract`. `ignore` names the other keys that the
        file may have.
        """
        reader = _TaxonomyReader(DeclarationReader(document, check_unit))
        namespace, types = reader.read(ignore)
        if reader.declarations.faults:
            raise Faults(sorted(reader.declarations.faults, key=_by_place))
        return cls(namespace, types)

    def find(self, name: str) -> EventType | None:
        """The type with a simple or qualified name; None if there is none."""
        return self._by_name.get(name)

    def type(self, name: str) -> EventType:
        """The type with a simple or qualified name; raises `Misuse` if there is none."""
        found = self._by_name.get(name)
        if found is None:
            raise Misuse(f"unknown type `{name}`", code="unknown-type", hint=did_you_mean(name, self._by_name))
        return found

    def subtypes(self, name: str) -> tuple[EventType, ...]:
        """The type and everything below it, parents before children."""
        return tuple(self._below(self.type(name)))

    def is_a(self, sub: str, super: str) -> bool:
        """Whether `sub` is `super` or descends from it."""
        return self.type(super).qualified_name in self.type(sub).lineage

    def _add(self, one: EventType) -> None:
        if one.name in self._by_name:
            raise Misuse(f"there are two types `{one.name}`", code="duplicate-type")
        if one.namespace != self.namespace:
            raise Misuse(f"`{one.qualified_name}` is not of `{self.namespace}`", code="wrong-namespace")
        self._by_name[one.name] = self._by_name[one.qualified_name] = one
        parent = one.parent.qualified_name if one.parent else EVENT.name
        self._children.setdefault(parent, []).append(one)

    def _below(self, one: EventType) -> Iterator[EventType]:
        yield one
        for child in self._children.get(one.qualified_name, ()):
            yield from self._below(child)


class _TaxonomyReader:
    """From a document to types, going on after each fault."""

    def __init__(self, declarations: DeclarationReader) -> None:
        self.declarations = declarations
        self._fault = declarations.fault
        self._bodies: dict[str, dict[str, Any]] = {}
        self._parents: dict[str, str] = {}
        self._built: dict[str, EventType] = {EVENT.name: EVENT}

    def read(self, ignore: Collection[str]) -> tuple[str, list[EventType]]:
        """The namespace and the types; good only if no fault was noted."""
        top = self.declarations.mapping(self.declarations.document.data, ())
        self.declarations.check_keys(top, _TOP_KEYS | set(ignore), ())
        namespace = self._namespace(top)
        for name, body in self.declarations.mapping(top.get("types"), ("types",)).items():
            self._take(name, body, namespace)
        self._check_parents()
        own = {name: self._own(name) for name in self._bodies}
        return namespace, [self._build(name, namespace, own) for name in self._bodies]

    def _namespace(self, top: dict[str, Any]) -> str:
        given = {key: self.declarations.text(top[key], (key,)) for key in _NAMESPACE_KEYS if key in top}
        if not given:
            self._fault("`namespace` is missing", (), "missing-key", hint="add `namespace: <name>` as the first line")
        if len(set(given.values())) > 1:
            first = next(iter(given))
            self._fault("the names given for the namespace differ", (first,), "bad-value", hint="keep one of them")
        for key, name in given.items():
            if top[key] is None:
                self._fault(f"`{key}` is empty", (key,), "bad-value")
            elif name is not None:
                self.declarations.check_name(name, "a namespace", (key,), key=False)
        return next((name for name in given.values() if name), "")

    def _take(self, name: str, body: Any, namespace: str) -> None:
        path = ("types", name)
        self.declarations.check_name(name, "a type", path)
        if name == EVENT.name:
            self._fault("`Event` is the root of every taxonomy and cannot be declared", path, "reserved-name", key=True)
            return
        self._bodies[name] = self.declarations.mapping(body, path)
        self.declarations.check_keys(self._bodies[name], _TYPE_KEYS, path)
        parent = self.declarations.text(self._bodies[name].get("extends"), (*path, "extends"))
        self._parents[name] = (parent or EVENT.name).removeprefix(f"{namespace}.")

    def _check_parents(self) -> None:
        """Note unknown parents, cycles and long chains, and hang those types directly below `Event` to go on."""
        for name, parent in list(self._parents.items()):
            path = ("types", name, "extends")
            if parent not in self._bodies and parent != EVENT.name:
                hint = did_you_mean(parent, {*self._bodies, EVENT.name} - {name})
                self._fault(f"unknown parent type `{parent}`", path, "unknown-type", hint=hint)
                self._parents[name] = EVENT.name
        for name in self._bodies:
            self._check_chain(name)

    def _check_chain(self, name: str) -> None:
        path, chain = ("types", name, "extends"), [name]
        while (parent := self._parents[chain[-1]]) != EVENT.name:
            if parent == name:
                circle = " -> ".join([*chain, name])
                self._fault(f"`{name}` descends from itself: {circle}", path, "cyclic-inheritance")
                self._parents[name] = EVENT.name
                return
            chain.append(parent)
            if len(chain) > MAX_INHERITANCE:
                if parent not in chain[:-1]:  # otherwise it leads into a circle, which is noted for a type on it
                    self._fault(f"more than {MAX_INHERITANCE} types up to `Event`", path, "too-deep")
                    self._parents[name] = EVENT.name
                return

    def _own(self, name: str) -> dict[str, AttributeType]:
        path = ("types", name, "attributes")
        own = self.declarations.attributes(self._bodies[name].get("attributes"), path)
        if ENVELOPE_NAME in own:
            hint = "it stands for the envelope, as in `event.time`"
            self._fault("the name `event` is reserved", (*path, ENVELOPE_NAME), "reserved-name", key=True, hint=hint)
        return own

    def _build(self, name: str, namespace: str, own: dict[str, dict[str, AttributeType]]) -> EventType:
        if name in self._built:
            return self._built[name]
        parent = self._build(self._parents[name], namespace, own)
        body, path = self._bodies[name], ("types", name)
        self._check_inherited(own[name], parent, (*path, "attributes"))
        abstract = self.declarations.flag(body.get("abstract"), (*path, "abstract"))
        description = self.declarations.text(body.get("description"), (*path, "description"))
        version = self._version(body.get("version"), (*path, "version"))
        built = EventType(name, namespace, parent, own[name], abstract, description, version)
        self._built[name] = built
        return built

    def _version(self, given: Any, path: tuple[str, ...]) -> str | None:
        """A text, or a whole number, which stands for its text."""
        is_number = isinstance(given, int) and not isinstance(given, bool)
        found = str(given) if is_number else self.declarations.text(given, path)
        if found == "":
            self._fault("`version` is empty", path, "bad-value")
        return found

    def _check_inherited(self, own: dict[str, AttributeType], parent: EventType, path: tuple[str, ...]) -> None:
        for name in own.keys() & parent.attributes.keys():
            if own[name] != parent.attributes[name]:
                message = f"`{name}` is inherited from `{parent.name}` as `{parent.attributes[name]}` and cannot change"
                self._fault(message, (*path, name), "attribute-redefined", key=True, hint="leave it out or rename it")


def _by_place(error: Any) -> tuple[int, int]:
    return (error.place.line or 0, error.place.column or 0) if error.place else (0, 0)
