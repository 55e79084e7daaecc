"""Random networks keep the invariants of routing, for every strategy, with and without advertisements."""

from __future__ import annotations

import random

import pytest
from tests.route.invariants import check_all, check_deliveries, check_empty
from tests.route.network import Network, random_tree

from comity.route.policy import Policy, Strategy

STRATEGIES = [Strategy.FLOODING, Strategy.SIMPLE, Strategy.IDENTITY, Strategy.COVERING]
SEEDS = range(12)


@pytest.mark.parametrize("advertisements", [False, True], ids=["", "advertised"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks_keep_the_invariants(strategy: Strategy, advertisements: bool, seed: int) -> None:
    chance = random.Random(seed)
    network = Network(Policy(strategy, advertisements), random_tree(chance, chance.randint(2, 7)), seed)
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
    network = Network(Policy(strategy, advertisements, slice=1), tree, seed)
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
