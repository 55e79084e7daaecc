"""Random networks keep the invariants of routing, for every strategy, with and without advertisements."""

from __future__ import annotations

import os
import random

import pytest
from tests.route.invariants import check_all, check_deliveries, check_empty
from tests.route.network import PERFECT, Network, random_tree, small_policy
from tests.route.small_world import SPACE

from comity.route.messages import Topic
from comity.route.policy import Strategy

STRATEGIES = list(Strategy)
SEEDS = range(200 if os.environ.get("COMITY_PROFILE") == "nightly" else 8)


@pytest.mark.parametrize("advertisements", [False, True], ids=["", "advertised"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks_keep_the_invariants(strategy: Strategy, advertisements: bool, seed: int) -> None:
    chance = random.Random(seed)
    network = Network(small_policy(strategy, advertisements), random_tree(chance, chance.randint(2, 7)), seed)
    for _ in range(6):
        for _ in range(chance.randint(1, 12)):
            network.change()
            for _ in range(chance.choice((0, 0, 1, 3, 20))):
                network.deliver_one()
        network.settle()
        check_all(network)
        check_deliveries(network)
    _take_all_back(network)
    network.settle()
    if strategy is not Strategy.FLOODING:
        check_empty(network)


def _take_all_back(network: Network) -> None:
    for name, holding in network.holding.items():
        for client, key in list(holding.subscriptions):
            network.unsubscribe(name, client, key)
        for client, key in list(holding.advertisements):
            network.unadvertise(name, client, key)


@pytest.mark.parametrize("advertisements", [False, True], ids=["", "advertised"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("seed", range(4))
def test_networks_recover_when_links_are_lost_and_steps_are_small(
    strategy: Strategy, advertisements: bool, seed: int
) -> None:
    chance = random.Random(seed)
    tree = random_tree(chance, 5)
    network = Network(small_policy(strategy, advertisements, slice=1), tree, seed)
    for _ in range(5):
        for _ in range(12):
            network.change()
        one, other = map(str, chance.choice(tree))
        network.disconnect(one, other)
        for _ in range(chance.choice((0, 5, 500))):
            network.deliver_one()
        network.connect(one, other)
        network.settle()
        check_all(network)
        check_deliveries(network)


@pytest.mark.parametrize("advertisements", [False, True], ids=["", "advertised"])
@pytest.mark.parametrize("seed", range(6))
def test_cleverer_strategies_keep_smaller_tables_and_forward_the_same(seed: int, advertisements: bool) -> None:
    networks = {strategy: _grown(strategy, advertisements, seed) for strategy in list(Strategy)[1:]}
    entries = [_entries(network) for network in networks.values()]
    assert entries == sorted(entries, reverse=True)
    assert entries[0] > entries[-1]
    crossed = [_crossings(networks[strategy]) for strategy in PERFECT]
    assert crossed == crossed[:1] * len(PERFECT)


def _grown(strategy: Strategy, advertisements: bool, seed: int) -> Network:
    chance = random.Random(seed)
    network = Network(small_policy(strategy, advertisements), random_tree(chance, 6), seed)
    for _ in range(60):
        network.change()
    network.settle()
    return network


def _entries(network: Network) -> int:
    return sum(len(network.brokers[one].table(other, Topic.SUBSCRIPTIONS)) for one, other in network.queues)


def _crossings(network: Network) -> int:
    """How often links are crossed if each event is published once at each broker that may."""
    total = 0
    for name in network.names:
        for point in SPACE:
            offers = network.holding[name].advertisements.values()
            if not network.policy.advertisements or any(offer.wants(point) for offer in offers):
                network.publish(name, point)
                total += network.crossed.total()
    return total
