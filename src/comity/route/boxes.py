"""Covering among filters that are one set of values for each of a few attributes, told without the index.

Who covers a filter names no attribute that it does not name, and of few attributes there are few subsets. So filters
stand by the attributes that they name, and only those of a subset are compared. Most subscriptions are hidden by a
wide one that hides many others, which is tried first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from comity.filter.index.shape import Fit, Shape, is_nested
from comity.filter.open_kinds import Path
from comity.filter.sets.values import ValueSet
from comity.route.route_filter import RouteFilter

MOST_COMPARED = 64
"""Filters that one is compared with; who has more relatives is better looked up in the index."""
_ATTRIBUTES = 62
"""Attributes that have a place, so that the subsets of those of a filter are numbers of a machine."""

Suits = Callable[[RouteFilter], bool]
_Conditions = tuple[tuple[Path, ValueSet], ...]


class FoundCover(NamedTuple):
    """A filter that covers the one that was asked about; with none, whether it is certain that there is none."""

    cover: RouteFilter | None
    is_sure: bool


UNSURE = FoundCover(None, is_sure=False)


class BoxIndex:
    """Filters by the attributes that they name; those that are no boxes are only counted."""

    def __init__(self) -> None:
        self._places = [1 << number for number in range(_ATTRIBUTES)]
        """The bits that no attribute has."""
        self._bits: dict[Path, int] = {}
        self._uses: Counter[Path] = Counter()
        self._by_attributes: dict[int, dict[RouteFilter, _Conditions]] = {}
        """The last one of each was found last."""
        self._attributes: dict[RouteFilter, int] = {}
        self._others: set[RouteFilter] = set()

    def add(self, filter: RouteFilter, shape: Shape) -> None:
        """Take a filter in."""
        bits = self._take_places(shape) if _is_plain(shape) and _says_something(shape) else None
        if bits is None:
            self._others.add(filter)
            return
        self._uses.update(shape.box.keys())
        self._attributes[filter] = bits
        self._by_attributes.setdefault(bits, {})[filter] = tuple(shape.box.items())

    def remove(self, filter: RouteFilter) -> None:
        """Forget a filter."""
        if filter in self._others:
            self._others.remove(filter)
            return
        bits = self._attributes.pop(filter)
        some = self._by_attributes[bits]
        for path, _ in some.pop(filter):
            self._uses[path] -= 1
            if not self._uses[path]:
                del self._uses[path]
                self._places.append(self._bits.pop(path))
        if not some:
            del self._by_attributes[bits]

    def cover(self, filter: RouteFilter, shape: Shape, suits: Suits) -> FoundCover:
        """One of the filters that covers another one of this shape, and suits."""
        if not _is_plain(shape):
            return UNSURE
        compared = 0
        for bits in self._subsets(sum(self._bits.get(path, 0) for path in shape.box)):
            some = self._by_attributes[bits]
            for other, conditions in reversed(some.items()):
                if compared == MOST_COMPARED:
                    return UNSURE
                compared += 1
                if other is not filter and _covers(conditions, shape) and suits(other):
                    some[other] = some.pop(other)
                    return FoundCover(other, is_sure=True)
        return FoundCover(None, is_sure=not self._others)

    def _take_places(self, shape: Shape) -> int | None:
        """The bits of its attributes; None if there are none left."""
        new = [path for path in shape.box if path not in self._bits]
        if len(new) > len(self._places):
            return None
        for path in new:
            self._bits[path] = self._places.pop()
        return sum(self._bits[path] for path in shape.box)

    def _subsets(self, bits: int) -> Iterator[int]:
        """The sets of attributes that filters name and that are part of these, in no order."""
        if 1 << bits.bit_count() >= len(self._by_attributes):
            yield from [some for some in self._by_attributes if not some & ~bits]
            return
        some = bits
        while True:
            if some in self._by_attributes:
                yield some
            if not some:
                return
            some = (some - 1) & bits


def _is_plain(shape: Shape) -> bool:
    """Whether the filter is a set for each attribute, none of which says anything of another one."""
    return shape.fit is Fit.EXACT and all(
        not is_nested(path) and values.strings.is_interval_union and not values.is_empty
        for path, values in shape.box.items()
    )


def _says_something(shape: Shape) -> bool:
    return ValueSet.open_universe() not in shape.box.values()


def _covers(outer: _Conditions, inner: Shape) -> bool:
    box = inner.box
    return all(values.covers(box[path]) for path, values in outer)
