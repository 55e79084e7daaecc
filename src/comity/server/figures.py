"""What a node counts."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field

from comity.errors import ComityError
from comity.logs import log

_MOST_CODES = 100
OTHER = "other"


def code_of(why: ComityError | None) -> str:
    """The code of the reason for which a connection ended; empty if it ended in good order."""
    return why.code if why is not None else ""


@dataclass(slots=True)
class NodeFigures:
    """Counters that only grow."""

    published: int = 0
    """Events that clients published, and that were not refused."""
    events_in: int = 0
    events_out: int = 0
    delivered: int = 0
    """Of the events out, those to clients."""
    passed_through: int = 0
    unwanted: int = 0
    dropped: int = 0
    repeats: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """What was refused, by code: events, requests, connections."""

    def refuse(self, code: str, count: int = 1) -> None:
        """Count what was refused; codes come from us, so there are few."""
        known = code in self.refused or len(self.refused) < _MOST_CODES
        self.refused[code if known else OTHER] += count

    def turned_away(self, why: ComityError | None, address: str = "") -> None:
        """Count and log a connection that came to nothing."""
        code = code_of(why) or "hung-up"
        self.refuse(code)
        reason = why.message if why is not None else "nothing was said"
        log("connection refused", level=logging.WARNING, code=code, reason=reason[:300], address=address)
