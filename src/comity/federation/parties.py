"""Who takes part in contracts: domains, and federations with a boundary, which are domains to the one around them."""

from __future__ import annotations

from dataclasses import dataclass

from comity.document import did_you_mean
from comity.errors import Misuse
from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.federation.model import Contract, Domain, Federation


@dataclass(frozen=True, slots=True)
class Party:
    """Its types. Those of a federation are the types of the contracts at its boundary."""

    name: str
    taxonomies: tuple[Taxonomy, ...]
    published: frozenset[str] | None = None
    inside: str = ""
    """What stands before the names of a federation's own contracts when they are seen from outside."""

    @classmethod
    def of_domain(cls, domain: Domain) -> Party:
        return cls(domain.name, (domain.taxonomy,), domain.published)

    @classmethod
    def of_federation(cls, name: str, federation: Federation, path: str) -> Party:
        """The federation as a domain: `path` is what its contracts' names begin with here."""
        at_boundary = [federation.contracts[path + contract] for contract in federation.boundary]
        return cls(name, tuple(taxonomy_of(contract) for contract in at_boundary), None, path)

    def find(self, name: str) -> tuple[EventType, Taxonomy]:
        """The type of a name, with the types around it; raises `Misuse` if there is none."""
        for taxonomy in self.taxonomies:
            found = taxonomy.find(name) or taxonomy.find(self.inside + name)
            if found is not None:
                return found, taxonomy
        known = [type.qualified_name.removeprefix(self.inside) for one in self.taxonomies for type in one.types]
        hint = did_you_mean(name, known) or (f"known: {', '.join(known)}" if known else "it has no types")
        raise Misuse(f"{self.name} has no type `{name}`", code="unknown-type", hint=hint)

    def publishes(self, type: EventType) -> bool:
        """Whether others may see the type."""
        return self.published is None or type.name in self.published


def taxonomy_of(contract: Contract) -> Taxonomy:
    """The type of a contract as a taxonomy of its own."""
    return Taxonomy(contract.type.namespace, [contract.type])
