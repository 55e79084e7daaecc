"""Profiles as patterns: those that are composite, and simple ones as patterns of one event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from comity.errors import ComityError
from comity.event.taxonomy import Taxonomy
from comity.pattern.bound import BoundPattern
from comity.pattern.composite import Composite, OfOperand
from comity.pattern.scope import OpenNames
from comity.pattern.tree import Operand
from comity.profile.profile import Profile


def bind_patterns(
    profiles: Iterable[Profile], taxonomy: Taxonomy | None = None
) -> tuple[list[BoundPattern], list[ComityError]]:
    """The patterns, and what is wrong with the others.

    >>> [one.name for one in bind_patterns([Profile.of("hot", "heat > 40", on="Fire")])[0]]
    ['hot']
    """
    bound: list[BoundPattern] = []
    faults: list[ComityError] = []
    names = OpenNames()
    for profile in profiles:
        try:
            bound.append(as_composite(profile).bind_composite(taxonomy, names))
        except ComityError as error:
            faults.append(error)
    return bound, faults


def as_composite(profile: Profile) -> Profile:
    """The profile as a composite one: a simple one is a pattern of one event."""
    if profile.composite is not None:
        return profile
    name = profile.on.rpartition(".")[2] if profile.on else "it"
    return replace(profile, on=None, composite=Composite(Operand(name, profile.on), profile.where))


def as_simple(profile: Profile) -> Profile:
    """The profile as a filter, if its pattern is one event and nothing else is asked; otherwise as it is."""
    operand = profile.composite.operand_alone if profile.composite is not None else None
    if operand is None:
        return profile
    return replace(profile, where=OfOperand.of(profile.where, operand), on=operand.type, composite=None)
