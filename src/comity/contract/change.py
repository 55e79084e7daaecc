"""What changed between two versions of a type or of a contract, and whether somebody who knew the old one can live with
the new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from comity.contract.suggest.names import likeness, words
from comity.event.types import AttributeType, EventType
from comity.meaning.units import dimension

_RENAMED = 0.5
"""How alike the names of an attribute that went and one that came must be for it to be the same one."""


class Effect(StrEnum):
    """What a change does to those who know the old version."""

    ADDITIVE = "additive"
    """Nothing: there is more than before."""
    MEANING = "meaning"
    """Everything still works, but events may say something else than before."""
    BREAKING = "breaking"
    """What they wrote may no longer fit."""


@dataclass(frozen=True, slots=True)
class VersionChange:
    """One difference."""

    where: str
    """The type or contract."""
    code: str
    effect: Effect
    text: str
    path: str = ""
    """The attribute, member, observer or table in question."""
    was: str = ""
    """Of a renamed attribute: its old path."""

    def as_dict(self) -> dict[str, str]:
        """For programs."""
        told = {"where": self.where, "path": self.path, "was": self.was, "code": self.code, "effect": str(self.effect)}
        return {key: value for key, value in {**told, "text": self.text}.items() if value}


def changes(old: EventType, new: EventType) -> list[VersionChange]:
    """What changed in a type: its attributes, those of its ancestors included, its parent, and whether it is abstract.

    >>> from comity.event.kinds import Kind
    >>> number = AttributeType(Kind.FLOAT, unit="degC")
    >>> old, new = EventType("T", "d", own={"temp": number}), EventType("T", "d", own={"temperature": number})
    >>> [(one.code, one.was, one.path, str(one.effect)) for one in changes(old, new)]
    [('attribute-renamed', 'temp', 'temperature', 'breaking')]
    """
    found = list(_attributes(old.qualified_name, old.attributes, new.attributes, ""))
    parents = [one.parent.name if one.parent else "Event" for one in (old, new)]
    if parents[0] != parents[1]:
        text = f"extends {parents[1]} instead of {parents[0]}"
        found.append(VersionChange(old.qualified_name, "parent-changed", Effect.BREAKING, text))
    if old.abstract != new.abstract:
        effect = Effect.BREAKING if new.abstract else Effect.ADDITIVE
        found.append(
            VersionChange(
                old.qualified_name, "abstract-changed", effect, f"{'now' if new.abstract else 'no longer'} abstract"
            )
        )
    return found


def contract_changes(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[VersionChange]:
    """What changed in the file of a contract beside its type: tables, members, observers, mappings, who founded it."""
    found = [*_tables(name, _part(old, "tables"), _part(new, "tables"))]
    for role in ("members", "observers"):
        found += _parties(name, role, _part(old, role), _part(new, role))
    for key in ("authority", "founders"):
        if old.get(key) != new.get(key):
            text = f"{key}: {_shown(old.get(key))} became {_shown(new.get(key))}"
            found.append(VersionChange(name, f"{key}-changed", Effect.MEANING, text))
    return found


def next_version(version: int, found: list[VersionChange]) -> int:
    """The number that the new version should have.

    >>> next_version(3, [])
    3
    """
    return version + 1 if any(one.effect is not Effect.MEANING for one in found) else version


_Attributes = Mapping[str, AttributeType]


def _attributes(where: str, old: _Attributes, new: _Attributes, prefix: str) -> Iterator[VersionChange]:
    gone = [name for name in old if name not in new]
    came = [name for name in new if name not in old]
    renamed = _renamed(gone, came, old, new)
    for name, other in renamed.items():
        text = f"{prefix}{name} is gone, and {prefix}{other} looks like it under another name"
        yield VersionChange(where, "attribute-renamed", Effect.BREAKING, text, prefix + other, prefix + name)
    for name in gone:
        if name not in renamed:
            text = f"{prefix}{name} ({old[name]}) is gone"
            yield VersionChange(where, "attribute-removed", Effect.BREAKING, text, prefix + name)
    for name in came:
        if name not in renamed.values():
            yield _added(where, prefix + name, new[name])
    for name in old:
        if name in new:
            yield from _attribute(where, old[name], new[name], prefix + name)


def _renamed(gone: list[str], came: list[str], old: _Attributes, new: _Attributes) -> dict[str, str]:
    """Of each attribute that went, the one that came and declares the same under a name like it."""
    found: dict[str, str] = {}
    for name in gone:
        same = [one for one in came if one not in found.values() and _same_value(old[name], new[one])]
        best = max(same, key=lambda one: likeness(words(name), words(one)), default=None)
        if best is not None and likeness(words(name), words(best)) >= _RENAMED:
            found[name] = best
    return found


def _same_value(old: AttributeType, new: AttributeType) -> bool:
    """Whether two attributes hold the same, present or not, and in whatever unit."""
    if old.unit and new.unit and dimension(old.unit) == dimension(new.unit):
        new = replace(new, unit=old.unit)
    return old.as_optional() == new.as_optional()


def _added(where: str, path: str, type: AttributeType) -> VersionChange:
    if type.optional:
        return VersionChange(where, "attribute-added", Effect.ADDITIVE, f"{path} ({type}) is new, and optional", path)
    text = f"{path} ({type}) is new, and everybody has to give it"
    return VersionChange(where, "mandatory-attribute-added", Effect.BREAKING, text, path)


def _attribute(where: str, old: AttributeType, new: AttributeType, path: str) -> Iterator[VersionChange]:
    """What changed in an attribute that both have."""

    def change(code: str, text: str, effect: Effect = Effect.BREAKING) -> VersionChange:
        return VersionChange(where, code, effect, f"{path} {text}", path)

    if old.kind is not new.kind:
        yield change("kind-changed", f"was {old.kind}, is {new.kind}")
    if old.unit != new.unit:
        yield change("unit-changed", f"was in {old.unit or 'no unit'}, is in {new.unit or 'no unit'}")
    if old.optional != new.optional:
        yield change("optional-changed", "may be missing now" if new.optional else "may no longer be missing")
    if old.concept != new.concept:
        effect = Effect.ADDITIVE if old.concept is None else Effect.BREAKING
        text = f"meant {old.concept or 'no concept'}, means {new.concept or 'no concept'}"
        yield change("concept-changed", text, effect)
    if old.context != new.context:
        effect = Effect.ADDITIVE if not old.context else Effect.BREAKING
        yield change("context-changed", f"had the context {old.context}, has {new.context}", effect)
    if old.attributes and new.attributes:
        yield from _attributes(where, old.attributes, new.attributes, f"{path}.")
    if old.element and new.element and old.element != new.element:
        yield from _attribute(where, old.element, new.element, f"{path}[]")


def _part(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = data.get(key)
    return found if isinstance(found, Mapping) else {}


def _tables(where: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[VersionChange]:
    for name in {**old, **new}:
        if name not in new:
            yield VersionChange(where, "table-removed", Effect.BREAKING, f"the table {name} is gone", name)
        elif name not in old:
            yield VersionChange(where, "table-added", Effect.ADDITIVE, f"the table {name} is new", name)
        elif old[name] != new[name]:
            yield from _rows(where, name, old[name], new[name])


def _rows(where: str, table: str, old: Any, new: Any) -> Iterator[VersionChange]:
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        yield VersionChange(where, "table-changed", Effect.MEANING, f"the table {table} changed", table)
        return
    gone = [str(key) for key in old if key not in new]
    came = [str(key) for key in new if key not in old]
    other = [str(key) for key in old if key in new and old[key] != new[key]]
    for code, effect, keys, what in (
        ("rows-removed", Effect.BREAKING, gone, "lacks"),
        ("rows-added", Effect.ADDITIVE, came, "also has"),
        ("rows-changed", Effect.MEANING, other, "has another value for"),
    ):
        if keys:
            yield VersionChange(where, code, effect, f"the table {table} {what} {', '.join(keys)}", table)


def _parties(where: str, role: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[VersionChange]:
    one = role.removesuffix("s")
    for name in {**old, **new}:
        if name not in new:
            yield VersionChange(where, f"{one}-removed", Effect.BREAKING, f"{name} is no {one} any more", name)
        elif name not in old:
            yield VersionChange(where, f"{one}-added", Effect.ADDITIVE, f"{name} is a new {one}", name)
        elif old[name] != new[name]:
            text = f"the mapping of the {one} {name} changed{_mapping_difference(old[name], new[name])}"
            yield VersionChange(where, "mapping-changed", Effect.MEANING, text, name)


def _mapping_difference(old: Any, new: Any) -> str:
    """Which attributes are given in another way, where that can be told."""
    one, other = (side.get("map") if isinstance(side, Mapping) else None for side in (old, new))
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return ""
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return f": {', '.join(names)}" if names else ""


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nobody"
    return str(value) if value else "nobody"
