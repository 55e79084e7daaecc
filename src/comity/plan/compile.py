"""From a federation to a plan: substitute each profile into the terms of the types it can meet, and group by route."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from comity.contract.mapping import Mapping
from comity.event.types import EVENT, EventType
from comity.expression.simplify import simplify
from comity.expression.tree import FALSE, Expression
from comity.federation.model import Contract, Federation, Subscription
from comity.limits import Limits, limits
from comity.plan.stages import Delivery, Plan, PlannedPattern, Route


def compile_plan(federation: Federation) -> Plan:
    """The plan that delivers what the federation's profiles ask for."""
    routes: dict[tuple[str, str | None, int], Route] = {}
    deliveries: dict[tuple[str, str | None, int], list[Delivery]] = {}
    for profile in federation.subscriptions():
        for source, contract, mediate, condition, observe in _ways(profile, federation):
            key = (source.qualified_name, contract, id(mediate))  # mappings are shared, and comparing them is dear
            if key not in routes:
                routes[key] = Route(source, contract, mediate, (), _incomplete(source, mediate))
            wanted = _in_terms_of(source, mediate, condition)
            found = Delivery(profile.name, profile.domain, condition, observe, wanted)
            deliveries.setdefault(key, []).append(found)
    return Plan(
        federation.name,
        tuple(federation.local_types()),
        tuple(replace(route, deliveries=tuple(deliveries[key])) for key, route in routes.items()),
        tuple(one for domain in federation.domains.values() for one in domain.taxonomy.types if one.abstract),
        tuple(PlannedPattern(one.bound, one.domain) for one in federation.composites.values()),
    )


def _incomplete(source: EventType, mediate: Mapping | None) -> Expression:
    return FALSE if mediate is None else _simplified(mediate.incomplete(), source, limits())


def _in_terms_of(source: EventType, mediate: Mapping | None, condition: Expression) -> Expression:
    return _simplified(condition if mediate is None else mediate.translate(condition), source, limits())


@lru_cache(maxsize=200_000)
def _simplified(tree: Expression, source: EventType, bounds: Limits) -> Expression:
    """Kept, because a federation whose files change is compiled again, and most of its profiles are as before."""
    return simplify(tree, source)


_Way = tuple[EventType, str | None, Mapping | None, Expression, Mapping | None]


def _ways(profile: Subscription, federation: Federation) -> Iterator[_Way]:
    """Every way on which events can reach the profile."""
    for contract in federation.contracts.values():
        if profile.type == contract.type:
            yield from _through(contract, profile.tree, None, federation)
        for observe in contract.observers.get(profile.domain, ()):
            if profile.type == EVENT or profile.type.qualified_name in observe.target.lineage:
                yield from _through(contract, observe.translate(profile.tree), observe, federation)
    if profile.type.namespace == profile.domain or profile.type == EVENT:
        own = federation.domains[profile.domain].taxonomy
        for below in own.subtypes(profile.type.qualified_name):
            if not below.abstract:
                yield below, None, None, profile.tree, None


def _through(
    contract: Contract, condition: Expression, observe: Mapping | None, federation: Federation
) -> Iterator[_Way]:
    """From the types of every member, each with its subtypes, through the contract."""
    for domain, mappings in contract.members.items():
        taxonomy = federation.domains[domain].taxonomy
        for mediate in mappings:
            for below in taxonomy.subtypes(mediate.source.qualified_name):
                if not below.abstract:
                    yield below, contract.name, mediate, condition, observe
