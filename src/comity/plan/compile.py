"""From a federation to a plan: substitute each profile into the terms of the types it can meet, and group by route."""

from __future__ import annotations

from collections.abc import Iterator

from comity.contract.mapping import Mapping
from comity.event.types import EventType
from comity.federation.model import Contract, Federation, Subscription
from comity.plan.stages import Delivery, Plan, Route


def compile_plan(federation: Federation) -> Plan:
    """The plan that delivers what the federation's profiles ask for."""
    routes: dict[tuple[EventType, str | None, Mapping | None], list[Delivery]] = {}
    for profile in federation.profiles.values():
        for source, contract, mediate, delivery in _ways(profile, federation):
            routes.setdefault((source, contract, mediate), []).append(delivery)
    return Plan(
        federation.name,
        tuple(federation.local_types()),
        tuple(Route(*key, tuple(deliveries)) for key, deliveries in routes.items()),
    )


_Way = tuple[EventType, str | None, Mapping | None, Delivery]


def _ways(profile: Subscription, federation: Federation) -> Iterator[_Way]:
    """Every way on which events can reach the profile."""
    for contract in federation.contracts.values():
        if profile.type == contract.type:
            yield from _through(contract, Delivery(profile.name, profile.domain, profile.tree, None), federation)
        for observe in contract.observers.get(profile.domain, ()):
            if profile.type.qualified_name in observe.target.lineage:
                condition = observe.translate(profile.tree)
                yield from _through(contract, Delivery(profile.name, profile.domain, condition, observe), federation)
    if profile.type.namespace == profile.domain:
        own = federation.domains[profile.domain].taxonomy
        for below in own.subtypes(profile.type.qualified_name):
            if not below.abstract:
                yield below, None, None, Delivery(profile.name, profile.domain, profile.tree, None)


def _through(contract: Contract, delivery: Delivery, federation: Federation) -> Iterator[_Way]:
    """From the types of every member, each with its subtypes, through the contract."""
    for domain, mappings in contract.members.items():
        taxonomy = federation.domains[domain].taxonomy
        for mediate in mappings:
            for below in taxonomy.subtypes(mediate.source.qualified_name):
                if not below.abstract:
                    yield below, contract.name, mediate, delivery
