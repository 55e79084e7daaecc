"""What must hold when a network is at rest: the invariants I1, I2, I4, I5, I7 of its tables.

They are judged by sets of events, one for each direction of each link, made from what clients wish: by no code of the
brokers. With advertisements, what a broker must know is bounded by what can be published on its side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from comity.route.messages import Entry, Topic
from comity.route.policy import Policy, Strategy
from comity.simulate.door import BrokerDoor
from comity.simulate.network import Network
from comity.simulate.space import Events

PERFECT = {Strategy.SIMPLE, Strategy.IDENTITY, Strategy.COVERING, Strategy.MERGING}
"""The strategies whose tables let through what is wanted and nothing else."""
_WITHOUT_COVERED = {Strategy.COVERING, Strategy.MERGING}


@dataclass(frozen=True, slots=True)
class Edge:
    """One direction of a link that is up: what `broker` knows of the side of its `neighbour`."""

    broker: str
    neighbour: str
    knows: BrokerDoor
    tells: BrokerDoor

    def __str__(self) -> str:
        return f"{self.broker} of {self.neighbour}"


def check_at_rest(network: Network) -> None:
    """Look at every table of a network at rest; what is wrong goes to its findings."""
    for edge in edges(network):
        for topic in topics(edge.knows.policy):
            _check_same(network, edge, topic)
            if network.space.is_complete:
                _check_minimal(network, edge, topic)
        _check_advertisements(network, edge)
        _check_subscriptions(network, edge)


def edges(network: Network) -> Iterator[Edge]:
    """Every direction of every link that is up."""
    live = network.live
    for one, other in network.wires:
        if network.is_used((one, other)):
            yield Edge(one, other, live[one], live[other])
            yield Edge(other, one, live[other], live[one])


def topics(policy: Policy) -> tuple[Topic, ...]:
    """What brokers tell each other about."""
    if policy.strategy is Strategy.FLOODING:
        return ()
    return tuple(Topic) if policy.advertisements else (Topic.SUBSCRIPTIONS,)


def _check_same(network: Network, edge: Edge, topic: Topic) -> None:
    """I4: what one knows is what the other told."""
    known, told = edge.knows.table(edge.neighbour, topic), edge.tells.told(edge.broker, topic)
    if _said(known) != _said(told):
        text = f"{edge} knows {_shown(known)} but was told {_shown(told)} of {topic.value}"
        network.findings.add("I4", text)


def _said(entries: tuple[Entry, ...]) -> dict[int, tuple[str, bool]]:
    return {entry.number: (entry.filter.text, entry.durable) for entry in entries}


def _check_minimal(network: Network, edge: Edge, topic: Topic) -> None:
    """I5: where covering is looked for nothing is covered, where identity is no two are identical."""
    strategy = edge.knows.policy.strategy
    if strategy in (Strategy.FLOODING, Strategy.SIMPLE):
        return
    for one, other in combinations(edge.knows.table(edge.neighbour, topic), 2):
        first, second = network.space.of(one.filter.text), network.space.of(other.filter.text)
        comparable = first & second in (first, second) and one.durable == other.durable
        if first == second and one.durable == other.durable:
            network.findings.add("I5", f"{edge} has {one.filter.text} and {other.filter.text}, which are identical")
        elif comparable and strategy in _WITHOUT_COVERED:
            network.findings.add("I5", f"{edge} has {one.filter.text} and {other.filter.text}: one covers the other")


def _check_advertisements(network: Network, edge: Edge) -> None:
    """I1 and I2 for advertisements, which go everywhere."""
    if not edge.knows.policy.advertisements or edge.knows.policy.strategy is Strategy.FLOODING:
        return
    offered = _wished(network, edge, Topic.ADVERTISEMENTS)
    _compare(network, edge, Topic.ADVERTISEMENTS, needed=offered, allowed=offered)


def _check_subscriptions(network: Network, edge: Edge) -> None:
    """I1 and I2 for subscriptions."""
    wanted = needed = _wished(network, edge, Topic.SUBSCRIPTIONS)
    if edge.knows.policy.advertisements:
        own = network.reachable(edge.broker, without=edge.neighbour)
        needed = wanted & network.space.union(network.truth.at(own, Topic.ADVERTISEMENTS))
    _compare(network, edge, Topic.SUBSCRIPTIONS, needed, allowed=wanted)


def _wished(network: Network, edge: Edge, topic: Topic) -> Events:
    """What clients on the neighbour's side wish for."""
    there = network.reachable(edge.neighbour, without=edge.broker)
    return network.space.union(network.truth.at(there, topic))


def _compare(network: Network, edge: Edge, topic: Topic, needed: Events, allowed: Events) -> None:
    space = network.space
    known = space.union(entry.filter.text for entry in edge.knows.table(edge.neighbour, topic))
    if needed & ~known:
        network.findings.add("I1", f"{edge} lacks {topic.value} for {space.shown(needed & ~known)}")
    if known & ~allowed and edge.knows.policy.strategy in PERFECT:
        text = f"{edge} has {topic.value} for {space.shown(known & ~allowed)}, which nobody wants there"
        network.findings.add("I2", text)
    if edge.knows.policy.strategy is Strategy.IMPERFECT:
        _check_loss(network, edge, topic, allowed)
    if not allowed and known and edge.knows.policy.strategy is not Strategy.FLOODING:
        network.findings.add("I7", f"{edge} keeps {topic.value} though nobody there wants anything")


def _check_loss(network: Network, edge: Edge, topic: Topic, wanted: Events) -> None:
    """I2 for imperfect merging: of what an entry lets through, no more is unwanted than the policy allows."""
    for entry in edge.knows.table(edge.neighbour, topic):
        through = network.space.of(entry.filter.text)
        share = (through & ~wanted).bit_count() / max(through.bit_count(), 1)
        if share > edge.knows.policy.loss + 1e-9:
            text = f"{edge} has {entry.filter.text}, of which {share:.0%} is unwanted ({entry.lost:.0%} were stated)"
            network.findings.add("I2", text)


def _shown(entries: tuple[Entry, ...]) -> str:
    return "; ".join(f"{entry.number}: {entry.filter.text}" for entry in entries) or "nothing"


def tables(network: Network, *, silent: bool = False) -> dict[tuple[str, str, Topic], tuple[Events, ...]]:
    """Every table as the sets of events of its entries, in an order that does not depend on history: for I6 and I9.

    With `silent`, also those of neighbours that are down or hang, as long as the broker believes that they are there.
    """
    found: dict[tuple[str, str, Topic], tuple[Events, ...]] = {}
    for name, steps in network.live.items():
        for neighbour in steps.neighbours:
            for topic in topics(steps.policy) if silent or neighbour in network.live else ():
                sets = (network.space.of(entry.filter.text) for entry in steps.table(neighbour, topic))
                found[name, neighbour, topic] = tuple(sorted(sets))
    return found
