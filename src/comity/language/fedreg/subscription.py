"""A subscription in FedReg: a filter on a type, and what is to be done with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any

from comity.event.times import format_timestamp
from comity.expression.render import render
from comity.expression.tree import TRUE, Expression

FEDREG_URI = "http://www.cl.cam.ac.uk/2002/FedReg"
"""The namespace of the language."""
PRIORITIES = {"real-time": 100, "normal": 0, "bulk": -100}
"""The priorities that the words of a quality of service stand for."""
MOST_PRIORITY = 1000


@dataclass(frozen=True, slots=True)
class Meta:
    """When a subscription is there, how urgent it is, and whose events it is about."""

    active: tuple[time, time] | None = None
    """The part of each day, in UTC, from the first and before the second."""
    expires: datetime | None = None
    priority: int = 0
    scope: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subscription:
    """One template.

    >>> Subscription("hot", "Heat").entry("house")
    {'domain': 'house', 'on': 'Heat', 'where': 'true'}
    """

    name: str
    on: str
    where: Expression = TRUE
    """Not bound to the type."""
    meta: Meta = field(default_factory=Meta)
    line: int | None = field(default=None, compare=False)
    """Of the document that it was read from."""

    def entry(self, domain: str | None = None) -> dict[str, Any]:
        """What a file of profiles says of it."""
        found: dict[str, Any] = {"domain": domain} if domain else {}
        found |= {"on": self.on, "where": render(self.where)}
        if self.meta.active is not None:
            begin, until = self.meta.active
            found["active"] = {"from": clock_text(begin), "until": clock_text(until)}
        if self.meta.expires is not None:
            found["expires"] = format_timestamp(self.meta.expires)
        if self.meta.priority:
            found["priority"] = self.meta.priority
        if self.meta.scope:
            found["scope"] = list(self.meta.scope)
        return found


def clock_text(moment: time) -> str:
    """A time of day as short as it can be.

    >>> clock_text(time(9)), clock_text(time(9, 0, 30))
    ('09:00', '09:00:30')
    """
    return moment.isoformat("minutes") if not (moment.second or moment.microsecond) else moment.isoformat()
