"""Keys: equal for what says the same, in every process, and different for what does not."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from comity.contract.mapping import Mapping
from comity.event.kinds import Kind
from comity.event.types import AttributeType, EventType
from comity.expression.parse import parse
from comity.expression.tree import Expression, Literal, Lookup
from comity.federation import Federation, load
from comity.keyed import digest
from comity.plan import compile_plan
from comity.plan.ways import Ways, ways_of
from comity.testing.expressions import filters
from comity.testing.federations import federations

EXAMPLE = Path(__file__).parents[1] / "examples" / "two_houses"

FIRE = EventType("Fire", "a", own={"heat": AttributeType(Kind.FLOAT), "room": AttributeType(Kind.STRING)})
ALARM = EventType("Alarm", "b", own={"level": AttributeType(Kind.INT)})
RAISED = Mapping(FIRE, ALARM, ((("level",), parse("round(heat)")),))


@given(filters(), filters())
def test_expressions_have_one_digest_just_when_they_are_the_same(first: Expression, second: Expression) -> None:
    assert digest(pickle.loads(pickle.dumps(first))) == digest(first)
    assert (digest(first) == digest(second)) == (shown(first) == shown(second))


def shown(tree: Expression) -> str:
    """The tree with the kinds of its constants, which `==` does not tell apart in tables."""
    return repr(tree).replace("fold=1, ", "")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", ("b",)), (("a", "b"),)),
        ((1,), (1.0,)),
        ((1,), (True,)),
        ((1,), ("1",)),
        ((None,), ("None",)),
        (({"a": "b"},), (("a", "b"),)),
        ((Literal("1"),), (Literal(1),)),
        ((frozenset({"a"}),), (("a",),)),
        ((Kind.INT,), ("int",)),
    ],
)
def test_what_is_put_together_differently_has_another_digest(first: tuple[object, ...], second: tuple[object]) -> None:
    assert digest(*first) != digest(*second)


def test_a_thing_without_a_key_is_refused() -> None:
    with pytest.raises(TypeError, match="a object has no key"):
        digest(object())


def test_the_order_of_attributes_is_not_part_of_a_type() -> None:
    turned = replace(FIRE, own=dict(reversed(FIRE.own.items())), description="fires")
    assert turned == FIRE
    assert turned.key == FIRE.key


@pytest.mark.parametrize(
    "other",
    [
        replace(RAISED, source=replace(FIRE, version="2")),
        replace(RAISED, source=replace(FIRE, parent=ALARM)),
        replace(RAISED, target=replace(ALARM, own={"level": AttributeType(Kind.INT, unit="K")})),
        replace(RAISED, expressions=((("level",), parse("round(heat + 1)")),)),
        replace(RAISED, composed_of=(RAISED,)),
    ],
)
def test_a_mapping_that_says_something_else_has_another_key(other: Mapping) -> None:
    assert other.key != RAISED.key
    assert replace(RAISED).key == RAISED.key


def test_the_rows_of_a_table_are_part_of_the_key() -> None:
    def looked_up(rows: tuple[tuple[object, object], ...]) -> str:
        return digest(Lookup("levels", parse("heat"), rows))

    assert looked_up((("low", 1),)) == looked_up((("low", 1),)) != looked_up((("low", 1.0),))


def keys_of(ways: Ways) -> list[str]:
    return [digest(one.profile, ways.ways[one.way], one.condition) for own in ways.tests.values() for one in own]


@given(federations())
def test_plans_compiled_apart_have_the_same_keys(federation: Federation) -> None:
    first, second = compile_plan(federation), compile_plan(pickle.loads(pickle.dumps(federation)))
    assert first.key == second.key
    ways, others = ways_of(first), ways_of(second)
    assert [one.key for one in ways.ways] == [one.key for one in others.ways]
    assert keys_of(ways) == keys_of(others)
    assert len(set(keys_of(ways))) == len(keys_of(ways))


def test_another_process_with_other_hashes_finds_the_same_keys() -> None:
    program = f"""
from comity.federation import load
from comity.plan import compile_plan
from comity.plan.ways import ways_of
plan = compile_plan(load({str(EXAMPLE)!r}))
print(plan.key, *(way.key for way in ways_of(plan).ways))
"""
    plan = compile_plan(load(EXAMPLE))
    here = " ".join([plan.key, *(way.key for way in ways_of(plan).ways)])
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert told.stdout.strip() == here, told.stderr
