"""Declarations of contexts: what they give, in short and in full, and every contradiction at its place."""

from __future__ import annotations

import pickle

import pytest

from comity.document import parse_document
from comity.errors import Faults
from comity.event import AttributeType, Kind, Taxonomy
from comity.event.context import NO_CONTEXT, Context
from comity.meaning.units import check_unit


def declared(text: str) -> AttributeType:
    document = parse_document(f"namespace: shop\ntypes:\n  T:\n    attributes:\n      x: {text}\n", file="t.yaml")
    return Taxonomy.from_document(document, check_unit=check_unit).type("T").attributes["x"]


def faults_of(text: str) -> list[tuple[str, str]]:
    """Code and column of each fault."""
    with pytest.raises(Faults) as caught:
        declared(text)
    return [(error.code, str(error.place).removeprefix("t.yaml:5:")) for error in caught.value.errors]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("float USD", "USD"),
        ("float 1000 USD", "1000 USD"),
        ("int 1000 mile?", "1000 mile"),
        ("{kind: float, unit: 1000 mile}", "1000 mile"),
        ("{kind: float, context: {unit: mile, scale: 1000}}", "1000 mile"),
        ("{kind: float, unit: mile, context: {scale: 1000}}", "1000 mile"),
        ("{kind: float, context: {currency: USD, scale: 1000}}", "1000 USD"),
        ("{kind: float, context: {currency: USD, scale: 1}}", "USD"),
        ("{kind: float, context: {currency: USD, scale: 1.0e+3}}", "1000 USD"),
        ("{kind: float, context: {unit: mile, scale: 0.25}}", "0.25 mile"),
        ("{kind: int, context: {scale: 1000}}", "1000 dimensionless"),
        ("{kind: float, context: {unit: USD/kg}}", "USD/kg"),
        ("{kind: float, context: {}}", None),
        ("{kind: float, context: }", None),
    ],
)
def test_unit_currency_and_scale_become_one_unit(text: str, unit: str | None) -> None:
    found = declared(text)
    assert found.unit == unit
    assert found.context == NO_CONTEXT


def test_other_properties_are_kept_with_contexts_of_their_own() -> None:
    found = declared(
        "{kind: float, concept: Heat, context: {unit: degC, accuracy: {value: 0.1, context: {unit: degC}}, by: [a, b]}}"
    )
    assert (found.unit, found.concept) == ("degC", "Heat")
    assert found.context == Context({"by": ["a", "b"], "accuracy": {"context": {"unit": "degC"}, "value": 0.1}})
    assert found.context["accuracy"]["context"]["unit"] == "degC"


def test_codes_of_a_text() -> None:
    country = declared("{kind: string, optional: true, context: {codes: alpha2}}")
    assert country.codes == "alpha2"
    assert country.as_optional() == country
    assert str(country) == "string {codes: alpha2}?"
    assert AttributeType(Kind.STRING).codes is None


def test_contexts_compare_hash_and_pickle() -> None:
    one = AttributeType(Kind.FLOAT, unit="km", context=Context({"a": 1, "b": {"c": [1, 2]}}))
    same = AttributeType(Kind.FLOAT, unit="km", context=Context({"b": {"c": (1, 2)}, "a": 1}))
    other = AttributeType(Kind.FLOAT, unit="km", context=Context({"a": 2}))
    assert one == same
    assert hash(one) == hash(same)
    assert len({one, same, other, AttributeType(Kind.FLOAT, unit="km")}) == 3
    copy = pickle.loads(pickle.dumps(one))
    assert copy == one
    assert hash(copy) == hash(one)
    assert copy.context["b"]["c"] == (1, 2)
    with pytest.raises(TypeError):
        one.context["a"] = 3  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("{kind: float, context: {unit: km, currency: USD}}", "contradicting-context", "currency"),
        ("{kind: float, unit: km, context: {unit: mile}}", "contradicting-context", "unit: mile"),
        ("{kind: float, unit: km, context: {unit: km}}", "contradicting-context", "unit: km}"),
        ("{kind: float, unit: km, context: {currency: USD}}", "contradicting-context", "currency"),
        ("{kind: float, unit: 5 km, context: {scale: 1000}}", "contradicting-context", "scale"),
        ("{kind: float, context: {unit: km, scale: 0}}", "bad-scale", "0"),
        ("{kind: float, context: {unit: km, scale: -1}}", "bad-scale", "-1"),
        ("{kind: float, context: {unit: km, scale: many}}", "bad-scale", "many"),
        ("{kind: float, context: {scale: true}}", "bad-scale", "true"),
        ("{kind: float, context: {scale: null}}", "bad-scale", "null"),
        ("float 0 km", "bad-scale", "0 km"),
        ("float 1000 parsnip", "unknown-unit", "1000 parsnip"),
        ("{kind: float, context: {unit: parsnip}}", "unknown-unit", "parsnip"),
        ("{kind: float, context: {currency: usd}}", "unknown-currency", "usd"),
        ("{kind: float, context: {currency: XQX}}", "unknown-unit", "XQX"),
        ("{kind: string, context: {unit: km}}", "unit-on-non-number", "km"),
        ("{kind: string, context: {scale: 5}}", "unit-on-non-number", "scale"),
        ("{kind: float, context: {codes: alpha2}}", "codes-on-non-string", "codes"),
        ("{kind: string, context: {codes: 2}}", "bad-value", "2}"),
        ("{kind: float, context: {accuracy: -1}}", "bad-value", "-1"),
        ("{kind: float, context: {accuracy: {value: high}}}", "bad-value", "high"),
        ("{kind: float, context: {method: null}}", "bad-value", "null"),
        ("{kind: float, context: degC}", "bad-value", "degC"),
    ],
)
def test_contradictions_have_their_place(text: str, code: str, at: str) -> None:
    (error,) = faults_of(text)
    assert error == (code, str(text.index(at) + 10))


def test_a_context_is_inherited_as_it_is() -> None:
    document = parse_document(
        "namespace: n\ntypes:\n"
        "  A: {attributes: {x: {kind: string, context: {codes: a}}}}\n"
        "  B: {extends: A, attributes: {x: {kind: string, context: {codes: b}}}}\n"
    )
    with pytest.raises(Faults, match="cannot change"):
        Taxonomy.from_document(document)
