"""One filter for two: exactly as much as both together, or a little more with the loss estimated.

What is found out about a filter, or about some that are to be merged, is kept for all links and all brokers of a pool:
they put the same ones together, again and again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import combinations
from weakref import WeakKeyDictionary, WeakValueDictionary

from comity.errors import Misuse
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
from comity.limits import limits
from comity.route.route_filter import RouteFilter

_SAMPLE = 1024
"""Events of the statistics that losses are estimated from, at most."""
_KEPT = 1 << 14
"""Mergers that are remembered though nobody uses them, and sets of filters that have none."""
_MOST_POINTS = 256
"""Values of an attribute by which a filter is found at most."""


class MergeAgreement:
    """What boxes have in common but for one attribute, or two: the same object wherever it occurs."""

    __slots__ = ("__weakref__",)


class FewValues:
    """The attributes of a box that hold few values: by these it meets what it covers, and what covers it."""

    __slots__ = ("points", "within")

    def __init__(self, box: Box) -> None:
        few = {path: members for path, values in box.items() if (members := _members(values)) is not None}
        self.points: tuple[Hashable, ...] = tuple((path, members[0]) for path, members in few.items())
        """One value of each of them; what covers the box has one of these in `within`, or has None there."""
        least = min(few, key=lambda path: len(few[path]), default=None)
        self.within: tuple[Hashable, ...] | None = None
        """The values of the one with the fewest; None if there is none."""
        if least is not None:
            self.within = tuple((least, member) for member in few[least])


class MergeBox(FewValues):
    """A filter as a box, with what others are compared by."""

    __slots__ = ("__weakref__", "agreements", "box", "near")

    def __init__(self, box: Box, agreed: Callable[[Hashable], MergeAgreement]) -> None:
        super().__init__(box)
        self.box = box
        self.agreements = tuple((path, agreed(common)) for path, common in agreements(box))
        """Each attribute, with what a box must have in common with this one to be mergeable over it."""
        self.near = tuple(map(agreed, near_agreements(box)))
        """What a box that differs in two attributes at most has in common with this one, for some pair of them."""


def _members(values: ValueSet) -> tuple[Hashable, ...] | None:
    """The values of a set that has few, all of them strings or numbers; None for any other one."""
    if values.missing or values.bools or values.other or not (values.timestamps.is_empty and values.durations.is_empty):
        return None
    if values.numbers.is_empty:
        return values.strings.members(_MOST_POINTS) or None
    size = values.numbers.size() if values.strings.is_empty else None
    return None if size is None or size > _MOST_POINTS else tuple(values.numbers)


class Mergers:
    """Puts filters together that are conjunctions of constraints on single attributes.

    The union of two boxes is a box only if they agree on all attributes but one, or if one covers the other. So
    candidates are found by what they agree on.
    """

    def __init__(
        self, space: Space, shape: Callable[[RouteFilter], Shape], of_tree: Callable[[Expression], RouteFilter]
    ) -> None:
        self._space, self._shape, self._of_tree = space, shape, of_tree
        self._boxes: WeakKeyDictionary[RouteFilter, MergeBox | None] = WeakKeyDictionary()
        self._agreements: WeakValueDictionary[Hashable, MergeAgreement] = WeakValueDictionary()
        self._known: WeakValueDictionary[Hashable, RouteFilter] = WeakValueDictionary()
        self._latest: deque[RouteFilter] = deque(maxlen=_KEPT)
        self._impossible: dict[Hashable, None] = {}

    def box(self, filter: RouteFilter) -> MergeBox | None:
        """The filter as a box; None if it is none, or asks nothing."""
        try:
            return self._boxes[filter]
        except KeyError:
            shape = self._shape(filter)
            is_box = shape.fit is Fit.EXACT and shape.box
            found = self._boxes[filter] = MergeBox(shape.box, self._agreed) if is_box else None
            return found

    def _agreed(self, common: Hashable) -> MergeAgreement:
        return self._agreements.setdefault(common, MergeAgreement())

    def union(self, filters: Iterable[RouteFilter], path: Path) -> RouteFilter | None:
        """The filter of what several boxes match that agree on all but this attribute; None if it has no text."""
        listed = list(filters)

        def together() -> Box:
            boxes = [self._box(filter) for filter in listed]
            values = boxes[0][path]
            for box in boxes[1:]:
                values = values.union(box[path])
            return {**boxes[0], path: values}

        return self._once((path, frozenset(filter.number for filter in listed)), together)

    def hull(self, left: RouteFilter, right: RouteFilter) -> RouteFilter | None:
        """A filter around both: what they agree on stays, gaps between numbers are filled, the rest is left out."""

        def around() -> Box:
            one, other = self._box(left), self._box(right)
            return {path: _filled(values.union(other[path])) for path, values in one.items() if path in other}

        return self._once((min(left.number, right.number), max(left.number, right.number)), around)

    def _box(self, filter: RouteFilter) -> Box:
        found = self.box(filter)
        assert found is not None, "only boxes are merged"
        return found.box

    def _once(self, question: Hashable, box: Callable[[], Box]) -> RouteFilter | None:
        known = self._known.get(question)
        if known is not None or question in self._impossible:
            return known
        found = self._filter(box())
        if found is None:
            if len(self._impossible) >= _KEPT:
                del self._impossible[next(iter(self._impossible))]
            self._impossible[question] = None
        else:
            self._known[question] = found
            self._latest.append(found)
        return found

    def _filter(self, box: Box) -> RouteFilter | None:
        """The filter that the box is, if it can be said so that it means exactly this box."""
        try:
            wanted = {path: values for path, values in box.items() if not values.covers(self._space.universe(path))}
            filter = self._of_tree(box_expression(wanted, self._space))
            if len(filter.text) > limits().max_subscription_chars:
                return None  # a neighbour would not take it
            shape = self._shape(filter)
            return filter if dict(shape.box) == wanted and shape.fit is Fit.EXACT else None
        except (CannotDescribe, TooLarge, Misuse):
            return None


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
