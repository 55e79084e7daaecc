"""The types that a node knows, and what a declaration of more of them makes of it: data, never code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from comity.document import DataDocument, Document
from comity.errors import Misuse, Place
from comity.event.schemas.domain_file import type_declaration
from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.limits import limits
from comity.meaning.units import check_unit

_KEYS = {"namespace", "domain", "types"}


@dataclass(frozen=True, slots=True)
class TypeVersion:
    """A type as it was declared, by the number of that declaration: 1, and one more for each addition."""

    name: str
    version: int
    declaration: Mapping[str, Any]


@dataclass(frozen=True)
class TypeCatalog:
    """The newest version of each type of one namespace.

    >>> from comity.document import parse_document
    >>> fires = parse_document("types: {Fire: {attributes: {heat: float}}}")
    >>> catalog, added = TypeCatalog("house").declared(fires)
    >>> [(one.name, one.version) for one in added], catalog.declared(fires)[1]
    ([('Fire', 1)], [])
    """

    namespace: str
    versions: Mapping[str, TypeVersion] = field(default_factory=dict)

    @classmethod
    def of(cls, namespace: str, versions: Iterable[TypeVersion]) -> TypeCatalog:
        """The catalog whose types have these versions; of each type the highest counts."""
        found: dict[str, TypeVersion] = {}
        for one in sorted(versions, key=lambda one: one.version):
            found[one.name] = one
        return cls(namespace, found)

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """All types, as events are checked against them."""
        return _taxonomy(self.namespace, {name: one.declaration for name, one in self.versions.items()})

    def declared(self, document: Document) -> tuple[TypeCatalog, list[TypeVersion]]:
        """This catalog with the types of a document, and what is new: types, and types with more optional attributes.

        Raises `Misuse` for a type that is declared otherwise here, and `Faults` for what is no declaration.
        """
        given = self._given(document)
        known = {name: one.declaration for name, one in self.versions.items()}
        taxonomy = _taxonomy(self.namespace, {**known, **given})
        added = [one for name in given if (one := self._next(taxonomy.type(name))) is not None]
        return TypeCatalog(self.namespace, {**self.versions, **{one.name: one for one in added}}), added

    def _given(self, document: Document) -> dict[str, Any]:
        data = document.data if isinstance(document.data, dict) else {}
        for key in data.keys() - _KEYS:
            raise document.fault(f"unknown key `{key}`", (key,), code="unknown-key", key=True)
        for key in ("namespace", "domain"):
            if data.get(key, self.namespace) != self.namespace:
                hint = f"types of this node are of `{self.namespace}`; leave `{key}` out"
                raise document.fault("this is another namespace", (key,), code="wrong-namespace", hint=hint)
        types = data.get("types")
        if not isinstance(types, dict) or not types:
            hint = "write types: {NAME: {attributes: {…}}}"
            raise document.fault("there is no type in it", ("types",), code="missing-key", hint=hint)
        if len(types.keys() | self.versions.keys()) > limits().max_node_types:
            hint = f"a node has {limits().max_node_types:,} at the most; raise COMITY_MAX_NODE_TYPES"
            raise document.fault("these are too many types", ("types",), code="too-many", hint=hint)
        return types

    def _next(self, declared: EventType) -> TypeVersion | None:
        """The version that a declaration makes; None if it says what is known."""
        before = self.versions.get(declared.name)
        if before is None:
            return TypeVersion(declared.name, 1, type_declaration(declared))
        known = self.taxonomy.type(declared.name)
        why = _conflict(known, declared)
        if why is not None:
            hint = "a known type may get more attributes if these are optional; for anything else declare another type"
            message = f"`{declared.name}` is declared otherwise: {why}"
            raise Misuse(message, code="type-conflict", place=Place(path=f"types.{declared.name}"), hint=hint)
        if declared.own == known.own:
            return None
        return TypeVersion(declared.name, before.version + 1, type_declaration(declared))


def _conflict(known: EventType, declared: EventType) -> str | None:
    """What an addition may not change; None if it changes nothing but optional attributes that are new."""
    parents = [one.parent.name if one.parent is not None else None for one in (known, declared)]
    if parents[0] != parents[1]:
        return f"it extends {parents[0]}"
    if (known.abstract, known.version) != (declared.abstract, declared.version):
        return "whether it is abstract, or its `version`, is another"
    for name, attribute in known.own.items():
        if declared.own.get(name) != attribute:
            return f"`{name}` is {attribute}"
    return next(
        (
            f"`{name}` is new, and not optional"
            for name, attribute in declared.own.items()
            if name not in known.own and not attribute.optional
        ),
        None,
    )


def _taxonomy(namespace: str, declarations: Mapping[str, Any]) -> Taxonomy:
    document = DataDocument({"namespace": namespace, "types": dict(declarations)}, ())
    return Taxonomy.from_document(document, check_unit=check_unit)
