"""Numbers of publishers, types and rules: what is decided without storage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.document import parse_document
from comity.errors import Faults, Misuse
from comity.limits import limited
from comity.node.catalog import TypeCatalog
from comity.node.numbering import SeenNumbers
from comity.node.rules import RuleKind, read_rules
from comity.node.settings import check_node_file

HEAT = "types: {HeatEvent: {attributes: {loc: int, value: float}}}"


def catalog(*declarations: str) -> TypeCatalog:
    found = TypeCatalog("house")
    for one in declarations:
        found, _ = found.declared(parse_document(one))
    return found


@given(st.lists(st.integers(0, 30), max_size=60))
def test_a_number_is_seen_from_when_it_came(numbers: list[int]) -> None:
    seen, came = SeenNumbers(), set[int]()
    for number in numbers:
        for other in range(32):
            assert seen.has(other) == (other in came)
        if not seen.has(number):
            seen = seen.with_number(number)
        came.add(number)
    assert list(seen.gaps) == sorted(seen.gaps)


def test_of_too_many_gaps_the_oldest_counts_as_filled() -> None:
    seen = SeenNumbers()
    with limited(max_number_gaps=2):
        for number in (1, 3, 5):
            seen = seen.with_number(number)
    assert [number for number in range(6) if not seen.has(number)] == [2, 4]


def test_an_addition_is_a_new_version_and_the_same_again_is_none() -> None:
    more = "types: {HeatEvent: {attributes: {loc: int, value: float, unit: string?}}}"
    known = catalog(HEAT)
    later, added = known.declared(parse_document(more))
    assert [(one.name, one.version) for one in added] == [("HeatEvent", 2)]
    assert later.declared(parse_document(more))[1] == []
    assert known.declared(parse_document(HEAT))[1] == []


@pytest.mark.parametrize(
    "declaration",
    [
        "types: {HeatEvent: {attributes: {loc: int, value: int}}}",
        "types: {HeatEvent: {attributes: {value: float}}}",
        "types: {HeatEvent: {attributes: {loc: int, value: float, unit: string}}}",
        "types: {HeatEvent: {abstract: true, attributes: {loc: int, value: float}}}",
        "types: {Other: {}, HeatEvent: {extends: Other, attributes: {loc: int, value: float}}}",
    ],
)
def test_whatever_events_of_before_might_not_fit_is_refused(declaration: str) -> None:
    known = catalog(HEAT)
    with pytest.raises(Misuse) as refused:
        known.declared(parse_document(declaration))
    assert refused.value.code == "type-conflict"


def test_types_of_another_namespace_and_too_many_are_refused() -> None:
    with pytest.raises(Misuse, match="another namespace"):
        catalog("{namespace: city, types: {A: {}}}")
    with limited(max_node_types=1), pytest.raises(Misuse, match="too many"):
        catalog("types: {A: {}, B: {}}")


RULES = """\
rule rule1 onEvent HeatEvent h1;
rule rule3 onEvent HeatEvent h1; where h1.value > 25;
rule rule6 onEvent HeatEvent h1, HeatEvent h2; where h1.value > h2.value + 5;
"""


def test_rules_are_simple_filtered_or_composite_and_unbounded_ones_are_limited() -> None:
    with limited(max_operand_events=7):
        found = read_rules(RULES, None, catalog(HEAT).taxonomy)
    assert [(one.name, one.kind, one.limit) for one in found] == [
        ("rule1", RuleKind.SIMPLE, None),
        ("rule3", RuleKind.FILTERED, None),
        ("rule6", RuleKind.COMPOSITE, 7),
    ]
    assert {one.types for one in found} == {frozenset({"house.HeatEvent"})}


@pytest.mark.parametrize(
    ("text", "language", "code"),
    [
        ("rule r onEvent Nothing n;", None, "unknown-type"),
        ("", None, "no-rule"),
        ("profiles: {a: {domain: elsewhere, on: HeatEvent}}", "comity", "unknown-domain"),
        ("profiles: {a: {on: HeatEvent, priority: 3}}", "comity", "unkept-terms"),
        ("a: value > 3", "klingon", "unknown-language"),
        ("rule r onEvent HeatEvent h1; where h1.value > ;", "rdl", "syntax"),
    ],
)
def test_rules_that_mean_nothing_here_are_refused_with_their_code(text: str, language: str | None, code: str) -> None:
    with pytest.raises(Misuse) as refused:
        read_rules(text, language, catalog(HEAT).taxonomy)
    error = refused.value
    assert (error.errors[0] if isinstance(error, Faults) else error).code == code


def test_node_files_are_checked_with_places(tmp_path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("listen: 127.0.0.1\nhistory: {default: 3 parsec}\ntokens: {a: {}}\nspeed: 9\n")
    with pytest.raises(Faults) as found:
        check_node_file(path)
    assert [(one.place.line, one.code) for one in found.value.errors if one.place] == [
        (1, "bad-value"),
        (2, "bad-value"),
        (3, "bad-value"),
        (4, "unknown-key"),
    ]
