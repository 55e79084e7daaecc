"""What simplification makes of the example, of edges that random filters seldom meet, and where it stops."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest

from comity.event.event import Event
from comity.event.kinds import INT_MAX, INT_MIN, Kind
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.simplify import simplify
from comity.expression.simplify.domains import DOMAINS, float_index, float_value
from comity.expression.simplify.known import parts
from comity.expression.simplify.ranges import range_of
from comity.expression.tree import (
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Conditional,
    Expression,
    Literal,
    Lookup,
    Negative,
    children,
    walk,
)
from comity.federation.files import load
from comity.limits import limited

EXAMPLE = Path(__file__).parents[3] / "examples" / "two_houses"
TYPE = EventType(
    "Reading",
    "plant",
    own={
        "heat": AttributeType(Kind.FLOAT),
        "count": AttributeType(Kind.INT),
        "spare": AttributeType(Kind.INT, optional=True),
        "flag": AttributeType(Kind.BOOL),
        "name": AttributeType(Kind.STRING, optional=True),
        "seen": AttributeType(Kind.TIMESTAMP, optional=True),
    },
)
HEAT, COUNT, SPARE, NAME = (Attribute((name,)) for name in ("heat", "count", "spare", "name"))
MOMENT = datetime(2026, 5, 1, tzinfo=UTC)
LEVELS = Lookup("levels", NAME, (("low", 1), ("high", 3)))


def reading(**data: object) -> Event:
    return Event("1", "/plant", "plant.Reading", None, {"heat": 1.0, "count": 1, "flag": False, **data})


def same_on(tree: Expression, *events: Event) -> Expression:
    after = simplify(tree, TYPE)
    assert [holds(tree, event) for event in events] == [holds(after, event) for event in events]
    return after


@pytest.mark.parametrize(
    ("domain", "profile", "expected"),
    [
        ("house_a", "serious_fires", "heat > 140 and heat < 3.595386269724632e+307"),
        ("house_b", "serious_fires", "celsius > 60.00000000000003 and severity in ('mittel', 'hoch')"),
        ("house_a", "main_street", "true"),
        ("house_b", "main_street", "false"),
    ],
)
def test_simplify_of_the_example_leaves_comparisons_with_constants(domain: str, profile: str, expected: str) -> None:
    federation = load(EXAMPLE)
    contract = federation.contracts["fire"]
    (observe,), (mediate,) = contract.observers["fire_station"], contract.members[domain]
    tree = mediate.translate(observe.translate(federation.profiles[profile].tree))
    assert render(simplify(tree, mediate.source)) == expected


NASTY = [0, 1, -1, 3, -7, INT_MAX, INT_MIN, 2**53 + 1, 0.0, -0.0, 0.1, -2.5, 1e308, -1e308, 5e-324, 1e-300, 1e17]


def _around(tree: Expression) -> list[Event]:
    found = range_of(tree, TYPE)
    domain = DOMAINS[Kind.FLOAT if HEAT in walk(tree) else Kind.INT]
    ends = [end for span in found.spans for end in span] if found else []
    near = {end + step for end in [*ends, 0, domain.first, domain.last] for step in (-1, 0, 1)}
    name = "heat" if domain.kind is Kind.FLOAT else "count"
    return [reading(**{name: domain.value(index)}) for index in near if domain.first <= index <= domain.last]


@pytest.mark.parametrize("symbol", "+-*/")
@pytest.mark.parametrize("attribute", [HEAT, COUNT], ids=lambda attribute: attribute.name)
def test_simplify_of_one_step_with_every_nasty_constant(symbol: str, attribute: Attribute) -> None:
    for constant, wanted in itertools.product(map(Literal, NASTY), map(Literal, NASTY)):
        for value in (Arithmetic(symbol, attribute, constant), Arithmetic(symbol, constant, attribute)):
            for test in ("=", "<", ">="):
                tree = Compare(test, value, wanted)
                same_on(tree, *_around(tree))


@pytest.mark.parametrize("last", ["+", "-", "*", "/", "minus"])
def test_simplify_of_two_steps_that_run_out_of_range(last: str) -> None:
    for first, second in itertools.product(map(Literal, NASTY), map(Literal, NASTY)):
        for attribute, symbol in itertools.product((HEAT, COUNT), "+-*"):
            inner = Arithmetic(symbol, first, attribute)
            value = Negative(inner) if last == "minus" else Arithmetic(last, inner, second)
            tree = Compare("=", value, value)
            same_on(tree, *_around(tree))


def test_float_index_counts_the_floats_in_order() -> None:
    values = [-1e308, -1.5, -5e-324, 0.0, 5e-324, 2.0, 2.0000000000000004]
    assert sorted(values, key=float_index) == values
    assert [float_value(float_index(value)) for value in values] == values
    assert float_index(2.0000000000000004) - float_index(2.0) == 1


def test_parts_are_the_children_of_every_node() -> None:
    for tree in (bind_text(text, Scope(TYPE)) for text in ("not (name like 'a' or count in (1, 2))", "is Reading")):
        for node in walk(tree):
            assert list(parts(node)) == list(children(node))
    for node in walk(Conditional(Compare("=", LEVELS, Negative(HEAT)), Call("float", (HEAT,)), Literal(1))):
        assert list(parts(node)) == list(children(node))


def test_simplify_keeps_a_truth_that_is_compared_although_its_parts_are_missing() -> None:
    inner = Compare(">", Call("coalesce", (SPARE, Lookup("levels", NAME, (("low", 9),)))), Literal(3))
    tree = Compare("=", inner, Attribute(("flag",)))
    same_on(tree, reading(), reading(spare=9), reading(flag=True, spare=9), reading(name="low"), reading(flag=True))


def test_simplify_knows_that_only_a_part_of_the_envelope_is_always_there() -> None:
    scope = Scope(TYPE)
    assert simplify(bind_text("exists event.id and exists event.source", scope), TYPE) == Literal(True)
    for text in ("exists event.subject", "not event.time > 2026-05-01T00:00:00Z", "exists event.time"):
        same_on(bind_text(text, scope), reading(), reading().replace(time=MOMENT, subject="x"))


def test_simplify_leaves_a_lookup_whose_keys_can_be_the_same_time() -> None:
    rows = (("2026-05-01T00:00:00Z", 1), ("2026-05-01T00:00:00+00:00", 2))
    tree = Compare("=", Lookup("times", Attribute(("seen",)), rows), Literal(2))
    same_on(tree, reading(), reading(seen=MOMENT))
    tree = Compare("=", Lookup("times", NAME, ((MOMENT, 1), ("2026-05-01T00:00:00Z", 2))), Literal(2))
    same_on(tree, reading(), reading(name="2026-05-01T00:00:00Z"))


def test_simplify_leaves_what_would_grow_too_large() -> None:
    value: Expression = Literal(0)
    for number in range(40):
        value = Conditional(Compare("=", SPARE, Literal(number)), Call("coalesce", (LEVELS, Literal(number))), value)
    tree = Compare(">", value, Literal(5))
    events = [reading(), reading(spare=7), reading(spare=3, name="high"), reading(spare=3, name="other")]
    with limited(max_simplified_nodes=500):
        assert len(list(walk(same_on(tree, *events)))) <= 500
    assert not any(isinstance(node, Conditional) for node in walk(same_on(tree, *events)))


def test_simplify_leaves_a_lookup_in_one_of_too_many_cases() -> None:
    value: Expression = Literal(0)
    for number in range(12):
        value = Arithmetic("+", value, Conditional(Compare(">", SPARE, Literal(number)), LEVELS, Literal(9)))
    tree = Compare(">", value, Literal(50))
    assert isinstance(same_on(tree, reading(), reading(spare=20), reading(spare=20, name="high")), Compare)


def test_simplify_leaves_a_tree_of_very_many_levels() -> None:
    value: Expression = HEAT
    for _ in range(190):
        value = Arithmetic("+", value, Literal(1.0))
    tree = Compare(">", value, Literal(5))
    assert simplify(tree, TYPE) == tree


def test_simplify_leaves_filters_without_expressions_alone() -> None:
    tree = bind_text("count > 5 and name = 'x' or not spare < 3 or heat >= 2.5", Scope(TYPE))
    assert simplify(tree, TYPE) == tree


def test_simplify_leaves_attributes_that_the_type_does_not_name() -> None:
    tree = bind_text("other * 2 > 4 and not deep.er < 'x'", Scope())
    assert simplify(tree, TYPE) == tree
