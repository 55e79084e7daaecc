"""The one rule of routing: what a neighbour should know, given all that is wanted elsewhere."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, assert_never

from comity.expression.uncovered import uncovered
from comity.route.filters import FilterPool, RouteFilter
from comity.route.policy import Policy, Strategy


class Interest(NamedTuple):
    """A filter that somebody wants, as a neighbour is told of it."""

    filter: RouteFilter
    durable: bool = False
    lost: float = 0.0


Chosen = dict[Hashable, Interest]
"""What a neighbour should know, by something that stays the same while it does."""


def choose(wanted: Mapping[Hashable, Interest], policy: Policy, pool: FilterPool) -> Chosen:
    """What a neighbour should know of what is wanted, by whoever wants it."""
    match policy.strategy:
        case Strategy.FLOODING:
            return {}
        case Strategy.SIMPLE:
            return dict(wanted)
        case Strategy.IDENTITY:
            return _by_filter(_without_identical(_distinct(wanted.values()), pool))
        case Strategy.COVERING | Strategy.MERGING | Strategy.IMPERFECT:
            return _by_filter(maximal(_distinct(wanted.values()), pool))
        case _:
            assert_never(policy.strategy)


def _by_filter(interests: Iterable[Interest]) -> Chosen:
    return {interest.filter: interest for interest in interests}


def _distinct(interests: Iterable[Interest]) -> list[Interest]:
    """One for each filter: durable if any is, with the smallest loss."""
    found: dict[RouteFilter, Interest] = {}
    for interest in interests:
        known = found.get(interest.filter)
        found[interest.filter] = interest if known is None else joined(known, interest)
    return list(found.values())


def joined(one: Interest, other: Interest) -> Interest:
    """One interest for two whose filters match the same events."""
    return Interest(one.filter, one.durable or other.durable, min(one.lost, other.lost))


def _without_identical(interests: list[Interest], pool: FilterPool) -> list[Interest]:
    found: list[Interest] = []
    for interest in interests:
        for at, known in enumerate(found):
            if pool.identical(known.filter, interest.filter):
                found[at] = joined(known, interest)
                break
        else:
            found.append(interest)
    return found


def hides(outer: Interest, inner: Interest, pool: FilterPool) -> bool:
    """Whether who knows the outer one need not know the inner one. What is durable is hidden by durable ones only."""
    return outer.durable >= inner.durable and pool.covers(outer.filter, inner.filter)


def maximal(interests: list[Interest], pool: FilterPool) -> list[Interest]:
    """Those that no other one hides; of several that hide each other, the first."""
    return uncovered(interests, lambda outer, inner: hides(outer, inner, pool))
