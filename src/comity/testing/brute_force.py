"""What filters match, by brute force: the reference for every relation between filters.

`BruteForce` looks for an event that a filter matches by trying every one of a finite set of events, made so that small
constants leave no gap: between any two constants there is a value, and beyond each end.

>>> from comity.expression.bind import bind_text
>>> from comity.testing.filters import typed_scope
>>> find_match(bind_text("x > 3 and x < 4", typed_scope()), typed_scope()) is None
True
>>> find_match(bind_text("f > 3 and f < 4", typed_scope()), typed_scope()).data
{'f': 3.5}
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from comity.event.event import Event
from comity.event.kinds import EPOCH, MICROSECOND, Kind, Value
from comity.event.types import AttributeType
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import And, Expression, IsType, Literal, Not, Or, TextTest, attributes, walk
from comity.filter.open_kinds import open_classes

MAX_RECORDS = 4_000_000
"""Events that one question may try."""


def find_match(tree: Expression, scope: Scope) -> Event | None:
    """An event that the bound filter matches, None when no event of the finite set is one."""
    return BruteForce([tree], scope).find(tree)


class BruteForce:
    """The finite set of events that some bound filters tell apart, to ask for matches of any combination of them."""

    def __init__(self, trees: Sequence[Expression], scope: Scope) -> None:
        self._grids = list(_grids(And(tuple(trees)), scope))

    def find(self, tree: Expression) -> Event | None:
        """An event that the filter matches, None when none of the set does."""
        return next((found for grid in self._grids if (found := grid.find(tree)) is not None), None)


@dataclass(frozen=True)
class _Grid:
    """The events of one type with every combination of some values: an axis for each attribute that plays a part."""

    type: str
    axes: Mapping[str, Sequence[Value | None]]
    known: dict[Expression, Any] = field(default_factory=dict)
    """Of each atom: which events it matches."""

    def find(self, tree: Expression) -> Event | None:
        """The first event that the filter matches."""
        matched = np.broadcast_to(self.matches(tree), tuple(map(len, self.axes.values())))
        at = int(matched.argmax()) if matched.size else 0
        if not matched.size or not matched.flat[at]:
            return None
        place = np.unravel_index(at, matched.shape)
        return self.event(list(self.axes), [axis[int(i)] for axis, i in zip(self.axes.values(), place, strict=True)])

    def matches(self, tree: Expression) -> Any:
        """Whether it matches, for each event; an array with an axis of length one where the attribute plays no part."""
        match tree:
            case And(items):
                return np.logical_and.reduce(np.broadcast_arrays(*map(self.matches, items)))
            case Or(items):
                return np.logical_or.reduce(np.broadcast_arrays(*map(self.matches, items)))
            case Not(item):
                return ~self.matches(item)
        if tree not in self.known:
            self.known[tree] = self._atom(tree)
        return self.known[tree]

    def _atom(self, tree: Expression) -> Any:
        used = {path[0] for path in attributes(tree)}
        names = [name for name in self.axes if name in used]
        rows = itertools.product(*(self.axes[name] for name in names))
        shape = [len(axis) if name in used else 1 for name, axis in self.axes.items()]
        return np.array([holds(tree, self.event(names, row)) for row in rows], dtype=bool).reshape(shape)

    def event(self, names: Sequence[str], values: Sequence[Value | None]) -> Event:
        data = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        return Event("brute-force", "comity", self.type, EPOCH, data)


def _grids(tree: Expression, scope: Scope) -> Iterator[_Grid]:
    paths = sorted(path for path in attributes(tree) if path[0] != "event")
    constants = _Constants.of(tree)
    if scope.type is None:
        axes = _open_axes(tree, paths, constants)
        for name in constants.types:
            yield _checked(_Grid(name, axes))
        return
    below = scope.taxonomy.subtypes(scope.type.qualified_name) if scope.taxonomy else (scope.type,)
    for one in below:
        if not one.abstract:
            yield _checked(_Grid(one.qualified_name, _typed_axes(one.attributes, paths, constants)))


def _checked(grid: _Grid) -> _Grid:
    size = math.prod(map(len, grid.axes.values()))
    if size > MAX_RECORDS:
        raise ValueError(f"{size:,} events are too many to try, the bound is {MAX_RECORDS:,}")
    return grid


@dataclass(frozen=True)
class _Constants:
    """The constants of a filter, and the values that they tell apart."""

    values: tuple[Value, ...]
    texts: tuple[str, ...]
    types: tuple[str, ...]
    longest: int
    """Length of the strings that are all tried; shorter when there are many attributes."""

    @classmethod
    def of(cls, tree: Expression) -> _Constants:
        nodes = list(walk(tree))
        values = tuple(node.value for node in nodes if isinstance(node, Literal))
        patterns = tuple(node.text for node in nodes if isinstance(node, TextTest))
        texts = (*patterns, *(value for value in values if isinstance(value, str)))
        names = {name for node in nodes if isinstance(node, IsType) for name in node.names}
        if ("event", "type") in attributes(tree):
            names.update(text for text in texts if text)  # a type has a name
        return cls(values, texts, (*sorted(names), "no-such-type"), 3 if len(attributes(tree)) < 3 else 2)

    def domain(self, kind: Kind) -> list[Value]:
        """Values of the kind: every constant, something between any two of them, something beyond."""
        match kind:
            case Kind.BOOL:
                return [False, True]
            case Kind.INT:
                return list(range(-8, 9))
            case Kind.FLOAT:
                return self._floats()
            case Kind.STRING:
                return self._strings()
            case Kind.TIMESTAMP:
                return _around([value for value in self.values if isinstance(value, datetime)] or [EPOCH])
            case Kind.DURATION:
                return _around([value for value in self.values if isinstance(value, timedelta)] or [timedelta(0)])
            case Kind.STRUCT:
                return [{}]
        raise ValueError(f"there is no finite set of values of kind {kind}")

    def _floats(self) -> list[Value]:
        numbers = {float(value) for value in self.values if type(value) in (int, float)}
        points = sorted(numbers | {-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0})
        return [*points, *((low + high) / 2 for low, high in itertools.pairwise(points)), points[-1] + 1]

    def _strings(self) -> list[Value]:
        """All short strings over the letters of the constants and one letter more."""
        letters = sorted({letter for text in self.texts for letter in text if letter.isalpha()})[:3] or ["a"]
        letters.append(next(letter for letter in "abcdxyz" if letter not in letters))
        short = ("".join(word) for size in range(self.longest + 1) for word in itertools.product(letters, repeat=size))
        return list(dict.fromkeys([*short, *self.texts]))


def _around(values: list[Any]) -> list[Value]:
    return sorted({near for value in values for near in (value - MICROSECOND, value, value + MICROSECOND)})


def _typed_axes(
    declared: Mapping[str, AttributeType], paths: list[tuple[str, ...]], constants: _Constants
) -> dict[str, Sequence[Value | None]]:
    axes: dict[str, Sequence[Value | None]] = {}
    for name in dict.fromkeys(path[0] for path in paths):
        inner = [path[1:] for path in paths if path[0] == name and len(path) > 1]
        axes[name] = _typed_values(declared[name], inner, constants) if name in declared else [None]
    return axes


def _typed_values(declared: AttributeType, inner: list[tuple[str, ...]], constants: _Constants) -> list[Value | None]:
    if declared.kind is not Kind.STRUCT:
        present: list[Value] = constants.domain(declared.kind)
    else:
        axes = _typed_axes(declared.attributes, inner, constants)
        present = list(_structs(axes))
    return [*present, None] if declared.optional else present


def _structs(axes: Mapping[str, Sequence[Value | None]]) -> Iterator[dict[str, Value]]:
    for row in itertools.product(*axes.values()):
        yield {name: value for name, value in zip(axes, row, strict=True) if value is not None}


_KIND_OF_CLASS: Mapping[str, Kind] = {
    "numbers": Kind.FLOAT,
    "strings": Kind.STRING,
    "bools": Kind.BOOL,
    "timestamps": Kind.TIMESTAMP,
    "durations": Kind.DURATION,
}


def _open_axes(
    tree: Expression, paths: list[tuple[str, ...]], constants: _Constants
) -> dict[str, Sequence[Value | None]]:
    classes = open_classes([tree])
    return {name: _open_values((name,), paths, classes, constants) for name in dict.fromkeys(path[0] for path in paths)}


def _open_values(
    path: tuple[str, ...],
    paths: list[tuple[str, ...]],
    classes: Mapping[tuple[str, ...], frozenset[str]],
    constants: _Constants,
) -> list[Value | None]:
    """Missing, and values of the kinds that the constraints give to the attribute; any when they give none."""
    if path not in classes:
        return [None, 0, 1]
    found: list[Value | None] = [None]
    for name in sorted(classes[path] - {"other"}):
        found += constants.domain(_KIND_OF_CLASS[name])
    if "other" in classes[path]:
        size = len(path)
        inside = dict.fromkeys(other[: size + 1] for other in paths if len(other) > size and other[:size] == path)
        found += _structs({inner[-1]: _open_values(inner, paths, classes, constants) for inner in inside})
    return found
