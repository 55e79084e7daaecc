"""Identity-based routing: of filters that match the same events, the neighbour knows one."""

from __future__ import annotations

from comity.route.choosing.chooser import SingleChooser
from comity.route.classes import FilterClasses
from comity.route.route_filter import RouteFilter
from comity.route.wanted import Interest


class OneOfEach(SingleChooser):
    """Chooses one of each class of identical filters, the same one for as long as it is wanted."""

    def __init__(self, link: str, classes: FilterClasses) -> None:
        super().__init__(link)
        self._classes = classes
        self._members: dict[RouteFilter, dict[RouteFilter, Interest]] = {}
        """By the first filter of the class that anybody read, wanted here or not."""

    def put(self, interest: Interest) -> None:
        name = self._classes.first(interest.filter)
        members = self._members.setdefault(name, {})
        members[interest.filter] = interest
        self._show_one(members)

    def forget(self, filter: RouteFilter) -> None:
        name = self._classes.first(filter)
        members = self._members.get(name, {})
        if members.pop(filter, None) is None:
            return
        self._hide(filter)
        if members:
            self._show_one(members)
        else:
            del self._members[name]

    def _show_one(self, members: dict[RouteFilter, Interest]) -> None:
        shown = next((filter for filter in members if filter in self._shown), next(iter(members)))
        durable = any(member.durable for member in members.values())
        interest = Interest(shown, durable, min(member.lost for member in members.values()))
        if self._shown.get(shown) != interest:
            self._show(interest)
