"""Domains, contracts and profiles as one model."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field
from pathlib import Path

from comity.connect.specs import SinkSpec, SourceSpec
from comity.contract.mapping import Mapping
from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.expression.tree import Expression
from comity.pattern.bound import BoundPattern


@dataclass(frozen=True, slots=True)
class Domain:
    """One administration: its types. Its sources and sinks are those of the federation that bear its name."""

    name: str
    taxonomy: Taxonomy
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Contract:
    """A common type; members give events to it, observers take events from it."""

    name: str
    type: EventType
    members: AbstractMapping[str, tuple[Mapping, ...]]
    """By domain: mappings from its types to the contract type."""
    observers: AbstractMapping[str, tuple[Mapping, ...]]
    """By domain: mappings from the contract type to its types."""
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Subscription:
    """A profile that was bound: a domain's filter on one type that it can see."""

    name: str
    domain: str
    type: EventType
    text: str
    tree: Expression


OPERAND = "/"
"""Between the name of a composite profile and that of an operand, in the name of what the operand subscribes to."""


@dataclass(frozen=True, slots=True)
class CompositeSubscription:
    """A composite profile that was bound: its pattern, and for each operand what a domain subscribes to for it."""

    name: str
    domain: str
    bound: BoundPattern
    operands: tuple[Subscription, ...]


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
    folder: Path | None = None
    """The folder of its files, against which relative paths in options are meant."""
    composites: AbstractMapping[str, CompositeSubscription] = field(default_factory=dict)

    def subscriptions(self) -> Iterator[Subscription]:
        """What all profiles subscribe to: simple ones, and the operands of composite ones."""
        yield from self.profiles.values()
        for composite in self.composites.values():
            yield from composite.operands

    def local_types(self) -> Iterator[EventType]:
        """The concrete types of all domains."""
        for domain in self.domains.values():
            yield from (one for one in domain.taxonomy.types if not one.abstract)

    def find_type(self, qualified_name: str) -> EventType | None:
        """The domain type with a qualified name, None when no domain has it."""
        namespace, _, _ = qualified_name.rpartition(".")
        domain = self.domains.get(namespace)
        return domain.taxonomy.find(qualified_name) if domain else None
