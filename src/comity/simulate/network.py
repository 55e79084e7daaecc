"""A network of brokers with clients, who know themselves what they want.

What clients ask for is written down (`truth`) before any broker hears of it, and what they get is judged by that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from comity.route.broker import Directions
from comity.route.changes import Change, Hold, Leave, Release
from comity.route.filters import FilterPool
from comity.route.messages import Key, Topic
from comity.simulate.deliveries import Deliveries, Publication
from comity.simulate.door import BrokerDoor
from comity.simulate.links import Direction
from comity.simulate.space import EventSpace
from comity.simulate.truth import Truth, Wish
from comity.simulate.wiring import Wiring


@dataclass(slots=True)
class Network(Wiring):
    """Brokers, links and clients."""

    pool: FilterPool
    space: EventSpace
    truth: Truth = field(default_factory=Truth, kw_only=True)
    is_watched: bool = field(default=True, kw_only=True)
    """Whether each delivery is judged; it costs a look at every subscription for every event."""
    deliveries: Deliveries = field(init=False)
    _publications: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.deliveries = Deliveries(self.space, self.truth, self.findings)

    @property
    def advertises(self) -> bool:
        """Whether events must be advertised."""
        return any(steps.policy.advertisements for steps in self.live.values())

    # What becomes of promises

    def returning(self, name: str) -> list[Change]:
        """All that the clients of a broker wish for."""
        return [
            Hold(wish.topic, wish.client, wish.key, self.pool.read(wish.text), lease_s=wish.lease_s)
            for client in self.truth.clients_of(name)
            for topic in Topic
            for wish in self.truth.of(client, topic)
        ]

    def failed(self) -> None:
        """Nothing is promised about what is on its way."""
        self.deliveries.excuse_all()

    def changed(self) -> None:
        """Not everybody knows of everybody, until the network is at rest."""
        Wiring.changed(self)
        self.truth.unsettle()

    def at_rest(self) -> None:
        """Whoever wished for something has been heard everywhere, and what was published has arrived."""
        self.deliveries.at_rest()
        self.truth.settle()

    # Clients

    def hold(self, broker: str, topic: Topic, client: str, key: Key, text: str, lease_s: float | None = None) -> None:
        """A client subscribes or advertises; what has a lease is renewed until the client vanishes."""
        self.change(broker, [Hold(topic, client, key, self.pool.read(text), lease_s=lease_s)])
        if lease_s is not None:
            self.clock.at(self.now + lease_s / 3, self._renew, client, lease_s / 3)

    def release(self, topic: Topic, client: str, key: Key) -> None:
        """A client takes back a subscription or an advertisement."""
        self.change(self.truth.homes[client], [Release(topic, client, key)])

    def leave(self, client: str) -> None:
        """A client goes."""
        self.change(self.truth.homes[client], [Leave(client)])

    def vanish(self, client: str) -> None:
        """A client is gone without a word; what it held stands until its lease ends."""
        self.deliveries.excuse(client, [wish.key for wish in self.truth.leave(client)])

    def quit(self, name: str) -> None:
        """A broker leaves for good, and so do its clients."""
        for client in self.truth.clients_of(name):
            self.vanish(client)
        Wiring.quit(self, name)

    def change(self, broker: str, changes: Iterable[Change]) -> None:
        """Many changes at one broker at once."""
        listed = list(changes)
        for change in listed:
            self._write_down(broker, change)
        station = self.stations[broker]
        if station.steps is not None:
            self.send(station, station.steps.change(listed, self.now))

    def _write_down(self, broker: str, change: Change) -> None:
        match change:
            case Hold(topic, client, key, filter, _, lease_s):
                self.truth.add(broker, Wish(topic, client, key, filter.text, lease_s))
            case Release(topic, client, key):
                self.truth.end(topic, client, key)
                if topic is Topic.SUBSCRIPTIONS:
                    self.deliveries.excuse(client, [key])
            case Leave(client):
                self.vanish(client)

    def _renew(self, client: str, every_s: float) -> None:
        broker = self.truth.homes.get(client)
        if broker is None:
            return
        steps = self.stations[broker].steps
        if steps is not None:
            steps.renew(client, self.now)
        self.clock.at(self.now + every_s, self._renew, client, every_s)

    # Events

    def publish(self, broker: str, client: str, event: int) -> bool:
        """A client publishes an event of the space; whether it was taken."""
        steps = self.stations[broker].steps
        if steps is None:
            return False
        if not steps.may_publish(client, self.space.records[event]):
            self.counters.refused += 1
            return False
        publication = Publication(self._publications, client, event, self.now, self.stream(client, event))
        self._publications += 1
        self.counters.published += 1
        if self.is_watched:
            self.deliveries.published(publication, self.reachable(broker), self.advertises)
        self._forward(broker, None, publication)
        return True

    def directions(self, steps: BrokerDoor, origin: str | None, publication: Publication) -> Directions:
        """Where a broker sends an event."""
        found: Directions = steps.route(origin, self.space.records[publication.event])
        return found

    def stream(self, client: str, event: int) -> str:
        """What the event must not overtake, nor be overtaken by."""
        return client

    def _carry(self, direction: Direction, publication: Publication) -> None:
        way = direction.sender, direction.receiver
        self.counters.events[way] += 1
        directions = self._forward(direction.receiver, direction.sender, publication)
        if directions is not None and not directions.clients and not directions.neighbours:
            self.counters.unwanted[way] += 1

    def _forward(self, broker: str, origin: str | None, publication: Publication) -> Directions | None:
        steps = self.stations[broker].steps
        if steps is None:
            return None
        directions = self.directions(steps, origin, publication)
        if steps.policy.adaptive is not None:
            self.wake_later(self.stations[broker])  # events that were counted may be reason to decide
        if self.is_watched:
            self.deliveries.delivered(publication, directions.clients)
        self.counters.handed(len(directions.clients), self.now - publication.published_at)
        for neighbour in directions.neighbours:
            direction = self.direction(broker, neighbour)
            if direction is None:
                self.findings.add("I4", f"{broker} sends {neighbour} an event without a link")
            else:
                self.put(direction, self._carry, publication)
        return directions
