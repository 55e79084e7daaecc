"""What one neighbour wants of what an index found."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from comity.filter.index.columns import Growing
from comity.route.choosing.covering import Uncovered
from comity.route.filters import FilterPool
from comity.route.kernels.fan_out import mark_wanted
from comity.route.passed import NO_ROWS, PassedFilters, Rows
from comity.route.route_filter import RouteFilter
from comity.route.wanted import Interest


class LinkFlags:
    """The filters of a neighbour that no other one of its covers, and which of them are durable."""

    def __init__(self, pool: FilterPool | None) -> None:
        """Without a pool all of its filters count, whatever covers them."""
        self._wanted: dict[RouteFilter, bool] = {}
        """Whether each is durable."""
        self._maximal = None if pool is None else Uncovered("", pool.kept)
        self._durable, self._any = Growing(np.bool_), Growing(np.bool_)
        """By the number that a filter has in the index."""
        self._durables = 0
        self._changed: dict[RouteFilter, None] = {}

    def has(self, filter: RouteFilter) -> bool:
        """Whether the filter counts."""
        return filter in self._wanted

    def put(self, filter: RouteFilter, durable: bool | None) -> list[RouteFilter]:
        """The neighbour wants the filter, durably or not, or (None) wants it not. Gives what has changed."""
        if self._maximal is None:
            return self._set(filter, durable)
        if durable is None:
            self._maximal.forget(filter)
        else:
            self._maximal.put(Interest(filter, durable))
        for orphan in self._maximal.orphaned:
            self._maximal.place(orphan)
        self._maximal.orphaned.clear()
        changes = self._maximal.take_changes()
        gone = [changed for interest, count in changes.items() if not count for changed in self._set(interest[0], None)]
        come = [f for interest, count in changes.items() if count for f in self._set(interest[0], interest[1])]
        return gone + come

    def _set(self, filter: RouteFilter, durable: bool | None) -> list[RouteFilter]:
        before = self._wanted.get(filter)
        if before is durable:
            return []
        if durable is None:
            del self._wanted[filter]
        else:
            self._wanted[filter] = durable
        self._durables += (durable is True) - (before is True)
        self._changed[filter] = None
        return [filter]

    def number(self, numbers: Mapping[RouteFilter, int], size: int) -> None:
        """Note the numbers that the filters have in an index that has given so many."""
        for column in (self._any, self._durable):
            column.extend(size)
        for filter in self._changed:
            number = numbers.get(filter)
            if number is not None:
                self._any.view[number] = filter in self._wanted
                self._durable.view[number] = self._wanted.get(filter, False)
        self._changed.clear()

    def rows(self, passed: PassedFilters, size: int) -> Rows:
        """The events that the neighbour wants, of a batch of so many."""
        return _marked(passed, self._any, size) if self._wanted else NO_ROWS

    def durable_rows(self, passed: PassedFilters, size: int) -> Rows:
        """Those that somebody there must not miss."""
        return _marked(passed, self._durable, size) if self._durables else NO_ROWS


def _marked(passed: PassedFilters, flags: Growing, size: int) -> Rows:
    found = np.zeros(size, np.bool_)
    mark_wanted(passed.rows, passed.offsets, passed.numbers, flags.view, found)
    return np.flatnonzero(found)
