"""Changes of what clients want, collected for some milliseconds, so that neighbours are told once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from comity.route.changes import Change

_COLLECT_S = 0.005
_MOST = 2_000
"""Changes that are collected at the most."""

Then = Callable[[], None]


class ChangeCollector:
    """Gives changes to `apply` together, and then does what was to be done behind each."""

    def __init__(self, apply: Callable[[list[Change]], None]) -> None:
        self._apply = apply
        self._changes: list[Change] = []
        self._then: list[Then] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, changes: Iterable[Change], then: Then | None = None) -> None:
        """Make these changes soon, in the order in which they come."""
        self._changes += changes
        if then is not None:
            self._then.append(then)
        if len(self._changes) >= _MOST:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_COLLECT_S, self.flush)

    def flush(self) -> None:
        """Make all that wait now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        changes, self._changes = self._changes, []
        then, self._then = self._then, []
        if changes:
            self._apply(changes)
        for one in then:
            one()
