"""Domains, contracts and profiles as one model."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from comity.connect.specs import SinkSpec, SourceSpec
from comity.contract.mapping import Mapping
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, EventType
from comity.expression.tree import Expression
from comity.federation.written import write_federation
from comity.pattern.bound import BoundPattern


@dataclass(frozen=True, slots=True)
class Domain:
    """One administration: its types. Its sources and sinks are those of the federation that bear its name."""

    name: str
    taxonomy: Taxonomy
    description: str | None = None
    published: frozenset[str] | None = None
    """The types that others may see, by simple name; None for all of them."""
    federation: str | None = None
    """The federation inside this one that it belongs to; None when it belongs to this one itself."""

    def publishes(self, type: EventType) -> bool:
        """Whether others may see the type."""
        return self.published is None or type.name in self.published

    def published_taxonomy(self) -> Taxonomy:
        """Its types as others may see them: what one inherits from a type that is not among them is its own."""
        if self.published is None:
            return self.taxonomy
        built: dict[str, EventType] = {}
        for one in self.taxonomy.subtypes(EVENT.name):  # parents before children
            if self.publishes(one):
                parent = next((built[name] for name in one.lineage if name in built), EVENT)
                own = {name: each for name, each in one.attributes.items() if name not in parent.attributes}
                built[one.qualified_name] = replace(one, parent=parent, own=own)
        return Taxonomy(self.name, [built[one.qualified_name] for one in self.taxonomy.types if self.publishes(one)])


class ContractKind(StrEnum):
    """How a contract came about."""

    DOMAIN_TO_DOMAIN = "domain-to-domain"
    """Two domains founded it, and nobody else joined."""
    GLOBAL = "global"
    """An authority founded it, empty, and domains join."""
    HYBRID = "hybrid"
    """Two domains founded it, and others joined."""


@dataclass(frozen=True, slots=True)
class Contract:
    """A common type; members give events to it, observers take events from it.

    A member or observer is a domain, or a federation inside this one; the types of a federation are those of the
    contracts at its boundary.
    """

    name: str
    type: EventType
    members: AbstractMapping[str, tuple[Mapping, ...]]
    """By member: mappings from its types to the contract type."""
    observers: AbstractMapping[str, tuple[Mapping, ...]]
    """By observer: mappings from the contract type to its types."""
    description: str | None = None
    version: int = 1
    authority: str | None = None
    founders: tuple[str, ...] = ()
    federation: str | None = None
    """The federation inside this one that it belongs to; None when it belongs to this one itself."""
    earlier: AbstractMapping[int, EventType] = field(default_factory=dict)
    """The types of earlier versions, to which some members or observers may still keep."""
    own: frozenset[str] = frozenset()
    """The types of observers, by qualified name, in which an observer sees its own events, too."""

    @property
    def kind(self) -> ContractKind:
        if not self.founders:
            return ContractKind.GLOBAL
        joined = self.members.keys() - set(self.founders)
        return ContractKind.HYBRID if joined else ContractKind.DOMAIN_TO_DOMAIN


@dataclass(frozen=True, slots=True)
class Subscription:
    """A profile that was bound: a domain's filter on one type that it can see."""

    name: str
    domain: str
    type: EventType
    text: str
    tree: Expression
    deliver: AbstractMapping[str, Mapping] = field(default_factory=dict, hash=False)
    """Into the context that the subscriber named, by the type in which it sees an event: its own one, or one below."""
    sources: frozenset[str] | None = None
    """The domains whose events it wants; None for all of them."""
    priority: int = 0
    own: bool = False
    """Whether events of its own domain come back to it through contracts."""


OPERAND = "/"
"""Between the name of a composite profile and that of an operand, in the name of what the operand subscribes to."""


@dataclass(frozen=True, slots=True)
class CompositeSubscription:
    """A composite profile that was bound: its pattern, and for each operand what a domain subscribes to for it."""

    name: str
    domain: str
    bound: BoundPattern
    operands: tuple[Subscription, ...]
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Federation:
    """Everything that the files of a federation say, checked."""

    name: str
    domains: AbstractMapping[str, Domain]
    contracts: AbstractMapping[str, Contract]
    profiles: AbstractMapping[str, Subscription]
    sources: tuple[SourceSpec, ...] = ()
    """Where events come from, beside the files that a run is given."""
    sinks: tuple[SinkSpec, ...] = ()
    """Where notifications go, beside the results folder."""
    folder: Path | None = field(default=None, compare=False)
    """The folder of its files, against which relative paths in options are meant."""
    composites: AbstractMapping[str, CompositeSubscription] = field(default_factory=dict)
    boundary: tuple[str, ...] = ()
    """Its contracts whose types are visible outside, so that it is a domain to the federation around it."""
    inside: tuple[str, ...] = ()
    """The federations directly inside it."""
    files: tuple[Path, ...] = field(default=(), compare=False)
    """What was read beside the YAML files: tables, rates, functions, stylesheets."""
    said: AbstractMapping[Path, Any] = field(default_factory=dict, compare=False, repr=False)
    """By path in its folder, what each of its YAML files says."""
    address: str | None = field(default=None, compare=False)
    """Where its files are, if what is in the folder is a copy of them."""

    def write(self, folder: str | Path) -> Path:
        """Write it as YAML files into an empty folder, from which `load` reads an equal federation; gives the folder.

        Files that it names (tables, rates, functions, stylesheets) are copied. Paths of sources and sinks stay as they
        are, and begin in the new folder.
        """
        return write_federation(self, Path(folder))

    def subscriptions(self) -> Iterator[Subscription]:
        """What all profiles subscribe to: simple ones, and the operands of composite ones."""
        yield from self.profiles.values()
        for composite in self.composites.values():
            yield from composite.operands

    def scope_of(self, profile: str) -> frozenset[str] | None:
        """The domains whose events a profile is limited to; None if it is not."""
        composite = self.composites.get(profile)
        asked = composite.operands[:1] if composite else (self.profiles[profile],) if profile in self.profiles else ()
        return next((one.sources for one in asked), None)

    def priorities(self) -> dict[str, int]:
        """By profile, where it is not 0."""
        named: list[Subscription | CompositeSubscription] = [*self.profiles.values(), *self.composites.values()]
        return {one.name: one.priority for one in named if one.priority}

    def local_types(self) -> Iterator[EventType]:
        """The concrete types of all domains."""
        for domain in self.domains.values():
            yield from (one for one in domain.taxonomy.types if not one.abstract)

    def find_type(self, qualified_name: str) -> EventType | None:
        """The domain type with a qualified name, None when no domain has it."""
        namespace, _, _ = qualified_name.rpartition(".")
        domain = self.domains.get(namespace)
        return domain.taxonomy.find(qualified_name) if domain else None
