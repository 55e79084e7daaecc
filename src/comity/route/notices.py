"""Events about the network itself: who subscribed or advertised, or does so no more, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from comity.route.messages import Topic
from comity.route.route_filter import RouteFilter


class Cause(Enum):
    """Why an entry came or went."""

    CALL = "call"
    """Somebody asked for it."""
    LEASE = "lease"
    """Nobody refreshed it."""
    FAILURE = "failure"
    """The link or the client was lost."""


@dataclass(frozen=True, slots=True)
class RoutingNotice:
    """Something to publish: a filter has come to a broker, or has gone."""

    topic: Topic
    come: bool
    broker: str
    by: str
    """The client or the neighbour."""
    filter: RouteFilter
    cause: Cause
    time: float

    @property
    def type(self) -> str:
        """The event's type."""
        return TYPES[self.topic, self.come]

    def data(self) -> dict[str, str]:
        """The event's attributes."""
        return {"filter": self.filter.text, "broker": self.broker, "by": self.by, "cause": self.cause.value}


RESERVED = "comity.network."
"""The namespace of these types: nobody else publishes events of them."""
TYPES = {
    (Topic.SUBSCRIPTIONS, True): f"{RESERVED}Subscribed",
    (Topic.SUBSCRIPTIONS, False): f"{RESERVED}Unsubscribed",
    (Topic.ADVERTISEMENTS, True): f"{RESERVED}Advertised",
    (Topic.ADVERTISEMENTS, False): f"{RESERVED}Unadvertised",
}
