"""What comes of an event."""

from __future__ import annotations

from dataclasses import dataclass

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected


@dataclass(frozen=True, slots=True)
class Notification:
    """An event in the subscriber's terms, for one profile; of a composite one, what its pattern was made of."""

    subscriber: str
    profile: str
    event: Event

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two notifications the same."""
        return (self.profile, *self.event.identity)


@dataclass(frozen=True, slots=True)
class LateEvent:
    """An event that a composite profile asks for, as it came, when its time was complete: it takes part in nothing."""

    event: Event


Outcome = Notification | Rejected | LateEvent
