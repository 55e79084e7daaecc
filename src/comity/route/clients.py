"""What the clients of one broker hold, each under a key of its own, and when leases end."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count

from comity.errors import Misuse
from comity.route.messages import Key, Topic
from comity.route.wanted import Held


class Clients:
    """All of them, by topic, client and key."""

    def __init__(self) -> None:
        self._held: dict[Topic, dict[str, dict[Key, Held]]] = {topic: {} for topic in Topic}
        self._ends: list[tuple[float, int, Topic, Held]] = []
        """When leases end, if they were not renewed since."""
        self._order = count()

    def add(self, topic: Topic, held: Held) -> None:
        """Take up what a client holds."""
        own = self._held[topic].setdefault(held.client, {})
        if held.key in own:
            raise Misuse(f"{held.client} has {held.key!r} already", code="duplicate-key", hint="take it back first")
        own[held.key] = held
        self._watch(topic, held)

    def remove(self, topic: Topic, client: str, key: Key) -> Held:
        """What a client held by that key."""
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

    def __bool__(self) -> bool:
        return any(self._held.values())

    # Leases

    def renew(self, client: str, now: float) -> None:
        """The leases of a client begin anew."""
        for topic in Topic:
            for held in self.of(topic, client).values():
                held.expires = None if held.lease_s is None else now + held.lease_s

    def next_end(self) -> float | None:
        """When the next lease ends."""
        self._put_off()
        return self._ends[0][0] if self._ends else None

    def ended(self, now: float) -> Iterator[tuple[Topic, Held]]:
        """What is held no longer, since its lease has ended."""
        self._put_off()
        while self._ends and self._ends[0][0] <= now:
            _, _, topic, held = heapq.heappop(self._ends)
            yield topic, held
            self._put_off()

    def _watch(self, topic: Topic, held: Held) -> None:
        if held.expires is not None:
            heapq.heappush(self._ends, (held.expires, next(self._order), topic, held))

    def _put_off(self) -> None:
        """Until the first end is one that counts: leases were renewed, or what they were for was taken back."""
        while self._ends:
            end, _, topic, held = self._ends[0]
            if self.of(topic, held.client).get(held.key) is not held:
                heapq.heappop(self._ends)
            elif held.expires is not None and held.expires > end:
                heapq.heappop(self._ends)
                self._watch(topic, held)
            else:
                return
