"""What must hold of a rendezvous overlay at rest, judged by what clients wish, by links, and by a hash of its own.

I0: the ways of all who take part in the tree of a type are shortest ways to the node that is nearest to its name, and
nobody else takes part. I1, I2, I4, I5: as on a tree, for each link of each tree. Up go all subscriptions and
advertisements; down only subscriptions that may meet an advertisement from there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

from comity.route.broker import RoutingBroker
from comity.route.messages import Topic
from comity.route.policy import Strategy
from comity.simulate.rendezvous_network import RendezvousNetwork
from comity.simulate.space import Events

_BITS = 128


@dataclass(frozen=True, slots=True)
class TreeLink:
    """A link of the tree of a type, from below to the rendezvous."""

    type: str
    events: Events
    """Of the type."""
    child: str
    parent: str
    below: set[str]
    """Those whose way leads over it."""
    above: set[str]


def check_overlay_at_rest(network: RendezvousNetwork) -> None:
    """Look at every tree of an overlay at rest; what is wrong goes to the findings of the network."""
    for type, events in network.types().items():
        ways = _ways(network, type, events)
        if ways is not None:
            for link in _links(type, events, ways):
                _check_link(network, link)


def nearest_place(names: set[str], type: str) -> str:
    """The name whose hash is nearest to that of the type, in a circle."""

    def apart(name: str) -> tuple[int, str]:
        there = abs(_place(name) - _place(type))
        return min(there, (1 << _BITS) - there), name

    return min(names, key=apart)


def _place(name: str) -> int:
    return int(hashlib.blake2b(name.encode(), digest_size=_BITS // 8).hexdigest(), 16)


def _ways(network: RendezvousNetwork, type: str, events: Events) -> list[list[str]] | None:
    """The way up of everybody whose clients have or want the type; None if something is wrong with one."""
    nodes = network.nodes()
    concerned = [name for name in nodes if any(network.wished({name}, topic, events) for topic in Topic)]
    ways = [_way(network, name, type) for name in concerned]
    found = [way for way in ways if way is not None]
    taking_part = {name for name, node in nodes.items() if node.tree(type) is not None}
    strangers = taking_part - {name for way in found for name in way}
    if len(found) == len(ways) and strangers:
        network.findings.add("I7", f"{sorted(strangers)} are in the tree of {type}, and on no way")
    return found if len(found) == len(ways) and not strangers else None


def _way(network: RendezvousNetwork, start: str, type: str) -> list[str] | None:
    nodes, way = network.nodes(), [start]
    goal = nearest_place(network.reachable(start), type)
    while way[-1] != goal:
        node = nodes[way[-1]]
        if node.tree(type) is None:
            network.findings.add("I0", f"{way[-1]} takes no part in the tree of {type}, and is on the way of {start}")
            return None
        up = node.up(type)
        if up is None or up in way or up not in nodes:
            network.findings.add("I0", f"the way of {start} to {goal}, where {type} meets, ends at {way[-1]}")
            return None
        way.append(up)
    shortest = _distance(network, start, goal)
    if len(way) - 1 != shortest or nodes[goal].up(type) is not None:
        network.findings.add("I0", f"the way of {start} to {goal}, where {type} meets, is {way}, {shortest} would do")
        return None
    return way


def _distance(network: RendezvousNetwork, start: str, goal: str) -> int:
    """Links between two nodes on the shortest way."""
    seen, edge, steps = {start}, {start}, 0
    live = network.live.keys()
    up = [pair for pair, wire in network.wires.items() if wire.is_up and live >= set(pair)]
    while goal not in seen:
        edge = {end for pair in up for end in pair if not edge.isdisjoint(pair)} - seen
        seen |= edge
        steps += 1
    return steps


def _links(type: str, events: Events, ways: list[list[str]]) -> Iterator[TreeLink]:
    everybody = {name for way in ways for name in way}
    parents = {child: parent for way in ways for child, parent in pairwise(way)}
    roots = {way[-1] for way in ways}
    for child, parent in parents.items():
        below = {name for name in everybody if child in _upward(name, parents)}
        root = next(name for name in _upward(child, parents) if name in roots)
        part = {name for name in everybody if root in _upward(name, parents)}
        yield TreeLink(type, events, child, parent, below, part - below)


def _upward(name: str, parents: dict[str, str]) -> list[str]:
    way = [name]
    while way[-1] in parents:
        way.append(parents[way[-1]])
    return way


def _check_link(network: RendezvousNetwork, link: TreeLink) -> None:
    nodes = network.nodes()
    child, parent = nodes[link.child].tree(link.type), nodes[link.parent].tree(link.type)
    assert child is not None
    if parent is None or link.parent not in child.neighbours or link.child not in parent.neighbours:
        network.findings.add("I0", f"{link.child} and {link.parent} are not joined in the tree of {link.type}")
        return
    for topic in Topic:
        _check_same(network, link, child, parent, topic)
        _check_same(network, link, parent, child, topic)
    wanted = {side: network.wished(side_of, Topic.SUBSCRIPTIONS, link.events) for side, side_of in _sides(link)}
    offered = network.wished(link.below, Topic.ADVERTISEMENTS, link.events)
    _compare(network, link, parent, link.child, Topic.SUBSCRIPTIONS, wanted["below"], wanted["below"])
    _compare(network, link, parent, link.child, Topic.ADVERTISEMENTS, offered, offered)
    _compare(network, link, child, link.parent, Topic.SUBSCRIPTIONS, wanted["above"] & offered, wanted["above"])
    _compare(network, link, child, link.parent, Topic.ADVERTISEMENTS, 0, 0)


def _sides(link: TreeLink) -> tuple[tuple[str, set[str]], tuple[str, set[str]]]:
    return ("below", link.below), ("above", link.above)


def _check_same(
    network: RendezvousNetwork, link: TreeLink, knows: RoutingBroker, tells: RoutingBroker, topic: Topic
) -> None:
    """I4 and I5: what one knows is what the other told, and where covering is looked for nothing is covered."""
    known = knows.table(tells.name, topic)
    if {entry.number: entry.filter.text for entry in known} != {
        entry.number: entry.filter.text for entry in tells.told(knows.name, topic)
    }:
        network.findings.add(
            "I4", f"{knows.name} knows of {tells.name} in {link.type} other {topic.value} than it was told"
        )
    if knows.policy.strategy is Strategy.SIMPLE or not network.space.is_complete:
        return
    for one, other in combinations((network.space.of(entry.filter.text) for entry in known), 2):
        if one & other in (one, other):
            network.findings.add(
                "I5", f"{knows.name} of {tells.name} in {link.type}: one of {topic.value} covers another"
            )


def _compare(
    network: RendezvousNetwork,
    link: TreeLink,
    knows: RoutingBroker,
    of: str,
    topic: Topic,
    needed: Events,
    allowed: Events,
) -> None:
    """I1 and I2: what is needed is known, and nothing that is not allowed."""
    space = network.space
    known = space.union(entry.filter.text for entry in knows.table(of, topic)) & link.events
    where = f"{knows.name} of {of} in the tree of {link.type}"
    if needed & ~known:
        network.findings.add("I1", f"{where} lacks {topic.value} for {space.shown(needed & ~known)}")
    if known & ~allowed:
        network.findings.add(
            "I2", f"{where} has {topic.value} for {space.shown(known & ~allowed)}, which nobody there has"
        )
