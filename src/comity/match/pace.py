"""Long work beside matching: it rests between its steps, so that matching keeps most of the interpreter's time.

A thread that runs Python code holds the interpreter's lock, and a matcher needs it several times for each batch.
Without rests it would wait five milliseconds each time, for as long as the work lasts.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep

Rest = Callable[[], None]

STEP_S = 0.0005
"""Work between two rests, as long as a step does not take longer by itself."""
REST_SHARE = 8.0
"""How much longer a rest is than the step before it: matching loses at most a ninth."""
MOST_CREDIT_S = 0.02
"""Rest that counts for later steps at most, so that a long wait is not followed by long work."""
RECENT_S = 0.05
"""Matching goes on when it was seen so short a time ago."""


def no_rest() -> None:
    """For work that nothing goes on beside."""


class MatchingPace:
    """Calling it rests when a step is over and matching goes on: when `last_matched` gave a moment just before."""

    def __init__(self, last_matched: Callable[[], float]) -> None:
        self._last_matched = last_matched
        self._rested_at = monotonic()
        self._credit = 0.0
        """What earlier rests took beyond what was due: who matches event by event gives the lock back late."""

    def __call__(self) -> None:
        # Time on the clock, not of the processor: who is put aside by the system holds the lock all the same.
        now = monotonic()
        worked = now - self._rested_at
        if worked < STEP_S:
            return
        if now - self._last_matched() < RECENT_S:
            due = worked * REST_SHARE - self._credit
            sleep(max(due, 0.0))
            self._credit = min(monotonic() - now - due, MOST_CREDIT_S)
        self._rested_at = monotonic()
