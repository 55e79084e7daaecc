"""What a plan means, said as plainly as possible: the runners are compared with this.

Each event is mediated, tested and observed on its own, by the evaluator that is the reference of expressions, with the
conditions as the profiles' authors wrote them: nothing is substituted, simplified, indexed or shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from comity.engine.run import Notification
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, encode
from comity.event.validate import Fault
from comity.expression.evaluate import holds
from comity.plan.stages import Plan, Route


def run_reference(plan: Plan, events: Iterable[Event | Rejected]) -> Iterator[Notification | Rejected]:
    """What the plan delivers and rejects, in the order of the events; each event reaches a profile once."""
    delivered: set[tuple[str, str, str]] = set()
    for outcome in run_every_way(plan, events):
        if isinstance(outcome, Notification):
            if outcome.key in delivered:
                continue
            delivered.add(outcome.key)
        yield outcome


def run_every_way(plan: Plan, events: Iterable[Event | Rejected]) -> Iterator[Notification | Rejected]:
    """The same, but an event reaches a profile on every way that leads there, and each time that it comes."""
    for event in events:
        if isinstance(event, Rejected):
            yield event
            continue
        for route in plan.routes:
            if route.source.qualified_name == event.type:
                yield from _outcomes(route, event)


def _outcomes(route: Route, event: Event) -> Iterator[Notification | Rejected]:
    met = route.mediate.apply(event) if route.mediate else event
    if isinstance(met, list):
        yield _rejected(event, met, _refusing(route, event))
        return
    for delivery in route.deliveries:
        if holds(delivery.condition, met):
            seen = delivery.observe.apply(met) if delivery.observe else met
            if isinstance(seen, list):
                yield _rejected(event, seen, route.contract)
            else:
                yield Notification(delivery.subscriber, delivery.profile, seen)


def _refusing(route: Route, event: Event) -> str | None:
    """The contract of the first step that refuses the event."""
    assert route.mediate is not None, "only a mapping refuses"
    found: Event | list[Fault] = event
    for step in route.mediate.steps:
        if isinstance(found, Event):
            found = step.apply(found)
        if isinstance(found, list):
            return step.target.namespace
    return None


def _rejected(event: Event, faults: list[Fault], contract: str | None) -> Rejected:
    return Rejected(None, None, encode(event).decode(), tuple(faults), contract)
