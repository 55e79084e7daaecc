"""The filters of a network: each text is read once, and what is found out about a filter is kept with it."""

from __future__ import annotations

from itertools import count
from weakref import WeakValueDictionary

from comity.errors import Misuse
from comity.expression.bind import bind_filter
from comity.expression.parse import parse_text
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.tree import Expression, Not, conjunction
from comity.filter.index.shape import Shape, ShapeReader
from comity.filter.relations import satisfiable_in
from comity.filter.space import Space
from comity.filter.statistics import Statistics
from comity.route.classes import FilterClasses
from comity.route.mergers import Losses, Mergers
from comity.route.relatives import CoverIndex, MeetingIndex
from comity.route.route_filter import RouteFilter as RouteFilter

_PAIRS_KEPT = 1 << 16


class FilterPool:
    """Reads filters, and knows how they relate. One pool may serve many brokers; its filters belong to it.

    What cannot be decided counts as "does not cover", "not identical" and "may overlap".

    >>> pool = FilterPool()
    >>> cheap, cheaper = pool.read("price < 40"), pool.read("price<30")
    >>> pool.covers(cheap, cheaper), pool.covers(cheaper, cheap), pool.read("price < 30") is cheaper
    (True, False, True)
    """

    def __init__(self) -> None:
        self.space = Space()
        """All records: a filter may say nothing of what others let an attribute be."""
        self._reader = ShapeReader(self.space)
        self._by_text: WeakValueDictionary[str, RouteFilter] = WeakValueDictionary()
        self._numbers = count()
        self._covers: dict[tuple[int, int], bool] = {}
        self._overlaps: dict[tuple[int, int], bool] = {}
        self.classes = FilterClasses(self.shape, self.identical)
        self.kept = CoverIndex()
        """The filters that some broker tells some neighbour, under covering."""
        self.meetings = MeetingIndex()
        """The filters that some broker knows of, under advertisements."""
        self.mergers = Mergers(self.space, self.shape, self.of_tree)
        self._losses: list[tuple[Statistics, Losses]] = []
        self._brokers = 0
        self.everything = self.read("true")
        """The filter that every event passes."""

    def __len__(self) -> int:
        return len(self._by_text)

    def serve(self) -> None:
        """One more broker uses the pool. From the second one on, answers are remembered for the others."""
        self._brokers += 1
        if self._brokers == 2:
            self.kept.remember()

    def read(self, text: str) -> RouteFilter:
        """The filter of a text, in the expression language; attributes are open and have no units."""
        found = self._by_text.get(text)
        return found or self.of_tree(_bound(text))

    def of_tree(self, tree: Expression) -> RouteFilter:
        """The filter of a bound tree over open attributes without units."""
        text = render(tree)
        found = self._by_text.get(text)
        if found is None:
            found = self._by_text[text] = RouteFilter(next(self._numbers), text, tree)
        return found

    def shape(self, filter: RouteFilter) -> Shape:
        """The filter as boxes, among all records."""
        return self._reader.read(filter.tree)

    def losses(self, statistics: Statistics) -> Losses:
        """What mergers lose if events are distributed so."""
        for known, losses in self._losses:
            if known is statistics:
                return losses
        self._losses.append((statistics, Losses(statistics)))
        return self._losses[-1][1]

    def covers(self, outer: RouteFilter, inner: RouteFilter) -> bool:
        """Whether it is certain that every event that passes the inner one passes the outer one."""
        if outer is inner or outer is self.everything:
            return True
        pair = outer.number, inner.number
        known = self._covers.get(pair)
        if known is None:
            answer = satisfiable_in(conjunction([inner.tree, Not(outer.tree)]), self.space)
            known = _kept(self._covers, pair, answer.value is False)
        return known

    def identical(self, one: RouteFilter, other: RouteFilter) -> bool:
        """Whether it is certain that both let the same events pass."""
        return one is other or (self.covers(one, other) and self.covers(other, one))

    def overlaps(self, one: RouteFilter, other: RouteFilter) -> bool:
        """Whether some event may pass both."""
        pair = min(one.number, other.number), max(one.number, other.number)
        known = self._overlaps.get(pair)
        if known is None:
            answer = satisfiable_in(conjunction([one.tree, other.tree]), self.space)
            known = _kept(self._overlaps, pair, answer.value is not False)
        return known


def _kept(answers: dict[tuple[int, int], bool], pair: tuple[int, int], answer: bool) -> bool:
    """The answer, which is remembered; the oldest ones are forgotten."""
    if len(answers) >= _PAIRS_KEPT:
        del answers[next(iter(answers))]
    answers[pair] = answer
    return answer


def _bound(text: str) -> Expression:
    scope = Scope()
    parsed = parse_text(text)
    try:
        tree = bind_filter(parsed.tree, scope)
    except Misuse as error:
        raise parsed.locate(error) from None
    for path, unit in scope.open_units.items():
        if unit is not None:
            raise Misuse(
                f"no type tells the unit of {'.'.join(path)}",
                code="unit-without-type",
                hint="in a network of brokers events have no types: say the number that stands in them",
            )
    return tree
