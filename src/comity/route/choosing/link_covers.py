"""Which filters that one neighbour is told cover another one, or are covered by it.

Brokers that merge tell each other filters that are new nearly every time. To compare each with all that anybody in the
network knows, as `CoverIndex` does, so that the others need not do it again, is more work than to compare it with what
each neighbour is told: of that only those are looked at that have a value of an attribute in common with it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from weakref import WeakKeyDictionary

from comity.filter.conjunctive import Box
from comity.filter.index.columns import covers
from comity.filter.index.shape import Fit, is_nested
from comity.route.boxes import FoundCover, Suits
from comity.route.filters import FilterPool
from comity.route.mergers import FewValues
from comity.route.route_filter import RouteFilter

_Found = dict[RouteFilter, None]


class _Around(FewValues):
    """A box around a filter: whether it is the smallest one, and whether it is the filter."""

    __slots__ = ("box", "is_box", "is_tight")

    def __init__(self, box: Box, fit: Fit) -> None:
        super().__init__(box)
        self.box = box
        self.is_tight = fit in (Fit.EXACT, Fit.TIGHT)
        self.is_box = fit is Fit.EXACT and not any(map(is_nested, box))


_AROUND: WeakKeyDictionary[RouteFilter, _Around] = WeakKeyDictionary()
"""Of every filter that was looked at, for any link."""


class LinkCovers:
    """The filters that one neighbour is told."""

    def __init__(self, pool: FilterPool) -> None:
        self._pool = pool
        self._kept: _Found = {}
        self._outer: dict[Hashable, _Found] = {}
        """By the values of one attribute; under None those that hold many in each."""
        self._inner: dict[Hashable, _Found] = {}
        """By one value of each attribute that holds few; under None those whose smallest box is not known."""

    def begin(self, filter: RouteFilter) -> None:
        """Somebody begins to know the filter, and will ask about it."""

    def end(self, filter: RouteFilter) -> None:
        """One who knew it does so no longer."""

    def keep(self, filter: RouteFilter) -> None:
        """The neighbour is told this filter."""
        self._kept[filter] = None
        for index, mark in self._marks(filter):
            index.setdefault(mark, {})[filter] = None

    def release(self, filter: RouteFilter) -> None:
        """The neighbour is told it no longer."""
        del self._kept[filter]
        for index, mark in self._marks(filter):
            del index[mark][filter]
            if not index[mark]:
                del index[mark]

    def plain_cover(self, filter: RouteFilter, suits: Suits) -> FoundCover:
        """One of them that covers the filter and suits."""
        around = self._around(filter)
        marks = (None, *around.points)
        found: Iterable[RouteFilter] = self._kept
        if around.is_tight:
            found = (outer for mark in marks for outer in self._outer.get(mark, ()))
        cover = next((o for o in found if o is not filter and suits(o) and self._covers(o, filter)), None)
        return FoundCover(cover, is_sure=True)

    def around(self, filter: RouteFilter) -> Collection[RouteFilter]:
        """Those that cover it, of which `plain_cover` has told all."""
        return ()

    def within(self, filter: RouteFilter) -> Collection[RouteFilter]:
        """Those that the filter covers."""
        values = self._around(filter).within
        found: Iterable[RouteFilter] = self._kept
        if values is not None:
            found = dict.fromkeys(inner for mark in (None, *values) for inner in self._inner.get(mark, ()))
        return [inner for inner in found if inner is not filter and self._covers(filter, inner)]

    def _marks(self, filter: RouteFilter) -> list[tuple[dict[Hashable, _Found], Hashable]]:
        around = self._around(filter)
        outer = [(self._outer, mark) for mark in ((None,) if around.within is None else around.within)]
        return outer + [(self._inner, mark) for mark in (around.points if around.is_tight else (None,))]

    def _around(self, filter: RouteFilter) -> _Around:
        known = _AROUND.get(filter)
        if known is None:
            shape = self._pool.shape(filter)
            known = _AROUND[filter] = _Around(shape.box, shape.fit)
        return known

    def _covers(self, outer: RouteFilter, inner: RouteFilter) -> bool:
        one, other = self._around(outer), self._around(inner)
        if not (one.is_box and other.is_box):
            return self._pool.covers(outer, inner)
        box = other.box
        return one.box.keys() <= box.keys() and all(covers(values, box[path]) for path, values in one.box.items())
