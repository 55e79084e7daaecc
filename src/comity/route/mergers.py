"""One filter for two: exactly as much as both together, or a little more with the loss estimated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import combinations
from weakref import WeakKeyDictionary

from comity.errors import Misuse
from comity.expression.render import render
from comity.expression.tree import Expression
from comity.filter.conjunctive import Box
from comity.filter.describe import CannotDescribe, box_expression
from comity.filter.index.shape import Fit, Shape
from comity.filter.open_kinds import Path
from comity.filter.sets.automaton import TooLarge
from comity.filter.sets.numbers import NumberSet
from comity.filter.sets.values import ValueSet
from comity.filter.space import Space
from comity.filter.statistics import Statistics
from comity.route.route_filter import RouteFilter

_SAMPLE = 1024
"""Events of the statistics that losses are estimated from, at most."""


class Mergers:
    """Puts filters together that are conjunctions of constraints on single attributes.

    The union of two boxes is a box only if they agree on all attributes but one, or if one covers the other. So
    candidates are found by what they agree on.
    """

    def __init__(self, space: Space, shape: Callable[[RouteFilter], Shape], read: Callable[[str], RouteFilter]) -> None:
        self._space, self._shape, self._read = space, shape, read

    def box(self, filter: RouteFilter) -> Box | None:
        """The filter as a box; None if it is none, or asks nothing."""
        shape = self._shape(filter)
        return shape.box if shape.fit is Fit.EXACT and shape.box else None

    def union(self, boxes: list[Box], path: Path) -> RouteFilter | None:
        """The filter of what several boxes match that agree on all but this attribute; None if it has no text."""
        values = boxes[0][path]
        for box in boxes[1:]:
            values = values.union(box[path])
        return self._filter({**boxes[0], path: values})

    def hull(self, left: Box, right: Box) -> RouteFilter | None:
        """A filter around both: what they agree on stays, gaps between numbers are filled, the rest is left out."""
        around = {path: _filled(values.union(right[path])) for path, values in left.items() if path in right}
        return self._filter(around)

    def _filter(self, box: Box) -> RouteFilter | None:
        """The filter that the box is, if it can be written so that it is read as exactly this box."""
        try:
            wanted = {path: values for path, values in box.items() if not values.covers(self._space.universe(path))}
            filter = self._read(_text(wanted, self._space))
            return filter if dict(self._shape(filter).box) == wanted and self._shape(filter).fit is Fit.EXACT else None
        except (CannotDescribe, TooLarge, Misuse):
            return None


def _text(box: Box, space: Space) -> str:
    expression: Expression = box_expression(box, space)
    return render(expression)


def _filled(values: ValueSet) -> ValueSet:
    """The set with the gaps between its numbers filled."""
    if values.numbers.is_empty:
        return values
    return values.union(ValueSet(numbers=NumberSet.interval(*values.numbers.hull(), discrete=values.numbers.discrete)))


def agreements(box: Box) -> Iterator[tuple[Path, Hashable]]:
    """Each attribute, with what a box must have in common with this one to be mergeable over it."""
    for path in box:
        yield path, (path, frozenset(item for item in box.items() if item[0] != path))


def near_agreements(box: Box) -> Iterator[Hashable]:
    """What a box that differs in two attributes at most has in common with this one, for one pair of them at least."""
    for paths in (*((path,) for path in box), *combinations(box, 2)):
        yield frozenset(item for item in box.items() if item[0] not in paths)


class Losses:
    """How much of what a filter matches is wanted, by a sample of events."""

    def __init__(self, statistics: Statistics) -> None:
        step = -(-len(statistics.sample) // _SAMPLE) or 1
        self._sample = statistics.sample[::step]
        self._masks: WeakKeyDictionary[RouteFilter, int] = WeakKeyDictionary()

    def lost(self, merger: RouteFilter, parts: list[tuple[RouteFilter, float]]) -> float:
        """Of what the merger matches, the share at most that nobody wants; of each part a share is lost already."""
        matched = self._mask(merger)
        if not matched:
            return 1.0
        wanted = 0
        unwanted = 0.0
        for part, lost in parts:
            wanted |= self._mask(part)
            unwanted += lost * self._mask(part).bit_count()
        unwanted += (matched & ~wanted).bit_count()
        return min(unwanted / matched.bit_count(), 1.0)

    def _mask(self, filter: RouteFilter) -> int:
        """The events of the sample that match, each a bit."""
        known = self._masks.get(filter)
        if known is None:
            bits = "".join("1" if filter.matches(record) else "0" for record in self._sample)
            known = self._masks[filter] = int(bits or "0", 2)
        return known
