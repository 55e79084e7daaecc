"""Covering that can be seen from the text: a filter with fewer conditions, each of them also the other's.

Most covers in practice are of this kind ("all of this symbol" over "this symbol, and a volume"), and telling them takes
no look at what conditions mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from comity.route.route_filter import FilterPart, RouteFilter


class PartsIndex:
    """Filters by one of their conditions, the one that fewest others had when they came."""

    def __init__(self) -> None:
        self._homes: dict[FilterPart | None, dict[RouteFilter, None]] = {}
        self._home_of: dict[RouteFilter, FilterPart | None] = {}
        self._counts: Counter[FilterPart] = Counter()

    def add(self, filter: RouteFilter) -> None:
        """Take a filter in."""
        home = min(filter.parts, key=self._counts.__getitem__, default=None)
        self._counts.update(filter.parts)
        self._home_of[filter] = home
        self._homes.setdefault(home, {})[filter] = None

    def remove(self, filter: RouteFilter) -> None:
        """Forget a filter."""
        home = self._home_of.pop(filter)
        del self._homes[home][filter]
        if not self._homes[home]:
            del self._homes[home]
        for part in filter.parts:
            self._counts[part] -= 1
            if not self._counts[part]:
                del self._counts[part]

    def covering(self, filter: RouteFilter) -> Iterator[RouteFilter]:
        """Filters all of whose conditions are conditions of this one, too; not itself."""
        parts = filter.parts
        for home in (None, *parts):
            for other in self._homes.get(home, ()):
                if other is not filter and other.parts <= parts:
                    yield other
