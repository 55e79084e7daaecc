"""What the clients of one broker hold: subscriptions and advertisements, each under a key of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from comity.errors import Misuse
from comity.route.filters import RouteFilter
from comity.route.messages import Key, Topic


@dataclass(slots=True)
class Held:
    """A subscription or an advertisement of a client."""

    filter: RouteFilter
    durable: bool = False
    lease_s: float | None = None
    expires: float | None = None


class Clients:
    """All of them, by topic, client and key."""

    def __init__(self) -> None:
        self._held: dict[Topic, dict[str, dict[Key, Held]]] = {topic: {} for topic in Topic}

    def add(self, topic: Topic, client: str, key: Key, held: Held) -> None:
        own = self._held[topic].setdefault(client, {})
        if key in own:
            raise Misuse(f"{client} has {key!r} already", code="duplicate-key", hint="take it back first")
        own[key] = held

    def remove(self, topic: Topic, client: str, key: Key) -> Held:
        own = self._held[topic].get(client, {})
        if key not in own:
            raise Misuse(f"{client} has no {key!r}", code="unknown-key")
        held = own.pop(key)
        if not own:
            del self._held[topic][client]
        return held

    def of(self, topic: Topic, client: str) -> dict[Key, Held]:
        """What one client holds, by key."""
        return self._held[topic].get(client, {})

    def all(self, topic: Topic) -> Iterator[tuple[str, Key, Held]]:
        """What anyone holds."""
        for client, own in self._held[topic].items():
            for key, held in own.items():
                yield client, key, held
