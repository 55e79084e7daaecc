"""The port of strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from comity.route.route_filter import RouteFilter
from comity.route.wanted import Interest, Wanted

Counts = dict[Interest, int]
"""How often a neighbour should be told each of these."""


class Chooser(ABC):
    """Chooses what the neighbour at one link should know, of all that is wanted beyond it."""

    def __init__(self, link: str) -> None:
        self.link = link
        self.waiting: dict[RouteFilter, Interest] = {}
        """What is wanted, and not decided on yet: see `place`."""
        self.orphaned: list[RouteFilter] = []
        """What began to wait since the caller emptied this list."""
        self.postpones = False
        """Whether what is looked at has to wait, since it is very much at once."""
        self._changed: Counts = {}

    @abstractmethod
    def look(self, wanted: Wanted) -> None:
        """Somebody wants the filter, wants it otherwise, or wants it no more."""

    @abstractmethod
    def forget(self, filter: RouteFilter) -> None:
        """The filter is wanted no more, or is no concern of the neighbour."""

    def shown(self) -> Iterable[RouteFilter]:
        """Filters that the neighbour should know, if that tells of others that they are no news."""
        return ()

    def place(self, filter: RouteFilter) -> None:
        """Decide on a filter that waits; nothing if it does not."""
        self.waiting.pop(filter, None)

    def close(self) -> None:  # noqa: B027
        """The link is gone: leave nothing behind."""

    def take_changes(self) -> Counts:
        """What has changed since the last call, of what the neighbour should know. Nothing must be waiting."""
        taken, self._changed = self._changed, {}
        return taken


class SingleChooser(Chooser):
    """One of those that look at each filter once, however many want it."""

    def __init__(self, link: str) -> None:
        super().__init__(link)
        self._shown: dict[RouteFilter, Interest] = {}

    def shown(self) -> Iterable[RouteFilter]:
        return self._shown

    def look(self, wanted: Wanted) -> None:
        interest = wanted.beyond(self.link)
        if interest is None:
            self.forget(wanted.filter)
        else:
            self.put(interest)

    @abstractmethod
    def put(self, interest: Interest) -> None:
        """The filter is wanted in this way."""

    def _show(self, interest: Interest) -> None:
        """The neighbour should know it, in this way and no other."""
        self._hide(interest.filter)
        self._shown[interest.filter] = interest
        self._changed[interest] = 1

    def _hide(self, filter: RouteFilter) -> None:
        """The neighbour need not know of the filter."""
        shown = self._shown.pop(filter, None)
        if shown is not None:
            self._changed[shown] = 0
