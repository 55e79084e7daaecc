"""Every strategy, with and without advertisements: random networks that fail and mend, judged as they go.

One suite, inherited: a policy is a class. The normal profile tries 200 seeds in all, the nightly one 10,000.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from comity.filter.statistics import Statistics
from comity.route.adaptive import Adaptation
from comity.route.messages import SendEverything
from comity.route.policy import Policy, Strategy
from comity.simulate.counters import Counters
from comity.simulate.generic_trial import GenericTrial
from comity.simulate.lease_trial import LeaseTrial
from comity.simulate.rendezvous_trial import RendezvousLeaseTrial, RendezvousTrial, typed_world
from comity.simulate.trial import RoutingTrial, TrialWorld
from tests.conftest import PROFILE

WORLD = TrialWorld()
"""Filters are compared once for all tests of this process."""
TYPED_WORLD = typed_world()

SEEDS = 10_000 if PROFILE == "nightly" else 200
SUITES = 24
"""Over which the seeds are divided."""


class Routing:
    """What holds for every policy."""

    strategy: Strategy
    advertisements = False
    slice: int | None = None
    adaptive: Adaptation | None = None
    trial: type[RoutingTrial] = RoutingTrial
    lease_trial: type[LeaseTrial] = LeaseTrial
    world = WORLD

    def policy(self, lease_s: float | None = None) -> Policy:
        loss = 0.3 if self.strategy is Strategy.IMPERFECT else 0.0
        statistics = Statistics(tuple(self.world.space.records))
        return Policy(
            self.strategy, self.advertisements, loss, statistics, lease_s, slice=self.slice, adaptive=self.adaptive
        )

    def seeds(self, share: float = 1.0) -> range:
        return range(max(2, round(SEEDS / SUITES * share)))

    def test_all_invariants_hold_while_clients_and_links_come_and_go(self) -> None:
        for seed in self.seeds(0.8):
            findings = self.trial(seed, self.policy(), self.world).run()
            assert not list(findings), f"seed {seed}: {findings.kept[0]}"

    def test_leases_end_what_nobody_refreshes(self) -> None:
        if self.strategy is Strategy.FLOODING:
            pytest.skip("nothing is told, so nothing has a lease")
        for seed in self.seeds(0.2):
            findings = self.lease_trial(seed, self.policy(lease_s=1.0), self.world).run()
            assert not list(findings), f"seed {seed}: {findings.kept[0]}"

    def test_a_seed_gives_the_same_run_again(self) -> None:
        runs = [self.trial(1, self.policy(), self.world) for _ in range(2)]
        for run in runs:
            run.run()
        assert runs[0].network.counters == runs[1].network.counters
        assert runs[0].network.now == runs[1].network.now


class TestFlooding(Routing):
    strategy = Strategy.FLOODING


class TestSimple(Routing):
    strategy = Strategy.SIMPLE


class TestIdentity(Routing):
    strategy = Strategy.IDENTITY


class TestCovering(Routing):
    strategy = Strategy.COVERING


class TestMerging(Routing):
    strategy = Strategy.MERGING


class TestImperfect(Routing):
    strategy = Strategy.IMPERFECT


class TestCoveringInSlices(TestCovering):
    slice = 1


class TestMergingInSlices(TestMerging):
    slice = 2


class TestSimpleAdaptive(TestSimple):
    """Links stop filtering after a few events, and begin again."""

    adaptive = Adaptation(stop_above=0.6, begin_above=0.5, window=5, dwell_s=0.01)


class TestSimpleOnAnyGraph(TestSimple):
    trial = GenericTrial


class TestCoveringOnAnyGraph(TestCovering):
    trial = GenericTrial


class TestFloodingAdvertised(TestFlooding):
    advertisements = True


class TestSimpleAdvertised(TestSimple):
    advertisements = True


class TestIdentityAdvertised(TestIdentity):
    advertisements = True


class TestCoveringAdvertised(TestCovering):
    advertisements = True


class TestMergingAdvertised(TestMerging):
    advertisements = True


class TestImperfectAdvertised(TestImperfect):
    advertisements = True


class TestCoveringAdvertisedInSlices(TestCoveringInSlices):
    advertisements = True


class TestMergingAdvertisedInSlices(TestMergingInSlices):
    advertisements = True


class TestCoveringAdvertisedOnAnyGraph(TestCoveringOnAnyGraph):
    advertisements = True


class TestSimpleAdvertisedAdaptive(TestSimpleAdaptive):
    advertisements = True


class RoutingInAnOverlay(Routing):
    """With a tree for each type of events, on any graph."""

    advertisements = True
    trial = RendezvousTrial
    lease_trial = RendezvousLeaseTrial
    world = TYPED_WORLD


class TestSimpleInAnOverlay(RoutingInAnOverlay):
    strategy = Strategy.SIMPLE


class TestCoveringInAnOverlay(RoutingInAnOverlay):
    strategy = Strategy.COVERING


class TestCoveringInSlicesInAnOverlay(TestCoveringInAnOverlay):
    slice = 1


class TestMergingInAnOverlay(RoutingInAnOverlay):
    strategy = Strategy.MERGING


@pytest.mark.parametrize("advertisements", [False, True])
def test_the_more_a_strategy_puts_together_the_smaller_are_the_tables(advertisements: bool) -> None:
    """I6, at every rest of the same run. What merging leaves may exceed covering in one table, not in all of them."""
    order = (Strategy.SIMPLE, Strategy.IDENTITY, Strategy.COVERING)
    totals = dict.fromkeys((*order, Strategy.MERGING), 0)
    for seed in range(SEEDS // 20):
        sizes = {strategy: _sizes(seed, Policy(strategy, advertisements)) for strategy in totals}
        for larger, smaller in pairwise(order):
            assert all(more >= less for more, less in zip(sizes[larger], sizes[smaller], strict=True)), seed
        totals = {strategy: totals[strategy] + sum(sizes[strategy]) for strategy in totals}
    assert totals[Strategy.SIMPLE] > totals[Strategy.IDENTITY] > totals[Strategy.COVERING] >= totals[Strategy.MERGING]


def _sizes(seed: int, policy: Policy) -> list[int]:
    trial = RoutingTrial(seed, policy, WORLD)
    trial.run()
    return trial.sizes


def test_links_of_a_trial_do_stop_filtering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the suite of adaptive filtering would say nothing."""
    said: list[bool] = []

    def told(counters: Counters, way: tuple[str, str], control: object) -> None:
        if isinstance(control, SendEverything):
            said.append(control.on)

    monkeypatch.setattr(Counters, "told", told)
    for seed in range(5):
        RoutingTrial(seed, TestSimpleAdaptive().policy(), WORLD).run()
    assert set(said) == {True, False}
