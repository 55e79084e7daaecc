"""The plan as a runner wants it: for each source type the tests to make, and the ways on which a hit goes on."""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass

from comity.contract.mapping import Mapping
from comity.event.event import Event
from comity.event.types import EventType
from comity.event.validate import Fault
from comity.expression.tree import FALSE, Expression
from comity.keyed import Keyed
from comity.plan.stages import Plan


@dataclass(frozen=True, slots=True)
class Way(Keyed):
    """From a source type through mediation and observation to a subscriber, or into the rejected set."""

    source: EventType
    mediate: Mapping | None
    observe: Mapping | None
    subscriber: str | None
    """None when the way ends at mediation, which leaves something mandatory missing."""
    contract: str | None = None
    """The contract, or contracts, that it goes through."""

    @property
    def target(self) -> EventType:
        """The type in which the subscriber sees the event."""
        last = self.observe or self.mediate
        return last.target if last else self.source

    def follow(self, event: Event) -> Event | list[Fault]:
        """The event as the subscriber sees it, or what keeps it from being so.

        Nothing keeps it (an empty list) on a way to a subscriber when mediation fails: the way without one says so.
        """
        met = self.mediate.apply(event) if self.mediate else event
        if isinstance(met, list):
            return met if self.subscriber is None else []
        return self.observe.apply(met) if self.observe else met


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on events of one source type, and the way that those go on for which it holds."""

    profile: str | None
    """None for the test that finds what mediation cannot complete."""
    way: int
    condition: Expression


@dataclass(frozen=True, slots=True)
class Ways:
    """All ways of a plan, and by the name of each source type its tests."""

    ways: tuple[Way, ...]
    tests: AbstractMapping[str, tuple[Test, ...]]


def ways_of(plan: Plan) -> Ways:
    """What a runner has to do for the plan. Tests that never hold are left out."""
    ways: list[Way] = []
    tests: dict[str, list[Test]] = {}
    failing: set[tuple[str, str]] = set()  # what one step rejects is rejected once, however many routes go on from it
    for route in plan.routes:
        own = tests.setdefault(route.source.qualified_name, [])
        for failure in route.failures:
            if (route.source.key, failure.mediate.key) not in failing:
                failing.add((route.source.key, failure.mediate.key))
                own.append(Test(None, len(ways), failure.condition))
                ways.append(Way(route.source, failure.mediate, None, None, failure.mediate.target.namespace))
        numbers: dict[tuple[str, str | None], int] = {}
        for delivery in route.deliveries:
            if delivery.wanted == FALSE:
                continue
            number = numbers.setdefault(
                (delivery.subscriber, delivery.observe.key if delivery.observe else None), len(ways)
            )
            if number == len(ways):
                ways.append(Way(route.source, route.mediate, delivery.observe, delivery.subscriber, route.contract))
            own.append(Test(delivery.profile, number, delivery.wanted))
    return Ways(tuple(ways), {name: tuple(found) for name, found in tests.items()})
