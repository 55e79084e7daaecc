"""Brokers and the links between them under virtual time: what is sent arrives, later or never, and things break.

Brokers are steps without clock and chance (`comity.route.broker`, or anything with its door). Who uses the network is
not known here (`network`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from comity.errors import Misuse
from comity.route.changes import Change
from comity.simulate.clock import VirtualClock
from comity.simulate.counters import Counters
from comity.simulate.door import BrokerDoor, Said
from comity.simulate.findings import Findings
from comity.simulate.links import Direction, LinkConditions, Wire
from comity.simulate.topology import Pair, Topology, linked, neighbours, side

_WORK_S = 0.0005
"""Between two slices of a large change; events go between."""
Maker = Callable[[str], BrokerDoor]
"""Gives the broker of a name, as it is when it starts."""


@dataclass(slots=True)
class Station:
    """A broker, and how often it was started; without steps it is down, or hangs."""

    name: str
    steps: BrokerDoor | None = None
    started: int = 0
    wakes_at: float | None = None
    is_working: bool = False
    """Whether it goes on soon with what a step left over."""


@dataclass(slots=True)
class Wiring:
    """Stations and wires. Whoever drives it says what happens now, and lets time pass."""

    make: Maker
    chance: Random
    conditions: LinkConditions = field(default_factory=LinkConditions, kw_only=True)
    clock: VirtualClock = field(default_factory=VirtualClock, kw_only=True)
    counters: Counters = field(default_factory=Counters, kw_only=True)
    findings: Findings = field(default_factory=Findings, kw_only=True)
    stations: dict[str, Station] = field(default_factory=dict, kw_only=True)
    wires: dict[Pair, Wire] = field(default_factory=dict, kw_only=True)
    moving: int = field(default=0, kw_only=True)
    """Messages on their way and acts of links that are arranged; the network is at rest when there are none."""
    _sides: dict[tuple[str, str | None], set[str]] = field(default_factory=dict, kw_only=True)

    @property
    def now(self) -> float:
        return self.clock.now

    @property
    def live(self) -> dict[str, BrokerDoor]:
        """The brokers that are neither down nor hang."""
        return {name: one.steps for name, one in self.stations.items() if one.steps is not None}

    # What others make of it

    def returning(self, name: str) -> list[Change]:
        """What the clients of a broker ask of it when it starts."""
        return []

    def failed(self) -> None:
        """Something broke: what is on its way may be lost."""

    def changed(self) -> None:
        """Who is connected with whom has changed."""
        self._sides.clear()

    def at_rest(self) -> None:
        """Nothing is on its way."""

    # Brokers

    def build(self, topology: Topology) -> None:
        """Start all brokers of a topology, and bring all links up."""
        for name in topology.brokers:
            self.start(name)
        for one, other in topology.links:
            self.mend(one, other)

    def start(self, name: str) -> None:
        """A broker starts, for the first time or again, and its clients come (back) to it with all they want."""
        station = self.stations.setdefault(name, Station(name))
        station.started += 1
        station.steps = self.make(name)
        changes = self.returning(name)
        if changes:
            self.send(station, station.steps.change(changes, self.now))

    def crash(self, name: str) -> None:
        """A broker is gone with all it knew; its neighbours notice later."""
        self.hang(name)
        for wire in self._wires_of(name):
            self._lose(wire)
            wire.directions[name].believed = None

    def hang(self, name: str) -> None:
        """A broker does nothing any more, and its links stay as they are: only leases tell."""
        self.changed()
        self.failed()
        station = self.stations[name]
        station.steps, station.wakes_at = None, None

    def restart(self, name: str) -> None:
        """A broker that is down or hangs starts again, and gets new links to those that are there."""
        self.crash(name)
        self.start(name)
        for wire in self._wires_of(name):
            self.mend(*wire.ends)

    def join(self, name: str, other: str) -> None:
        """A broker comes, and is linked with one that is there."""
        self.start(name)
        self.mend(name, other)

    def quit(self, name: str) -> None:
        """A broker leaves for good. Its neighbours then hang on one of them."""
        wires = self._wires_of(name)
        self.crash(name)
        del self.stations[name]
        near = [_other(wire, name) for wire in wires]
        for wire in wires:
            wire.is_gone = True
        for other in near[1:]:
            self.mend(near[0], other)

    # Links

    def cut(self, one: str, other: str) -> None:
        """A connection breaks; both ends notice, not at the same time."""
        wire = self.wires.get(linked(one, other))
        if wire is None:
            raise Misuse(f"there is no link between {one} and {other}", code="unknown-link")
        self._lose(wire)

    def mend(self, one: str, other: str) -> None:
        """Two brokers get a connection (again), if both are there and have none."""
        wire = self.wires.setdefault(linked(one, other), Wire(linked(one, other)))
        if wire.is_up or wire.is_gone or not self.live.keys() >= set(wire.ends):
            return
        self.changed()
        number = wire.connect()
        for end in wire.ends:
            due = self.now + self.conditions.delay(self.chance)
            # Whatever is sent to this end comes after it has the connection.
            wire.directions[_other(wire, end)].arrives_at = due
            self.moving += 1
            self.clock.at(due, self._notice_connection, end, wire, number)

    def is_used(self, pair: Pair) -> bool:
        """Whether events may go over the link."""
        return self.wires[pair].is_up and self.live.keys() >= set(pair)

    def reachable(self, name: str, without: str | None = None) -> set[str]:
        """The brokers that are connected with this one now, and would be if another one were not there."""
        found = self._sides.get((name, without))
        if found is None:
            live = self.live.keys()
            up = [link for link, wire in self.wires.items() if wire.is_up and live >= set(link)]
            found = self._sides[name, without] = side(name, neighbours(up), without)
        return found

    def _wires_of(self, name: str) -> list[Wire]:
        return [wire for link, wire in self.wires.items() if name in link and not wire.is_gone]

    def _lose(self, wire: Wire) -> None:
        if not wire.is_up:
            return
        self.changed()
        self.failed()
        on_the_way = sum(one.on_the_way for one in wire.directions.values())
        self.moving -= on_the_way
        self.counters.lost += on_the_way
        number = wire.lose()
        for end in wire.ends:
            self.moving += 1
            self.clock.at(self.now + self.conditions.notice(self.chance), self._notice_loss, end, wire, number)

    def _notice_loss(self, end: str, wire: Wire, number: int) -> None:
        self.moving -= 1
        direction, station = wire.directions[end], self.stations.get(end)
        if direction.believed != number or station is None:
            return
        direction.believed = None
        if station.steps is not None:
            self.send(station, station.steps.link_down(direction.receiver, self.now))

    def _notice_connection(self, end: str, wire: Wire, number: int) -> None:
        self.moving -= 1
        direction, station = wire.directions[end], self.stations.get(end)
        if wire.connection != number or station is None or station.steps is None:
            return
        if direction.believed is not None:
            self.send(station, station.steps.link_down(direction.receiver, self.now))
        direction.believed = number
        self.send(station, station.steps.link_up(direction.receiver, self.now))

    # Messages

    def send(self, station: Station, outgoing: Said) -> None:
        """A broker says something to its neighbours."""
        for receiver, control in outgoing:
            direction = self.direction(station.name, receiver)
            if direction is None:
                self.findings.add("I4", f"{station.name} tells {receiver} something without a link")
                continue
            self.counters.told((station.name, receiver), control)
            self.put(direction, self._hear, control)
        self.wake_later(station)
        if station.steps is not None and station.steps.has_work and not station.is_working:
            station.is_working = True
            self.moving += 1
            self.clock.at(self.now + _WORK_S, self._work, station, station.started)

    def direction(self, sender: str, receiver: str) -> Direction | None:
        """The way to a neighbour, None where the sender believes that there is none."""
        wire = self.wires.get(linked(sender, receiver))
        direction = None if wire is None else wire.directions[sender]
        return direction if direction is not None and direction.believed is not None else None

    def put(self, direction: Direction, arrive: Callable[..., None], message: object) -> None:
        """Something goes over a link; `arrive` is called with it when it is there."""
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

    def _hear(self, direction: Direction, control: object) -> None:
        station = self.stations[direction.receiver]
        if station.steps is not None:
            self.send(station, station.steps.receive(direction.sender, control, self.now))

    def _work(self, station: Station, started: int) -> None:
        self.moving -= 1
        station.is_working = False
        if station.steps is not None and station.started == started:
            self.send(station, station.steps.work())

    # Time

    def wake_later(self, station: Station) -> None:
        """A broker may have something to do at a time of its own."""
        due = None if station.steps is None else station.steps.wakes_at()
        if due is not None and (station.wakes_at is None or due < station.wakes_at):
            station.wakes_at = due
            self.clock.at(due, self._wake, station, station.started, due)

    def _wake(self, station: Station, started: int, due: float) -> None:
        if station.steps is None or station.started != started or station.wakes_at != due:
            return
        station.wakes_at = None
        self.send(station, station.steps.tick(self.now))

    def settle(self, most_steps: int = 100_000_000) -> None:
        """Let time pass until nothing is on its way."""
        for _ in range(most_steps):
            if not self.moving or not self.clock.step():
                break
            self._look()
        else:
            self.findings.add("I0", f"{self.moving} messages are on their way after {most_steps} steps")
        self._look()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while self.clock.step(until):
            self._look()
        self.clock.advance(until)

    def _look(self) -> None:
        self.findings.now = self.now
        if not self.moving:
            self.at_rest()


def _other(wire: Wire, end: str) -> str:
    return wire.directions[end].receiver
