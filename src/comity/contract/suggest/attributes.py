"""The attributes of a type, as they are compared with those of another: every path that holds a value or a struct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from comity.event.kinds import Kind
from comity.event.types import AttributeType, EventType

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An attribute of a type, at any depth."""

    path: Path
    type: AttributeType
    domain: str = ""

    @property
    def label(self) -> str:
        """The name, and whose it is."""
        return f"{self.name} of {self.domain}" if self.domain else self.name

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def is_struct(self) -> bool:
        return self.type.kind is Kind.STRUCT


def candidates(type: EventType) -> tuple[Candidate, ...]:
    """The attributes that hold values, those inside structs, too, in the order of their declaration.

    >>> inner = {"floor": AttributeType(Kind.INT), "room": AttributeType(Kind.STRING)}
    >>> place = AttributeType(Kind.STRUCT, attributes=inner)
    >>> [one.name for one in candidates(EventType("Fire", "house", own={"place": place}))]
    ['place.floor', 'place.room']
    """
    return tuple(one for one in _all(type, type.attributes) if not one.is_struct)


def structs(type: EventType) -> tuple[Candidate, ...]:
    """The attributes that are structs."""
    return tuple(one for one in _all(type, type.attributes) if one.is_struct)


def inside(struct: Candidate, among: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """The values that stand in a struct, at any depth."""
    return tuple(one for one in among if one.path[: len(struct.path)] == struct.path)


def _all(
    type: EventType, attributes: Mapping[str, AttributeType], prefix: Path = (), optional: bool = False
) -> Iterator[Candidate]:
    """An attribute is optional if anything around it is."""
    for name, declared in attributes.items():
        found = declared.as_optional() if optional and not declared.optional else declared
        yield Candidate((*prefix, name), found, type.namespace)
        yield from _all(type, declared.attributes, (*prefix, name), found.optional)
