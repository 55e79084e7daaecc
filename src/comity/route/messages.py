"""What neighbouring brokers tell each other."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum

from comity.route.route_filter import RouteFilter


class Topic(Enum):
    """What an entry of a table is about."""

    SUBSCRIPTIONS = "subscriptions"
    """Somebody in this direction wants such events."""
    ADVERTISEMENTS = "advertisements"
    """Somebody in this direction may publish such events."""

    __hash__ = object.__hash__  # that of enumerations is slow, and every table is found by its topic


@dataclass(frozen=True, slots=True)
class Entry:
    """A filter that a broker told a neighbour."""

    number: int
    """Unique for the teller and the link for as long as the link is up, and never used again."""
    filter: RouteFilter
    lost: float = 0.0
    """At most this share of the events that pass is wanted by nobody."""
    durable: bool = False
    """Whether somebody must not miss an event that passes."""


@dataclass(frozen=True, slots=True)
class Update:
    """A change of all that a broker told a neighbour. It is applied as a whole: no event sees a part of it."""

    topic: Topic
    added: tuple[Entry, ...] = ()
    removed: tuple[int, ...] = ()
    whole: bool = False
    """Whether what was told before is forgotten."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """All that was told still stands: its lease begins anew."""

    topic: Topic


@dataclass(frozen=True, slots=True)
class SendEverything:
    """Adaptive filtering: from here on the sender of events on this link does not filter, or (`on=False`) does again.

    `from_sender` tells whether who sends the events decided so, or who receives them asks for it.
    """

    on: bool
    from_sender: bool = False


Control = Update | Refresh | SendEverything
Outgoing = list[tuple[str, Control]]
"""Messages in the order in which they have to be sent, each with the neighbour that gets it."""
Key = Hashable
"""What a client calls a subscription or an advertisement of its own."""
