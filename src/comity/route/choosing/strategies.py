"""Which chooser carries out a strategy."""

from __future__ import annotations

from typing import assert_never

from comity.route.choosing.chooser import Chooser
from comity.route.choosing.covering import Uncovered
from comity.route.choosing.identity import OneOfEach
from comity.route.choosing.merging import Mergeable
from comity.route.choosing.simple import EveryOne
from comity.route.filters import FilterPool
from comity.route.policy import Policy, Strategy


def chooser(link: str, policy: Policy, pool: FilterPool) -> Chooser:
    """A new one for a link. Who floods tells nothing, and needs none."""
    match policy.strategy:
        case Strategy.FLOODING | Strategy.SIMPLE:
            return EveryOne(link)
        case Strategy.IDENTITY:
            return OneOfEach(link, pool.classes)
        case Strategy.COVERING:
            return Uncovered(link, pool.kept)
        case Strategy.MERGING:
            return Mergeable(link, pool)
        case Strategy.IMPERFECT:
            losses = None if policy.statistics is None else pool.losses(policy.statistics)
            return Mergeable(link, pool, losses, policy.loss)
        case _:
            assert_never(policy.strategy)
