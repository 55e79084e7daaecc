"""Ontologies: finding concepts, and files in YAML and Turtle."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.document import parse_document
from comity.errors import ComityError, Faults, Misuse
from comity.meaning.builtin import builtin
from comity.meaning.concept import Concept
from comity.meaning.context import SemanticContext
from comity.meaning.conversions import CodeTable, LinearConversion, Registered
from comity.meaning.ontology import Ontology
from comity.meaning.ontology_file import ontology_of, read_ontology
from comity.meaning.rdf import parse_turtle, turtle
from comity.meaning.units import dimension

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://example.org/city#> .
@prefix our: <urn:comity:concept:> .
@prefix qudt: <http://qudt.org/schema/qudt/> .

ex:Wellbeing a skos:Concept ;
    skos:prefLabel "well-being"@en, "Wohlbefinden"@de ;
    skos:related ex:BloodPressure .

ex:BloodPressure a skos:Concept ;
    skos:broader our:Pressure ;
    qudt:ucumCode "mm[Hg]" .
"""


def test_words_find_concepts() -> None:
    known = builtin()
    for word in ("WindSpeed", "wind speed", "wind_speed", "Windgeschwindigkeit", "WIND-SPEED"):
        assert known.concept(word).name == "WindSpeed"
    assert known.find("nothing like it") is None
    assert next(one.name for one, _ in known.similar("Temprature")) == "Temperature"
    with pytest.raises(Misuse, match="no concept") as raised:
        known.concept("Temprature")
    assert raised.value.hint == "did you mean `Temperature`?"


def test_what_is_inherited() -> None:
    known = builtin()
    assert known.lineage("Humidity") == ("Humidity", "Ratio", "Quantity")
    assert known.is_a("bid", "money")
    assert not known.is_a("money", "bid")
    assert known.needs("Humidity") == ("Unit",)
    assert known.defaults("Humidity") == SemanticContext.of(unit="%")
    assert known.unit("WindSpeed") == "m/s"
    assert {one.name for one in known.narrower("Location")} >= {"City", "Room"}


def test_the_built_in_quantities_have_units_of_their_dimension() -> None:
    quantities = [one for one in builtin() if "Quantity" in builtin().lineage(one.name) and one.name != "Quantity"]
    assert len(quantities) > 30
    for one in quantities:
        unit = builtin().unit(one.name)
        assert unit is not None, one.name
        above = next((builtin().unit(name) for name in one.broader if name != "Quantity"), unit)
        assert above is not None
        assert dimension(unit) == dimension(above), one.name
        assert one.labels.get("en"), one.name
        assert one.labels.get("de"), one.name


def test_an_ontology_is_extended_by_another() -> None:
    first = Ontology([Concept("A", labels={"en": ("a",)}), Concept("B", broader=("A",))])
    second = Ontology([Concept("A", labels={"en": ("a", "alpha"), "de": ("A",)}, unit="m")])
    both = first.extended(second)
    assert both.concept("alpha") == Concept("A", labels={"en": ("a", "alpha"), "de": ("A",)}, unit="m")
    assert both.is_a("B", "A")
    with pytest.raises(Misuse) as raised:
        both.extended([Concept("A", unit="kg")])
    assert raised.value.code == "conflicting-concept"


def _faults(read: Callable[[], object]) -> list[tuple[str, str]]:
    with pytest.raises(ComityError) as raised:
        read()
    errors = raised.value.errors if isinstance(raised.value, Faults) else [raised.value]
    return [(str(one.place), one.code) for one in errors]


def test_faults_of_a_yaml_file() -> None:
    text = "concepts:\n  A: {broader: B}\n  B: {broader: A}\n  C: {broader: Nope, related: [A]}\n  D: {}\n"
    assert _faults(lambda: ontology_of(parse_document(text, "o.yaml"))) == [
        ("o.yaml:4:3", "unknown-concept"),
        ("o.yaml:2:3", "cyclic-concept"),
        ("o.yaml:3:3", "cyclic-concept"),
    ]
    bad = "concepts:\n  A: {unit: nounit}\n  B: {conversions: [{property: p, from: a, to: b, factor: 0}]}\n"
    assert _faults(lambda: ontology_of(parse_document(bad, "o.yaml"))) == [
        ("o.yaml:2:3", "unknown-unit"),
        ("o.yaml:3:3", "bad-conversion"),
    ]
    key = "concepts:\n  A: {bordaer: B}\n"
    assert _faults(lambda: ontology_of(parse_document(key, "o.yaml"))) == [("o.yaml:2:7", "unknown-key")]


def test_a_turtle_file_on_top_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "city.ttl"
    file.write_text(TURTLE, encoding="utf-8")
    known = read_ontology(file, onto=builtin())
    assert known.is_a("BloodPressure", "Pressure")
    assert known.concept("Wohlbefinden").related == ("BloodPressure",)
    assert known.unit("BloodPressure") == "mm[Hg]"
    assert len(known) == len(builtin()) + 2


@pytest.mark.parametrize(
    ("old", "new", "line", "code"),
    [
        ("our:Pressure", "ex:Nope", 11, "unknown-concept"),
        ("our:Pressure", "ex:BloodPressure", 11, "cyclic-concept"),
        ("mm[Hg]", "mmHg", 11, "invalid-ucum"),
        ("skos:broader our", "skos broader our", 12, "syntax"),
    ],
)
def test_faults_of_a_turtle_file(old: str, new: str, line: int, code: str) -> None:
    text = TURTLE.replace(old, new)
    ((place, found),) = _faults(lambda: parse_turtle(text, file="city.ttl", onto=builtin()))
    assert found == code
    assert place.startswith(f"city.ttl:{line}")


def test_the_built_in_ontology_as_turtle_and_back() -> None:
    text = turtle(builtin())
    again = parse_turtle(text)
    assert again.concepts == dict(sorted(builtin().concepts.items()))
    assert turtle(again) == text


names = st.from_regex(r"[A-Za-z][A-Za-z0-9 _/#äß.-]{0,8}", fullmatch=True).map(str.strip)
words = st.lists(st.text(min_size=1, max_size=6, alphabet="abcäß \"\\\n'"), min_size=1, max_size=3, unique=True)
simple = st.one_of(
    st.text(max_size=5, alphabet="abc\"'\\ä"), st.integers(-99, 99).map(lambda n: Fraction(n, 8)), st.booleans()
)
moments = st.one_of(st.none(), st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)))


@st.composite
def ontologies(draw: st.DrawFn) -> Ontology:
    known = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    concepts = [
        Concept(
            name,
            broader=tuple(draw(st.sets(st.sampled_from(known[:place])))) if place else (),
            description=" ".join(draw(st.text(max_size=10, alphabet='ab "\\')).split()),
            labels={one: tuple(draw(words)) for one in draw(st.sets(st.sampled_from(["en", "de"])))},
            related=tuple(draw(st.sets(st.sampled_from(known)))),
            needs=tuple(draw(st.sets(st.sampled_from(["Unit", "Currency"])))),
            defaults=SemanticContext.of(
                {key: draw(simple) for key in draw(st.sets(st.sampled_from(["Unit", "Scale"])))}
            ),
            unit=draw(st.sampled_from([None, "m", "degC", "ucum:B", "B", "mm[Hg]", "1000 mile", "USD/kg"])),
            quantity_kind=draw(st.sampled_from([None, "Length", "http://example.org/kind"])),
        )
        for place, name in enumerate(known)
    ]
    ways = st.one_of(
        st.builds(LinearConversion, st.fractions(max_denominator=9).filter(bool), st.fractions(max_denominator=9)),
        st.builds(CodeTable, st.dictionaries(simple, simple, min_size=1, max_size=3), st.one_of(st.none(), simple)),
    )
    conversions = st.builds(Registered, st.sampled_from(known), st.just("p"), simple, simple, ways, moments, moments)
    return Ontology(concepts, draw(st.lists(conversions, max_size=2, unique_by=lambda one: one.key())))


@given(ontologies())
def test_any_ontology_as_turtle_and_back(known: Ontology) -> None:
    again = parse_turtle(turtle(known))
    assert again.concepts == dict(sorted(known.concepts.items()))
    assert len(again.conversions) == len(known.conversions)
    assert all(one in again.conversions for one in known.conversions)
