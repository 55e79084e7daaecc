"""Federations inside a federation: each has a boundary, and is a domain to the one around it.

The types of such a domain are those of the contracts at its boundary. A contract of the outer federation may have it as
a member, which is a mapping from a contract type inside to the one outside; and as an observer, which is a mapping from
the contract type outside to one inside. Inside, the latter is a member more of the contract that it leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from comity.federation.model import Contract, Domain, Federation

FEDERATION_NAMES = ("federation.yaml", "federation.yml")


def by_folder(paths: Iterable[Path], root: Path | None) -> tuple[list[Path], dict[Path, list[Path]]]:
    """The files of a federation itself, and by folder those of the federations directly inside it.

    >>> inside = [Path("city/a.yaml"), Path("city/street/federation.yaml"), Path("city/street/house.yaml")]
    >>> own, nested = by_folder(inside, Path("city"))
    >>> len(own), [str(folder) for folder in nested]
    (1, ['city/street'])
    """
    given = list(paths)
    folders = {path.parent for path in given if path.name in FEDERATION_NAMES and path.parent != root}
    own: list[Path] = []
    nested: dict[Path, list[Path]] = {}
    for path in given:
        around = [folder for folder in folders if folder in path.parents and (root is None or root in folder.parents)]
        outermost = min(around, key=lambda folder: len(folder.parts), default=None)
        (own if outermost is None else nested.setdefault(outermost, [])).append(path)
    return own, nested


def is_inside(one: str | None, other: str | None) -> bool:
    """Whether a federation, by its path (None for the one around all), is another one or inside it.

    >>> is_inside("city.street", "city"), is_inside("city", "city.street"), is_inside("city", None)
    (True, False, True)
    """
    return other is None or (one is not None and f"{one}.".startswith(f"{other}."))


def observed_at_boundaries(
    own: Iterable[Contract], contracts: Mapping[str, Contract], nested: Mapping[str, Federation]
) -> dict[str, Contract]:
    """The contracts inside that get events from outside, each with one member more: the contract outside."""
    changed: dict[str, Contract] = {}
    for contract in own:
        for observer, mappings in contract.observers.items():
            for mapping in mappings if observer in nested else ():
                inner = changed.get(mapping.target.namespace) or contracts[mapping.target.namespace]
                members = {**inner.members, contract.name: (*inner.members.get(contract.name, ()), mapping)}
                changed[inner.name] = replace(inner, members=members)
    return changed


def areas(domains: Mapping[str, Domain]) -> dict[str, frozenset[str]]:
    """By name of a domain, or path of a federation inside (`city`, `city.street`): the domains that it stands for."""
    found = {name: {name} for name in domains}
    for name, domain in domains.items():
        path = domain.federation.split(".") if domain.federation else []
        for length in range(1, len(path) + 1):
            found.setdefault(".".join(path[:length]), set()).add(name)
    return {name: frozenset(own) for name, own in found.items()}
