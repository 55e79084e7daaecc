"""The merging examples of the paper on covering and merging (section 3.6), and the law that a merger is the union."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings

from comity.event import EVENT, AttributeType, EventType, Kind
from comity.expression.bind import bind_text
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.tree import And, Not, Or
from comity.filter.merge import merge
from comity.filter.relations import covers, identical
from comity.testing.brute_force import BruteForce
from comity.testing.filters import open_filters, open_scope, typed_filters, typed_scope

PAIRS = 5_000 if os.environ.get("COMITY_PROFILE") == "nightly" else 150
INT, FLOAT, STRING = (AttributeType(kind, optional=True) for kind in (Kind.INT, Kind.FLOAT, Kind.STRING))
POINT = EventType(
    "Point",
    "plane",
    EVENT,
    own={"x": FLOAT, "y": FLOAT, "i": INT, "s": STRING, "must": AttributeType(Kind.FLOAT)},
)
SCOPE = Scope(type=POINT)


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        ("x = 5 and y in (2, 3)", "x = 5 and y in (4, 5)", "x = 5 and y in (2, 3, 4, 5)"),
        ("s = 'a' and not (x > 2)", "s = 'a' and x > 2", "s = 'a'"),
        ("s = 'a' and must > 2", "s = 'a' and must <= 2", "s = 'a'"),
        ("x between 2 and 4", "x between 3 and 5", "x between 2 and 5"),
        ("x between 2 and 4", "x between 4 and 5", "x between 2 and 5"),
        ("i between 2 and 4", "i between 5 and 7", "i between 2 and 7"),
        ("x < 4", "x > 7", "x not between 4 and 7"),
        ("i in (2, 3, 7)", "i in (3, 9)", "i in (2, 3, 7, 9)"),
        ("s in ('a', 'b')", "s in ('b', 'c')", "s in ('a', 'b', 'c')"),
        ("x not in (2, 3, 7)", "x not in (3, 9)", "x != 3"),
        ("s not in ('a', 'b')", "s not in ('b', 'c')", "s != 'b'"),
        ("x not in (2)", "x not in (3)", "exists x"),
        ("must not in (2)", "must not in (3)", "true"),
        ("x > 3", "x > 5", "x > 3"),
        ("x = 5", "x != 5", "exists x"),
    ],
)
def test_perfect_merging(left: str, right: str, merged: str) -> None:
    found = merge(bind_text(left, SCOPE), bind_text(right, SCOPE), SCOPE)
    assert identical(found, bind_text(merged, SCOPE), SCOPE)
    assert not isinstance(found, Or)


def test_a_constraint_and_its_opposite_do_not_merge_away() -> None:
    """The paper merges `P1 and P2` with `P1 and not P2` into `P1`; for `x != 5` that lets in events without x."""
    found = merge(bind_text("s = 'a' and x = 5", SCOPE), bind_text("s = 'a' and x != 5", SCOPE), SCOPE)
    assert identical(found, bind_text("s = 'a' and exists x", SCOPE), SCOPE)
    assert covers(found, bind_text("s = 'a'", SCOPE), SCOPE).value is False


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x between 2 and 4", "x between 5 and 6 and y = 1"),
        ("x = 1 and y = 2", "x = 2 and y = 1"),
        ("x < y", "y < x"),
        ("x = 1", "y = 1"),
    ],
)
def test_what_no_conjunction_says_stays_a_disjunction(left: str, right: str) -> None:
    trees = bind_text(left, SCOPE), bind_text(right, SCOPE)
    found = merge(*trees, SCOPE)
    assert identical(found, Or(trees), SCOPE)


def check_merger(texts: list[str], scope: Scope) -> None:
    left, right = (bind_text(text, scope) for text in texts)
    merged, union = merge(left, right, scope), Or((left, right))
    assert identical(merged, union, scope), render(merged)
    reference = BruteForce([left, right, merged], scope)
    for tree in (merged, union):
        other = union if tree is merged else merged
        only = reference.find(And((tree, Not(other))))
        assert only is None, f"{render(merged)}: {only}"
    again = bind_text(render(merged), scope)
    assert identical(merged, again, scope)


@settings(max_examples=PAIRS, deadline=None, suppress_health_check=list(HealthCheck))
@given(typed_filters())
def test_merger_of_typed_filters_is_their_union(texts: list[str]) -> None:
    check_merger(texts, typed_scope())


@settings(max_examples=PAIRS, deadline=None, suppress_health_check=list(HealthCheck))
@given(open_filters())
def test_merger_of_open_filters_is_their_union(texts: list[str]) -> None:
    check_merger(texts, open_scope())


def test_merger_of_filters_on_the_type_leaves_no_type_out() -> None:
    check_merger(["event.type != 'Base' and not (any = -1)", "not (is Base) and any = -1"], open_scope())
