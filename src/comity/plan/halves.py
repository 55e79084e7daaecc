"""A plan in halves, for domains that meet over a network: who has events tells them as contracts have them, and whoever
subscribed takes them up from there. Between the halves there are only events and filters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from comity.contract.mapping import Mapping
from comity.errors import Misuse
from comity.event.event import Event
from comity.event.types import EventType
from comity.event.validate import Fault
from comity.expression.render import render
from comity.expression.simplify import simplify
from comity.expression.tree import (
    TRUE,
    Attribute,
    Compare,
    Expression,
    Extension,
    Literal,
    Lookup,
    conjunction,
    walk,
)
from comity.keyed import Keyed
from comity.plan.stages import Plan, Route

_TYPE = Attribute(("event", "type"))


@dataclass(frozen=True)
class ContractPublication(Keyed):
    """What is told of the events of a local type: them as a contract has them."""

    source: EventType
    mediate: Mapping
    contract: str

    def of(self, event: Event) -> Event | list[Fault]:
        """The event as it is told, or what keeps the contract from having it."""
        return self.mediate.apply(event)


def publications(plan: Plan) -> tuple[ContractPublication, ...]:
    """What the sources of a plan have to tell, each once, whoever wants it; what stays in its domain is not told."""
    found: dict[str, ContractPublication] = {}
    for route in plan.routes:
        if route.mediate is not None and route.contract is not None:
            one = ContractPublication(route.source, route.mediate, route.contract)
            found.setdefault(one.key, one)
    return tuple(found.values())


def receiving_half(plan: Plan, subscriber: str) -> Plan:
    """What is left to do for a subscriber to whom events come as contracts have them; its own come as they are.

    An event of a contract does not say whose it was. A profile that wants those of some members only, because of its
    scope or because it is not to hear its own domain, is refused where others tell such events, too.
    """
    _check_origins(plan, subscriber)
    routes: dict[str, Route] = {}
    for route in plan.routes:
        met = route.meeting_type
        deliveries = tuple(
            replace(one, wanted=simplify(one.condition, met))
            for one in route.deliveries
            if one.subscriber == subscriber
        )
        if deliveries:
            half = Route(met, met.namespace if route.mediate else None, None, deliveries)
            routes.setdefault(half.key, half)
    types = {route.source.qualified_name: route.source for route in routes.values()}
    patterns = tuple(one for one in plan.patterns if one.subscriber == subscriber)
    return replace(
        plan, routes=tuple(routes.values()), types=tuple(types.values()), abstract_types=(), patterns=patterns
    )


def _check_origins(plan: Plan, subscriber: str) -> None:
    told: dict[str, set[tuple[str, str]]] = {}
    taken: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for route in plan.routes:
        if route.mediate is not None:
            met, origin = route.meeting_type.qualified_name, (route.source.key, route.mediate.key)
            told.setdefault(met, set()).add(origin)
            for one in route.deliveries:
                if one.subscriber == subscriber:
                    taken.setdefault((one.profile, met), set()).add(origin)
    for (profile, met), origins in taken.items():
        if origins != told[met]:
            message = (
                f"the profile {profile} wants events {met} of some members only, which a network cannot tell apart"
            )
            hint = "leave out its scope, or run the federation in one place"
            raise Misuse(message, code="origin-not-told", hint=hint)


def network_filters(half: Plan) -> tuple[str, ...]:
    """What a subscriber asks of a network, as texts, each once. It may be more than is wanted, and never less."""
    return tuple(dict.fromkeys(_filters(half)))


def _filters(half: Plan) -> Iterator[str]:
    for route in half.routes:
        if route.contract is None:
            continue
        is_of_type = Compare("=", _TYPE, Literal(route.source.qualified_name))
        for delivery in route.deliveries:
            yield render(conjunction([is_of_type, *_sayable(delivery.wanted)]))


def _sayable(condition: Expression) -> list[Expression]:
    """The condition, if it needs nothing that only a federation has: its tables, its functions."""
    is_known = not any(isinstance(part, Lookup | Extension) for part in walk(condition))
    return [condition] if is_known and condition != TRUE else []
