"""What clients want and offer, as they themselves know it: by this a run is judged, not by what brokers believe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from comity.route.messages import Key, Topic


@dataclass(slots=True)
class Wish:
    """A subscription or an advertisement of a client, for as long as it stands."""

    topic: Topic
    client: str
    key: Key
    text: str
    lease_s: float | None = None
    settled: bool = False
    """Whether the network was at rest since it came, so that it counts everywhere."""

    @property
    def name(self) -> tuple[Topic, str, Key]:
        return self.topic, self.client, self.key


@dataclass(slots=True)
class Truth:
    """All clients with where they are and what they wish."""

    homes: dict[str, str] = field(default_factory=dict)
    """The broker of every client."""
    _wishes: dict[str, dict[tuple[Topic, str, Key], Wish]] = field(default_factory=dict)
    """By client."""
    _new: list[Wish] = field(default_factory=list)
    """Those that are not settled."""

    def add(self, broker: str, wish: Wish) -> None:
        """A client wishes for something from now on."""
        self.homes[wish.client] = broker
        self._wishes.setdefault(wish.client, {})[wish.name] = wish
        self._new.append(wish)

    def end(self, topic: Topic, client: str, key: Key) -> Wish | None:
        """It no longer does; None if it did not."""
        return self._wishes.get(client, {}).pop((topic, client, key), None)

    def leave(self, client: str) -> list[Wish]:
        """The client is gone with all its wishes."""
        self.homes.pop(client, None)
        return list(self._wishes.pop(client, {}).values())

    def of(self, client: str, topic: Topic) -> Iterator[Wish]:
        """The wishes of one client."""
        return (wish for wish in self._wishes.get(client, {}).values() if wish.topic is topic)

    def every(self, topic: Topic) -> Iterator[Wish]:
        """The wishes of all clients."""
        return (wish for client in self._wishes for wish in self.of(client, topic))

    def at(self, brokers: Iterable[str], topic: Topic) -> list[str]:
        """The filters that clients of these brokers wish for."""
        among = set(brokers)
        return [wish.text for wish in self.every(topic) if self.homes[wish.client] in among]

    def clients_of(self, broker: str) -> list[str]:
        """Those whose home it is."""
        return [client for client, home in self.homes.items() if home == broker]

    def settle(self) -> None:
        """The network is at rest: what was wished for counts everywhere."""
        for wish in self._new:
            wish.settled = True
        self._new.clear()

    def unsettle(self) -> None:
        """Something failed: until the network is at rest again, nothing is promised."""
        self._new = [wish for topic in Topic for wish in self.every(topic)]
        for wish in self._new:
            wish.settled = False
