"""Networks whose links form any graph route along one tree, whatever comes and goes."""

from __future__ import annotations

import os
import random
from collections import Counter, deque

import pytest
from tests.route.invariants import check_all
from tests.route.network import Network, Publication, small_policy
from tests.route.small_world import SPACE, SmallFilter, as_record

from comity.route.broker import RoutingBroker
from comity.route.generic.broker import GenericBroker, GenericOutgoing
from comity.route.generic.graph import LinkGraph, LinkState
from comity.route.policy import Strategy

SEEDS = range(200 if os.environ.get("COMITY_PROFILE") == "nightly" else 6)


class GenericNetwork(Network):
    """A network in which all links of a graph are up; the queues of the base are those of links in the tree."""

    def __init__(self, strategy: Strategy, edges: list[tuple[int, int]], seed: int) -> None:
        self.generic: dict[str, GenericBroker] = {}
        self.published = 0
        self.lives = 10
        super().__init__(small_policy(strategy), edges, seed)

    def connect(self, one: str, other: str) -> None:
        for name in (one, other):
            if name not in self.generic:
                self.generic[name] = GenericBroker(self.brokers[name], life=len(self.generic))
        self.queues[one, other], self.queues[other, one] = deque(), deque()
        cost = float(self.chance.randint(1, 3))
        self.send_generic(one, self.generic[one].link_up(other, self.now, cost))
        self.send_generic(other, self.generic[other].link_up(one, self.now, cost))

    def disconnect(self, one: str, other: str) -> None:
        del self.queues[one, other], self.queues[other, one]
        self.send_generic(one, self.generic[one].link_down(other, self.now))
        self.send_generic(other, self.generic[other].link_down(one, self.now))

    def replace(self, name: str) -> None:
        """A broker dies; another one of the same name begins with empty hands and the same clients."""
        neighbours = [other for one, other in list(self.queues) if one == name]
        for other in neighbours:
            del self.queues[name, other], self.queues[other, name]
            self.send_generic(other, self.generic[other].link_down(name, self.now))
        self.brokers[name] = RoutingBroker(name, self.policy, self.pool)
        self.lives += self.chance.randrange(2)  # not everybody counts them
        self.generic[name] = GenericBroker(self.brokers[name], life=self.lives)
        for (client, key), wanted in self.holding[name].subscriptions.items():
            self.brokers[name].subscribe(client, key, self.pool.read(wanted.text), self.now)
        for other in neighbours:
            self.connect(name, other)

    def send_generic(self, sender: str, outgoing: GenericOutgoing) -> None:
        for receiver, control in outgoing:
            self.queues[sender, receiver].append(control)  # type: ignore[arg-type]

    def deliver_one(self) -> bool:
        waiting = [link for link, queue in self.queues.items() if queue]
        if not waiting:
            return False
        sender, receiver = self.chance.choice(waiting)
        message = self.queues[sender, receiver].popleft()
        if isinstance(message, Publication):
            self._route(receiver, sender, message)
        else:
            self.send_generic(receiver, self.generic[receiver].receive(sender, message, self.now))
        return True

    def publish_new(self, broker: str, point: tuple[int | None, str | None]) -> Counter[tuple[str, str, int]]:
        self.published += 1
        return self.publish(broker, point)

    def _route(self, broker: str, origin: str | None, publication: Publication) -> None:
        identity = ("/here", str(self.published))
        directions = self.generic[broker].route(origin, identity, as_record(publication.point))
        for client, keys in directions.clients.items():
            self.delivered.update((broker, client, int(str(key))) for key in keys)
        for neighbour in directions.neighbours:
            self.queues[broker, neighbour].append(publication)

    def components(self) -> dict[str, set[str]]:
        """For each broker all that links lead to, found without any of what brokers know."""
        found: dict[str, set[str]] = {name: {name} for name in self.names}
        for one, other in self.queues:
            whole = found[one] | found[other]
            for name in whole:
                found[name] = whole
        return found


def _check(network: GenericNetwork) -> None:
    """The used links are a tree of each part of the graph, both ends agree, and routing on it is right."""
    used = {(name, other) for name, broker in network.brokers.items() for other in broker.neighbours}
    assert used == {(other, name) for name, other in used}
    components = network.components()
    parts = {frozenset(part) for part in components.values()}
    assert len(used) // 2 == len(network.names) - len(parts)
    graph, network.queues = network.queues, {link: network.queues[link] for link in used}
    for name in network.names:
        assert set(network.side(name, "")) == components[name]  # without circles, and with all of the part
    check_all(network)
    network.queues = graph
    for name in network.names:
        for point in network.chance.sample(SPACE, 4):
            expected = {
                (other, client, key): 1
                for other in components[name]
                for (client, key), wanted in network.holding[other].subscriptions.items()
                if wanted.wants(point)
            }
            assert network.publish_new(name, point) == expected


def _random_graph(chance: random.Random, size: int) -> list[tuple[int, int]]:
    edges = {(chance.randrange(new), new) for new in range(1, size)}
    for _ in range(size):
        one, other = sorted(chance.sample(range(size), 2))
        edges.add((one, other))
    return sorted(edges)


@pytest.mark.parametrize("strategy", [Strategy.SIMPLE, Strategy.COVERING, Strategy.MERGING], ids=lambda one: one.value)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_network_with_circles_routes_along_a_tree(strategy: Strategy, seed: int) -> None:
    chance = random.Random(seed)
    edges = _random_graph(chance, 6)
    network = GenericNetwork(strategy, edges, seed)
    down: list[tuple[str, str]] = []
    for _ in range(8):
        for _ in range(4):
            network.change()
        for _ in range(chance.choice((0, 3, 1000))):
            network.deliver_one()
        _shake(network, chance, edges, down)
        network.settle()
        _check(network)


def _shake(
    network: GenericNetwork, chance: random.Random, edges: list[tuple[int, int]], down: list[tuple[str, str]]
) -> None:
    if down and chance.random() < 0.5:
        network.connect(*down.pop())
    elif chance.random() < 0.3:
        network.replace(chance.choice(network.names))
    else:
        one, other = map(str, chance.choice(edges))
        if (one, other) in network.queues:
            network.disconnect(one, other)
            down.append((one, other))


def test_of_links_that_close_a_circle_the_cheaper_ones_are_used() -> None:
    graph = LinkGraph()
    costs = {("a", "b"): 1.0, ("b", "c"): 5.0, ("a", "c"): 2.0}
    for name in "abc":
        links = [(end, cost) for pair, cost in costs.items() if name in pair for end in pair if end != name]
        assert graph.take(LinkState(name, 1, tuple(links)))
    assert graph.spanning_tree() == {("a", "b"), ("a", "c")}
    assert graph.toward("c") == {"a": "c", "b": "a"}
    assert not graph.take(LinkState("a", 1, ()))
    assert graph.take(LinkState("a", 2, (("b", 1.0),)))
    assert graph.spanning_tree() == {("a", "b"), ("b", "c")}


def test_a_link_that_would_close_a_circle_is_seen_before_it_is_made() -> None:
    network = GenericNetwork(Strategy.COVERING, [(0, 1), (1, 2), (3, 4)], 1)
    network.settle()
    assert network.generic["0"].closes_circle("2")
    assert not network.generic["0"].closes_circle("3")


def test_an_event_that_comes_twice_goes_on_once() -> None:
    network = GenericNetwork(Strategy.COVERING, [(0, 1)], 1)
    network.settle()
    network.subscribe("0", "Ada", 1, SmallFilter())
    record = as_record((1, "x"))
    assert network.generic["0"].route("1", ("/a", "7"), record).clients == {"Ada": (1,)}
    assert network.generic["0"].route("1", ("/a", "7"), record).clients == {}
