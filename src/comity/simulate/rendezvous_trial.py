"""The random run on a rendezvous overlay: ways and tables of every type are repaired after every failure."""

from __future__ import annotations

from random import Random
from typing import ClassVar, cast

from comity.route.rendezvous.node import RendezvousNode
from comity.simulate.door import BrokerDoor
from comity.simulate.interval_world import typed_filter, typed_space
from comity.simulate.lease_trial import LeaseTrial
from comity.simulate.links import LinkConditions
from comity.simulate.rendezvous_checks import check_overlay_at_rest
from comity.simulate.rendezvous_network import RendezvousNetwork
from comity.simulate.topology import Topology
from comity.simulate.trial import RoutingTrial, TrialWorld


def typed_world() -> TrialWorld:
    """A world in which events have one of three types, which every filter names."""
    return TrialWorld(typed_space(), filter=typed_filter)


class RendezvousTrial(RoutingTrial):
    """As on a tree, with some links more, and a tree for each type."""

    node: ClassVar[type[RendezvousNode]] = RendezvousNode
    """What nodes are made of."""

    def _topology(self, brokers: int) -> Topology:
        return Topology.mesh(brokers, self.chance, more=self.chance.randint(1, brokers))

    def _network(self, seed: float) -> RendezvousNetwork:
        started: dict[str, int] = {}

        def make(name: str) -> BrokerDoor:
            started[name] = started.get(name, 0) + 1
            node = self.node(name, self.policy, self.world.pool, life=started[name])
            return cast(BrokerDoor, node)  # but for `route`, which the network calls in its own way

        conditions = LinkConditions(delay_s=(0.001, 0.01), loss=0.05, resend_s=0.01, notice_s=(0.0, 0.02))
        return RendezvousNetwork(make, Random(seed), self.world.pool, self.world.space, conditions=conditions)

    def _check(self) -> None:
        assert isinstance(self.network, RendezvousNetwork)
        check_overlay_at_rest(self.network)

    def _take_all_back(self) -> None:
        RoutingTrial._take_all_back(self)
        assert isinstance(self.network, RendezvousNetwork)
        for name, node in self.network.nodes().items():
            if node.types():
                self.network.findings.add("I7", f"{name} is in the trees of {node.types()}, which nobody has or wants")


class RendezvousLeaseTrial(RendezvousTrial, LeaseTrial):
    """Leases in the trees of types. Who hangs is found out by its silence on links, not by leases."""

    def _hang(self) -> None:
        """Nobody does."""
