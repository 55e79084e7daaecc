"""Profiles as patterns: those that are composite, and simple ones as patterns of one event."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from comity.errors import ComityError, Faults
from comity.event.taxonomy import Taxonomy
from comity.pattern.bound import BoundPattern
from comity.pattern.composite import Composite, OfOperand
from comity.pattern.scope import OpenNames
from comity.pattern.tree import Operand
from comity.profile.files import scan_profiles
from comity.profile.profile import Profile


def read_bound_patterns(path: str | Path, taxonomy: Taxonomy | None = None) -> list[BoundPattern]:
    """The patterns of a file of profiles; raises `Faults` with all that cannot be read or bound."""
    profiles, faults = scan_profiles(path)
    bound, more = bind_patterns(profiles, taxonomy)
    if faults or more:
        raise Faults(sorted([*faults, *more], key=_line))
    return bound


def read_composites(path: str | Path, taxonomy: Taxonomy | None = None) -> list[BoundPattern]:
    """The patterns of the composite profiles of a file; raises `Faults` with all that cannot be read or bound."""
    profiles, faults = scan_profiles(path)
    bound, more = bind_patterns((one for one in profiles if one.composite is not None), taxonomy)
    if faults or more:
        raise Faults(sorted([*faults, *more], key=_line))
    return bound


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
    composite = Composite(Operand(name, profile.on), profile.where)
    return Profile(profile.name, profile.where, None, profile.domain, profile.place, profile.locate, composite)


def as_simple(profile: Profile) -> Profile:
    """The profile as a filter, if its pattern is one event and nothing else is asked; otherwise as it is."""
    operand = profile.composite.operand_alone if profile.composite is not None else None
    if operand is None:
        return profile
    where = OfOperand.of(profile.where, operand)
    return Profile(profile.name, where, operand.type, profile.domain, profile.place, profile.locate)


def _line(error: ComityError) -> int:
    return (error.place.line if error.place else None) or 0
