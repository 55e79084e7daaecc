"""UCUM codes wherever a unit can stand."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest

from comity import Event, Filter
from comity.document import parse_document
from comity.errors import Misuse
from comity.event.taxonomy import Taxonomy
from comity.expression.bind import bind_text
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.meaning.units import check_unit, conversion, difference, dimension, multiplied


@pytest.mark.parametrize(
    ("source", "target", "factor", "offset"),
    [
        ("mm[Hg]", "Pa", "133.322", "0"),
        ("[degF]", "degC", "5/9", "-160/9"),
        ("Cel", "degF", "9/5", "32"),
        ("m/s2", "km/h/s", "18/5", "0"),
        ("kg.m/s2", "N", "1", "0"),
        ("10*3/uL", "1/L", "1000000000", "0"),
        ("ucum:mol", "mmol", "1000", "0"),
        ("[degRe]", "degC", "5/4", "0"),
        ("dB[V]", "B[V]", "1/10", "0"),
        ("k[iU]/L", "[IU]/mL", "1", "0"),
        ("g{wet}", "kg", "1/1000", "0"),
        ("delta_degC", "[degF]", "9/5", "0"),
    ],
)
def test_conversion(source: str, target: str, factor: str, offset: str) -> None:
    found = conversion(source, target)
    assert (found.factor, found.offset) == (Fraction(factor), Fraction(offset))


def test_a_text_with_two_readings_keeps_the_older_one_unless_it_says_ucum() -> None:
    assert dimension("B") == dimension("byte")
    assert dimension("ucum:B") != dimension("B")
    assert dimension("R") != dimension("ucum:R")
    assert dimension("{a}") == "[number]"


def test_a_difference_of_special_units() -> None:
    assert conversion(difference("Cel"), "delta_degC").is_identity
    assert conversion(difference("[degRe]"), "delta_degC").factor == Fraction(5, 4)
    assert difference("mm[Hg]") == "mm[Hg]"


def test_a_product_can_be_read_by_another_process() -> None:
    product = multiplied("mm[Hg]", "s")
    program = f"from comity.meaning.units import conversion; print(conversion({product!r}, 'Pa*s').factor)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert Fraction(said.stdout.strip()) == Fraction("133.322")


@pytest.mark.parametrize("unit", ["Cel/s", "[nope]", "ucum:mmHg", "ucum:", "m{ä}"])
def test_a_refused_unit(unit: str) -> None:
    with pytest.raises(Misuse):
        check_unit(unit)


def test_a_curve_does_not_convert_into_its_reference() -> None:
    with pytest.raises(Misuse, match="cannot be converted"):
        conversion("[pH]", "mol/l")


@pytest.mark.parametrize(("value", "answer"), [(1, True), (1.01, False)])
def test_in_a_filter(value: float, answer: bool) -> None:
    event = Event(id="1", source="/s", type="T", data={"x": value})
    assert Filter("value(quantity(x, 'mm[Hg]'), 'Pa') < 134").matches(event) is answer


def test_in_a_declaration() -> None:
    attributes = "{systolic: 'float mm[Hg]', drug: {kind: float, unit: 'k[iU]/L'}}"
    text = f"namespace: ward\ntypes: {{Pulse: {{attributes: {attributes}}}}}"
    ward = Taxonomy.from_document(parse_document(text), check_unit=check_unit)
    scope = Scope(type=ward.type("Pulse"))
    assert render(bind_text("systolic > 16 kPa", scope)).startswith("systolic > 120.0")
