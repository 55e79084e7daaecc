"""Stored events in this process: the live engine over all of them, in their order, and then its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from comity.engine.live import STORED, LiveEngine, Pushed
from comity.engine.outcome import LateEvent, Notification
from comity.event.formats.jsonlines import Rejected
from comity.plan.stages import Plan

__all__ = ["Notification", "run"]


def run(plan: Plan, events: Iterable[Pushed], *, engine: LiveEngine | None = None) -> Iterator[Notification | Rejected]:
    """What the plan delivers for these events, and what it rejects, in the order of the events.

    An event that does not fit its type, or has no time, is rejected, wherever it comes from. An event reaches a profile
    once, however many ways lead there and however often it comes. `engine` is one for stored events, if its counts are
    wanted.
    """
    engine = LiveEngine(plan, STORED) if engine is None else engine
    for event in events:
        yield from _without_late(engine.push(event))
    yield from _without_late(engine.finish())


def _without_late(outcomes: Iterable[Notification | Rejected | LateEvent]) -> Iterator[Notification | Rejected]:
    """The outcomes; of stored events none is late."""
    return (one for one in outcomes if not isinstance(one, LateEvent))
