"""The attributes of a type one by one, and which of them are there together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from comity.contract.mapping import Path
from comity.event.kinds import Kind
from comity.event.types import ENVELOPE_NAME, AttributeType, EventType


def leaves(type: EventType) -> dict[Path, AttributeType]:
    """The attributes that hold a value of their own, by path: those inside structs in place of the structs.

    >>> place = AttributeType(Kind.STRUCT, attributes={"town": AttributeType(Kind.STRING)})
    >>> list(leaves(EventType("T", "test", own={"n": AttributeType(Kind.INT), "place": place})))
    [('n',), ('place', 'town')]
    """
    return dict(_leaves(type.attributes, ()))


def _leaves(attributes: Mapping[str, AttributeType], above: Path) -> Iterator[tuple[Path, AttributeType]]:
    for name, declared in attributes.items():
        if declared.kind is Kind.STRUCT and declared.attributes:
            yield from _leaves(declared.attributes, (*above, name))
        else:
            yield (*above, name), declared


def structs(type: EventType) -> dict[Path, AttributeType]:
    """The structs of a type, inner ones too, by path."""
    return dict(_structs(type.attributes, ()))


def _structs(attributes: Mapping[str, AttributeType], above: Path) -> Iterator[tuple[Path, AttributeType]]:
    for name, declared in attributes.items():
        if declared.kind is Kind.STRUCT and declared.attributes:
            yield (*above, name), declared
            yield from _structs(declared.attributes, (*above, name))


def is_never_empty(struct: AttributeType) -> bool:
    """Whether a struct that is there always has a value inside, so that it can be made again from its parts."""
    return any(
        not inner.optional and (inner.kind is not Kind.STRUCT or is_never_empty(inner))
        for inner in struct.attributes.values()
    )


def conditions(type: EventType, path: Path) -> frozenset[Path]:
    """The optional steps on the way to an attribute: it is there iff all of these are."""
    if path[0] == ENVELOPE_NAME:
        declared = type.attribute_at(path)
        # The time may be missing, until a run demands it.
        return frozenset() if path[1] in ("id", "source", "type") and declared else frozenset({path})
    found: list[Path] = []
    attributes: Mapping[str, AttributeType] = type.attributes
    for end, name in enumerate(path, start=1):
        declared = attributes.get(name)
        if declared is None:  # a coordinate of a point
            break
        if declared.optional:
            found.append(path[:end])
        attributes = declared.attributes
    return frozenset(found)


def same_shape(one: AttributeType, other: AttributeType) -> bool:
    """Whether everything that a value of the first can hold has a place in the second."""
    if one.kind is not other.kind:
        return False
    if one.kind is Kind.LIST and one.element and other.element:
        return same_shape(one.element, other.element)
    return all(
        name in other.attributes and same_shape(inner, other.attributes[name]) for name, inner in one.attributes.items()
    )
