"""Objects of different contexts, compared and converted by what they mean."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.meaning.concept import Concept
from comity.meaning.context import SemanticContext
from comity.meaning.conversions import CodeTable, ConversionManager, Registered
from comity.meaning.equivalence import Meaning, compare, convert, equivalent
from comity.meaning.notation import parse_context, parse_object, parse_value
from comity.meaning.ontology import Ontology
from comity.meaning.rates import Rates
from comity.meaning.semantic import SemanticObject


def test_the_two_distances_of_seed_000_are_equal() -> None:
    near = parse_object('⟨Distance, 3850, {⟨Unit,"mile"⟩, ⟨Scale,1⟩}⟩')
    assert equivalent(near, parse_object('⟨Distance, 3.85, {⟨Unit,"mile"⟩, ⟨Scale,1000⟩}⟩'))
    assert equivalent(near, parse_object('⟨Distance, 6195.9744, {⟨Unit,"km"⟩}⟩'))
    assert not equivalent(near, parse_object('⟨Distance, 3.85, {⟨Unit,"mile"⟩, ⟨Scale,100⟩}⟩'))


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ('⟨Temperature, 86, {⟨Unit, "degF"⟩}⟩', '⟨Temperature, 30, {⟨Unit, "Cel"⟩}⟩', 0),
        ('⟨Temperature, 0.86, {⟨Unit, "degF"⟩, ⟨Scale, 100⟩}⟩', '⟨Temperature, 30, {⟨Unit, "Cel"⟩}⟩', 0),
        ('⟨Distance, 1, {⟨Unit, "km"⟩}⟩', '⟨Length, 1001, {⟨Unit, "m"⟩}⟩', -1),
        ('⟨Distance, 2, {⟨Unit, "km"⟩}⟩', '⟨Length, 1, {⟨Unit, "[mi_i]"⟩, ⟨Scale, 1⟩}⟩', 1),
        ("⟨Humidity, 40⟩", '⟨Humidity, 0.4, {⟨Unit, "1"⟩}⟩', 0),
        ('⟨Name, "a"⟩', '⟨Name, "b"⟩', -1),
        ("⟨Moment, 2026-01-01⟩", "⟨Moment, 2025-01-01⟩", 1),
    ],
)
def test_compare(left: str, right: str, order: int) -> None:
    assert compare(parse_object(left), parse_object(right)) == order
    assert compare(parse_object(right), parse_object(left)) == -order


def test_accuracy_needs_a_tolerance() -> None:
    first, second = parse_value("5.00(Accuracy = 0.1)"), parse_value("4.99(Accuracy = 0.1)")
    with pytest.raises(Misuse, match="for you to say") as raised:
        compare(first, second)
    assert raised.value.code == "tolerance-needed"
    with pytest.raises(Misuse):
        equivalent(first, second)
    assert compare(first, second, tolerance=0.1) == 0
    assert compare(first, second, tolerance="0.001") == 1
    assert equivalent(first, second, tolerance=0.01)


@pytest.mark.parametrize(
    ("left", "right", "code"),
    [
        ('⟨Distance, 1, {⟨Unit, "km"⟩}⟩', '⟨Mass, 1, {⟨Unit, "kg"⟩}⟩', "incompatible-concepts"),
        ('⟨Distance, 1, {⟨Unit, "km"⟩}⟩', '⟨Distance, 1, {⟨Unit, "kg"⟩}⟩', "incompatible-units"),
        ('⟨Distance, 1, {⟨Unit, "km"⟩}⟩', "⟨Distance, 1⟩", "incomparable"),
        ('⟨Name, "a"⟩', "⟨Name, 1⟩", "incomparable"),
        ("⟨Address, {}⟩", "⟨Address, {}⟩", "incomparable"),
        ('⟨Price, 1, {⟨Currency, "EUR"⟩}⟩', '⟨Price, 1, {⟨Currency, "USD"⟩}⟩', "no-rates"),
        ('⟨Sales, 1, {⟨Period, "q1"⟩}⟩', '⟨Sales, 1, {⟨Period, "q2"⟩}⟩', "no-conversion"),
    ],
)
def test_what_cannot_be_compared(left: str, right: str, code: str) -> None:
    with pytest.raises(Misuse) as raised:
        compare(parse_object(left), parse_object(right))
    assert raised.value.code == code
    assert equivalent(parse_object(left), parse_object(right)) is (left == right)


def test_convert_keeps_what_is_not_mentioned() -> None:
    sales = parse_object('⟨Sales, 250, {⟨Scale, 1000⟩, ⟨Currency, "USD"⟩, ⟨Period, "q1", {⟨Start, "May"⟩}⟩}⟩')
    assert str(convert(sales, parse_context("{scale: 1}"))) == (
        '⟨Sales, 250000, {⟨Scale, 1⟩, ⟨Currency, "USD"⟩, ⟨Period, "q1", {⟨Start, "May"⟩}⟩}⟩'
    )
    hot = parse_object('⟨Temperature, 3, {⟨Scale, 10⟩, ⟨Unit, "Cel"⟩}⟩')
    assert convert(hot, parse_context("{unit: degF}")).value == Fraction("8.6")


@pytest.mark.parametrize("text", ["⟨Distance, 3850⟩", '⟨Distance, "far", {⟨Unit, "mile"⟩}⟩'])
def test_a_refused_conversion(text: str) -> None:
    with pytest.raises(Misuse):
        convert(parse_object(text), parse_context("{unit: km}"))


def test_structured_objects() -> None:
    one = parse_object('⟨Trip, {⟨Distance, 1, {⟨Unit, "km"⟩}⟩, ⟨Name, "a"⟩}⟩')
    other = parse_object('⟨Trip, {⟨Name, "a"⟩, ⟨Distance, 1000, {⟨Unit, "m"⟩}⟩}⟩')
    assert equivalent(one, other)
    assert not equivalent(one, parse_object('⟨Trip, {⟨Name, "a"⟩, ⟨Distance, 999, {⟨Unit, "m"⟩}⟩}⟩'))
    assert not equivalent(one, parse_object('⟨Trip, {⟨Name, "a"⟩}⟩'))
    assert convert(one, parse_context("{unit: m}")) == other
    with pytest.raises(Misuse, match="no part of Trip"):
        convert(one, parse_context("{currency: EUR}"))


def test_a_check_of_what_a_concept_needs() -> None:
    Meaning().check(parse_object("⟨Humidity, 40⟩"))
    for text, code in (("⟨Distance, 1⟩", "missing-context"), ("⟨Distanse, 1⟩", "unknown-concept")):
        with pytest.raises(Misuse) as raised:
            Meaning().check(parse_object(text))
        assert raised.value.code == code


def test_conversions_that_change_over_time() -> None:
    manager = ConversionManager()
    manager.use_rates("Money", "currency", Rates.of([("EUR", "USD", "1.25", "2026-01-01", "2026-02-01")]))
    bid = parse_object('⟨Bid, 2, {⟨Currency, "EUR"⟩, ⟨Scale, 1000⟩}⟩')
    target = parse_context("{currency: USD, scale: 1}")
    january = Meaning(conversions=manager, at=datetime(2026, 1, 15, tzinfo=UTC))
    assert january.convert(bid, target).value == 2500
    assert january.equivalent(bid, SemanticObject.of("Bid", 2500, Currency="USD"))
    for meaning, code in (
        (Meaning(conversions=manager, at=datetime(2026, 3, 1, tzinfo=UTC)), "no-conversion"),
        (Meaning(conversions=manager), "moment-needed"),
    ):
        with pytest.raises(Misuse) as raised:
            meaning.convert(bid, target)
        assert raised.value.code == code


def test_money_in_units() -> None:
    manager = ConversionManager()
    manager.use_rates("Money", "currency", Rates.of([("EUR", "USD", "1.25", None, None)]))
    meaning = Meaning(conversions=manager, at=datetime(2026, 1, 15, tzinfo=UTC))
    price = SemanticObject.of("Price", 2, Unit="EUR/kg")
    assert meaning.convert(price, SemanticContext.of(Unit="USD/g")).value == Fraction("0.0025")


def test_conversions_of_a_concept() -> None:
    table = CodeTable({"DE": "DEU", "FR": "FRA"})
    known = Ontology([Concept("Country")], [Registered("Country", "codes", "iso2", "iso3", table)])
    meaning = Meaning(known)
    germany = SemanticObject.of("Country", "DE", Codes="iso2")
    assert meaning.equivalent(germany, SemanticObject.of("Country", "DEU", Codes="iso3"))
    with pytest.raises(Misuse, match="has no value"):
        meaning.convert(SemanticObject.of("Country", "XX", Codes="iso2"), SemanticContext.of(codes="iso3"))


UNITS = ["m", "km", "mile", "[in_i]", "ft"]
contexts = st.fixed_dictionaries(
    {"Unit": st.sampled_from(UNITS)}, optional={"Scale": st.sampled_from([1, 10, Fraction(1, 3)])}
).map(SemanticContext.of)
numbers = st.fractions(max_denominator=1_000)


@given(numbers, contexts, contexts, contexts)
def test_conversion_keeps_the_meaning(
    number: Fraction, first: SemanticContext, second: SemanticContext, third: SemanticContext
) -> None:
    given_object = SemanticObject("Distance", number, first)
    there = convert(given_object, second)
    assert equivalent(given_object, there)
    scale = SemanticContext.of(Scale=1)
    assert convert(there, scale.with_values(third)) == convert(given_object, scale.with_values(third))


@given(numbers, numbers, contexts, contexts)
def test_order_is_that_of_the_meaning(
    one: Fraction, other: Fraction, first: SemanticContext, second: SemanticContext
) -> None:
    left, right = SemanticObject("Distance", one, first), SemanticObject("Distance", other, first)
    assert compare(left, convert(right, second)) == (one > other) - (one < other)
