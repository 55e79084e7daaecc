"""Links and virtual time: order, loss, and what brokers notice."""

from __future__ import annotations

from random import Random

import pytest

from comity.errors import Misuse
from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.messages import Topic
from comity.route.policy import Policy, Strategy
from comity.simulate.checks import check_at_rest, tables
from comity.simulate.interval_world import interval_space
from comity.simulate.links import LinkConditions
from comity.simulate.network import Network
from comity.simulate.topology import Topology

POOL = FilterPool()


def network(topology: Topology, seed: int = 1, conditions: LinkConditions | None = None) -> Network:
    made = Network(
        lambda name: RoutingBroker(name, Policy(Strategy.SIMPLE), POOL),
        Random(seed),
        POOL,
        interval_space(),
        conditions=conditions or LinkConditions(),
    )
    made.build(topology)
    made.settle()
    return made


def entries(made: Network, broker: str, neighbour: str) -> list[str]:
    steps = made.live[broker]
    return [entry.filter.text for entry in steps.table(neighbour, Topic.SUBSCRIPTIONS)]


@pytest.mark.parametrize("seed", range(20))
def test_messages_of_a_link_keep_their_order_whatever_each_takes(seed: int) -> None:
    made = network(Topology.line(3), seed, LinkConditions(delay_s=(0.0, 1.0), loss=0.3))
    made.hold("b2", Topic.SUBSCRIPTIONS, "Ada", 0, "x >= 0")
    made.settle()
    for _ in range(20):
        made.publish("b0", "Bob", made.space.records.index({("x",): 3.0, ("w",): "a"}))
    made.settle()
    assert made.deliveries.count == 20
    assert not list(made.findings)


def test_links_overtake_each_other() -> None:
    """Both ways round a star take their own time, so what was sent first may arrive last."""
    firsts = set()
    for seed in range(20):
        made = network(Topology.star(3), seed)
        made.hold("b1", Topic.SUBSCRIPTIONS, "Ada", 0, "x = 1")
        while not entries(made, "b2", "b0") and not entries(made, "b0", "b1"):
            made.clock.step()
        made.hold("b2", Topic.SUBSCRIPTIONS, "Bob", 0, "x = 2")
        while not entries(made, "b1", "b0") and not entries(made, "b2", "b0"):
            made.clock.step()
        firsts.add("b1" if entries(made, "b1", "b0") else "b2")
    assert firsts == {"b1", "b2"}


def test_what_is_on_a_link_that_breaks_is_lost_and_said_again() -> None:
    made = network(Topology.line(2))
    made.hold("b0", Topic.SUBSCRIPTIONS, "Ada", 0, "x = 1")
    made.cut("b0", "b1")
    made.settle()
    assert made.counters.lost == 1
    assert "b0" not in made.live["b1"].neighbours
    made.mend("b0", "b1")
    made.settle()
    assert entries(made, "b1", "b0") == ["x = 1"]


def test_ends_notice_a_loss_at_different_times() -> None:
    made = network(Topology.line(2), conditions=LinkConditions(notice_s=(0.1, 1.0)))
    made.cut("b0", "b1")
    seen = set()
    while made.clock.step():
        seen.add(tuple(len(steps.neighbours) for steps in made.live.values()))
    assert seen == {(0, 1), (0, 0)} or seen == {(1, 0), (0, 0)}


def test_clients_come_back_to_a_broker_that_was_down() -> None:
    made = network(Topology.line(3))
    made.hold("b1", Topic.SUBSCRIPTIONS, "Ada", 0, "x = 1")
    made.settle()
    made.crash("b1")
    made.settle()
    assert tables(made) == {}
    made.restart("b1")
    made.settle()
    assert entries(made, "b0", "b1") == entries(made, "b2", "b1") == ["x = 1"]


def test_neighbours_of_a_broker_that_leaves_are_linked() -> None:
    made = network(Topology.star(4))
    made.hold("b3", Topic.SUBSCRIPTIONS, "Ada", 0, "x = 1")
    made.quit("b0")
    made.settle()
    check_at_rest(made)
    assert entries(made, "b2", "b1") == ["x = 1"]
    assert made.reachable("b2") == {"b1", "b2", "b3"}
    assert not list(made.findings)


def test_only_links_that_are_there_can_break() -> None:
    with pytest.raises(Misuse, match="no link"):
        network(Topology.line(3)).cut("b0", "b2")


def test_a_network_that_finds_no_rest_is_told() -> None:
    made = network(Topology.line(2))
    made.hold("b0", Topic.SUBSCRIPTIONS, "Ada", 0, "x = 1")
    made.settle(most_steps=0)
    assert made.findings.invariants == {"I0"}


@pytest.mark.parametrize(
    "shape", [Topology.line(9), Topology.star(9), Topology.balanced(9), Topology.tree(9, Random(1))]
)
def test_shapes_are_trees(shape: Topology) -> None:
    assert shape.is_tree
    assert len(shape.brokers) == 9


def test_a_mesh_has_circles() -> None:
    mesh = Topology.mesh(6, Random(1), more=3)
    assert len(mesh.links) == 8
    assert not mesh.is_tree
