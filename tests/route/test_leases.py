"""What is not refreshed is forgotten, and what was lost is told again."""

from __future__ import annotations

import random

import pytest
from tests.route.invariants import check_all, check_deliveries, check_empty
from tests.route.network import Network, random_tree, small_policy
from tests.route.small_world import SmallFilter

from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.messages import Refresh, Topic, Update
from comity.route.notices import Cause
from comity.route.policy import Policy, Strategy

CHAIN = [(0, 1), (1, 2)]


@pytest.mark.parametrize("strategy", list(Strategy)[1:], ids=lambda strategy: strategy.value)
def test_what_brokers_refresh_stays(strategy: Strategy) -> None:
    network = Network(small_policy(strategy, lease_s=9.0), CHAIN)
    network.subscribe("0", "Ada", 1, SmallFilter((1, 3)))
    network.settle()
    network.pass_time(40)
    check_all(network)
    assert len(network.brokers["2"].table("1", Topic.SUBSCRIPTIONS)) == 1


@pytest.mark.parametrize("advertisements", [False, True], ids=["", "advertised"])
@pytest.mark.parametrize("strategy", list(Strategy)[1:], ids=lambda strategy: strategy.value)
def test_what_a_silent_broker_told_is_forgotten_everywhere(strategy: Strategy, advertisements: bool) -> None:
    network = Network(small_policy(strategy, advertisements, lease_s=9.0), CHAIN)
    network.advertise("2", "Eve", 1, SmallFilter())
    network.subscribe("0", "Ada", 1, SmallFilter((1, 3)))
    network.settle()
    network.pass_time(30, silent=("0",))
    assert network.brokers["1"].table("0", Topic.SUBSCRIPTIONS) == ()
    assert network.brokers["2"].table("1", Topic.SUBSCRIPTIONS) == ()


def test_a_refresh_comes_three_times_within_a_lease_and_says_nothing_else() -> None:
    broker = RoutingBroker("here", Policy(lease_s=9.0), FilterPool())
    broker.link_up("there", 0.0)
    assert broker.wakes_at() == 3.0
    assert broker.tick(3.0) == [("there", Refresh(Topic.SUBSCRIPTIONS))]
    assert broker.wakes_at() == 6.0


def test_the_lease_of_a_client_ends_unless_it_is_renewed() -> None:
    pool = FilterPool()
    broker = RoutingBroker("here", Policy(notices=True), pool)
    broker.link_up("there", 0.0)
    broker.subscribe("Ada", 1, pool.read("x > 1"), 0.0, lease_s=5.0)
    broker.subscribe("Bob", 1, pool.read("x > 2"), 0.0)
    assert broker.wakes_at() == 5.0
    broker.renew("Ada", 4.0)
    assert broker.tick(5.0) == []
    assert broker.wakes_at() == 9.0
    broker.take_notices()
    [(_, update)] = broker.tick(9.0)
    assert isinstance(update, Update)
    assert ([entry.filter.text for entry in update.added], len(update.removed)) == (["x > 2"], 1)
    assert [(notice.by, notice.cause) for notice in broker.take_notices()] == [("Ada", Cause.LEASE)]
    assert broker.wakes_at() is None


@pytest.mark.parametrize("advertisements", [False, True], ids=["", "advertised"])
@pytest.mark.parametrize("strategy", list(Strategy), ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("seed", range(3))
def test_a_restarted_broker_comes_to_know_the_same(strategy: Strategy, advertisements: bool, seed: int) -> None:
    chance = random.Random(seed)
    network = Network(small_policy(strategy, advertisements), random_tree(chance, 5), seed)
    for _ in range(40):
        network.change()
    network.settle()
    name = chance.choice(network.names)
    before = {other: network.known(name, other) for one, other in network.queues if one == name}
    network.restart(name)
    network.settle()
    check_all(network)
    check_deliveries(network)
    if strategy is not Strategy.IMPERFECT:
        assert {other: network.known(name, other) for other in before} == before


def test_what_was_said_before_a_neighbour_began_anew_is_passed_over() -> None:
    network = Network(small_policy(Strategy.COVERING), [(0, 1)])
    network.settle()
    network.subscribe("0", "Ada", 1, SmallFilter((1, 3)))
    old = network.queues["0", "1"].popleft()
    network.restart("1")
    network.queues["0", "1"].appendleft(old)
    network.unsubscribe("0", "Ada", 1)
    network.settle()
    check_empty(network)
