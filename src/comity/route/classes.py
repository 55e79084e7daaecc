"""Classes of filters that match the same events."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from weakref import WeakKeyDictionary, WeakSet

from comity.filter.index.shape import Fit, Shape
from comity.route.route_filter import RouteFilter

_NONE_MATCHES = "nothing"
_FEW = 1024


class FilterClasses:
    """Tells of each filter of a pool which one stands for its class: the first one that was asked about.

    Filters that are conjunctions of constraints on single attributes, or unions of such, are compared by the smallest
    box around them, which identical ones have in common. A filter that relates attributes with each other is compared
    with others of this kind.
    """

    def __init__(
        self, shape: Callable[[RouteFilter], Shape], identical: Callable[[RouteFilter, RouteFilter], bool]
    ) -> None:
        self._shape, self._identical = shape, identical
        self._first: WeakKeyDictionary[RouteFilter, RouteFilter] = WeakKeyDictionary()
        self._alike: dict[Hashable, WeakSet[RouteFilter]] = {}

    def first(self, filter: RouteFilter) -> RouteFilter:
        """The filter that stands for the class of this one."""
        found = self._first.get(filter)
        if found is None:
            found = self._first[filter] = self._find(filter)
        return found

    def _find(self, filter: RouteFilter) -> RouteFilter:
        self._sweep()
        alike = self._alike.setdefault(self._mark(filter), WeakSet())
        for other in alike:
            if self._identical(other, filter):
                return other
        alike.add(filter)
        return filter

    def _sweep(self) -> None:
        """Forget marks that no filter has any more."""
        if len(self._alike) > 2 * len(self._first) + _FEW:
            self._alike = {mark: alike for mark, alike in self._alike.items() if alike}

    def _mark(self, filter: RouteFilter) -> Hashable:
        """Something that identical filters have in common."""
        shape = self._shape(filter)
        if shape.fit is Fit.EMPTY:
            return _NONE_MATCHES
        return shape.fit is Fit.LOOSE or frozenset(shape.box.items())
