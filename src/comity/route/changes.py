"""What the clients of a broker ask for, as data: many changes at once are one message for each neighbour."""

from __future__ import annotations

from dataclasses import dataclass

from comity.route.messages import Key, Topic
from comity.route.route_filter import RouteFilter


@dataclass(frozen=True, slots=True)
class Hold:
    """A client subscribes, or advertises, by a key that it has not in use."""

    topic: Topic
    client: str
    key: Key
    filter: RouteFilter
    durable: bool = False
    lease_s: float | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """A client takes a subscription, or an advertisement, back."""

    topic: Topic
    client: str
    key: Key


@dataclass(frozen=True, slots=True)
class Leave:
    """A client takes all back."""

    client: str


Change = Hold | Release | Leave
