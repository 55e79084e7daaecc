"""The filters of a network: each text is read once, and each pair is compared once."""

from __future__ import annotations

from functools import cached_property
from itertools import count

from comity.errors import Misuse
from comity.expression.bind import bind_filter
from comity.expression.compile import Test, compile_filter
from comity.expression.evaluate import AttributeReader
from comity.expression.parse import parse_text
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.tree import Expression, Not, conjunction
from comity.filter.relations import satisfiable_in
from comity.filter.space import Space

_PAIRS_KEPT = 1 << 20


class RouteFilter:
    """A filter over events of any type. Of one pool, equal texts give the same object; it equals itself only."""

    def __init__(self, number: int, text: str, tree: Expression) -> None:
        self.number = number
        """Rises from filter to filter of a pool."""
        self.text = text
        """What it is on the wire."""
        self.tree = tree

    @cached_property
    def _test(self) -> Test:
        return compile_filter(self.tree)

    def matches(self, record: AttributeReader) -> bool:
        """Whether the event passes."""
        return self._test(record)

    def __repr__(self) -> str:
        return f"RouteFilter({self.text!r})"


class FilterPool:
    """Reads filters, and knows how they relate. One pool may serve many brokers; its filters belong to it.

    What cannot be decided counts as "does not cover", "not identical" and "may overlap".

    >>> pool = FilterPool()
    >>> cheap, cheaper = pool.read("price < 40"), pool.read("price<30")
    >>> pool.covers(cheap, cheaper), pool.covers(cheaper, cheap), pool.read("price < 30") is cheaper
    (True, False, True)
    """

    def __init__(self) -> None:
        self._space = Space()
        self._by_text: dict[str, RouteFilter] = {}
        self._numbers = count()
        self._covers: dict[tuple[int, int], bool] = {}
        self._overlaps: dict[tuple[int, int], bool] = {}
        self.everything = self.read("true")
        """The filter that every event passes."""

    def __len__(self) -> int:
        return len(self._by_text)

    def read(self, text: str) -> RouteFilter:
        """The filter of a text, in the expression language; attributes are open and have no units."""
        found = self._by_text.get(text)
        if found is None:
            tree = _bound(text)
            plain = render(tree)
            found = self._by_text.get(plain) or RouteFilter(next(self._numbers), plain, tree)
            self._by_text[plain] = self._by_text[text] = found
        return found

    def covers(self, outer: RouteFilter, inner: RouteFilter) -> bool:
        """Whether it is certain that every event that passes the inner one passes the outer one."""
        if outer is inner or outer is self.everything:
            return True
        pair = outer.number, inner.number
        known = self._covers.get(pair)
        if known is None:
            answer = satisfiable_in(conjunction([inner.tree, Not(outer.tree)]), self._space)
            known = _kept(self._covers, pair, answer.value is False)
        return known

    def identical(self, one: RouteFilter, other: RouteFilter) -> bool:
        """Whether it is certain that both let the same events pass."""
        return one is other or (self.covers(one, other) and self.covers(other, one))

    def overlaps(self, one: RouteFilter, other: RouteFilter) -> bool:
        """Whether some event may pass both."""
        if one is other:
            return True
        pair = min(one.number, other.number), max(one.number, other.number)
        known = self._overlaps.get(pair)
        if known is None:
            answer = satisfiable_in(conjunction([one.tree, other.tree]), self._space)
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
