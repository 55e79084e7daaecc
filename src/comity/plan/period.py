"""A plan over a part of history."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from comity.errors import Misuse
from comity.event.times import parse_timestamp
from comity.expression.tree import FALSE, Attribute, Compare, Expression, Literal, conjunction
from comity.plan.stages import Plan, Route

_TIME = Attribute(("event", "time"))


@dataclass(frozen=True, slots=True)
class Period:
    """From an instant (included) to another (not included); an end that is None is open."""

    since: datetime | None = None
    until: datetime | None = None

    def has(self, instant: datetime) -> bool:
        """Whether an instant is in it."""
        return (self.since is None or instant >= self.since) and (self.until is None or instant < self.until)

    def narrowed(self, condition: Expression) -> Expression:
        """The condition, for events in the period only."""
        since = [Compare(">=", _TIME, Literal(self.since))] if self.since is not None else []
        until = [Compare("<", _TIME, Literal(self.until))] if self.until is not None else []
        return condition if condition == FALSE else conjunction([*since, *until, condition])


def read_instant(text: str) -> datetime:
    """An instant, or the beginning of a day in UTC.

    >>> read_instant("2026-01-31").isoformat(), read_instant("2026-01-31T12:00:00+01:00").isoformat()
    ('2026-01-31T00:00:00+00:00', '2026-01-31T11:00:00+00:00')
    """
    found = parse_timestamp(text) or parse_timestamp(f"{text}T00:00:00Z")
    if found is None:
        hint = "write 2026-01-31, or 2026-01-31T12:00:00Z"
        raise Misuse(f"{text[:60]!r} is no date or time", code="bad-timestamp", hint=hint)
    return found


def read_period(since: str | datetime | None, until: str | datetime | None) -> Period:
    """The period between two instants, which may be texts; what is None is open."""
    return Period(*(read_instant(one) if isinstance(one, str) else one for one in (since, until)))


def during(plan: Plan, period: Period) -> Plan:
    """The plan for the events of a period; others are neither delivered nor rejected by a mapping."""
    if period == Period():
        return plan
    return replace(plan, routes=tuple(route_during(route, period) for route in plan.routes))


def route_during(route: Route, period: Period) -> Route:
    """The same for one route."""
    deliveries = tuple(
        replace(one, condition=period.narrowed(one.condition), wanted=period.narrowed(one.wanted))
        for one in route.deliveries
    )
    failures = tuple(replace(one, condition=period.narrowed(one.condition)) for one in route.failures)
    return replace(route, deliveries=deliveries, failures=failures)
