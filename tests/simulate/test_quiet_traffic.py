"""Events all at once go where the brokers' own steps send them one by one."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from comity.errors import Misuse
from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.messages import Topic, Update
from comity.route.policy import Policy, Strategy
from comity.simulate.market import Market, Taste
from comity.simulate.network import Network
from comity.simulate.quiet_traffic import QuietTraffic, as_batch
from comity.simulate.space import EventSpace
from comity.simulate.topology import Topology
from comity.simulate.trading import Trading

POOL = FilterPool()
SHAPES = {
    "tree": Topology.tree(14, Random(3)),
    "line": Topology.line(6),
    "star": Topology.star(70),
    "balanced": Topology.balanced(15, 2),
}


def trading(topology: Topology, policy: Policy, market: Market) -> Trading:
    """A market at rest."""
    space = EventSpace(market.quotes)
    network = Network(lambda name: RoutingBroker(name, policy, POOL), Random(1), POOL, space)
    network.build(topology)
    network.settle()
    trade = Trading(network, market, 3, Taste(), Random(2))
    trade.advertise()
    network.settle()
    trade.subscribe(60)
    network.settle()
    trade.churn(10)
    network.settle()
    return trade


def counted(network: Network) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]], int, int]:
    counters = network.counters
    return counters.events, counters.unwanted, counters.delivered, counters.published


@pytest.mark.parametrize("advertisements", [False, True])
@pytest.mark.parametrize("strategy", [Strategy.FLOODING, Strategy.SIMPLE, Strategy.COVERING])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_at_once_as_one_by_one(shape: str, strategy: Strategy, advertisements: bool) -> None:
    market = Market.generated(15, 80, Random(4))
    trades = [trading(SHAPES[shape], Policy(strategy, advertisements), market) for _ in range(2)]
    QuietTraffic(trades[0].network).carry(as_batch(market.quotes), trades[0].origins(range(80)))
    for event in range(80):
        trades[1].publish(event)
    trades[1].network.settle()
    assert counted(trades[0].network) == counted(trades[1].network)
    assert trades[0].network.counters.delivered > 40
    assert not len(trades[0].network.findings) + len(trades[1].network.findings)


def test_a_client_with_several_subscriptions_gets_an_event_once() -> None:
    market = Market.generated(3, 30, Random(4))
    network = trading(SHAPES["line"], Policy(Strategy.SIMPLE), market).network
    for number in range(3):
        network.hold("b2", Topic.SUBSCRIPTIONS, "greedy", number, f"volume > {number}")
    network.settle()
    before = Counter(network.counters.events)
    QuietTraffic(network).carry(as_batch(market.quotes), ["b2"] * 30)
    single = sum(
        len({wish.client for wish in network.truth.every(Topic.SUBSCRIPTIONS) if network.space.of(wish.text) >> n & 1})
        for n in range(30)
    )
    assert network.counters.delivered == single
    assert network.counters.events != before


def test_an_event_that_does_not_arrive_is_told() -> None:
    """The tables are made wrong on purpose: a broker that forgot what its neighbour told."""
    market = Market.generated(3, 30, Random(4))
    network = trading(SHAPES["line"], Policy(Strategy.SIMPLE), market).network
    network.live["b0"].receive("b1", Update(Topic.SUBSCRIPTIONS, whole=True), network.now)
    QuietTraffic(network).carry(as_batch(market.quotes), ["b0"] * 30)
    assert network.findings.invariants == {"I1"}


def test_only_a_whole_tree_takes_events_all_at_once() -> None:
    network = trading(SHAPES["line"], Policy(), Market.generated(3, 5, Random(4))).network
    network.cut("b0", "b1")
    network.settle()
    with pytest.raises(Misuse, match="tree"):
        QuietTraffic(network)
