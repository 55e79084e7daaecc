"""`Filter`: a bound expression with its relations, for Python callers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from comity.errors import Misuse
from comity.event.taxonomy import Taxonomy
from comity.expression.bind import bind_filter
from comity.expression.evaluate import AttributeReader, holds
from comity.expression.parse import Parsed, parse_text
from comity.expression.render import render
from comity.expression.scope import Scope, Table
from comity.expression.tree import Expression
from comity.filter import relations
from comity.filter.merge import Merger, merge, merge_within
from comity.filter.relations import Answer
from comity.filter.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Filter:
    """A stateless predicate over one event.

    >>> hot, hotter = Filter("temperature > 30 degC"), Filter("temperature > 95 degF")
    >>> bool(hot.covers(hotter)), bool(hotter.covers(hot))
    (True, False)
    """

    text: str
    scope: Scope = field(default_factory=lambda: Scope(convert_open_units=True), repr=False, compare=False)
    tree: Expression = field(init=False, repr=False, compare=False)
    """The bound expression."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", _bound(parse_text(self.text), self.scope))

    @classmethod
    def typed(cls, text: str, taxonomy: Taxonomy, type_name: str, tables: dict[str, Table] | None = None) -> Filter:
        """A filter over the events of a type and its subtypes."""
        return cls(text, Scope(taxonomy.type(type_name), taxonomy, tables or {}))

    def matches(self, record: AttributeReader) -> bool:
        """Whether an event passes."""
        return holds(self.tree, record)

    def satisfiable(self, *beside: Filter) -> Answer:
        """Whether any event can pass; other filters `beside` it tell more about the kinds of open attributes."""
        return relations.satisfiable(self.tree, self.scope, [self._beside(other) for other in beside])

    def covers(self, other: Filter) -> Answer:
        """Whether every event that passes the other one passes this one."""
        return relations.covers(self.tree, self._beside(other), self.scope)

    def overlaps(self, other: Filter) -> Answer:
        """Whether some event passes both."""
        return relations.overlaps(self.tree, self._beside(other), self.scope)

    def identical(self, other: Filter) -> Answer:
        """Whether both let the same events pass."""
        return relations.identical(self.tree, self._beside(other), self.scope)

    def merge(self, other: Filter) -> Filter:
        """One filter for what either lets pass."""
        return self._from_tree(merge(self.tree, self._beside(other), self.scope))

    def merge_within(self, other: Filter, *, loss: float, statistics: Statistics) -> Merger:
        """A simpler filter for both, of which at most the share `loss` is unwanted."""
        return merge_within(self.tree, self._beside(other), self.scope, loss=loss, statistics=statistics)

    def _beside(self, other: Filter) -> Expression:
        """The other filter's tree in this one's terms: open attributes with a unit take the unit that they have
        here.
        """
        if other.scope.type != self.scope.type:
            raise Misuse("the filters are over different types", code="different-types")
        if self.scope.type is not None or other.scope.open_units == self.scope.open_units:
            return other.tree
        return _bound(parse_text(other.text), self.scope)

    def _from_tree(self, tree: Expression) -> Filter:
        plain = replace(self.scope, open_units={})
        return Filter(render(tree), plain if self.scope.type is None else self.scope)


def _bound(parsed: Parsed, scope: Scope) -> Expression:
    try:
        return bind_filter(parsed.tree, scope)
    except Misuse as error:
        raise parsed.locate(error) from None
