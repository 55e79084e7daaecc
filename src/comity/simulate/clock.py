"""Virtual time: what is to happen, in order of time, and at equal times in the order in which it was arranged."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

Act = Callable[..., None]


class VirtualClock:
    """Acts and when they happen.

    >>> clock, seen = VirtualClock(), []
    >>> clock.at(2.0, seen.append, "second"); clock.at(1.0, seen.append, "first")
    >>> clock.step(), clock.step(), clock.step(), seen, clock.now
    (True, True, False, ['first', 'second'], 2.0)
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._waiting: list[tuple[float, int, Act, tuple[Any, ...]]] = []
        self._order = count()

    def at(self, due: float, act: Act, *arguments: Any) -> None:
        """Let something happen at a time, now at the earliest."""
        heappush(self._waiting, (max(due, self.now), next(self._order), act, arguments))

    def step(self, until: float | None = None) -> bool:
        """Let the next thing happen; whether there was one, up to a time."""
        if not self._waiting or (until is not None and self._waiting[0][0] > until):
            return False
        self.now, _, act, arguments = heappop(self._waiting)
        act(*arguments)
        return True

    def advance(self, until: float) -> None:
        """Let happen all that is due by then; it is then that time."""
        while self.step(until):
            pass
        self.now = max(self.now, until)
