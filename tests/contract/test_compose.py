"""Composed mappings: one after another is the same as both at once."""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.contract.collide import frozen
from comity.contract.compose import compose
from comity.contract.mapping import Mapping, read_mapping
from comity.contract.properties import properties
from comity.errors import Misuse
from comity.event import Event, EventType
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType
from comity.event.validate import Fault
from comity.expression.evaluate import evaluate, holds
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.testing.mappings import drafted_mapping, events_for, filters_for, follow_up, mappings

NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"
SEEDS = st.integers(0, 2**32 - 1)


def one_after_another(first: Mapping, second: Mapping, event: Event) -> Event | list[Fault]:
    middle = first.apply(event)
    return second.apply(middle) if isinstance(middle, Event) else middle


def same(one: Event | list[Fault], other: Event | list[Fault]) -> bool:
    if isinstance(one, Event) and isinstance(other, Event):
        return frozen(one.data) == frozen(other.data) and one.replace(data={}) == other.replace(data={})
    return one == other


@settings(max_examples=3_000 if NIGHTLY else 200)
@given(st.data(), SEEDS)
def test_composed_mapping_does_what_both_do(data: st.DataObject, seed: int) -> None:
    first = data.draw(mappings())
    second = follow_up(first, Random(seed))
    both = compose(first, second)
    tree = data.draw(filters_for(second))
    for event in data.draw(st.lists(events_for(first), min_size=1, max_size=8)):
        expected = one_after_another(first, second, event)
        assert same(both.apply(event), expected)
        assert holds(both.incomplete(), event) == isinstance(expected, list)
        if isinstance(expected, Event):
            assert holds(both.translate(tree), event) == holds(tree, expected)
            for path, made_from in both.expressions:
                assert frozen(evaluate(made_from, event)) == frozen(expected.get(path))


@settings(max_examples=1_000 if NIGHTLY else 60)
@given(st.data(), SEEDS, SEEDS)
def test_composition_is_associative(data: st.DataObject, one: int, other: int) -> None:
    first = data.draw(mappings())
    second = follow_up(first, Random(one))
    third = follow_up(second, Random(other))
    left, right = compose(compose(first, second), third), compose(first, compose(second, third))
    assert left.steps == right.steps
    for event in data.draw(st.lists(events_for(first), min_size=1, max_size=6)):
        assert same(left.apply(event), right.apply(event))
        for (path, made_left), (same_path, made_right) in zip(left.expressions, right.expressions, strict=True):
            assert path == same_path
            if isinstance(left.apply(event), Event):
                assert frozen(evaluate(made_left, event)) == frozen(evaluate(made_right, event))


@settings(max_examples=500 if NIGHTLY else 40)
@given(st.data(), SEEDS)
def test_properties_of_a_composed_mapping_hold(data: st.DataObject, seed: int) -> None:
    from tests.contract.test_properties import check_examples, check_round_trip, check_total

    first = data.draw(mappings())
    found = properties(compose(first, follow_up(first, Random(seed))))
    check_examples(found)
    for event in data.draw(st.lists(events_for(first), min_size=1, max_size=8)):
        check_total(found, event)
        check_round_trip(found, event)


def _type(name: str, **own: AttributeType) -> EventType:
    return EventType(name, "test", own=own)


def _mapping(source: EventType, target: EventType, **texts: str) -> Mapping:
    made, faults = read_mapping(
        {name.replace("__", "."): text for name, text in texts.items()},
        Scope(source, Taxonomy("test", [source])),
        target,
    )
    assert faults == []
    return made


TEXT = AttributeType(Kind.STRING)
MAYBE = AttributeType(Kind.STRING, optional=True)


def test_a_middle_that_is_incomplete_rejects_with_the_fault_of_its_step() -> None:
    first = _mapping(_type("A", a=MAYBE), _type("B", b=TEXT), b="a")
    second = _mapping(_type("B", b=TEXT), _type("C", c=MAYBE), c="b")
    both = compose(first, second)
    (fault,) = both.apply(Event("1", "/a", "test.A"))  # type: ignore[misc]
    assert (fault.path, fault.code) == ("b", "mapped-missing")
    assert holds(both.incomplete(), Event("1", "/a", "test.A"))


def test_a_struct_that_is_made_part_by_part_is_copied_part_by_part() -> None:
    inner = {"town": MAYBE, "street": MAYBE}
    place = AttributeType(Kind.STRUCT, optional=True, attributes=inner)
    first = _mapping(_type("A", a=MAYBE, b=MAYBE), _type("B", place=place), place__town="a", place__street="b + '.'")
    second = _mapping(_type("B", place=place), _type("C", at=place), at="place")
    both = compose(first, second)
    assert [(".".join(path), render(made)) for path, made in both.expressions] == [
        ("at.town", "a"),
        ("at.street", "b + '.'"),
    ]


def test_mappings_that_do_not_meet_are_refused() -> None:
    first = _mapping(_type("A", a=TEXT), _type("B", b=TEXT), b="a")
    with pytest.raises(Misuse) as refused:
        compose(first, first)
    assert refused.value.code == "mappings-do-not-meet"


def test_a_plain_mapping_has_itself_as_step() -> None:
    mapping = drafted_mapping(Random(3))
    assert mapping.steps == (mapping,)
