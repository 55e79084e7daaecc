"""What a client is told while it goes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EventsLost:
    """Events that did not come, as they were not taken in fast enough, or waited too long: so many, and in all."""

    events: int
    total: int

    def __str__(self) -> str:
        return f"{self.events:,} events were not delivered, {self.total:,} in all"


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The connection is lost, and is tried anew; events that are published meanwhile come to durable subscriptions."""

    reason: str

    def __str__(self) -> str:
        return f"the connection is lost: {self.reason}"


@dataclass(frozen=True, slots=True)
class LinkUp:
    """The connection is there again, and what was subscribed and advertised stands."""

    broker: str

    def __str__(self) -> str:
        return f"connected to {self.broker} again"


NetworkNotice = EventsLost | LinkDown | LinkUp
