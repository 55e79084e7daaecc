"""What a federation offers: the types that each domain publishes, the contracts, and who sees what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from comity.document import did_you_mean
from comity.errors import Misuse
from comity.event.types import AttributeType, EventType
from comity.federation.model import Contract, Domain, Federation


@dataclass(frozen=True, slots=True)
class OfferedType:
    """A type that others can see."""

    type: EventType
    contracts: tuple[str, ...]
    """The contracts to which its events go."""


@dataclass(frozen=True, slots=True)
class SeenType:
    """A contract type that a domain sees as one of its own."""

    contract: str
    contract_type: str
    as_type: str


@dataclass(frozen=True, slots=True)
class OfferedDomain:
    """A domain, as others see it."""

    name: str
    description: str | None
    federation: str | None
    types: tuple[OfferedType, ...]
    withheld: tuple[str, ...]
    """Types that it does not publish; what is in them is nobody's business."""
    sources: tuple[tuple[str, str], ...]
    """Names and kinds."""
    sees: tuple[SeenType, ...]
    may_read: tuple[str, ...]
    """Contract types that it can subscribe to under their own names."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """What there is."""

    federation: str
    domains: tuple[OfferedDomain, ...]
    contracts: tuple[Contract, ...]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "federation": self.federation,
            "domains": [_domain_as_dict(one) for one in self.domains],
            "contracts": [_contract_as_dict(one) for one in self.contracts],
        }


def discover(federation: Federation, domain: str | None = None) -> Discovery:
    """What a federation offers, or what one domain of it offers and sees, with the contracts that it can read."""
    if domain is not None and domain not in federation.domains:
        hint = did_you_mean(domain, federation.domains) or f"domains: {', '.join(federation.domains)}"
        raise Misuse(f"there is no domain {domain!r}", code="unknown-domain", hint=hint)
    wanted = [one for one in federation.domains.values() if domain in (None, one.name)]
    contracts = [one for one in federation.contracts.values() if domain is None or _is_near(one, wanted[0])]
    return Discovery(federation.name, tuple(_offered(one, federation) for one in wanted), tuple(contracts))


def visible_types(federation: Federation, domain: str) -> dict[str, EventType]:
    """The types that profiles of a domain can be on, by the names that they have there: its own, and of contracts."""
    own = federation.domains[domain]
    near = [contract for contract in federation.contracts.values() if _is_near(contract, own)]
    return {one.name: one for one in own.taxonomy.types} | {_readable_name(one): one.type for one in near}


def _is_near(contract: Contract, domain: Domain) -> bool:
    """Whether a contract is of the federation that the domain belongs to."""
    return contract.federation == domain.federation


def _offered(domain: Domain, federation: Federation) -> OfferedDomain:
    types = domain.taxonomy.types
    return OfferedDomain(
        domain.name,
        domain.description,
        domain.federation,
        tuple(OfferedType(one, tuple(_joined(one, federation))) for one in types if domain.publishes(one)),
        tuple(one.name for one in types if not domain.publishes(one)),
        tuple((one.name, one.kind) for one in federation.sources if one.domain == domain.name),
        tuple(_seen(domain.name, federation)),
        tuple(_readable_name(one) for one in federation.contracts.values() if _is_near(one, domain)),
    )


def _readable_name(contract: Contract) -> str:
    """The contract type, as profiles in its own federation name it."""
    inside = f"{contract.federation}." if contract.federation else ""
    return contract.type.qualified_name.removeprefix(inside)


def _joined(type: EventType, federation: Federation) -> Iterator[str]:
    for contract in federation.contracts.values():
        mappings = contract.members.get(type.namespace, ())
        if any(mapping.source.qualified_name in type.lineage for mapping in mappings):
            yield contract.name


def _seen(domain: str, federation: Federation) -> Iterator[SeenType]:
    for contract in federation.contracts.values():
        for mapping in contract.observers.get(domain, ()):
            yield SeenType(contract.name, contract.type.qualified_name, mapping.target.qualified_name)


def _domain_as_dict(one: OfferedDomain) -> dict[str, Any]:
    told: dict[str, Any] = {"name": one.name, "description": one.description, "federation": one.federation}
    told = {key: value for key, value in told.items() if value is not None}
    told["types"] = [_type_as_dict(offered.type) | {"contracts": list(offered.contracts)} for offered in one.types]
    told["withheld"] = list(one.withheld)
    told["sources"] = [{"name": name, "kind": kind} for name, kind in one.sources]
    told["sees"] = [{"contract": seen.contract, "type": seen.contract_type, "as": seen.as_type} for seen in one.sees]
    told["may_read"] = list(one.may_read)
    return told


def _contract_as_dict(one: Contract) -> dict[str, Any]:
    told: dict[str, Any] = {"name": one.name, "kind": str(one.kind), "version": one.version}
    more = {
        "description": one.description,
        "authority": one.authority,
        "founders": list(one.founders) or None,
        "federation": one.federation,
        "earlier": sorted(one.earlier) or None,
    }
    told |= {key: value for key, value in more.items() if value is not None}
    told["type"] = _type_as_dict(one.type)
    told["members"] = {name: [each.source.qualified_name for each in given] for name, given in one.members.items()}
    told["observers"] = {name: [each.target.qualified_name for each in given] for name, given in one.observers.items()}
    return told


def _type_as_dict(type: EventType) -> dict[str, Any]:
    told: dict[str, Any] = {"name": type.qualified_name}
    if type.description:
        told["description"] = type.description
    if type.abstract:
        told["abstract"] = True
    if type.version is not None:
        told["version"] = type.version
    return told | {"attributes": _attributes(type.attributes)}


def _attributes(attributes: Mapping[str, AttributeType]) -> dict[str, Any]:
    return {name: _attribute(one) for name, one in attributes.items()}


def _attribute(one: AttributeType) -> dict[str, Any]:
    told: dict[str, Any] = {"kind": str(one.kind)}
    more = {
        "unit": one.unit,
        "concept": one.concept,
        "context": str(one.context) if one.context else None,
        "optional": one.optional or None,
        "attributes": _attributes(one.attributes) or None,
        "of": _attribute(one.element) if one.element else None,
    }
    return told | {key: value for key, value in more.items() if value is not None}
