"""The random run on a network with circles: brokers also have to agree on a tree, again after every failure."""

from __future__ import annotations

from random import Random

from comity.simulate.checks import check_at_rest
from comity.simulate.generic_network import GenericDoor, GenericNetwork
from comity.simulate.links import LinkConditions
from comity.simulate.topology import Topology
from comity.simulate.trial import RoutingTrial


class GenericTrial(RoutingTrial):
    """As on a tree, with some links more."""

    def _topology(self, brokers: int) -> Topology:
        return Topology.mesh(brokers, self.chance, more=self.chance.randint(1, brokers))

    def _network(self, seed: float) -> GenericNetwork:
        started: dict[str, int] = {}

        def make(name: str) -> GenericDoor:
            started[name] = started.get(name, 0) + 1
            return GenericDoor(self.maker(name, self.policy, self.world.pool), started[name])

        conditions = LinkConditions(delay_s=(0.001, 0.01), loss=0.05, resend_s=0.01, notice_s=(0.0, 0.02))
        return GenericNetwork(make, Random(seed), self.world.pool, self.world.space, conditions=conditions)

    def _check(self) -> None:
        network = self.network
        assert isinstance(network, GenericNetwork)
        if not network.agrees():
            network.findings.add("I0", "the brokers did not agree on a tree")
        check_at_rest(network)
