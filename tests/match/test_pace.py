"""Work beside matching: how long it rests, on a clock that only this test moves."""

from __future__ import annotations

import pytest

from comity.match import pace
from comity.match.pace import MOST_CREDIT_S, REST_SHARE, STEP_S, MatchingPace


class Clock:
    """Time that goes on when somebody works or sleeps; a sleeper gets the lock back late."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits = 0.0
        self.rests: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds + self.waits


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace, "monotonic", lambda: clock.now)
    monkeypatch.setattr(pace, "sleep", clock.sleep)
    return clock


def work(clock: Clock, rest: MatchingPace, seconds: float) -> None:
    clock.now += seconds
    rest()


def test_a_step_is_followed_by_a_rest_in_proportion(clock: Clock) -> None:
    rest = MatchingPace(lambda: clock.now)
    work(clock, rest, STEP_S / 2)
    assert clock.rests == []
    work(clock, rest, STEP_S)
    assert clock.rests == pytest.approx([1.5 * STEP_S * REST_SHARE])


def test_nothing_rests_when_nobody_matches(clock: Clock) -> None:
    rest = MatchingPace(lambda: 0.0)
    work(clock, rest, 1.0)
    assert clock.rests == []


def test_waiting_for_the_lock_counts_as_rest(clock: Clock) -> None:
    rest, clock.waits = MatchingPace(lambda: clock.now), 0.005
    begun = clock.now
    for _ in range(1_000):
        work(clock, rest, STEP_S)
    worked, took = 1_000 * STEP_S, clock.now - begun
    assert worked / took == pytest.approx(1 / (1 + 0.005 / STEP_S), rel=0.05), "each rest is one wait for the lock"
    assert 0.0 in clock.rests


def test_a_long_wait_is_not_followed_by_long_work(clock: Clock) -> None:
    rest, clock.waits = MatchingPace(lambda: clock.now), 10.0
    work(clock, rest, STEP_S)
    clock.waits = 0.0
    begun, worked = clock.now, 0.0
    while clock.rests[-1] == 0.0 or len(clock.rests) < 2:
        work(clock, rest, STEP_S)
        worked += STEP_S
    assert worked <= MOST_CREDIT_S / REST_SHARE + STEP_S
    assert clock.now > begun
