"""How a profile is registered and delivered, beside what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any

from comity.document import Document, validate
from comity.event.times import format_timestamp

MOST_PRIORITY = 1000


@dataclass(frozen=True, slots=True)
class Terms:
    """When a profile is there, how urgent it is, whose events it is about, and how they are delivered.

    >>> Terms(active=(time(9), time(18)), priority=5).fields
    {'active': {'from': '09:00', 'until': '18:00'}, 'priority': 5}
    """

    active: tuple[time, time] | None = None
    """The part of each day, in UTC, from the first and before the second."""
    expires: datetime | None = None
    priority: int = 0
    scope: tuple[str, ...] = ()
    """The domains, or federations, whose events are wanted; all of them by default."""
    own: bool = False
    """Whether events of the subscriber's own domain come back to it through contracts, too."""
    deliver: Mapping[str, str | int | float] = field(default_factory=dict, hash=False)
    """The context in which the subscriber wants values, for example `{unit: degC}`."""

    @property
    def fields(self) -> dict[str, Any]:
        """What an entry in a file of profiles says of them."""
        told: dict[str, Any] = {"deliver": dict(self.deliver)}
        if self.active is not None:
            told["active"] = {"from": clock_text(self.active[0]), "until": clock_text(self.active[1])}
        if self.expires is not None:
            told["expires"] = format_timestamp(self.expires)
        told |= {"priority": self.priority, "scope": list(self.scope), "own": self.own}
        return {word: said for word, said in told.items() if said}


TERMS = ("deliver", "active", "expires", "scope", "own", "priority")
"""The words of an entry that are about terms."""
NO_TERMS = Terms()


def read_terms(document: Document, at: tuple[str, ...], entry: Mapping[str, Any]) -> Terms:
    """The terms that an entry of a document says; `Faults` with all that is wrong with them."""
    given = {word: entry[word] for word in TERMS if word in entry}
    if not given:
        return NO_TERMS
    from comity.profile.schema import TermsFile  # pydantic takes a while to import, and most profiles have no terms

    return validate(document, TermsFile, given, at).terms()


def clock_text(moment: time) -> str:
    """A time of day as short as it can be.

    >>> clock_text(time(9)), clock_text(time(9, 0, 30))
    ('09:00', '09:00:30')
    """
    return moment.isoformat("minutes") if not (moment.second or moment.microsecond) else moment.isoformat()
