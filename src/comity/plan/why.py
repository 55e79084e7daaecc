"""Why one event is delivered to a profile, or is not: clause by clause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from comity.connect.specs import SourceSpec
from comity.event.event import Event
from comity.event.jsonlines import Rejected
from comity.event.validate import Fault
from comity.expression.clauses import Clause, explain_clause
from comity.expression.evaluate import holds
from comity.plan.asks import LanguageOf, language_of
from comity.plan.explain import explain
from comity.plan.stages import Delivery, Plan, Route


@dataclass(frozen=True, slots=True)
class Way:
    """One way of the event to the profile, as far as it came."""

    contract: str | None
    met_as: Event | None
    clause: Clause | None
    delivered: Event | None
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A source of such events, what it is asked for, and whether it would send this one."""

    source: str
    native: str
    sends: bool


@dataclass(frozen=True, slots=True)
class Reasons:
    """The answer: every way, and what ended the ones that lead nowhere."""

    profile: str
    event: Event | Rejected
    ways: tuple[Way, ...]
    asked: tuple[Asked, ...] = ()
    """The sources of such events."""

    @property
    def delivered(self) -> bool:
        return any(way.delivered is not None for way in self.ways)


def why(
    plan: Plan,
    profile: str,
    event: Event | Rejected,
    *,
    sources: Iterable[SourceSpec] = (),
    language_of: LanguageOf = language_of,
) -> Reasons:
    """The reasons for delivering, or not delivering, an event to a profile."""
    found = explain(plan, profile, sources=sources, language_of=language_of)
    if isinstance(event, Rejected):
        return Reasons(profile, event, ())
    fitting = [route for route in found.routes if route.source.qualified_name == event.type]
    ways = tuple(_way(route, delivery, event) for route in fitting for delivery in route.deliveries)
    asked = tuple(
        Asked(one.name, one.ask.text, holds(one.ask.native, event))
        for one in found.asks
        if one.type.qualified_name == event.type
    )
    return Reasons(profile, event, ways, asked)


def _way(route: Route, delivery: Delivery, event: Event) -> Way:
    met = route.mediate.apply(event) if route.mediate else event
    if isinstance(met, list):
        return Way(route.contract, None, None, None, tuple(met))
    clause = explain_clause(delivery.condition, met)
    if not clause.holds:
        return Way(route.contract, met, clause, None)
    seen = delivery.observe.apply(met) if delivery.observe else met
    if isinstance(seen, list):
        return Way(route.contract, met, clause, None, tuple(seen))
    return Way(route.contract, met, clause, seen)
