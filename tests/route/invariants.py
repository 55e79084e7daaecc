"""The invariants of a network at rest."""

from __future__ import annotations

from tests.route.network import PERFECT, Network
from tests.route.small_world import SPACE, as_record

from comity.route.messages import Topic
from comity.route.policy import Strategy


def check_all(network: Network) -> None:
    """All that hold whatever happened before; the network must be at rest."""
    for broker, neighbour in network.queues:
        assert not network.queues[broker, neighbour]
        check_tables(network, broker, neighbour)
        check_agreement(network, broker, neighbour)
        if network.policy.strategy is not Strategy.FLOODING:
            check_losses(network, broker, neighbour)
        check_minimal(network, broker, neighbour)


def check_tables(network: Network, broker: str, neighbour: str) -> None:
    """No loss (I1), and perfect strategies know exactly what is wanted (I2)."""
    wanted, known = network.wanted_behind(neighbour, broker), network.known(broker, neighbour)
    strategy = network.policy.strategy
    if not network.policy.advertisements:
        assert known >= wanted
        if strategy in PERFECT:
            assert known == wanted
        return
    if strategy is Strategy.FLOODING:
        return
    offered = network.offered_behind(broker, neighbour)
    assert known >= wanted & offered
    assert network.known(broker, neighbour, Topic.ADVERTISEMENTS) >= network.offered_behind(neighbour, broker)
    if strategy in PERFECT:
        assert known <= wanted


def check_losses(network: Network, broker: str, neighbour: str) -> None:
    """Of what an entry matches, no more is wanted by nobody than it says, and than the policy allows."""
    wanted = network.wanted_behind(neighbour, broker)
    for entry in network.brokers[broker].table(neighbour, Topic.SUBSCRIPTIONS):
        events = frozenset(point for point in SPACE if entry.filter.matches(as_record(point)))
        assert entry.lost <= network.policy.loss
        assert len(events - wanted) <= entry.lost * len(events) + 1e-9


def check_agreement(network: Network, broker: str, neighbour: str) -> None:
    """What was told is what the other one knows (I4)."""
    for topic in Topic:
        told = set(network.brokers[broker].told(neighbour, topic))
        assert told == set(network.brokers[neighbour].table(broker, topic))


def check_minimal(network: Network, broker: str, neighbour: str) -> None:
    """Of one neighbour, no two filters are identical, or comparable, where the strategy says so (I5)."""
    if network.policy.strategy in (Strategy.FLOODING, Strategy.SIMPLE):
        return
    for topic in Topic:
        entries = network.brokers[broker].table(neighbour, topic)
        sets = [(frozenset(p for p in SPACE if e.filter.matches({("a",): p[0], ("b",): p[1]})), e) for e in entries]
        for at, (one, mine) in enumerate(sets):
            for other, theirs in sets[:at]:
                if not one or not other:
                    continue  # in the small space a filter may match nothing that matches something between
                if network.policy.strategy is Strategy.IDENTITY:
                    assert one != other or not network.pool.identical(mine.filter, theirs.filter)
                elif mine.durable == theirs.durable:
                    assert not network.pool.covers(mine.filter, theirs.filter)
                    assert not network.pool.covers(theirs.filter, mine.filter)


def check_deliveries(network: Network) -> None:
    """Each event gets to whoever wants it, exactly once, from wherever it is published (I1, I3)."""
    for start in network.names:
        for point in network.chance.sample(SPACE, 8):
            offered = [f for f in network.holding[start].advertisements.values() if f.wants(point)]
            if network.policy.advertisements and not offered:
                continue
            expected = {
                (name, client, key): 1
                for name in network.names
                for (client, key), wanted in network.holding[name].subscriptions.items()
                if wanted.wants(point)
            }
            assert network.publish(start, point) == expected
            assert all(times == 1 for times in network.crossed.values())


def check_empty(network: Network) -> None:
    """Nothing is left (I7)."""
    for broker, neighbour in network.queues:
        for topic in Topic:
            assert network.brokers[broker].table(neighbour, topic) == ()
            assert network.brokers[broker].told(neighbour, topic) == ()
