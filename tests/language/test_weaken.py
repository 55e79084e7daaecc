"""Weaker forms: they follow from the test, and from nothing less than what stands beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.kinds import Kind
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.render import render
from comity.expression.tree import And, Expression
from comity.language import EVERYTHING, split
from comity.language.bounds import bounds_of
from comity.language.objections import Known
from comity.language.weaken import weaker
from comity.testing.expressions import SAMPLE, events, filters
from comity.testing.filters import BASE, typed_scope


def weakened(text: str, beside: str = "true") -> list[list[str]]:
    around = bounds_of(bind_text(beside, typed_scope()))
    found = weaker(bind_text(text, typed_scope()), Known(BASE), around)
    return [[render(one) for one in some] for some in found if some]


@pytest.mark.parametrize(
    ("text", "beside", "first"),
    [
        ("x > y", "y > 5", ["x > 5"]),
        ("x >= y", "y >= 5", ["x >= 5"]),
        ("x >= y", "y > 5", ["x > 5"]),
        ("x > y", "y >= 5 and x < 9", ["x > 5", "y < 9"]),
        ("x <= y", "y between 1 and 7", ["x <= 7"]),
        ("x = y", "y between 1 and 7", ["x between 1 and 7"]),
        ("s like 'a%b'", "true", ["s starts with 'a'", "s ends with 'b'"]),
        ("s matches 'aba+'", "true", ["s starts with 'aba'"]),
        ("x in (3, 1, 2)", "true", ["x between 1 and 3"]),
        ("s matches '[Aa][Bb]c'", "true", ["s between 'ABc' and 'abc'"]),
        ("s matches '[Aa]b.*'", "true", ["s >= 'Ab'", "s < 'ac'"]),
        ("after(s, '--') = 'London'", "true", ["s ends with '--London'"]),
        ("before(s, ', ') ends with 'a'", "true", ["s contains 'a, '"]),
        ("before_last(s, 'aa') in ('a', 'b')", "true", ["s contains 'aa'"]),
        ("parse_time(s, 'yyyy-MM-dd') > 2026-05-01", "true", ["s >= '2026-05-01'"]),
    ],
)
def test_weaker_by_what_stands_beside(text: str, beside: str, first: list[str]) -> None:
    assert weakened(text, beside)[0] == first


def test_weaker_at_last_asks_for_presence_where_it_says_something() -> None:
    assert weakened("lower(t) = s") == [["exists t"]]
    assert weakened("lower(s) = 'a'") == []
    assert weakened("not lower(t) = s") == []


@given(filters(1), filters(0), st.lists(events(), min_size=1, max_size=5))
def test_weaker_follows(leaf: Expression, beside: Expression, some: list[Event]) -> None:
    around = bounds_of(And((leaf, beside)))
    for tests in weaker(leaf, Known(SAMPLE), around):
        for one in some:
            if holds(leaf, one) and holds(beside, one):
                assert all(holds(test, one) for test in tests)


def test_a_language_with_lower_but_without_patterns_is_asked_for_lower() -> None:
    can = replace(EVERYTHING, is_ours=False, operators={Kind.STRING: frozenset({"="})}, disjunction=False)
    found = split(bind_text("lower(s) = 'attic' and s like '_%'", typed_scope()), can, type=BASE)
    assert render(found.native) == "lower(s) = 'attic'"
