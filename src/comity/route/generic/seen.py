"""Which events came before: while a network changes, one may come twice."""

from __future__ import annotations

from comity.limits import limits


class SeenEvents:
    """Remembers the last events by source and id.

    >>> seen = SeenEvents()
    >>> seen.is_new(("/house", "1")), seen.is_new(("/house", "1"))
    (True, False)
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], None] = {}

    def is_new(self, identity: tuple[str, str]) -> bool:
        """Whether the event was not seen before; from now on it was."""
        if identity in self._known:
            return False
        if len(self._known) >= limits().max_seen_events:
            del self._known[next(iter(self._known))]
        self._known[identity] = None
        return True
