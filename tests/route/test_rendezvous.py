"""Overlays of rendezvous nodes: ways meet at the right node, and events go nowhere else, whatever comes and goes."""

from __future__ import annotations

import hashlib
import os
import random
from collections import Counter, deque
from itertools import pairwise
from typing import Any

import pytest
from tests.route.network import small_policy
from tests.route.small_world import SPACE, Point, SmallFilter, as_record, random_filter

from comity.errors import Misuse
from comity.event.event import Event
from comity.route.filters import FilterPool
from comity.route.messages import Topic
from comity.route.policy import Policy, Strategy
from comity.route.rendezvous.messages import OverlayControl, OverlayOutgoing, TypeRecord
from comity.route.rendezvous.node import RendezvousNode
from comity.route.rendezvous.records import TypeRole

SEEDS = range(200 if os.environ.get("COMITY_PROFILE") == "nightly" else 6)
TYPES = ("house.Fire", "house.Water", "city.Bus")
Held = dict[tuple[str, str, int], tuple[str, SmallFilter]]
"""By node, client and key: the type and the filter."""


class _Typed:
    """An event of a type."""

    def __init__(self, type: str, record: Any) -> None:
        self._type, self._record = type, record

    def get(self, path: tuple[str, ...]) -> Any:
        return self._type if path == ("event", "type") else self._record.get(path)


class Overlay:
    """Nodes, links between them that hold messages, and what clients hold."""

    def __init__(self, strategy: Strategy, edges: list[tuple[str, str]], seed: int) -> None:
        self.policy, self.chance, self.pool = small_policy(strategy, True), random.Random(seed), FilterPool()
        self.names = sorted({end for edge in edges for end in edge})
        self.lives = 0
        self.nodes = {name: self._node(name) for name in self.names}
        self.queues: dict[tuple[str, str], deque[OverlayControl | Point]] = {}
        self.wanted: Held = {}
        self.offered: Held = {}
        self.delivered: Counter[tuple[str, str, int]] = Counter()
        self.crossed: Counter[tuple[str, str]] = Counter()
        self.published = 0
        self.type = ""
        for edge in edges:
            self.connect(*edge)

    def _node(self, name: str) -> RendezvousNode:
        self.lives += 1
        return RendezvousNode(name, self.policy, self.pool, replicas=2, life=self.lives)

    def connect(self, one: str, other: str) -> None:
        self.queues[one, other], self.queues[other, one] = deque(), deque()
        self.send(one, self.nodes[one].link_up(other, 0.0))
        self.send(other, self.nodes[other].link_up(one, 0.0))

    def disconnect(self, one: str, other: str) -> None:
        del self.queues[one, other], self.queues[other, one]
        self.send(one, self.nodes[one].link_down(other, 0.0))
        self.send(other, self.nodes[other].link_down(one, 0.0))

    def replace(self, name: str) -> None:
        """A node dies with all that it knew; another one of its name takes in its clients."""
        neighbours = [other for one, other in self.queues if one == name]
        for other in neighbours:
            del self.queues[name, other], self.queues[other, name]
            self.send(other, self.nodes[other].link_down(name, 0.0))
        self.nodes[name] = self._node(name)
        for (node, client, key), (type, wanted) in self.wanted.items():
            if node == name:
                self.nodes[name].subscribe(client, key, type, self.pool.read(wanted.text), 0.0)
        for (node, client, key), (type, offered) in self.offered.items():
            if node == name:
                self.nodes[name].advertise(client, key, type, self.pool.read(offered.text), 0.0)
        for other in neighbours:
            self.connect(name, other)

    def send(self, sender: str, outgoing: OverlayOutgoing) -> None:
        for receiver, control in outgoing:
            self.queues[sender, receiver].append(control)

    def deliver_one(self) -> bool:
        waiting = [link for link, queue in self.queues.items() if queue]
        if not waiting:
            return False
        sender, receiver = self.chance.choice(waiting)
        message = self.queues[sender, receiver].popleft()
        if isinstance(message, tuple):
            self.crossed[sender, receiver] += 1
            self._route(receiver, sender, message)
        else:
            self.send(receiver, self.nodes[receiver].receive(sender, message, 0.0))
        return True

    def settle(self) -> None:
        while self.deliver_one():
            pass

    def change(self) -> None:
        node, client = self.chance.choice(self.names), self.chance.choice(("Ada", "Bob"))
        held, key = self.chance.choice((self.wanted, self.offered)), self.chance.randrange(1000)
        own = [known for known in held if known[:2] == (node, client)]
        steps = self.nodes[node]
        if own and self.chance.random() < 0.45:
            *_, key = chosen = self.chance.choice(own)
            del held[chosen]
            self.send(node, (steps.unsubscribe if held is self.wanted else steps.unadvertise)(client, key, 0.0))
        elif (node, client, key) not in held:
            held[node, client, key] = type, filter = self.chance.choice(TYPES), random_filter(self.chance)
            take = steps.subscribe if held is self.wanted else steps.advertise
            self.send(node, take(client, key, type, self.pool.read(filter.text), 0.0))

    def publish(self, node: str, type: str, point: Point) -> Counter[tuple[str, str, int]]:
        self.delivered, self.crossed, self.type = Counter(), Counter(), type
        self.published += 1
        self._route(node, None, point)
        self.settle()
        return self.delivered

    def _route(self, node: str, origin: str | None, point: Point) -> None:
        record = _Typed(self.type, as_record(point))
        directions = self.nodes[node].route(origin, ("/here", str(self.published)), record)
        for client, keys in directions.clients.items():
            self.delivered.update((node, client, int(str(key))) for key in keys)
        for neighbour in directions.neighbours:
            self.queues[node, neighbour].append(point)

    # The reference

    def parts(self) -> dict[str, set[str]]:
        """For each node all that links lead to."""
        found = {name: {name} for name in self.names}
        for one, other in self.queues:
            whole = found[one] | found[other]
            for name in whole:
                found[name] = whole
        return found


def _nearest(nodes: set[str], type: str, count: int) -> list[str]:
    def place(name: str) -> int:
        return int(hashlib.blake2b(name.encode(), digest_size=16).hexdigest(), 16)

    def apart(name: str) -> int:
        there = abs(place(name) - place(type))
        return min(there, 2**128 - there)

    return sorted(nodes, key=apart)[:count]


def _way_up(overlay: Overlay, node: str, type: str) -> list[str]:
    """The nodes from one to the rendezvous."""
    way = [node]
    while (tree := overlay.nodes[way[-1]]._trees.get(type)) is not None and tree.up is not None:
        assert tree.up not in way
        way.append(tree.up)
    return way


def _check(overlay: Overlay) -> None:
    parts = overlay.parts()
    for type in TYPES:
        for node in overlay.names:
            rendezvous = _nearest(parts[node], type, 1)[0]
            assert overlay.nodes[node].rendezvous(type) == rendezvous
            if overlay.nodes[node].tree(type) is not None:
                assert _way_up(overlay, node, type)[-1] == rendezvous
    for node, _, _ in dict.fromkeys(overlay.offered):
        for type in TYPES:
            _check_deliveries(overlay, parts[node], node, type)


def _check_deliveries(overlay: Overlay, part: set[str], node: str, type: str) -> None:
    offers = [offer for (at, _, _), (of, offer) in overlay.offered.items() if (at, of) == (node, type)]
    for point in overlay.chance.sample(SPACE, 4):
        if not any(offer.wants(point) for offer in offers):
            continue
        expected = {
            place: 1
            for place, (of, wanted) in overlay.wanted.items()
            if of == type and place[0] in part and wanted.wants(point)
        }
        assert overlay.publish(node, type, point) == expected
        links = {link for place in expected for link in _links_between(overlay, node, place[0], type)}
        assert overlay.crossed == dict.fromkeys(links, 1)


def _links_between(overlay: Overlay, start: str, end: str, type: str) -> set[tuple[str, str]]:
    """The way from one node to another in the tree of the type: up as far as needed, and down."""
    up, down = _way_up(overlay, start, type), _way_up(overlay, end, type)
    meeting = next(name for name in up if name in down)
    there = [*up[: up.index(meeting) + 1], *reversed(down[: down.index(meeting)])]
    return set(pairwise(there))


def _graph(chance: random.Random, size: int) -> list[tuple[str, str]]:
    edges = {(f"n{chance.randrange(new)}", f"n{new}") for new in range(1, size)}
    edges |= {(f"n{a}", f"n{b}") for a, b in (sorted(chance.sample(range(size), 2)) for _ in range(size // 2))}
    return sorted(edges)


@pytest.mark.parametrize("strategy", [Strategy.SIMPLE, Strategy.COVERING, Strategy.MERGING], ids=lambda one: one.value)
@pytest.mark.parametrize("seed", SEEDS)
def test_events_go_to_whoever_wants_them_and_over_no_other_link(strategy: Strategy, seed: int) -> None:
    chance = random.Random(seed)
    edges = _graph(chance, 8)
    overlay = Overlay(strategy, edges, seed)
    down: list[tuple[str, str]] = []
    for _ in range(8):
        for _ in range(8):
            overlay.change()
        for _ in range(chance.choice((0, 5, 1000))):
            overlay.deliver_one()
        _shake(overlay, edges, down)
        overlay.settle()
        _check(overlay)
    _take_all_back(overlay)
    overlay.settle()
    assert not any(node.tree(type) for node in overlay.nodes.values() for type in TYPES)


def _shake(overlay: Overlay, edges: list[tuple[str, str]], down: list[tuple[str, str]]) -> None:
    if down and overlay.chance.random() < 0.5:
        overlay.connect(*down.pop())
    elif overlay.chance.random() < 0.4:
        overlay.replace(overlay.chance.choice(overlay.names))
    elif (edge := overlay.chance.choice(edges)) in overlay.queues:
        overlay.disconnect(*edge)
        down.append(edge)


def _take_all_back(overlay: Overlay) -> None:
    for node, client, key in overlay.wanted:
        overlay.send(node, overlay.nodes[node].unsubscribe(client, key, 0.0))
    for node, client, key in overlay.offered:
        overlay.send(node, overlay.nodes[node].unadvertise(client, key, 0.0))
    overlay.wanted, overlay.offered = {}, {}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_record_of_a_type_is_kept_by_the_nearest_nodes_whoever_joins_and_dies(seed: int) -> None:
    chance = random.Random(seed)
    overlay = Overlay(Strategy.COVERING, _graph(chance, 8), seed)
    overlay.settle()
    start = chance.choice(overlay.names)
    overlay.send(start, overlay.nodes[start].add_type(TypeRecord("house.Fire", "heat: float"), 0.0))
    overlay.settle()
    _check_kept(overlay, "house.Fire", "heat: float")
    for turn in range(6):
        if turn % 2:  # one node more
            name = f"new{turn}"
            overlay.nodes[name] = overlay._node(name)
            overlay.names.append(name)
            overlay.connect(chance.choice(overlay.names[:-1]), name)
        else:
            overlay.replace(overlay.nodes[start].rendezvous("house.Fire"))
        overlay.settle()
        _check_kept(overlay, "house.Fire", "heat: float")
    newer = TypeRecord("house.Fire", "heat: float, room: string", version=2)
    overlay.send(start, overlay.nodes[start].add_type(newer, 0.0))
    overlay.settle()
    _check_kept(overlay, "house.Fire", "heat: float, room: string")


def _check_kept(overlay: Overlay, type: str, definition: str) -> None:
    first, *others = _nearest(set(overlay.names), type, 3)
    roles = {name: node.role(type) for name, node in overlay.nodes.items()}
    assert roles.pop(first) is TypeRole.PRIMARY
    assert {name for name, role in roles.items() if role is TypeRole.REPLICA} == set(others)
    for name in (first, *others):
        record = overlay.nodes[name].record(type)
        assert record is not None
        assert record.definition == definition


def test_when_a_type_is_removed_its_clients_hear_of_it() -> None:
    overlay = Overlay(Strategy.COVERING, [("a", "b"), ("b", "c"), ("c", "d")], 1)
    overlay.settle()
    for step in (
        overlay.nodes["a"].subscribe("Ada", 1, "house.Fire", overlay.pool.everything, 0.0),
        overlay.nodes["a"].subscribe("Ada", 2, "house.Water", overlay.pool.everything, 0.0),
    ):
        overlay.send("a", step)
    overlay.send("d", overlay.nodes["d"].advertise("Eve", 1, "house.Fire", overlay.pool.everything, 0.0))
    overlay.settle()
    overlay.send("b", overlay.nodes["b"].add_type(TypeRecord("house.Fire", "", removed=True), 0.0))
    overlay.settle()
    assert overlay.nodes["a"].take_gone() == [(Topic.SUBSCRIPTIONS, "Ada", 1)]
    assert overlay.nodes["d"].take_gone() == [(Topic.ADVERTISEMENTS, "Eve", 1)]
    assert [name for name, node in overlay.nodes.items() if node.tree("house.Fire")] == []
    assert overlay.nodes["a"].tree("house.Water") is not None


def test_who_has_not_advertised_a_type_may_not_publish_it() -> None:
    overlay = Overlay(Strategy.COVERING, [("a", "b")], 1)
    overlay.send("a", overlay.nodes["a"].advertise("Eve", 1, "house.Fire", overlay.pool.read("a > 1"), 0.0))
    hot, cold = (Event("1", "/a", "house.Fire", data={"a": number}) for number in (2, 1))
    other = Event("1", "/a", "house.Water", data={"a": 2})
    assert overlay.nodes["a"].may_publish("Eve", hot)
    assert not overlay.nodes["a"].may_publish("Eve", cold)
    assert not overlay.nodes["a"].may_publish("Eve", other)
    assert not overlay.nodes["b"].may_publish("Eve", hot)


def test_an_overlay_without_advertisements_is_refused() -> None:
    with pytest.raises(Misuse, match="advertisements"):
        RendezvousNode("a", Policy(), FilterPool())
