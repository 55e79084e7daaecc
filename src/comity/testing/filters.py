"""Generated filters, and what they match by brute force: the reference for every relation between filters.

`typed_filters` and `open_filters` give texts that talk about the same few attributes, so that they meet. `BruteForce` looks for an event that
a filter matches by trying every one of a finite set of events, made so that small constants leave no gap: between any two constants
there is a value, and beyond each end.

>>> from comity.expression.bind import bind_text
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
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.kinds import EPOCH, MICROSECOND, Kind, Value
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import And, Expression, IsType, Literal, Not, Or, TextTest, attributes, walk
from comity.filter.open_kinds import open_classes

MAX_RECORDS = 4_000_000
"""Events that one brute-force question may try."""

_INNER = {"n": AttributeType(Kind.INT), "w": AttributeType(Kind.STRING, optional=True)}
BASE = EventType(
    "Base",
    "small",
    EVENT,
    own={
        "x": AttributeType(Kind.INT),
        "y": AttributeType(Kind.INT, optional=True),
        "f": AttributeType(Kind.FLOAT),
        "g": AttributeType(Kind.FLOAT, optional=True),
        "s": AttributeType(Kind.STRING),
        "t": AttributeType(Kind.STRING, optional=True),
        "b": AttributeType(Kind.BOOL),
        "c": AttributeType(Kind.BOOL, optional=True),
        "d": AttributeType(Kind.STRUCT, optional=True, attributes=_INNER),
        "m": AttributeType(Kind.STRUCT, attributes=_INNER),
    },
)
SPECIAL = EventType(
    "Special",
    "small",
    BASE,
    own={"z": AttributeType(Kind.INT), "u": AttributeType(Kind.STRING, optional=True)},
)
OTHER = EventType("Other", "small", BASE, abstract=True)
SMALL = Taxonomy("small", [BASE, SPECIAL, OTHER])
"""One attribute of each kind that sets know, mandatory and optional, with a subtype that adds some and one that is abstract."""


def typed_scope() -> Scope:
    """The scope of `typed_filters`."""
    return Scope(type=BASE, taxonomy=SMALL)


def open_scope() -> Scope:
    """A scope for `open_filters`, fresh each time because it remembers the units of open attributes."""
    return Scope()


# Texts of filters

_NUMBERS = ["-3", "-1", "0", "1", "2", "3", "0.5", "-2.5"]
_TEXTS = ["", "a", "b", "ab", "ba", "aa", "aba"]
_LIKE = ["%", "_", "a%", "%b", "_a%", "a%b", "%ab%", "__", "b_", "%a_"]
_REGEX = ["a*", "(ab)*", "[ab]b?", "a|bb", ".*a", "[^a]+", "b{1,2}", "a.b", ""]
_ORDER = ["=", "!=", "<", "<=", ">", ">="]
_NOT = st.sampled_from(["", "not "])


def number_tests(name: str) -> st.SearchStrategy[str]:
    """Constraints on a number."""
    number, order = st.sampled_from(_NUMBERS), st.sampled_from(_ORDER)
    return st.one_of(
        st.builds(lambda o, c: f"{name} {o} {c}", order, number),
        st.builds(lambda o, c: f"{c} {o} {name}", order, number),
        st.builds(lambda n, a, c: f"{name} {n}between {a} and {c}", _NOT, number, number),
        st.builds(lambda n, cs: f"{name} {n}in ({', '.join(cs)})", _NOT, st.lists(number, min_size=1, max_size=3)),
        st.builds(lambda k, o, c: f"{k} * {name} + 1 {o} {c}", st.sampled_from(["2", "-1"]), order, number),
        st.just(f"exists {name}"),
    )


def text_tests(name: str) -> st.SearchStrategy[str]:
    """Constraints on a string."""
    text, order = st.sampled_from(_TEXTS), st.sampled_from(_ORDER)
    finds = st.sampled_from(["starts with", "ends with", "contains"])
    return st.one_of(
        st.builds(lambda o, c: f"{name} {o} '{c}'", order, text),
        st.builds(lambda n, t, c: f"{name} {n}{t} '{c}'", _NOT, finds, text),
        st.builds(lambda n, c: f"{name} {n}like '{c}'", _NOT, st.sampled_from(_LIKE)),
        st.builds(lambda n, c: f"{name} {n}matches '{c}'", _NOT, st.sampled_from(_REGEX)),
        st.builds(lambda n, a, c: f"{name} {n}between '{a}' and '{c}'", _NOT, text, text),
        st.builds(lambda n, cs: f"{name} {n}in {_listed(cs)}", _NOT, st.lists(text, min_size=1, max_size=3)),
        st.just(f"exists {name}"),
    )


def flag_tests(name: str) -> st.SearchStrategy[str]:
    """Constraints on a bool."""
    return st.sampled_from([name, f"{name} = false", f"{name} != true", f"{name} not in (false)", f"exists {name}"])


def struct_tests(name: str) -> st.SearchStrategy[str]:
    """Constraints on a struct and on what stands in it."""
    return st.one_of(st.just(f"exists {name}"), number_tests(f"{name}.n"), text_tests(f"{name}.w"))


def mixed_tests(name: str) -> st.SearchStrategy[str]:
    """Constraints of several kinds on one open attribute."""
    mixed = st.sampled_from([f"{name} in (1, 'a')", f"{name} not in (true, 'b', 2)", f"{name} in (false, 0.5)"])
    return st.one_of(number_tests(name), text_tests(name), flag_tests(name), mixed)


def number_relations(left: str, right: str) -> st.SearchStrategy[str]:
    """Order and linear arithmetic between two numbers."""
    order, number = st.sampled_from(_ORDER), st.sampled_from(_NUMBERS)
    factor, sign = st.sampled_from(["", "2*", "3*"]), st.sampled_from("+-")
    return st.one_of(
        st.builds(lambda o: f"{left} {o} {right}", order),
        st.builds(lambda k, s, o, c: f"{k}{left} {s} {right} {o} {c}", factor, sign, order, number),
        st.builds(lambda n, c: f"{left} {n}between {right} and {right} + {c}", _NOT, st.sampled_from(["1", "2"])),
    )


def equality_relations(left: str, right: str) -> st.SearchStrategy[str]:
    """Equal or not."""
    return st.sampled_from([f"{left} = {right}", f"{left} != {right}"])


def _listed(texts: Sequence[str]) -> str:
    return "(" + ", ".join(f"'{text}'" for text in texts) + ")"


Tests = Mapping[tuple[str, ...], st.SearchStrategy[str]]
"""What can be said, by the attributes that it is about."""

TYPED_TESTS: Tests = {
    **{(name,): number_tests(name) for name in ("x", "y", "f", "g", "z")},
    **{(name,): text_tests(name) for name in ("s", "t", "u")},
    **{(name,): flag_tests(name) for name in ("b", "c")},
    **{(name,): struct_tests(name) for name in ("d", "m")},
    (): st.sampled_from(["is Base", "is Special", "is Other", "is small.Special", "true", "false"]),
}
TYPED_RELATIONS: Tests = {
    **{pair: number_relations(*pair) for pair in (("x", "y"), ("f", "g"), ("x", "f"), ("y", "z"))},
    **{pair: equality_relations(*pair) for pair in (("s", "t"), ("t", "u"), ("b", "c"))},
    ("x", "d"): number_relations("x", "d.n"),
    ("s", "m"): equality_relations("s", "m.w"),
}
OPEN_TESTS: Tests = {
    ("n",): number_tests("n"),
    ("k",): number_tests("k"),
    ("s",): text_tests("s"),
    ("t",): text_tests("t"),
    ("b",): flag_tests("b"),
    ("any",): mixed_tests("any"),
    ("d",): struct_tests("d"),
    (): st.sampled_from(["is Base", "event.type != 'Base'", "true"]),
}
OPEN_RELATIONS: Tests = {
    ("n", "k"): number_relations("n", "k"),
    ("n", "d"): number_relations("n", "d.n"),
    **{pair: equality_relations(*pair) for pair in (("s", "t"), ("any", "n"), ("any", "s"), ("any", "b"))},
}


def filters(
    tests: Tests, count: int, *, max_leaves: int = 5, about: Sequence[tuple[str, ...]] | None = None
) -> st.SearchStrategy[list[str]]:
    """So many filters over the same few attributes: Boolean combinations of the tests.

    The attributes are those of one to three keys of `tests`, the first one out of `about` if that is given.
    """
    keys = sorted(key for key in tests if key)
    more = st.lists(st.sampled_from(keys), max_size=1 if about else 2)
    chosen = st.builds(lambda first, rest: frozenset([*first, *itertools.chain(*rest)]), st.sampled_from(about or keys), more)


    @cache  # building a strategy takes longer than drawing from it
    def about_names(names: frozenset[str]) -> st.SearchStrategy[list[str]]:
        fitting = [test for key, test in tests.items() if names.issuperset(key)]
        return st.lists(combined(st.one_of(fitting), max_leaves), min_size=count, max_size=count)

    return chosen.flatmap(about_names)


def combined(tests: st.SearchStrategy[str], max_leaves: int = 5) -> st.SearchStrategy[str]:
    """Boolean combinations of tests."""

    def join(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        word = st.sampled_from(["and", "and", "or"])
        return st.one_of(
            st.builds(lambda w, a, b: f"({a} {w} {b})", word, inner, inner),
            st.builds(lambda a: f"not ({a})", inner),
        )

    return st.recursive(tests, join, max_leaves=max_leaves)


def typed_filters(count: int = 2, *, related: bool = True) -> st.SearchStrategy[list[str]]:
    """Filters over `SMALL`; `related`: also with tests between attributes."""
    if not related:
        return filters(TYPED_TESTS, count)
    return filters({**TYPED_TESTS, **TYPED_RELATIONS}, count, about=sorted(TYPED_RELATIONS))


def open_filters(count: int = 2, *, related: bool = True) -> st.SearchStrategy[list[str]]:
    """Filters over attributes without a type."""
    if not related:
        return filters(OPEN_TESTS, count)
    return filters({**OPEN_TESTS, **OPEN_RELATIONS}, count, about=sorted(OPEN_RELATIONS))


# Brute force


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
        return self.event(list(self.axes), [axis[i] for axis, i in zip(self.axes.values(), place, strict=True)])

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
            names.update(texts)
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
    """Missing, and values of the kinds that the constraints give to the attribute; just any value when they give none."""
    if path not in classes:
        return [None, 0, 1]
    found: list[Value | None] = [None]
    for name in sorted(classes[path] - {"other"}):
        found += constants.domain(_KIND_OF_CLASS[name])
    if "other" in classes[path]:
        names = dict.fromkeys(other[: len(path) + 1] for other in paths if len(other) > len(path) and other[: len(path)] == path)
        found += _structs({inner[-1]: _open_values(inner, paths, classes, constants) for inner in names})
    return found
