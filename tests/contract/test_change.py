"""What changed in a type or in the file of a contract, and what each change does to those who know the old one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.contract.change import Effect, VersionChange, changes, contract_changes, next_version
from comity.document import parse_document
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType, EventType


def _type(attributes, more=""):
    text = f"domain: d\ntypes: {{Base: {{abstract: true}}, T: {{attributes: {{{attributes}}}{more}}}}}"
    return Taxonomy.from_document(parse_document(text)).type("T")


def _found(old, new):
    return [(one.code, one.path, str(one.effect)) for one in changes(_type(old), _type(new))]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a: int", "a: int", []),
        ("a: int", "a: int, b: int?", [("attribute-added", "b", "additive")]),
        ("a: int", "a: int, b: int", [("mandatory-attribute-added", "b", "breaking")]),
        ("a: int, b: bool", "a: int", [("attribute-removed", "b", "breaking")]),
        ("temp: float degC", "temperature: float degC", [("attribute-renamed", "temperature", "breaking")]),
        ("temp: float degC", "temperature: float K", [("attribute-renamed", "temperature", "breaking")]),
        (
            "temp: float degC",
            "price: float?",
            [("attribute-removed", "temp", "breaking"), ("attribute-added", "price", "additive")],
        ),
        ("a: int", "a: float", [("kind-changed", "a", "breaking")]),
        ("a: float m", "a: float ft", [("unit-changed", "a", "breaking")]),
        ("a: int", "a: int?", [("optional-changed", "a", "breaking")]),
        ("a: int?", "a: int", [("optional-changed", "a", "breaking")]),
        ("a: {kind: int}", "a: {kind: int, concept: Count}", [("concept-changed", "a", "additive")]),
        ("a: {kind: int, concept: X}", "a: {kind: int, concept: Y}", [("concept-changed", "a", "breaking")]),
        (
            "a: {kind: string, context: {codes: x}}",
            "a: {kind: string, context: {codes: y}}",
            [("context-changed", "a", "breaking")],
        ),
        (
            "p: {kind: struct, attributes: {a: int}}",
            "p: {kind: struct, attributes: {a: int, b: int?}}",
            [("attribute-added", "p.b", "additive")],
        ),
        (
            "p: {kind: list, of: int}",
            "p: {kind: list, of: float}",
            [("kind-changed", "p[]", "breaking")],
        ),
    ],
)
def test_changes_of_attributes(old, new, expected):
    assert _found(old, new) == expected


def test_changes_of_the_parent_and_of_abstract():
    found = changes(_type("a: int"), _type("a: int", ", extends: Base"))
    assert [(one.code, one.effect) for one in found] == [("parent-changed", Effect.BREAKING)]
    found = changes(_type("a: int"), _type("a: int", ", abstract: true"))
    assert [(one.code, one.effect) for one in found] == [("abstract-changed", Effect.BREAKING)]
    found = changes(_type("a: int", ", abstract: true"), _type("a: int"))
    assert [(one.code, one.effect) for one in found] == [("abstract-changed", Effect.ADDITIVE)]


def test_contract_changes_of_tables_and_parties():
    house = {"type": "Fire", "map": {"level": "1"}}
    old = {
        "tables": {"t": {"a": 1, "b": 2, "c": 3}, "gone": {}},
        "members": {"x": house, "y": house},
        "founders": ["x"],
    }
    new = {
        "tables": {"t": {"a": 1, "b": 5, "d": 4}, "new": {}},
        "members": {"x": {**house, "map": {"level": "2"}}},
        "observers": {"z": house},
    }
    found = [(one.code, one.path, str(one.effect)) for one in contract_changes("fire", old, new)]
    assert found == [
        ("rows-removed", "t", "breaking"),
        ("rows-added", "t", "additive"),
        ("rows-changed", "t", "meaning"),
        ("table-removed", "gone", "breaking"),
        ("table-added", "new", "additive"),
        ("mapping-changed", "x", "meaning"),
        ("member-removed", "y", "breaking"),
        ("observer-added", "z", "additive"),
        ("founders-changed", "", "meaning"),
    ]
    assert contract_changes("fire", old, old) == []


def test_next_version_grows_with_what_others_notice():
    meaning = VersionChange("fire", "mapping-changed", Effect.MEANING, "")
    assert next_version(2, [meaning]) == 2
    assert next_version(2, [meaning, VersionChange("fire", "attribute-added", Effect.ADDITIVE, "")]) == 3


_TYPES = st.builds(
    AttributeType,
    st.sampled_from([Kind.INT, Kind.STRING]),
    st.booleans(),
    st.none(),
    st.sampled_from([None, "Count"]),
)
_EVENT_TYPES = st.dictionaries(st.sampled_from(["a", "b", "c"]), _TYPES).map(lambda own: EventType("T", "d", own=own))


@given(_EVENT_TYPES, _EVENT_TYPES)
def test_changes_are_none_exactly_for_equal_types_and_additive_changes_keep_every_attribute(old, new):
    found = changes(old, new)
    assert bool(found) == (old.attributes != new.attributes)
    if all(one.effect is Effect.ADDITIVE for one in found):
        for name, declared in old.attributes.items():
            now = new.attributes[name]
            assert (now.kind, now.optional, now.unit) == (declared.kind, declared.optional, declared.unit)
        assert all(new.attributes[name].optional for name in new.attributes.keys() - old.attributes.keys())
