"""Generated filters over a few attributes of every kind that sets know, with and without a type.

`typed_filters` and `open_filters` give texts that talk about the same few attributes, so that they meet; bind them in
`typed_scope` and `open_scope`. What they match is told by `comity.testing.brute_force`.

>>> from comity.expression.bind import bind_text
>>> bind_text("x > 3 and is Special", typed_scope()).items[1].names
('small.Special',)
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache

from hypothesis import strategies as st

from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType
from comity.expression.scope import Scope

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
"""Attributes of each kind that sets know, mandatory and optional; one subtype adds some, another is abstract."""


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
    first = st.sampled_from(about or keys)
    chosen = st.builds(lambda key, others: frozenset([*key, *itertools.chain(*others)]), first, more)

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
