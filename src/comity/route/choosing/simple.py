"""Simple routing: the neighbour knows every subscription, equal ones as often as they are wanted."""

from __future__ import annotations

from comity.route.choosing.chooser import Chooser, Counts
from comity.route.route_filter import RouteFilter
from comity.route.wanted import Wanted


class EveryOne(Chooser):
    """Chooses all."""

    def __init__(self, link: str) -> None:
        super().__init__(link)
        self._known: dict[RouteFilter, Counts] = {}

    def look(self, wanted: Wanted) -> None:
        self._become(wanted.filter, dict(wanted.each_beyond(self.link)))

    def forget(self, filter: RouteFilter) -> None:
        self._become(filter, {})

    def _become(self, filter: RouteFilter, counts: Counts) -> None:
        for interest in self._known.pop(filter, {}):
            self._changed[interest] = 0
        if counts:
            self._known[filter] = counts
            self._changed.update(counts)
