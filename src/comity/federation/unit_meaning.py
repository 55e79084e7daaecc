"""What binds to a changed type as before, and yet means something else: bare numbers beside an attribute whose unit
changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from comity.contract.mapping import Mapping
from comity.event.types import EventType
from comity.expression.tree import Expression, Literal, attributes, children
from comity.federation.model import Federation, Subscription

Found = tuple[str, str, str | None, str]
"""Role, name, contract, and the reason."""


def changed_meanings(old: Federation, new: Federation) -> Iterator[Found]:
    """Profiles and mappings with numbers that stood in one unit and now stand in another."""
    later = {one.name: one for one in new.subscriptions()}
    for profile in old.subscriptions():
        other = later.get(profile.name)
        reason = _of_profile(profile, other) if other is not None else None
        if reason:
            yield "profile", profile.name.partition("/")[0], None, reason
    yield from _of_members(old, new)


def _of_profile(old: Subscription, new: Subscription) -> str | None:
    same = _bare_atoms(old.tree) & _bare_atoms(new.tree)
    for atom in sorted(same, key=repr):
        for path in sorted(attributes(atom)):
            units = _units(path, old.type, new.type)
            if units:
                return f"its bare number for {'.'.join(path)} was in {units[0]}, and now is in {units[1]}"
    return None


def _of_members(old: Federation, new: Federation) -> Iterator[Found]:
    """A constant that a member gives for an attribute stands in the unit of the contract type."""
    for name, contract in old.contracts.items():
        later = new.contracts.get(name)
        for member, mappings in contract.members.items() if later is not None else ():
            now = {one.source.qualified_name: one for one in later.members.get(member, ())} if later else {}
            for mapping in mappings:
                reason = _of_mapping(mapping, now.get(mapping.source.qualified_name))
                if reason:
                    yield "member", member, name, reason


def _of_mapping(old: Mapping, new: Mapping | None) -> str | None:
    given = dict(new.expressions) if new is not None else {}
    for path, tree in old.expressions:
        units = _units(path, old.target, new.target) if new is not None else None
        if units and given.get(path) == tree and _has_number(tree):
            return f"its constant for {'.'.join(path)} was in {units[0]}, and now is in {units[1]}"
    return None


def _units(path: tuple[str, ...], old: EventType, new: EventType) -> tuple[str, str] | None:
    """The units of an attribute that has another one now."""
    one, other = old.attribute_at(path), new.attribute_at(path)
    if one is None or other is None or one.unit == other.unit:
        return None
    return one.unit or "no unit", other.unit or "no unit"


def _bare_atoms(tree: Expression) -> set[Expression]:
    """The smallest tests that hold a number."""
    inner = list(children(tree))
    found = {atom for part in inner for atom in _bare_atoms(part)}
    holds = any(_is_number(part) for part in inner)
    return found | ({tree} if holds else set())


def _has_number(tree: Expression) -> bool:
    return _is_number(tree) or any(_has_number(part) for part in children(tree))


def _is_number(tree: Expression) -> bool:
    return isinstance(tree, Literal) and type(tree.value) in (int, float)
