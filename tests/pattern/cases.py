"""Stored cases: traces and composite profiles that a number decides, and what the reference reports of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from comity.event.event import Event
from comity.pattern.bound import BoundPattern
from comity.pattern.occurrence import microseconds
from comity.pattern.reference.reports import reports
from comity.testing.patterns import composites, traces

NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"
PROFILES = 40
"""How many each trace has."""
T = TypeVar("T")


def drawn(strategy: SearchStrategy[T], count: int, number: int) -> list[T]:
    """So many examples, always the same for a number."""
    found: list[T] = []

    @seed(number)
    @settings(max_examples=4 * count, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(one: T) -> None:
        found.append(one)

    collect()
    return Random(number).sample(found, min(count, len(found)))


def bound_profiles(number: int) -> list[BoundPattern]:
    return [one.bind(f"p{at}") for at, one in enumerate(drawn(composites(), PROFILES, number))]


def one_trace(number: int) -> list[Event]:
    return max(drawn(traces(min_size=4), 20, number), key=len)


def expected(patterns: Sequence[BoundPattern], trace: Sequence[Event], until: int | None = None) -> list[str]:
    return sorted({one.id for pattern in patterns for one in reports(pattern, trace, until=until)})


def an_end(number: int, trace: Sequence[Event]) -> int | None:
    """Where to end, in one of three cases: at the time of one of the events."""
    times = [event.time for event in trace if event.time]
    return microseconds(Random(number).choice(times)) if number % 3 == 2 else None
