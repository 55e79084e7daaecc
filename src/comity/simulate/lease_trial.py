"""I8: what nobody refreshes ends with its lease, and what is refreshed stays."""

from __future__ import annotations

from comity.route.messages import Topic
from comity.simulate.checks import tables
from comity.simulate.findings import Findings
from comity.simulate.trial import RoutingTrial

_LEASES = 4
"""Leases to wait, so that every broker on the way has ended what it heard of the one before it."""


class LeaseTrial(RoutingTrial):
    """Clients with leases come; then time passes, a broker hangs, and at last clients vanish without a word."""

    def run(self) -> Findings:
        self._rest()
        for kind in self.chance.choices(("subscribe", "advertise", "publish", "wait", "unsubscribe"), k=self.plan.acts):
            getattr(self, f"_{kind}")()
        self._pass_leases()
        self._hang()
        self._vanish()
        return self.network.findings

    def _hold(self, topic: Topic) -> None:
        client, broker = f"c{self._keys}", self._live()
        self._keys += 1
        self.network.hold(broker, topic, client, 0, self._filter(topic), self.policy.lease_s)

    def _pass_leases(self) -> None:
        """Whatever lives renews its leases, so nothing changes however long it lasts."""
        self._rest()
        self.network.advance(_LEASES * (self.policy.lease_s or 0))
        self._rest()

    def _hang(self) -> None:
        """The others forget a broker that says nothing, and hear of it again when it was started again."""
        name = self._live()
        self.network.hang(name)
        self._outlast()
        for (broker, neighbour, topic), entries in tables(self.network, silent=True).items():
            if neighbour == name and entries:
                self.network.findings.add("I8", f"{broker} still has {topic.value} of {name}, which hangs")
        self.network.restart(name)
        self._rest()

    def _vanish(self) -> None:
        for client in list(self.network.truth.homes):
            self.network.vanish(client)
        self._outlast()
        for (broker, neighbour, topic), entries in tables(self.network).items():
            if entries:
                self.network.findings.add("I8", f"{broker} still has {topic.value} of {neighbour}: nobody lives")

    def _outlast(self) -> None:
        for _ in self.network.stations:
            self.network.advance(_LEASES * (self.policy.lease_s or 0))
        self.network.settle()
        self._check()
