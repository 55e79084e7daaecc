"""The suite finds every planted fault, and finds nothing where none is planted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from comity.route.broker import RoutingBroker
from comity.route.policy import Policy, Strategy
from comity.route.rendezvous.node import RendezvousNode
from comity.simulate.lease_trial import LeaseTrial
from comity.simulate.rendezvous_trial import RendezvousTrial
from comity.simulate.trial import RoutingTrial
from tests.simulate import mutants, overlay_mutants
from tests.simulate.test_trials import TYPED_WORLD, WORLD

TRIED = 60
"""Seeds after which a fault counts as overlooked."""

FAULTS = {
    mutants.ForgetsLocalClients: (Policy(Strategy.COVERING), "I1"),
    mutants.CancelsFirst: (Policy(Strategy.COVERING), "I1"),
    mutants.TakesEqualFiltersForOne: (Policy(Strategy.SIMPLE), "I1"),
    mutants.RemovesEqualEntries: (Policy(Strategy.SIMPLE), "I1"),
    mutants.TellsTheOrigin: (Policy(Strategy.COVERING), "I2"),
    mutants.ForgetsToTellNewPublishers: (Policy(Strategy.IDENTITY, advertisements=True), "I1"),
    mutants.ForgetsToAdvertiseAgain: (Policy(Strategy.COVERING, advertisements=True), "I1"),
    mutants.KeepsWhatALostNeighbourTold: (Policy(Strategy.SIMPLE), "I2"),
    mutants.SaysNothingWhenALinkComesBack: (Policy(Strategy.COVERING), "I1"),
    mutants.SendsBack: (Policy(Strategy.SIMPLE), "I3"),
    mutants.DeliversForOneSubscriptionOnly: (Policy(Strategy.SIMPLE), "I1"),
}
"""Each with the policy under which it matters, and an invariant that it breaks."""
LEASE_FAULTS = {mutants.KeepsStaleLeases: "I8", mutants.DoesNotRefresh: "I1"}


def broken_by(
    maker: type[RoutingBroker], policy: Policy, kind: type[RoutingTrial] = RoutingTrial
) -> Iterator[set[str]]:
    """The invariants that do not hold, seed by seed."""
    for seed in range(TRIED):
        yield kind(seed, policy, WORLD, maker=maker).run().invariants


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found(fault: type[RoutingBroker]) -> None:
    policy, invariant = FAULTS[fault]
    assert any(invariant in found for found in broken_by(fault, policy))


@pytest.mark.parametrize("fault", LEASE_FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_leases_is_found(fault: type[RoutingBroker]) -> None:
    policy = Policy(Strategy.COVERING, lease_s=1.0)
    assert any(LEASE_FAULTS[fault] in found for found in broken_by(fault, policy, LeaseTrial))


@pytest.mark.parametrize("fault", overlay_mutants.FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_an_overlay_is_found(fault: type[RendezvousNode]) -> None:
    class FaultyTrial(RendezvousTrial):
        node = fault

    policy = Policy(Strategy.COVERING, advertisements=True)
    runs = (FaultyTrial(seed, policy, TYPED_WORLD).run().invariants for seed in range(TRIED))
    assert any(overlay_mutants.FAULTS[fault] in found for found in runs)
