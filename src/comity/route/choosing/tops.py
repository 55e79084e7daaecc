"""What a neighbour is told under merging: found by what covers it, what it covers, and what it may be merged with.

A box that holds few values in an attribute can only be covered by one that holds one of them there, or asks nothing of
it. So what covers and what is covered meet under a value of an attribute, and the rest is not looked at.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from comity.filter.index.columns import covers
from comity.filter.open_kinds import Path
from comity.route.filters import FilterPool
from comity.route.mergers import MergeAgreement, MergeBox
from comity.route.route_filter import RouteFilter
from comity.route.wanted import Interest


class MergerPart:
    """A filter that no other one covers, or a merger of such."""

    __slots__ = ("box", "hidden", "interest", "over", "parts", "path")

    def __init__(
        self, interest: Interest, box: MergeBox | None, parts: Iterable[MergerPart] = (), path: Path | None = None
    ) -> None:
        self.interest = interest
        self.box = box
        self.parts = dict.fromkeys(parts)
        """What a merger was made of."""
        self.path = path
        """The attribute in which the parts differ, if it is one, and the merger is perfect."""
        self.hidden: dict[MergerPart, None] = {}
        """What a merger covers beside its parts."""
        self.over: MergerPart | None = None
        """The merger that this is a part of, or that covers it."""


_Found = dict[MergerPart, None]


class ToldParts:
    """The parts that one neighbour is told."""

    def __init__(self, pool: FilterPool, *, near: bool) -> None:
        self._pool, self._near = pool, near
        self._tops: dict[RouteFilter, _Found] = {}
        """By filter; of two that differ in being durable, both."""
        self._alike: dict[Hashable, _Found] = {}
        """By what they may agree on with others."""
        self._mergers: dict[Hashable, _Found] = {}
        """Mergers, by the values of one attribute; under None those that hold many in each."""
        self._points: dict[Hashable, _Found] = {}
        """All, by one value of each attribute that holds few; under None those that are no boxes."""

    def __contains__(self, part: MergerPart) -> bool:
        return part in self._tops.get(part.interest.filter, ())

    def add(self, part: MergerPart) -> None:
        """The neighbour is told it."""
        for index, mark in self._marks(part):
            index.setdefault(mark, {})[part] = None

    def remove(self, part: MergerPart) -> None:
        """The neighbour is told it no more."""
        for index, mark in self._marks(part):
            found = index[mark]
            del found[part]
            if not found:
                del index[mark]

    def _marks(self, part: MergerPart) -> Iterator[tuple[dict[Hashable, _Found], Hashable]]:
        yield self._tops, part.interest.filter  # type: ignore[misc]
        box, durable = part.box, part.interest.durable
        if part.parts:
            for mark in (None,) if box is None or box.within is None else box.within:
                yield self._mergers, mark
        for mark in (None,) if box is None else box.points:
            yield self._points, mark
        if box is not None:
            for _, agreement in box.agreements:
                yield self._alike, (durable, agreement)
            if self._near:
                for agreement in dict.fromkeys(box.near):
                    yield self._alike, (durable, agreement)

    def alike(self, durable: bool, agreement: MergeAgreement) -> list[MergerPart]:
        """Those that agree on this."""
        return list(self._alike.get((durable, agreement), ()))

    def covering(self, part: MergerPart) -> MergerPart | None:
        """A merger that covers the part."""
        if part.box is None:
            found = (merger for mergers in self._mergers.values() for merger in mergers)
        else:
            found = (merger for mark in (None, *part.box.points) for merger in self._mergers.get(mark, ()))
        return next((merger for merger in found if self._hides(merger, part)), None)

    def covered(self, merger: MergerPart) -> list[MergerPart]:
        """Those that a merger covers."""
        if merger.box is None or merger.box.within is None:
            found: Iterable[MergerPart] = (top for tops in self._tops.values() for top in tops)
        else:
            found = dict.fromkeys(top for mark in (None, *merger.box.within) for top in self._points.get(mark, ()))
        return [top for top in found if self._hides(merger, top)]

    def _hides(self, merger: MergerPart, part: MergerPart) -> bool:
        """Whether a merger covers a part, for certain; most fail at their first attribute."""
        if merger.interest.durable < part.interest.durable:
            return False
        if merger.box is None or part.box is None:
            return self._pool.covers(merger.interest.filter, part.interest.filter)
        outer, inner = merger.box.box, part.box.box
        return outer.keys() <= inner.keys() and all(covers(values, inner[path]) for path, values in outer.items())
