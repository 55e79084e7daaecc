"""A filter as brokers exchange it."""

from __future__ import annotations

from weakref import WeakValueDictionary

from comity.expression.compile import Test, compile_filter
from comity.expression.evaluate import AttributeReader
from comity.expression.tree import TRUE, And, Expression


class RouteFilter:
    """A filter over events of any type. Of one pool, equal texts give the same object; it equals itself only."""

    __slots__ = ("__weakref__", "_parts", "_test", "known_cover", "number", "text", "tree")

    def __init__(self, number: int, text: str, tree: Expression) -> None:
        self.number = number
        """Rises from filter to filter of a pool."""
        self.text = text
        """What it is on the wire."""
        self.tree = tree
        self.known_cover: RouteFilter | None = None
        """The last filter that was found to cover it: the first one to try."""
        self._test: Test | None = None
        self._parts: frozenset[FilterPart] | None = None

    @property
    def parts(self) -> frozenset[FilterPart]:
        """The conditions that an event has to meet, all of them."""
        if self._parts is None:
            self._parts = parts_of(self.tree)
        return self._parts

    def matches(self, record: AttributeReader) -> bool:
        """Whether the event passes."""
        test = self._test
        if test is None:
            test = self._test = compile_filter(self.tree)
        return test(record)

    def __repr__(self) -> str:
        return f"RouteFilter({self.text!r})"


class FilterPart:
    """A condition, the same object wherever it occurs: to compare it takes no look at its tree."""

    __slots__ = ("__weakref__",)


_PARTS: WeakValueDictionary[Expression, FilterPart] = WeakValueDictionary()


def parts_of(tree: Expression) -> frozenset[FilterPart]:
    """The filter as conditions, all of which must hold; `true` has none."""
    if tree == TRUE:
        return frozenset()
    return frozenset(
        _PARTS.setdefault(part, FilterPart()) for part in (tree.items if isinstance(tree, And) else (tree,))
    )
