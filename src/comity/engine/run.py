"""The in-process runner: an event at a time, in the order of the events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from comity.engine.patterns import Notification, PatternRun
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, encode, fitting
from comity.event.validate import Fault
from comity.federation.model import OPERAND
from comity.match.typed import TypedMatcher
from comity.plan.stages import Plan
from comity.plan.ways import Test, Ways, ways_of

__all__ = ["Notification", "run"]


def run(
    plan: Plan, events: Iterable[Event | Rejected], *, on_candidate: Callable[[Event], None] = lambda event: None
) -> Iterator[Notification | Rejected]:
    """What the plan delivers for these events, and what it rejects, in the order of the events.

    An event that does not fit its type, or has no time, is rejected, wherever it comes from. An event reaches a profile
    once, however many ways lead there and however often it comes. `on_candidate` is told each event that an operand of
    a composite profile takes.
    """
    ways = ways_of(plan)
    matchers = {
        one.qualified_name: TypedMatcher(one, [test.condition for test in ways.tests[one.qualified_name]])
        for one in plan.types
        if one.qualified_name in ways.tests
    }
    delivered: set[tuple[str, ...]] = set()
    patterns = PatternRun(plan)
    types = {one.qualified_name: one for one in (*plan.types, *plan.abstract_types)}.get
    for given in events:
        event = given if isinstance(given, Rejected) else fitting(given, types, require_time=True)
        if isinstance(event, Rejected):
            yield event
            continue
        patterns.see(event)
        if event.type in matchers:
            tests = ways.tests[event.type]
            for number in matchers[event.type].match_one(event):
                for outcome in _follow(tests[number], ways, event, delivered):
                    if patterns.takes(outcome):
                        on_candidate(event)
                    else:
                        yield outcome
    yield from patterns.notifications()


def _follow(test: Test, ways: Ways, event: Event, delivered: set[tuple[str, ...]]) -> Iterator[Notification | Rejected]:
    """Mediate and observe, unless that was done for this event and profile before."""
    way = ways.ways[test.way]
    seen = way.follow(event)
    if isinstance(seen, list):
        if seen:
            yield _rejected(event, seen, way.contract)
    elif test.profile is not None and way.subscriber is not None:
        found = Notification(way.subscriber, test.profile, seen)
        # To operands of patterns, events of one identity and different times are different ones.
        key = (*found.key, str(event.time)) if OPERAND in test.profile else found.key
        if key not in delivered:
            delivered.add(key)
            yield found


def _rejected(event: Event, faults: list[Fault], contract: str | None) -> Rejected:
    return Rejected(None, None, encode(event).decode(), tuple(faults), contract)
