"""Semantic objects, values and contexts as text."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.limits import limited
from comity.meaning.context import SemanticContext, SemanticValue
from comity.meaning.notation import parse_context, parse_object, parse_value
from comity.meaning.semantic import SemanticObject

SALES = (
    "250(ScalingFactor = 1000, Currency = 'US dollars', Period = 'first quarter'(StartDate = 'January 1'))"  # seed 003
)


def test_the_objects_of_the_seeds() -> None:
    far = parse_object('⟨Distance, 3.85, {⟨Unit,"mile"⟩, ⟨Scale,1000⟩}⟩')
    assert (far.concept, far.value) == ("Distance", Fraction("3.85"))
    assert far.context == SemanticContext.of(scale=1000, unit="mile")
    assert str(far) == '⟨Distance, 3.85, {⟨Unit, "mile"⟩, ⟨Scale, 1000⟩}⟩'
    assert far.printed(ascii=True) == '<Distance, 3.85, {<Unit, "mile">, <Scale, 1000>}>'
    assert parse_object(far.printed(ascii=True)) == far


def test_the_values_of_the_seeds() -> None:
    sales = parse_value(SALES)
    assert sales.value == 250
    assert sales.context["Period"].context["start date"].value == "January 1"
    assert str(sales) == SALES
    assert parse_value("5.00(Accuracy = 0.1)").context["accuracy"].value == Fraction(1, 10)


def test_every_kind_of_value() -> None:
    text = '⟨A, {⟨B, true⟩, ⟨C, 2026-03-01⟩, ⟨D, 2026-03-01T12:00:00+00:00⟩, ⟨E, "say \\"x\\" \\\\"⟩, ⟨F, -1.5e3⟩}⟩'
    found = parse_object(text)
    assert isinstance(found.value, frozenset)
    values = {one.concept: one.value for one in found.value}
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert values == {"B": True, "C": date(2026, 3, 1), "D": moment, "E": 'say "x" \\', "F": Fraction(-1500)}
    assert parse_object(str(found)) == found


def test_a_context_in_yaml() -> None:
    assert parse_context("{unit: km}") == parse_context('{<Unit, "km">}') == SemanticContext.of(UNIT="km")
    nested = parse_context("{period: {value: q1, context: {start: May}}}")
    assert nested == parse_context('{⟨Period, "q1", {⟨Start, "May"⟩}⟩}')
    assert parse_context("{}") == SemanticContext()


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("⟨Distance 3⟩", 1, 11),
        ("⟨Distance, ⟩", 1, 12),
        ("⟨Distance, mile⟩", 1, 12),
        ("⟨Distance, 3", 1, 13),
        ("⟨Distance,\n  3,\n  {⟨Unit⟩}⟩", 3, 9),
        ("⟨Distance, 3⟩ x", 1, 15),
        ("⟨Distance, 3, {⟨Unit, {}⟩}⟩", 1, 15),
        ("⟨A, 2026-13-45⟩", 1, 5),
        ("3", 1, 1),
        ("", 1, 1),
    ],
)
def test_a_fault_has_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(Misuse) as raised:
        parse_object(text)
    assert raised.value.code == "syntax"
    assert raised.value.place is not None
    assert (raised.value.place.line, raised.value.place.column) == (line, column)


def test_a_property_is_given_once() -> None:
    with pytest.raises(Misuse, match="twice"):
        parse_value("1(Scale = 1, ScalingFactor = 2)")


def test_bounds() -> None:
    deep = "1" + "(A = 1" * 300 + ")" * 300
    with pytest.raises(Misuse, match="levels deep"):
        parse_value(deep)
    with limited(max_filter_chars=10), pytest.raises(Misuse, match="more than 10 characters"):
        parse_value("1(Scale = 1000)")


names = st.from_regex(r"[A-Z][a-z]{0,6}", fullmatch=True)
simple_values = st.one_of(
    st.booleans(),
    st.text(max_size=8),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4).map(Fraction),
    st.dates(),
    st.datetimes(timezones=st.just(UTC)),
)


def _context(values: st.SearchStrategy[SemanticValue]) -> st.SearchStrategy[SemanticContext]:
    pairs = st.lists(st.tuples(names, values), max_size=3, unique_by=lambda pair: pair[0].lower())
    return pairs.map(lambda given: SemanticContext(tuple(given)))


semantic_values = st.recursive(
    st.builds(SemanticValue, simple_values), lambda inner: st.builds(SemanticValue, simple_values, _context(inner))
)
objects = st.recursive(
    st.builds(SemanticObject, names, simple_values, _context(semantic_values)),
    lambda inner: st.builds(
        SemanticObject, names, st.frozensets(inner, max_size=3), _context(st.builds(SemanticValue, simple_values))
    ),
    max_leaves=6,
)


@given(semantic_values)
def test_a_printed_value_is_read_as_itself(value: SemanticValue) -> None:
    assert parse_value(str(value)) == value


@given(objects)
def test_a_printed_object_is_read_as_itself(given_object: SemanticObject) -> None:
    assert parse_object(str(given_object)) == given_object
    assert parse_object(given_object.printed(ascii=True)) == given_object


@given(_context(semantic_values))
def test_the_order_of_properties_does_not_matter(context: SemanticContext) -> None:
    turned = SemanticContext(tuple(reversed(context.properties)))
    assert turned == context
    assert hash(turned) == hash(context)
    assert parse_context(str(context)) == context
