"""Which of very many filters cover a filter, are covered by it, or overlap it: by an index, as exact as in pairs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Set
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comity.errors import Misuse
from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.filter.index.columns import Growing, Slots
from comity.filter.index.shape import Shape, ShapeReader
from comity.filter.index.space import SpaceIndex
from comity.filter.space import Space, spaces

_FEW_DEAD = 64
"""Removed filters that the index is not built again for."""


Shapes = tuple[Shape, ...]
"""What a filter is in each space of the scope."""


class FoundKeys(Set[Any]):
    """The keys that a question gave: a set that stays as it is when filters come and go.

    >>> found = FoundKeys(np.array(["a", "b", "c"], np.object_), np.array([0, 2]))
    >>> len(found), "c" in found, found == {"a", "c"}
    (2, True, True)
    """

    def __init__(self, keys: NDArray[np.object_], slots: Slots) -> None:
        self._keys, self._slots = keys, slots

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys[self._slots].tolist())

    def __contains__(self, key: object) -> bool:
        return key in self._as_set

    def __repr__(self) -> str:
        return f"Found({list(self)!r})"

    @cached_property
    def _as_set(self) -> frozenset[Any]:
        return frozenset(self)

    @classmethod
    def _from_iterable(cls, keys: Iterable[Any]) -> frozenset[Any]:
        return frozenset(keys)


class FilterSet:
    """Filters by key. Whatever cannot be decided counts as "does not cover" and as "may overlap".

    Without a type in the scope, an event may hold anything: two filters are compared over all records, not over those
    that their own constraints suggest.

    >>> from comity.expression.bind import bind_text
    >>> scope = Scope()
    >>> filters = FilterSet(scope)
    >>> for text in ("x > 1", "x > 5 and y = 'a'", "x < 3"):
    ...     filters.add(text, bind_text(text, scope))
    >>> asked = bind_text("x > 4", scope)
    >>> sorted(filters.covering(asked)), sorted(filters.covered_by(asked)), sorted(filters.overlapping(asked))
    (['x > 1'], ["x > 5 and y = 'a'"], ['x > 1', "x > 5 and y = 'a'"])
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._spaces = [Space()] if scope.type is None else list(spaces(scope, ()))
        self._readers = [ShapeReader(space) for space in self._spaces]
        self._slots: dict[Hashable, int] = {}
        self._clear()

    def _clear(self) -> None:
        self._keys, self._alive = Growing(np.object_), Growing(np.bool_)
        self._trees: list[Expression] = []
        self._parts = [SpaceIndex(space, self._trees) for space in self._spaces]

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, key: object) -> bool:
        return key in self._slots

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._slots)

    def shapes(self, tree: Expression) -> Shapes:
        """What the index needs to know of a bound filter; who has several questions about it asks for this once."""
        return tuple(reader.read(tree) for reader in self._readers)

    def add(self, key: Hashable, tree: Expression, shapes: Shapes | None = None) -> None:
        """Take in a bound filter of the scope under a key that is not in use."""
        if key in self._slots:
            raise Misuse(f"there is a filter {key!r} already", code="duplicate-key", hint="remove it first")
        self._put(key, tree, shapes or self.shapes(tree))

    def remove(self, key: Hashable) -> None:
        """Forget the filter with this key."""
        if key not in self._slots:
            raise Misuse(f"there is no filter {key!r}", code="unknown-key")
        self._alive.view[self._slots.pop(key)] = False
        if self._alive.size - len(self._slots) > max(_FEW_DEAD, len(self._slots)):
            self._compact()

    def covering(self, tree: Expression, shapes: Shapes | None = None) -> Set[Any]:
        """The keys of the filters that match whatever this one matches."""
        return self._in_every_space(tree, shapes, lambda part, shape: part.covering(tree, shape, self._alive.view))

    def covered_by(self, tree: Expression, shapes: Shapes | None = None) -> Set[Any]:
        """The keys of the filters that match nothing but what this one matches."""
        return self._in_every_space(tree, shapes, lambda part, shape: part.covered_by(tree, shape, self._alive.view))

    def overlapping(self, tree: Expression, shapes: Shapes | None = None) -> Set[Any]:
        """The keys of the filters of which some event may match both."""
        found = np.zeros(self._alive.size, np.bool_)
        for part, shape in zip(self._parts, shapes or self.shapes(tree), strict=True):
            found |= part.overlapping(tree, shape, self._alive.view)
        return self._named(np.flatnonzero(found))

    def _in_every_space(
        self, tree: Expression, shapes: Shapes | None, ask: Callable[[SpaceIndex, Shape], Slots]
    ) -> Set[Any]:
        found: Slots | None = None
        for part, shape in zip(self._parts, shapes or self.shapes(tree), strict=True):
            these = ask(part, shape)
            found = these if found is None else np.intersect1d(found, these, assume_unique=True)
        return self._named(np.flatnonzero(self._alive.view) if found is None else found)

    def _named(self, slots: Slots) -> Set[Any]:
        return FoundKeys(self._keys.view, slots)

    def _put(self, key: Hashable, tree: Expression, shapes: Iterable[Shape]) -> None:
        slot = self._slots[key] = self._alive.size
        self._alive.append(True)
        self._keys.append(None)
        self._keys.view[slot : slot + 1].fill(key)  # a tuple as a key would else be taken for a row of values
        self._trees.append(tree)
        for part, shape in zip(self._parts, shapes, strict=True):
            part.add(shape)

    def _compact(self) -> None:
        """Build the index again from the filters that are left."""
        old_slots, trees, parts = self._slots, self._trees, self._parts
        self._slots = {}
        self._clear()
        for key, slot in old_slots.items():
            self._put(key, trees[slot], [part.shape_at(slot) for part in parts])
