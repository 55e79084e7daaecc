"""A network of brokers under virtual time.

Brokers are steps without clock and chance (`comity.route.broker`, or anything with its door); here are the links
between them, and clients that know what they want. What clients ask for is written down (`truth`) before any broker
hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from comity.route.broker import Directions, RoutingBroker
from comity.route.changes import Change, Hold, Leave, Release
from comity.route.filters import FilterPool
from comity.route.messages import Control, Key, Outgoing, Topic
from comity.simulate.clock import VirtualClock
from comity.simulate.counters import Counters
from comity.simulate.deliveries import Deliveries, Publication
from comity.simulate.findings import Findings
from comity.simulate.links import Direction, LinkConditions, Wire
from comity.simulate.space import EventSpace
from comity.simulate.topology import Pair, Topology, linked, neighbours, side
from comity.simulate.truth import Truth, Wish

Maker = Callable[[str], RoutingBroker]
"""Gives the broker of a name, as it is when it starts."""


@dataclass(slots=True)
class Station:
    """A broker, and how often it was started; without steps it is down."""

    name: str
    steps: RoutingBroker | None
    started: int = 0
    wakes_at: float | None = None


@dataclass(slots=True)
class Network:
    """Brokers, links and clients. Whoever drives it says what happens now, and lets time pass."""

    make: Maker
    pool: FilterPool
    space: EventSpace
    chance: Random
    conditions: LinkConditions = field(default_factory=LinkConditions)
    clock: VirtualClock = field(default_factory=VirtualClock)
    counters: Counters = field(default_factory=Counters)
    findings: Findings = field(default_factory=Findings)
    truth: Truth = field(default_factory=Truth)
    stations: dict[str, Station] = field(default_factory=dict)
    wires: dict[Pair, Wire] = field(default_factory=dict)
    deliveries: Deliveries = field(init=False)
    moving: int = 0
    """Messages on their way and acts of links that are arranged; the network is at rest when there are none."""
    is_watched: bool = True
    """Whether each delivery is judged; it costs a look at every subscription for every event."""
    _publications: int = 0
    _sides: dict[tuple[str, str | None], set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.deliveries = Deliveries(self.space, self.truth, self.findings)

    @property
    def now(self) -> float:
        return self.clock.now

    @property
    def live(self) -> dict[str, RoutingBroker]:
        """The brokers that are neither down nor hang."""
        return {name: one.steps for name, one in self.stations.items() if one.steps is not None}

    @property
    def advertises(self) -> bool:
        """Whether events must be advertised."""
        return any(steps.policy.advertisements for steps in self.live.values())

    # Brokers and links

    def build(self, topology: Topology) -> None:
        """Start all brokers of a topology, and bring all links up."""
        for name in topology.brokers:
            self.start(name)
        for one, other in topology.links:
            self.mend(one, other)

    def start(self, name: str) -> None:
        """A broker starts, for the first time or again, and its clients come (back) to it with all they want."""
        station = self.stations.setdefault(name, Station(name, None))
        station.started += 1
        station.steps = self.make(name)
        held = [
            Hold(wish.topic, wish.client, wish.key, self.pool.read(wish.text), lease_s=wish.lease_s)
            for client in self.truth.clients_of(name)
            for topic in Topic
            for wish in self.truth.of(client, topic)
        ]
        if held:
            self._send(station, station.steps.change(held, self.now))

    def crash(self, name: str) -> None:
        """A broker is gone with all it knew; its neighbours notice later."""
        station = self.stations[name]
        station.steps, station.wakes_at = None, None
        for wire in self._wires_of(name):
            self._lose(wire)
            wire.directions[name].believed = None

    def hang(self, name: str) -> None:
        """A broker does nothing any more, and its links stay as they are: only leases tell."""
        self._failed()
        station = self.stations[name]
        station.steps, station.wakes_at = None, None

    def restart(self, name: str) -> None:
        """A broker that is down or hangs starts again, and gets new links to those that are there."""
        self.crash(name)
        self.start(name)
        for wire in self._wires_of(name):
            self.mend(*wire.ends)

    def remove(self, name: str) -> None:
        """A broker leaves for good, with its clients. Its neighbours then hang on one of them."""
        self.crash(name)
        for client in self.truth.clients_of(name):
            self.truth.leave(client)
        near = [self._other(wire, name) for wire in self._wires_of(name)]
        self.settle()
        for other in near:
            del self.wires[linked(name, other)]
        del self.stations[name]
        for other in near[1:]:
            self.mend(near[0], other)

    def cut(self, one: str, other: str) -> None:
        """A connection breaks; both ends notice, not at the same time."""
        self._lose(self.wires[linked(one, other)])

    def mend(self, one: str, other: str) -> None:
        """Two brokers get a connection (again)."""
        wire = self.wires.setdefault(linked(one, other), Wire(linked(one, other)))
        if wire.is_up or any(self.stations[end].steps is None for end in wire.ends):
            return
        self._joined()
        number = wire.connect()
        for end in wire.ends:
            due = self.now + self.conditions.delay(self.chance)
            # Whatever is sent to this end comes after it has the connection.
            wire.directions[self._other(wire, end)].arrives_at = due
            self.moving += 1
            self.clock.at(due, self._notice_connection, end, wire, number)

    def reachable(self, name: str, without: str | None = None) -> set[str]:
        """The brokers that are connected with this one now, and would be if another one were not there."""
        found = self._sides.get((name, without))
        if found is None:
            up = [link for link, wire in self.wires.items() if wire.is_up and self.live.keys() >= set(link)]
            found = self._sides[name, without] = side(name, neighbours(up), without)
        return found

    def _wires_of(self, name: str) -> list[Wire]:
        return [wire for link, wire in self.wires.items() if name in link]

    def _other(self, wire: Wire, end: str) -> str:
        return wire.ends[1] if wire.ends[0] == end else wire.ends[0]

    def _lose(self, wire: Wire) -> None:
        if not wire.is_up:
            return
        self._failed()
        on_the_way = sum(one.on_the_way for one in wire.directions.values())
        self.moving -= on_the_way
        self.counters.lost += on_the_way
        number = wire.lose()
        for end in wire.ends:
            self.moving += 1
            due = self.now + self.conditions.notice(self.chance)
            self.clock.at(due, self._notice_loss, end, self._other(wire, end), number)

    def _notice_loss(self, end: str, other: str, number: int) -> None:
        self.moving -= 1
        wire = self.wires.get(linked(end, other))
        station = self.stations.get(end)
        if wire is not None and station is not None and wire.directions[end].believed == number:
            wire.directions[end].believed = None
            if station.steps is not None:
                self._send(station, station.steps.link_down(other, self.now))

    def _notice_connection(self, end: str, wire: Wire, number: int) -> None:
        self.moving -= 1
        station, other = self.stations[end], self._other(wire, end)
        if wire.connection != number or station.steps is None:
            return
        if wire.directions[end].believed is not None:
            self._send(station, station.steps.link_down(other, self.now))
        wire.directions[end].believed = number
        self._send(station, station.steps.link_up(other, self.now))

    def _failed(self) -> None:
        """Nothing is promised about what is on its way, nor to whoever is not settled again."""
        self._joined()
        self.deliveries.excuse_all()

    def _joined(self) -> None:
        """Who is connected with whom has changed, and not everybody knows of everybody."""
        self._sides.clear()
        self.truth.unsettle()

    # Clients

    def hold(self, broker: str, topic: Topic, client: str, key: Key, text: str, lease_s: float | None = None) -> None:
        """A client subscribes or advertises."""
        self.truth.add(broker, Wish(topic, client, key, text, lease_s))
        self._change(broker, [Hold(topic, client, key, self.pool.read(text), lease_s=lease_s)])
        if lease_s is not None:
            self.clock.at(self.now + lease_s / 3, self._renew, client, lease_s / 3)

    def vanish(self, client: str) -> None:
        """A client is gone without a word; what it held stands until its lease ends."""
        self.deliveries.excuse(client, [wish.key for wish in self.truth.leave(client)])

    def _renew(self, client: str, every_s: float) -> None:
        broker = self.truth.homes.get(client)
        station = None if broker is None else self.stations[broker]
        if station is not None and station.steps is not None:
            station.steps.renew(client, self.now)
        if broker is not None:
            self.clock.at(self.now + every_s, self._renew, client, every_s)

    def release(self, topic: Topic, client: str, key: Key) -> None:
        """A client takes back a subscription or an advertisement."""
        broker = self.truth.homes[client]
        self._end(topic, client, key)
        self._change(broker, [Release(topic, client, key)])

    def leave(self, client: str) -> None:
        """A client goes."""
        broker = self.truth.homes[client]
        self.deliveries.excuse(client, [wish.key for wish in self.truth.leave(client)])
        self._change(broker, [Leave(client)])

    def change(self, broker: str, changes: Iterable[Change]) -> None:
        """Many changes at one broker at once."""
        listed = list(changes)
        for change in listed:
            match change:
                case Hold(topic, client, key, filter, _, lease_s):
                    self.truth.add(broker, Wish(topic, client, key, filter.text, lease_s))
                case Release(topic, client, key):
                    self._end(topic, client, key)
                case Leave(client):
                    self.deliveries.excuse(client, [wish.key for wish in self.truth.leave(client)])
        self._change(broker, listed)

    def publish(self, broker: str, client: str, event: int) -> bool:
        """A client publishes an event of the space; whether it was taken."""
        steps = self.stations[broker].steps
        if steps is None:
            return False
        if not steps.may_publish(client, self.space.records[event]):
            self.counters.refused += 1
            return False
        publication = Publication(self._publications, client, event, self.now)
        self._publications += 1
        self.counters.published += 1
        if self.is_watched:
            self.deliveries.published(publication, self.reachable(broker), self.advertises)
        self._forward(broker, None, publication)
        return True

    def _end(self, topic: Topic, client: str, key: Key) -> None:
        self.truth.end(topic, client, key)
        if topic is Topic.SUBSCRIPTIONS:
            self.deliveries.excuse(client, [key])

    def _change(self, broker: str, changes: list[Change]) -> None:
        station = self.stations[broker]
        if station.steps is not None:
            self._send(station, station.steps.change(changes, self.now))

    # Messages

    def _send(self, station: Station, outgoing: Outgoing) -> None:
        for receiver, control in outgoing:
            direction = self._direction(station.name, receiver)
            if direction is None:
                self.findings.add("I4", f"{station.name} tells {receiver} something without a link")
                continue
            self.counters.told((station.name, receiver), control)
            self._put(direction, self._hear, control)
        self._wake_later(station)

    def _direction(self, sender: str, receiver: str) -> Direction | None:
        wire = self.wires.get(linked(sender, receiver))
        direction = None if wire is None else wire.directions[sender]
        return direction if direction is not None and direction.believed is not None else None

    def _put(self, direction: Direction, arrive: Callable[..., None], message: object) -> None:
        wire = self.wires[linked(direction.sender, direction.receiver)]
        if direction.believed != wire.connection:
            self.counters.lost += 1
            return
        direction.on_the_way += 1
        self.moving += 1
        due = direction.due(self.now, self.conditions.delay(self.chance))
        self.clock.at(due, self._arrive, wire, direction, wire.connection, arrive, message)

    def _arrive(
        self, wire: Wire, direction: Direction, number: int, arrive: Callable[..., None], message: object
    ) -> None:
        if wire.connection != number:
            return  # it was lost, and counted then
        direction.on_the_way -= 1
        self.moving -= 1
        arrive(direction, message)

    def _hear(self, direction: Direction, control: Control) -> None:
        station = self.stations[direction.receiver]
        if station.steps is not None:
            self._send(station, station.steps.receive(direction.sender, control, self.now))

    def _carry(self, direction: Direction, publication: Publication) -> None:
        way = direction.sender, direction.receiver
        self.counters.events[way] += 1
        route = self._forward(direction.receiver, direction.sender, publication)
        if route is not None and not route.clients and not route.neighbours:
            self.counters.unwanted[way] += 1

    def _forward(self, broker: str, origin: str | None, publication: Publication) -> Directions | None:
        steps = self.stations[broker].steps
        if steps is None:
            return None
        route = steps.route(origin, self.space.records[publication.event])
        if self.is_watched:
            self.deliveries.delivered(publication, route.clients)
        self.counters.handed(len(route.clients), self.now - publication.published_at)
        for neighbour in route.neighbours:
            direction = self._direction(broker, neighbour)
            if direction is None:
                self.findings.add("I4", f"{broker} sends {neighbour} an event without a link")
            else:
                self._put(direction, self._carry, publication)
        return route

    # Time

    def _wake_later(self, station: Station) -> None:
        due = None if station.steps is None else station.steps.wakes_at()
        if due is not None and (station.wakes_at is None or due < station.wakes_at):
            station.wakes_at = due
            self.clock.at(due, self._wake, station, station.started, due)

    def _wake(self, station: Station, started: int, due: float) -> None:
        if station.steps is None or station.started != started or station.wakes_at != due:
            return
        station.wakes_at = None
        self._send(station, station.steps.tick(self.now))

    def settle(self, most_steps: int = 10_000_000) -> None:
        """Let time pass until nothing is on its way."""
        for _ in range(most_steps):
            if not self.moving or not self.clock.step():
                break
            self._look()
        else:
            self.findings.add("I0", f"{self.moving} messages are on their way after {most_steps} steps")
        self.deliveries.at_rest()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while self.clock.step(until):
            self._look()
        self.clock.advance(until)

    def _look(self) -> None:
        self.findings.now = self.now
        if not self.moving:
            self.truth.settle()
