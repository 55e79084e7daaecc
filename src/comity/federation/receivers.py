"""Where what comes of a federation goes: to those who subscribe, and to what is kept for everybody."""

from __future__ import annotations

from comity.connect.folder import LATE, REJECTED
from comity.federation.model import Federation


def receivers(federation: Federation) -> list[str]:
    """The domains that subscribe to something, what is rejected, and, with patterns, what is late."""
    subscribers = sorted({one.domain for one in federation.subscriptions()})
    return [*subscribers, REJECTED, *([LATE] if federation.composites else [])]
