"""From a federation to a plan: substitute each profile into the terms of the types it can meet, and group by route."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from comity.bulk import collection_paused
from comity.contract.compose import compose
from comity.contract.mapping import Mapping
from comity.event.types import EVENT, EventType
from comity.expression.simplify import simplify
from comity.expression.tree import FALSE, TRUE, Expression, Not, conjunction
from comity.federation.model import OPERAND, Contract, Federation, Subscription
from comity.federation.nested import is_inside
from comity.keyed import digest
from comity.limits import Limits, limits
from comity.plan.stages import Delivery, Failure, Plan, PlannedPattern, Route, profile_of

_RouteKey = tuple[str, str | None, str | None]


def compile_plan(federation: Federation) -> Plan:
    """The plan that delivers what the federation's profiles ask for."""
    return PlanCompiler().compile(federation)


class _Piece(NamedTuple):
    """What a profile adds to a plan on one way."""

    route: _RouteKey
    delivery: Delivery


class _Compiled(NamedTuple):
    """What a profile added to the last plan, and what that was made from."""

    profile: Subscription
    surroundings: str
    pieces: tuple[_Piece, ...]


@dataclass(slots=True)
class PlanCompiler:
    """Compiles a federation again and again, as it changes: only profiles are compiled that changed, or around which
    types or contracts did. The plan is the one that compiling as a whole gives.
    """

    compiled: int = 0
    """Profiles, and operands of composite ones, that were compiled so far."""
    _known: dict[str, _Compiled] = field(default_factory=dict)
    _routes: dict[_RouteKey, Route] = field(default_factory=dict)
    _bounds: Limits | None = None

    @collection_paused()
    def compile(self, federation: Federation) -> Plan:
        """The plan of the federation as it is now."""
        if self._bounds != limits():  # they bound how far conditions are simplified
            self._known, self._routes, self._bounds = {}, {}, limits()
        ways = _Ways(federation)
        before, self._known = self._known, {}
        deliveries: dict[_RouteKey, list[Delivery]] = {}
        for profile in federation.subscriptions():
            found = self._compiled(profile, ways, before.get(profile.name))
            self._known[profile.name] = found
            for key, delivery in found.pieces:
                deliveries.setdefault(key, []).append(delivery)
        self._routes = {key: self._routes[key] for key in deliveries}
        routes = tuple(replace(route, deliveries=tuple(deliveries[key])) for key, route in self._routes.items())
        with_forms = _seen_in_forms(routes) if federation.composites else set()
        return Plan(
            federation.name,
            tuple(federation.local_types()),
            routes,
            tuple(one for domain in federation.domains.values() for one in domain.taxonomy.types if one.abstract),
            tuple(
                PlannedPattern(replace(one.bound, has_forms=True) if one.name in with_forms else one.bound, one.domain)
                for one in federation.composites.values()
            ),
        )

    def _compiled(self, profile: Subscription, ways: _Ways, known: _Compiled | None) -> _Compiled:
        surroundings = ways.around(profile)
        if known is not None and known.surroundings == surroundings and _is_same(known.profile, profile):
            return known
        self.compiled += 1
        return _Compiled(profile, surroundings, tuple(self._piece(profile, way, ways) for way in ways.to(profile)))

    def _piece(self, profile: Subscription, way: _Way, ways: _Ways) -> _Piece:
        source, contract, mediate, condition, observe = way
        key = (source.key, contract, mediate.key if mediate else None)
        if key not in self._routes:
            failures = tuple(ways.failures(source, mediate)) if mediate else ()
            self._routes[key] = Route(source, contract, mediate, (), failures)
        wanted = _in_terms_of(source, mediate, condition)
        return _Piece(key, Delivery(profile.name, profile.domain, condition, observe, wanted, profile.priority))


def _seen_in_forms(routes: Iterable[Route]) -> set[str]:
    """The composite profiles to whose operands several ways lead from one type: each may make another event of it."""
    ways: dict[tuple[str, str], set[tuple[str | None, ...]]] = {}
    for route in routes:
        mediate = route.mediate.key if route.mediate else None
        for one in route.deliveries:
            if OPERAND in one.profile and one.wanted != FALSE:
                way = (route.contract, mediate, one.observe.key if one.observe else None)
                ways.setdefault((profile_of(one.profile), route.source.key), set()).add(way)
    return {profile for (profile, _), found in ways.items() if len(found) > 1}


def _is_same(one: Subscription, other: Subscription) -> bool:
    """Whether two profiles of one name ask for the same. Their types are told by what is around them."""
    return one is other or (
        one.tree == other.tree
        and (one.domain, one.sources, one.priority, one.own) == (other.domain, other.sources, other.priority, other.own)
        and {name: mapping.key for name, mapping in one.deliver.items()}
        == {name: mapping.key for name, mapping in other.deliver.items()}
    )


def _in_terms_of(source: EventType, mediate: Mapping | None, condition: Expression) -> Expression:
    return _simplified(condition if mediate is None else mediate.translate(condition), source, limits())


@lru_cache(maxsize=200_000)
def _simplified(tree: Expression, source: EventType, bounds: Limits) -> Expression:
    """Kept, because a federation whose files change is compiled again, and most of its profiles are as before."""
    return simplify(tree, source)


class _Way(NamedTuple):
    """One way on which events of a concrete type can reach a profile."""

    source: EventType
    contract: str | None
    mediate: Mapping | None
    condition: Expression
    observe: Mapping | None


class _Origin(NamedTuple):
    """Where events of a contract type come from: a concrete type of a domain, mapped on one or several contracts."""

    source: EventType
    contracts: str
    mediate: Mapping


@dataclass(slots=True)
class _Ways:
    """All ways of a federation. Mappings are composed once, so that those who share a way share the mapping."""

    federation: Federation
    _origins: dict[str, tuple[_Origin, ...]] = field(default_factory=dict)
    _around: dict[tuple[str, str], str] = field(default_factory=dict)
    _composed: dict[tuple[str, str], Mapping] = field(default_factory=dict)

    def around(self, profile: Subscription) -> str:
        """A digest of all that decides, beside the profile itself, which ways lead to it."""
        key = (profile.type.key, profile.domain)
        if key not in self._around:
            everything = replace(profile, tree=TRUE, deliver={}, sources=None)
            ways = [[*self.to(replace(everything, own=own))] for own in (False, True)]
            self._around[key] = digest(profile.type, ways)
        return self._around[key]

    def to(self, profile: Subscription) -> Iterator[_Way]:
        """Every way on which events can reach the profile."""
        for contract in self.federation.contracts.values():
            if profile.type == contract.type:
                yield from self._through(contract, profile, None)
            for observe in contract.observers.get(profile.domain, ()):
                if profile.type == EVENT or profile.type.qualified_name in observe.target.lineage:
                    yield from self._through(contract, profile, observe)
        if profile.type.namespace == profile.domain or profile.type == EVENT:
            own = self.federation.domains[profile.domain].taxonomy
            for below in own.subtypes(profile.type.qualified_name):
                if not below.abstract and _is_wanted(below, profile):
                    yield _Way(below, None, None, profile.tree, profile.deliver.get(below.qualified_name))

    def _through(self, contract: Contract, profile: Subscription, observe: Mapping | None) -> Iterator[_Way]:
        condition = profile.tree if observe is None else observe.translate(profile.tree)
        seen_as = contract.type if observe is None else observe.target
        seen = self._after(observe, profile.deliver.get(seen_as.qualified_name))
        with_own = profile.own or seen_as.qualified_name in contract.own
        for source, contracts, mediate in self._origins_of(contract):
            if _is_wanted(source, profile) and (with_own or source.namespace != profile.domain):
                yield _Way(source, contracts, mediate, condition, seen)

    def _origins_of(self, contract: Contract) -> tuple[_Origin, ...]:
        if contract.name not in self._origins:
            self._origins[contract.name] = tuple(self._walk(contract, (contract.name,)))
        return self._origins[contract.name]

    def _walk(self, contract: Contract, passed: tuple[str, ...]) -> Iterator[_Origin]:
        """From the types of every member, each with its subtypes; through the contracts of federations, and further."""
        for mappings in contract.members.values():
            mapped = {one.source.qualified_name for one in mappings}
            for mapping in mappings:
                before = self.federation.contracts.get(mapping.source.namespace)
                if before is None:
                    for below in self._given(mapping, mapped):
                        yield _Origin(below, " → ".join(passed), mapping)
                elif before.name not in passed:  # what a contract gives does not come back to it
                    for source, contracts, mediate in self._walk(before, (before.name, *passed)):
                        if not self._comes_home(source, before, contract, mapping):
                            yield _Origin(source, contracts, self._both(mediate, mapping))

    def _given(self, mapping: Mapping, mapped: Set[str]) -> Iterator[EventType]:
        """The concrete types whose events a member gives by a mapping: of several for a type, the nearest counts."""
        domain = self.federation.domains[mapping.source.namespace]
        for below in domain.taxonomy.subtypes(mapping.source.qualified_name):
            nearest = next(name for name in below.lineage if name in mapped)
            if nearest == mapping.source.qualified_name and not below.abstract and domain.publishes(below):
                yield below

    def _comes_home(self, source: EventType, outer: Contract, inner: Contract, mapping: Mapping) -> bool:
        """Whether a federation would observe an event of a domain inside it, which left it before."""
        if is_inside(outer.federation, inner.federation) or mapping.target.qualified_name in outer.own:
            return False
        return is_inside(self.federation.domains[source.namespace].federation, inner.federation)

    def failures(self, source: EventType, mediate: Mapping) -> Iterator[Failure]:
        """Each step of a mapping that can be the first to reject an event."""
        before: Mapping | None = None
        for step in mediate.steps:
            fails = step.incomplete() if before is None else before.translate(step.incomplete())
            if before is not None:
                fails = conjunction([Not(before.incomplete()), fails])
            before = step if before is None else self._both(before, step)
            condition = _simplified(fails, source, limits())
            if condition != FALSE:
                yield Failure(before, condition)

    def _after(self, observe: Mapping | None, deliver: Mapping | None) -> Mapping | None:
        return self._both(observe, deliver) if observe is not None and deliver is not None else observe or deliver

    def _both(self, first: Mapping, second: Mapping) -> Mapping:
        key = (first.key, second.key)
        if key not in self._composed:
            self._composed[key] = compose(first, second)
        return self._composed[key]


def _is_wanted(source: EventType, profile: Subscription) -> bool:
    return profile.sources is None or source.namespace in profile.sources
