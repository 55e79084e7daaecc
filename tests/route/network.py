"""A network of routing brokers with a queue for each direction of a link; who moves next is a matter of chance."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.route.small_world import SPACE, Point, SmallFilter, as_record, random_filter

from comity.filter.statistics import Statistics
from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.messages import Control, Outgoing, Topic
from comity.route.policy import Policy, Strategy

NOTHING: frozenset[Point] = frozenset()


@dataclass(frozen=True)
class Publication:
    """An event on its way."""

    point: Point


@dataclass
class Holding:
    """What the clients of one broker hold, kept here for the reference, by client and key."""

    subscriptions: dict[tuple[str, int], SmallFilter] = field(default_factory=dict)
    advertisements: dict[tuple[str, int], SmallFilter] = field(default_factory=dict)


class Network:
    """Brokers in a tree, and everything that their clients hold."""

    def __init__(self, policy: Policy, edges: Iterable[tuple[int, int]], seed: int = 0) -> None:
        self.policy, self.chance = policy, random.Random(seed)
        self.pool = FilterPool()
        self.edges = list(edges)
        self.names = sorted({str(end) for edge in self.edges for end in edge}) or ["0"]
        self.brokers = {name: RoutingBroker(name, policy, self.pool) for name in self.names}
        self.holding = {name: Holding() for name in self.names}
        self.queues: dict[tuple[str, str], deque[Control | Publication]] = {}
        self.now = 0.0
        self.controls = 0
        self.delivered: Counter[tuple[str, str, int]] = Counter()
        """Deliveries of the present event, by broker, client and key."""
        self.crossed: Counter[tuple[str, str]] = Counter()
        for one, other in self.edges:
            self.connect(str(one), str(other))

    # Links

    def connect(self, one: str, other: str) -> None:
        self.queues[one, other], self.queues[other, one] = deque(), deque()
        self.send(one, self.brokers[one].link_up(other, self.now))
        self.send(other, self.brokers[other].link_up(one, self.now))

    def disconnect(self, one: str, other: str) -> None:
        del self.queues[one, other], self.queues[other, one]
        self.send(one, self.brokers[one].link_down(other, self.now))
        self.send(other, self.brokers[other].link_down(one, self.now))

    def send(self, sender: str, outgoing: Outgoing) -> None:
        for receiver, control in outgoing:
            self.queues[sender, receiver].append(control)
            self.controls += 1

    def deliver_one(self) -> bool:
        busy = [name for name, broker in self.brokers.items() if broker.has_work]
        if busy and self.chance.random() < 0.5:
            name = self.chance.choice(busy)
            self.send(name, self.brokers[name].work())
            return True
        waiting = [link for link, queue in self.queues.items() if queue]
        if not waiting:
            return bool(busy)
        sender, receiver = self.chance.choice(waiting)
        message = self.queues[sender, receiver].popleft()
        if isinstance(message, Publication):
            self.crossed[sender, receiver] += 1
            self._route(receiver, sender, message)
        else:
            self.send(receiver, self.brokers[receiver].receive(sender, message, self.now))
        return True

    def settle(self) -> None:
        while self.deliver_one():
            pass

    def pass_time(self, seconds: float, *, silent: tuple[str, ...] = ()) -> None:
        """Let time pass in steps of a second; of brokers that are silent, nothing is heard."""
        for _ in range(round(seconds)):
            self.now += 1
            for name, broker in self.brokers.items():
                at = broker.wakes_at()
                if name not in silent and at is not None and at <= self.now:
                    self.send(name, broker.tick(self.now))
            self.settle()

    def restart(self, name: str) -> None:
        """A broker dies, with all that it knew, and begins anew; its clients come back."""
        neighbours = [other for one, other in list(self.queues) if one == name]
        for other in neighbours:
            del self.queues[name, other], self.queues[other, name]
            self.send(other, self.brokers[other].link_down(name, self.now))
        self.brokers[name] = RoutingBroker(name, self.policy, self.pool)
        for other in neighbours:
            self.connect(name, other)
        held, self.holding[name] = self.holding[name], Holding()
        for (client, key), wanted in held.subscriptions.items():
            self.subscribe(name, client, key, wanted)
        for (client, key), offered in held.advertisements.items():
            self.advertise(name, client, key, offered)

    # Clients

    def subscribe(self, broker: str, client: str, key: int, wanted: SmallFilter, *, durable: bool = False) -> None:
        self.holding[broker].subscriptions[client, key] = wanted
        filter = self.pool.read(wanted.text)
        self.send(broker, self.brokers[broker].subscribe(client, key, filter, self.now, durable=durable))

    def unsubscribe(self, broker: str, client: str, key: int) -> None:
        del self.holding[broker].subscriptions[client, key]
        self.send(broker, self.brokers[broker].unsubscribe(client, key, self.now))

    def advertise(self, broker: str, client: str, key: int, offered: SmallFilter) -> None:
        self.holding[broker].advertisements[client, key] = offered
        filter = self.pool.read(offered.text)
        self.send(broker, self.brokers[broker].advertise(client, key, filter, self.now))

    def unadvertise(self, broker: str, client: str, key: int) -> None:
        del self.holding[broker].advertisements[client, key]
        self.send(broker, self.brokers[broker].unadvertise(client, key, self.now))

    def publish(self, broker: str, point: Point) -> Counter[tuple[str, str, int]]:
        """Who gets an event, in a network at rest; how often it crossed each link is in `crossed`."""
        self.delivered, self.crossed = Counter(), Counter()
        self._route(broker, None, Publication(point))
        self.settle()
        return self.delivered

    def _route(self, broker: str, origin: str | None, publication: Publication) -> None:
        route = self.brokers[broker].route(origin, as_record(publication.point))
        for client, keys in route.clients.items():
            for key in keys:
                self.delivered[broker, client, key] += 1  # type: ignore[index]
        for neighbour in route.neighbours:
            self.queues[broker, neighbour].append(publication)

    # Chance

    def change(self) -> None:
        """A client, drawn by chance, takes something up or takes it back."""
        broker, client = self.chance.choice(self.names), self.chance.choice(("Ada", "Bob"))
        kinds = ("subscriptions", "advertisements") if self.policy.advertisements else ("subscriptions",)
        kind = self.chance.choice(kinds)
        held = getattr(self.holding[broker], kind)
        own = [key for name, key in held if name == client]
        if own and self.chance.random() < 0.45:
            take_back = self.unsubscribe if kind == "subscriptions" else self.unadvertise
            take_back(broker, client, self.chance.choice(own))
        elif kind == "subscriptions":
            self.subscribe(
                broker, client, max(own, default=0) + 1, random_filter(self.chance), durable=self.chance.random() < 0.2
            )
        else:
            self.advertise(broker, client, max(own, default=0) + 1, random_filter(self.chance))

    # The reference

    def side(self, start: str, without: str) -> list[str]:
        """The brokers on one side of a link, its own end first."""
        found = [start]
        for name in found:
            for one, other in self.queues:
                if one == name and other not in (without, *found):
                    found.append(other)
        return found

    def wanted_behind(self, neighbour: str, broker: str) -> frozenset[Point]:
        """What all clients on the neighbour's side want."""
        return self._union("subscriptions", neighbour, broker)

    def offered_behind(self, neighbour: str, broker: str) -> frozenset[Point]:
        """What all clients on the neighbour's side advertise."""
        return self._union("advertisements", neighbour, broker)

    def _union(self, kind: str, neighbour: str, broker: str) -> frozenset[Point]:
        held = [f for name in self.side(neighbour, broker) for f in getattr(self.holding[name], kind).values()]
        return NOTHING.union(*(one.events for one in held))

    def known(self, broker: str, neighbour: str, topic: Topic = Topic.SUBSCRIPTIONS) -> frozenset[Point]:
        """The events that pass what the neighbour told."""
        table = self.brokers[broker].table(neighbour, topic)
        return frozenset(p for p in SPACE if any(entry.filter.matches(as_record(p)) for entry in table))


def random_tree(chance: random.Random, size: int) -> list[tuple[int, int]]:
    """A tree of so many brokers."""
    return [(chance.randrange(new), new) for new in range(1, size)]


def small_policy(strategy: Strategy, advertisements: bool = False, **settings: Any) -> Policy:
    """A policy of the small world, where all events are equally likely."""
    settings = {"loss": 0.3, "statistics": EVERY_EVENT} | settings
    return Policy(strategy, advertisements, **settings)


EVERY_EVENT = Statistics(tuple(map(as_record, SPACE)))
PERFECT = (Strategy.SIMPLE, Strategy.IDENTITY, Strategy.COVERING, Strategy.MERGING)
