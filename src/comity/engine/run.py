"""The in-process runner: an event at a time, by the reference evaluator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from comity.event.event import Event
from comity.event.jsonlines import Rejected, encode
from comity.event.validate import Fault
from comity.expression.evaluate import holds
from comity.plan.stages import Plan, Route


@dataclass(frozen=True, slots=True)
class Notification:
    """An event in the subscriber's terms, for one profile."""

    subscriber: str
    profile: str
    event: Event


def run(plan: Plan, events: Iterable[Event | Rejected]) -> Iterator[Notification | Rejected]:
    """What the plan delivers for these events, and what it rejects, in the order of the events.

    An event reaches a profile once, however many ways lead there and however often it comes.
    """
    routes = _by_source(plan)
    delivered: set[tuple[str, str, str]] = set()
    for event in events:
        if isinstance(event, Rejected):
            yield event
            continue
        for route in routes.get(event.type, ()):
            for outcome in _follow(route, event):
                if isinstance(outcome, Notification):
                    identity = (outcome.profile, *event.identity)
                    if identity in delivered:
                        continue
                    delivered.add(identity)
                yield outcome


def _by_source(plan: Plan) -> dict[str, list[Route]]:
    routes: dict[str, list[Route]] = {}
    for route in plan.routes:
        routes.setdefault(route.source.qualified_name, []).append(route)
    return routes


def _follow(route: Route, event: Event) -> Iterator[Notification | Rejected]:
    """Mediate, match, observe."""
    met = route.mediate.apply(event) if route.mediate else event
    if isinstance(met, list):
        yield _rejected(event, met)
        return
    for delivery in route.deliveries:
        if not holds(delivery.condition, met):
            continue
        seen = delivery.observe.apply(met) if delivery.observe else met
        if isinstance(seen, list):
            yield _rejected(event, seen)
        else:
            yield Notification(delivery.subscriber, delivery.profile, seen)


def _rejected(event: Event, faults: list[Fault]) -> Rejected:
    return Rejected(None, None, encode(event).decode(), tuple(faults))
