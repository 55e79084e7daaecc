"""What a run costs, counted while it goes on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from comity.route.messages import Update

Way = tuple[str, str]
"""From one broker to a neighbour."""


@dataclass(slots=True)
class Counters:
    """Messages and events, by the way that they went."""

    control: Counter[Way] = field(default_factory=Counter)
    """Messages between brokers about subscriptions, advertisements and leases."""
    changed_entries: int = 0
    """Entries that these brought or took."""
    events: Counter[Way] = field(default_factory=Counter)
    """Events that were sent over links."""
    unwanted: Counter[Way] = field(default_factory=Counter)
    """Those of them that the receiver had no use for: no client of its own wanted them, and no other neighbour."""
    lost: int = 0
    """Messages and events that were on a link when it broke."""
    published: int = 0
    refused: int = 0
    """Events that their producer did not advertise."""
    delivered: int = 0
    """Events that were handed to clients."""
    delay_s: float = 0.0
    """The sum of the times from publication to delivery."""
    longest_delay_s: float = 0.0

    def told(self, way: Way, control: object) -> None:
        """A message between brokers was sent."""
        self.control[way] += 1
        if isinstance(control, Update):
            self.changed_entries += len(control.added) + len(control.removed)

    def handed(self, clients: int, delay_s: float) -> None:
        """An event was handed to some clients of a broker."""
        self.delivered += clients
        self.delay_s += clients * delay_s
        if clients and delay_s > self.longest_delay_s:
            self.longest_delay_s = delay_s
