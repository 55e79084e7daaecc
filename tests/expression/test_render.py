"""Printing: what is printed parses back to the same tree."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event import Point
from comity.event.kinds import INT_MAX, INT_MIN
from comity.expression.parse import as_filter, parse
from comity.expression.render import KEYWORDS, render, render_path, render_value
from comity.expression.tree import (
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Conditional,
    Exists,
    Expression,
    In,
    IsType,
    Literal,
    Lookup,
    Negative,
    Not,
    Quantity,
    TextTest,
    conjunction,
    disjunction,
)


@pytest.mark.parametrize(
    "text",
    [
        "a = 1",
        "a != -1.5",
        "not a = 1",
        "not (a = 1 or b = 2)",
        "(a = 1 or b = 2) and c = 3",
        "a = 1 or b = 2 and c = 3",
        "not not a = 1",
        "a + b * c = 1",
        "(a + b) * c = 1",
        "a - (b - c) = 1",
        "a - b - c = 1",
        "a / (b * c) % d = 1",
        "-(a + b) = 1",
        "--a = 1",
        "a - -1 = 1",
        "a between b + 1 and c * 2",
        "a not between 1 and 2 and b = 1",
        "a in (1, -2.5, 'x', true, 2026-01-01T00:00:00Z, duration('PT5M'), 5 km)",
        "a not in ('it''s')",
        "a not like 'x%'",
        "lower(a) starts with 'x'",
        "exists a.b and is house.Alarm",
        "(if a = 1 then 2 else b) > 3",
        "(if a = 1 then if b = 1 then 1 else 2 else 3) > 3",
        "(a = 1) = (b = 2)",
        "(not a = 1) = true",
        "lookup('users', coalesce(a, b)) = 'x'",
        "`my name`.`and`.c = bytes('aGk=')",
        "p = point(1.0, -2.0)",
        "a > -5 km/h",
        "a = 1e+300",
        "true",
        "a = true and false",
    ],
)
def test_render_gives_back_the_plain_form(text: str) -> None:
    assert render(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("NOT(a>1 OR b='x') AND c IN(1,2)", "not (a > 1 or b = 'x') and c in (1, 2)"),
        ("((a)) = (((1)))", "a = 1"),
        ("a == 1 and b <> 2", "a = 1 and b != 2"),
        ("(a = 1 and b = 1) and (c = 1)", "a = 1 and b = 1 and c = 1"),
        ('a = "x"', "a = 'x'"),
        ("t > 2026-01-01", "t > 2026-01-01T00:00:00Z"),
        ("t > 2026-01-01T02:00:00.500+02:00", "t > 2026-01-01T00:00:00.500000Z"),
        ("d > duration('90 s')", "d > duration('PT1M30S')"),
        ("`plain` = 1", "plain = 1"),
        ("p in rectangle(0, 0, 1, 1)", "p.x between 0 and 1 and p.y between 0 and 1"),
        ("a > 30°C", "a > 30 °C"),
        ("flag and not other", "flag = true and not other = true"),
    ],
)
def test_render_makes_the_form_plain(text: str, plain: str) -> None:
    assert render(as_filter(parse(text))) == plain


@pytest.mark.parametrize("name", [*sorted(KEYWORDS), "AND", "Between", "a b", "a.b", "1a", "a-b", "ä", "_"])
def test_any_name_can_be_written(name: str) -> None:
    assert parse(render_path((name, name))) == Attribute((name, name))


def test_what_is_no_constant_is_refused() -> None:
    with pytest.raises(TypeError):
        render_value([1])
    with pytest.raises(AssertionError):
        render(object())  # type: ignore[arg-type]


# Generated trees, as the parser gives them

names = st.one_of(
    st.sampled_from(["a", "b", "temperature", "and", "In", "starts", "point", "lookup", "e5", "_x", "größe"]),
    st.text(st.characters(exclude_characters="`\n", exclude_categories=["Cs"]), min_size=1, max_size=5),
)
paths = st.builds(lambda parts: Attribute(tuple(parts)), st.lists(names, min_size=1, max_size=3))
numbers = st.one_of(st.integers(INT_MIN, INT_MAX), st.floats(allow_nan=False, allow_infinity=False))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
spans = st.integers(-INT_MAX, INT_MAX).map(lambda count: timedelta(microseconds=count))
constants: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    numbers,
    texts,
    st.datetimes(min_value=datetime(1, 1, 1), timezones=st.just(UTC)),
    spans,
    st.binary(max_size=8),
    st.builds(Point, *[st.floats(allow_nan=False, allow_infinity=False)] * 2),
)
literals = st.builds(Literal, constants)
units = st.sampled_from(["km", "km/h", "degC", "°C", "m^2", "m/s^2", "percent", "e", "µm"])
quantities = st.builds(Quantity, numbers, units)
patterns = {
    "like": st.sampled_from(["%", "a_b%", "50\\%", "it''s%", "\n"]),
    "matches": st.sampled_from(["", "[a-z]+", "a'b", "\\d{1,3}", "(?s).*"]),
    "starts with": texts,
    "ends with": texts,
    "contains": texts,
}
text_tests = st.sampled_from(sorted(patterns)).flatmap(lambda test: st.tuples(st.just(test), patterns[test]))


def _is_number(node: Expression) -> bool:
    return isinstance(node, Quantity) or (isinstance(node, Literal) and type(node.value) in (int, float))


def _values(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*/%"), inner, inner),
        st.builds(Negative, inner.filter(lambda node: not _is_number(node))),
        st.builds(lambda given: Call("f", tuple(given)), st.lists(inner, max_size=3)),
        st.builds(Lookup, texts, inner),
        st.builds(Conditional, st.deferred(lambda: filters), inner, inner),
        st.builds(lambda x, y: Call("point", (x, y)), paths, inner),
        st.deferred(lambda: filters),
    )


values = st.recursive(st.one_of(paths, literals, quantities), _values, max_leaves=6)
few = st.one_of(paths, literals, quantities, st.deferred(lambda: values))
negated = st.booleans()
atoms = st.one_of(
    st.builds(Compare, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), few, few),
    st.builds(Between, few, few, few, negated),
    st.builds(
        lambda operand, items, no: In(operand, tuple(items), no),
        few,
        st.lists(st.one_of(literals, quantities), min_size=1, max_size=3),
        negated,
    ),
    st.builds(lambda test, operand, no: TextTest(test[0], operand, test[1], no), text_tests, few, negated),
    st.builds(Exists, paths),
    st.builds(IsType, st.sampled_from(["T", "house.Alarm", "in.And"])),
    st.builds(Literal, st.booleans()),
)


def _joined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(several.map(conjunction), several.map(disjunction), inner.map(Not))


filters = st.recursive(atoms, _joined, max_leaves=5)


@settings(max_examples=10_000 if os.environ.get("COMITY_PROFILE") == "nightly" else 300, deadline=None)
@given(filters)
def test_filters_come_back_from_their_text(tree: Expression) -> None:
    assert parse(render(tree)) == tree


@settings(max_examples=10_000 if os.environ.get("COMITY_PROFILE") == "nightly" else 300, deadline=None)
@given(values)
def test_values_come_back_from_their_text(tree: Expression) -> None:
    assert parse(render(tree)) == tree


@given(constants)
def test_constants_come_back_from_their_text(value: Any) -> None:
    assert parse(render_value(value)) == Literal(value)
