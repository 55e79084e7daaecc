"""I3 and the promise to subscribers: who must get an event, who may, once and in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from comity.route.messages import Key, Topic
from comity.simulate.findings import Findings
from comity.simulate.space import EventSpace
from comity.simulate.truth import Truth


@dataclass(frozen=True, slots=True)
class Publication:
    """An event on its way: the number rises from publication to publication, `event` is its place in the space."""

    number: int
    producer: str
    event: int
    published_at: float = 0.0
    stream: str = ""
    """What events come in order that belong to it; of all that one producer publishes if it is empty."""


@dataclass(slots=True)
class Deliveries:
    """Watches what clients get."""

    space: EventSpace
    truth: Truth
    findings: Findings
    missing: dict[int, set[tuple[str, Key]]] = field(default_factory=dict)
    """By publication, the subscriptions that must still get it."""
    count: int = 0
    _got: set[tuple[str, int]] = field(default_factory=set)
    _latest: dict[tuple[str, str], int] = field(default_factory=dict)
    """The number of the latest publication by who got it, and the stream that it is of."""

    def published(self, publication: Publication, reached: set[str], advertised: bool) -> None:
        """Who must get it: whoever subscribed before the network was last at rest, where the producer's event goes."""
        if advertised and not self._is_advertised(publication):
            return
        due = {
            (wish.client, wish.key)
            for wish in self.truth.every(Topic.SUBSCRIPTIONS)
            if wish.settled and self.truth.homes[wish.client] in reached and self._matches(wish.text, publication)
        }
        if due:
            self.missing[publication.number] = due

    def delivered(self, publication: Publication, clients: Mapping[str, Iterable[Key]]) -> None:
        """A broker gave it to its clients, naming the subscriptions that match."""
        for client, keys in clients.items():
            self.count += 1
            self._once_and_in_order(publication, client)
            self._for_the_right_reason(publication, client, set(keys))
            due = self.missing.get(publication.number)
            if due is not None:
                due.difference_update((client, key) for key in keys)
                if not due:
                    del self.missing[publication.number]

    def excuse(self, client: str, keys: Iterable[Key]) -> None:
        """These subscriptions ended: what is on its way may come or not."""
        gone = {(client, key) for key in keys}
        for number in list(self.missing):
            self.missing[number] -= gone
            if not self.missing[number]:
                del self.missing[number]

    def excuse_all(self) -> None:
        """Something failed: what is on its way may be lost."""
        self.missing.clear()

    def at_rest(self) -> None:
        """Nothing is on its way any more, so nothing may be missing."""
        for number, due in self.missing.items():
            self.findings.add("I1", f"publication {number} never reached {sorted(map(str, due))}")
        self.missing.clear()
        self._got.clear()

    def _is_advertised(self, publication: Publication) -> bool:
        own = self.truth.of(publication.producer, Topic.ADVERTISEMENTS)
        return any(wish.settled and self._matches(wish.text, publication) for wish in own)

    def _matches(self, text: str, publication: Publication) -> bool:
        return bool(self.space.of(text) >> publication.event & 1)

    def _once_and_in_order(self, publication: Publication, client: str) -> None:
        if (client, publication.number) in self._got:
            self.findings.add("I3", f"{client} got publication {publication.number} twice")
        self._got.add((client, publication.number))
        stream = client, publication.stream or publication.producer
        latest = self._latest.get(stream, -1)
        if publication.number < latest:
            self.findings.add("I3", f"{client} got publication {publication.number} after {latest} of one producer")
        self._latest[stream] = max(latest, publication.number)

    def _for_the_right_reason(self, publication: Publication, client: str, keys: set[Key]) -> None:
        subscribed = self.truth.of(client, Topic.SUBSCRIPTIONS)
        wanted = {wish.key for wish in subscribed if self._matches(wish.text, publication)}
        if keys != wanted:
            said = f"{client} got publication {publication.number} for {sorted(map(str, keys))}"
            self.findings.add("I1", f"{said} and wants it for {sorted(map(str, wanted))}")
