"""Which filters cover one, are covered by it, or meet it: by indexes that a pool's brokers share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.filter.index.filter_set import FilterSet, Shapes
from comity.route.boxes import UNSURE, BoxIndex, FoundCover, Suits
from comity.route.parts import PartsIndex
from comity.route.route_filter import RouteFilter

MOST_PAIRS = 2_000_000
"""Pairs of filters that are remembered at most; with more of them, each question is put to the index."""

Related = AbstractSet[RouteFilter]
Answers = dict[RouteFilter, set[RouteFilter]]
Question = Callable[[FilterSet, Expression, Shapes], AbstractSet[Any]]


class _Uses(Counter[RouteFilter]):
    """How many use each filter."""

    def begin(self, filter: RouteFilter) -> bool:
        """One more; whether it is the first."""
        self[filter] += 1
        return self[filter] == 1

    def end(self, filter: RouteFilter) -> bool:
        """One less; whether it was the last."""
        self[filter] -= 1
        if self[filter]:
            return False
        del self[filter]
        return True


class _Asked(NamedTuple):
    """The filter that was asked about last: the links of a broker ask about the same ones, one after the other."""

    filter: RouteFilter
    shapes: Shapes
    answers: dict[Question, Collection[RouteFilter]]


class CoverIndex:
    """The filters that somebody is told, and which of them cover another one, or are covered by it.

    With `remember`, as it pays for brokers that hear of the same filters again and again, every filter that somebody
    knows stands in the index, and its relatives are kept.
    """

    def __init__(self) -> None:
        self._known, self._kept = _Uses(), _Uses()
        self._filters = FilterSet(Scope())
        self._parts, self._boxes = PartsIndex(), BoxIndex()
        self._asked: _Asked | None = None
        self._remembers = False
        self._around: Answers = {}
        self._within: Answers = {}
        self._pairs = 0

    def remember(self) -> None:
        """Keep every answer from now on, for as long as there is room."""
        self._remembers, self._asked = True, None
        self._filters = FilterSet(Scope())
        for filter in self._known:
            self._learn(filter)

    def begin(self, filter: RouteFilter) -> None:
        """Somebody begins to know the filter, and will ask about it."""
        if self._known.begin(filter) and self._remembers:
            self._learn(filter)

    def end(self, filter: RouteFilter) -> None:
        """One who knew it does so no longer."""
        if self._known.end(filter) and self._remembers:
            self._unlearn(filter)

    def keep(self, filter: RouteFilter) -> None:
        """Somebody is told this filter: it counts in answers."""
        if self._kept.begin(filter) and not self._remembers:
            self._put(filter, self._about(filter).shapes)

    def release(self, filter: RouteFilter) -> None:
        """One who was told it is so no longer."""
        if self._kept.end(filter) and not self._remembers:
            self._parts.remove(filter)
            self._boxes.remove(filter)
            self._filters.remove(filter)

    def plain_cover(self, filter: RouteFilter, suits: Suits) -> FoundCover:
        """A filter that covers this one and suits, as far as that is told without much ado."""
        if self._remembers:
            return UNSURE
        cover = next((other for other in self._parts.covering(filter) if suits(other)), None)
        if cover is not None:
            return FoundCover(cover, is_sure=True)
        return self._boxes.cover(filter, self._about(filter).shapes[0], suits)

    def around(self, filter: RouteFilter) -> Collection[RouteFilter]:
        """Filters that cover this one, among them all such that are kept; not itself."""
        return self._related(filter, self._around, FilterSet.covering)

    def within(self, filter: RouteFilter) -> Collection[RouteFilter]:
        """Filters that this one covers, among them all such that are kept; not itself."""
        return self._related(filter, self._within, FilterSet.covered_by)

    def _related(self, filter: RouteFilter, remembered: Answers, ask: Question) -> Collection[RouteFilter]:
        known = remembered.get(filter)
        if known is not None:
            return known
        asked = self._about(filter)
        if ask not in asked.answers:
            found = ask(self._filters, filter.tree, asked.shapes)
            asked.answers[ask] = [other for other in found if other is not filter]
        return asked.answers[ask]

    def _about(self, filter: RouteFilter) -> _Asked:
        """What is known of a filter; answers do not change as long as no other one is asked about, hence kept."""
        if self._asked is None or self._asked.filter is not filter:
            self._asked = _Asked(filter, self._filters.shapes(filter.tree), {})
        return self._asked

    def _learn(self, filter: RouteFilter) -> None:
        self._asked = None
        shapes = self._filters.shapes(filter.tree)
        around = self._around[filter] = set(self._filters.covering(filter.tree, shapes))
        within = self._within[filter] = set(self._filters.covered_by(filter.tree, shapes))
        for outer in around:
            self._within[outer].add(filter)
        for inner in within:
            self._around[inner].add(filter)
        self._filters.add(filter, filter.tree, shapes)
        self._pairs += len(around) + len(within)
        if self._pairs > MOST_PAIRS:
            self._forget()

    def _unlearn(self, filter: RouteFilter) -> None:
        around, within = self._around.pop(filter), self._within.pop(filter)
        for outer in around:
            self._within[outer].discard(filter)
        for inner in within:
            self._around[inner].discard(filter)
        self._filters.remove(filter)
        self._pairs -= len(around) + len(within)

    def _forget(self) -> None:
        """There are too many answers: put each question to the index from now on."""
        self._remembers, self._asked = False, None
        self._around.clear()
        self._within.clear()
        self._filters = FilterSet(Scope())
        for filter in self._kept:
            self._put(filter, self._filters.shapes(filter.tree))

    def _put(self, filter: RouteFilter, shapes: Shapes) -> None:
        self._parts.add(filter)
        self._boxes.add(filter, shapes[0])
        self._filters.add(filter, filter.tree, shapes)


class MeetingIndex:
    """Filters of two sides, wanted and offered, and which of them may have an event in common."""

    def __init__(self) -> None:
        self.wanted, self.offered = MeetingSide(), MeetingSide()
        self.wanted.other, self.offered.other = self.offered, self.wanted


class MeetingSide:
    """The filters of one side of a `MeetingIndex`, each with those of the other side that it meets."""

    other: MeetingSide

    def __init__(self) -> None:
        self._uses = _Uses()
        self._filters = FilterSet(Scope())
        self._meets: dict[RouteFilter, set[RouteFilter]] | None = {}
        """Once there are too many pairs, they are not remembered any more."""
        self._pairs = 0

    def add(self, filter: RouteFilter) -> None:
        """One more uses the filter on this side."""
        if not self._uses.begin(filter):
            return
        shapes = self._filters.shapes(filter.tree)
        self._filters.add(filter, filter.tree, shapes)
        if self._meets is None or self.other._meets is None:
            return
        found = self._meets[filter] = set(self.other._filters.overlapping(filter.tree, shapes))
        for met in found:
            self.other._meets[met].add(filter)
        self._pairs += len(found)
        if self._pairs + self.other._pairs > MOST_PAIRS:
            self._meets = self.other._meets = None

    def remove(self, filter: RouteFilter) -> None:
        """One uses it no longer."""
        if not self._uses.end(filter):
            return
        self._filters.remove(filter)
        if self._meets is not None and self.other._meets is not None:
            for met in self._meets.pop(filter):
                self.other._meets[met].discard(filter)

    def met(self, filter: RouteFilter) -> Related:
        """Those of the other side that a filter of this side meets."""
        if self._meets is not None:
            return self._meets[filter]
        return frozenset(self.other._filters.overlapping(filter.tree))
