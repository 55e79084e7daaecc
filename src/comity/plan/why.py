"""Why one event is delivered to a profile, or is not: clause by clause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from comity.connect.specs import SourceSpec
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected
from comity.event.validate import Fault
from comity.expression.clauses import Clause, explain_clause
from comity.expression.evaluate import holds
from comity.expression.render import render_path
from comity.pattern.bound import BoundPattern
from comity.plan.asks import LanguageOf, language_of
from comity.plan.explain import explain
from comity.plan.stages import Delivery, Plan, Route, operand_of


@dataclass(frozen=True, slots=True)
class WayTaken:
    """One way of the event to the profile, as far as it came."""

    contract: str | None
    met_as: Event | None
    clause: Clause | None
    delivered: Event | None
    faults: tuple[Fault, ...] = ()
    operand: str | None = None
    """Of a composite profile: the operand for which the event came."""
    key: dict[str, Any] | None = None
    """What the correlation key is made of, by attribute, where there is one and the event came through."""
    is_without_key: bool = False
    """Whether the event is in no trace, because its key is missing."""


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
    ways: tuple[WayTaken, ...]
    asked: tuple[Asked, ...] = ()
    """The sources of such events."""
    is_composite: bool = False
    """Whether the profile is composite: then what is delivered comes to its pattern, as a candidate."""
    outside: tuple[str, ...] = ()
    """The domains of the profile's scope, when the event comes from another one."""
    is_own: bool = False
    """Whether the event is the subscriber's own, and no way brings it back."""

    @property
    def delivered(self) -> bool:
        return any(way.delivered is not None for way in self.ways)

    @property
    def operands(self) -> tuple[str, ...]:
        """Those of a composite profile that the event is a candidate for."""
        return tuple(dict.fromkeys(way.operand for way in self.ways if way.operand and way.delivered is not None))


def why(
    plan: Plan,
    profile: str,
    event: Event | Rejected,
    *,
    sources: Iterable[SourceSpec] = (),
    language_of: LanguageOf = language_of,
    scope: frozenset[str] | None = None,
) -> Reasons:
    """The reasons for delivering, or not delivering, an event to a profile, which may be limited to some domains."""
    found = explain(plan, profile, sources=sources, language_of=language_of)
    planned = plan.pattern(profile)
    if isinstance(event, Rejected):
        return Reasons(profile, event, (), is_composite=planned is not None)
    fitting = [route for route in found.routes if route.source.qualified_name == event.type]
    ways = tuple(_way(route, delivery, event) for route in fitting for delivery in route.deliveries)
    if planned is not None:
        order = planned.bound.operand_names
        ways = tuple(
            sorted((_in_trace(way, planned.bound) for way in ways), key=lambda way: order.index(way.operand or ""))
        )
    asked = tuple(
        Asked(one.name, one.ask.text, holds(one.ask.native, event))
        for one in found.asks
        if one.type.qualified_name == event.type
    )
    domain = event.type.rpartition(".")[0]
    outside = tuple(sorted(scope)) if scope is not None and domain not in scope else ()
    is_own = not fitting and plan.subscriber_of().get(profile) == domain
    return Reasons(profile, event, ways, asked, planned is not None, outside, is_own)


def _in_trace(way: WayTaken, bound: BoundPattern) -> WayTaken:
    """The way of a candidate, as far as the correlation key lets it go."""
    if way.delivered is None or way.operand is None or bound.key is None:
        return way
    values = {render_path(path): way.delivered.get(path) for path in bound.key.paths(way.operand)}
    is_without = bound.key.of(way.operand, way.delivered) is None
    return replace(way, key=values, is_without_key=is_without, delivered=None if is_without else way.delivered)


def _way(route: Route, delivery: Delivery, event: Event) -> WayTaken:
    return replace(_followed(route, delivery, event), operand=operand_of(delivery.profile))


def _followed(route: Route, delivery: Delivery, event: Event) -> WayTaken:
    met = route.mediate.apply(event) if route.mediate else event
    if isinstance(met, list):
        return WayTaken(route.contract, None, None, None, tuple(met))
    clause = explain_clause(delivery.condition, met)
    if not clause.holds:
        return WayTaken(route.contract, met, clause, None)
    seen = delivery.observe.apply(met) if delivery.observe else met
    if isinstance(seen, list):
        return WayTaken(route.contract, met, clause, None, tuple(seen))
    return WayTaken(route.contract, met, clause, seen)
