"""Plans as bytes: they read back equal and do the same, and nothing else is taken for a plan."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.engine.run import run
from comity.errors import Misuse
from comity.expression.tree import TRUE, Expression, Literal, Not
from comity.federation import load
from comity.limits import limited
from comity.plan import Delivery, Plan, Route, compile_plan
from comity.plan.wire import functions_of, read_plan, write_plan
from comity.testing.expressions import SAMPLE, filters
from comity.testing.federations import federation_texts, load_texts
from comity.testing.records import good_events

EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/federation.yaml"))


def of(condition: Expression) -> Plan:
    """A plan with one filter."""
    return Plan("f", (SAMPLE,), (Route(SAMPLE, None, None, (Delivery("p", "d", condition, None, condition),)),))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_the_plans_of_the_examples_read_back_equal(folder: Path) -> None:
    plan = compile_plan(load(folder))
    written = write_plan(plan)
    again = read_plan(written, functions_of(plan))
    assert again == plan
    assert (again.key, write_plan(again)) == (plan.key, written)


@given(chance=st.randoms(use_true_random=False))
def test_generated_plans_read_back_equal_and_do_the_same(chance: Random) -> None:
    plan = compile_plan(load_texts(federation_texts(chance)))
    again = read_plan(write_plan(plan))
    assert again == plan
    events = list(good_events(chance, plan.types, 8))
    assert list(run(again, events)) == list(run(plan, events))


@given(filters())
def test_every_filter_reads_back_with_the_kinds_of_its_constants(tree: Expression) -> None:
    again = read_plan(write_plan(of(tree)))
    assert again == of(tree)
    assert repr(again.routes[0].deliveries[0].wanted) == repr(tree).replace("fold=1, ", "")


def test_times_between_which_events_count_are_kept() -> None:
    plan = replace(of(TRUE), seen=(datetime(1, 1, 1, tzinfo=UTC), None))
    assert read_plan(write_plan(plan)) == plan


def test_a_function_of_a_contract_is_needed_where_the_plan_is_read() -> None:
    plan = next(plan for plan in map(compile_plan, map(load, EXAMPLES)) if functions_of(plan))
    with pytest.raises(Misuse, match="which is not here in this state") as caught:
        read_plan(write_plan(plan))
    assert caught.value.code == "unknown-function"


def nested(levels: int) -> Expression:
    tree: Expression = Literal(True)
    for _ in range(levels):
        tree = Not(tree)
    return tree


def test_expressions_as_deep_as_they_may_be_written_read_back() -> None:
    assert read_plan(write_plan(of(nested(200)))) == of(nested(200))


def test_what_is_deeper_is_refused() -> None:
    hostile = write_plan(of(nested(1))).replace(b'["Not",["Literal",true]]', b'["Not",' * 450 + b"true" + b"]" * 450)
    for data in (hostile, b"[" * 100_000, b'{"format":' * 5_000):
        with pytest.raises(Misuse) as caught:
            read_plan(data)
        assert caught.value.code == "bad-plan"


def test_size_is_bounded() -> None:
    with limited(max_plan_bytes=100), pytest.raises(Misuse, match="the limit is 100"):
        read_plan(write_plan(of(TRUE)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"version":1', b'"version":2'),
        (b'"format":"comity-plan"', b'"format":"plan"'),
        (b'["Literal",true]', b'["Literal",NaN]'),
        (b'["Literal",true]', b'["Literal",1e999]'),
        (b'["Literal",true]', b'["Literal",9223372036854775808]'),
        (b'["Literal",true]', b'["Literal","\\ud800"]'),
        (b'["Literal",true]', b'["Literal",null]'),
        (b'["Literal",true]', b'["Literal",{"struct":[]}]'),
        (b'["Literal",true]', b'["Literal",{"time":9999999999999999999}]'),
        (b'["Literal",true]', b'["Literal",{"bytes":"%"}]'),
        (b'["Literal",true]', b'["Literal",1]'),
        (b'["Literal",true]', b'["Delivery",true]'),
        (b'["Literal",true]', b'["Quantity",1,"m"]'),
        (b'["Literal",true]', b'["And",[["Literal",5]]]'),
        (b'["Literal",true]', b'["Compare","=",["Call","system",[]],["Literal",1]]'),
        (b'["Literal",true]', b'["Compare","=",["Call","abs",[]],["Literal",1]]'),
        (b'["Literal",true]', b'["Compare","~",["Attribute",["a"]],["Literal",1]]'),
        (b'["Literal",true]', b'["TextTest","matches",["Attribute",["a"]],"(",false]'),
        (b'["Literal",true]', b'["TextTest","sounds",["Attribute",["a"]],"",false]'),
        (b'["Literal",true]', b'["Lookup","t",["Attribute",["a"]],"none"]'),
        (b'["Literal",true]', b'["Attribute",[]]'),
        (b'"optional"', b'"optional '),
    ],
)
def test_what_makes_no_sense_is_refused(before: bytes, after: bytes) -> None:
    written = write_plan(of(TRUE))
    data = written.replace(before, after)
    with pytest.raises(Misuse):
        read_plan(data if data != written else data[:-1])


def test_what_is_not_what_its_key_says_is_refused() -> None:
    content = json.loads(write_plan(of(TRUE)))
    (key,) = (key for key, one in content["types"].items() if one[1] == SAMPLE.name)
    content["types"][key][1] = "Other"
    with pytest.raises(Misuse, match="is not what its key says"):
        read_plan(json.dumps(content).encode())


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["time", "point", "x"]), inner),
    max_leaves=4,
)


@given(data=st.data(), tree=filters(1))
def test_damaged_plans_are_plans_or_refused(data: st.DataObject, tree: Expression) -> None:
    content = json.loads(write_plan(of(tree)))
    at: Any = content
    for _ in range(data.draw(st.integers(1, 14))):
        keys = list(at) if isinstance(at, dict) else range(len(at))
        key = data.draw(st.sampled_from(sorted(keys)))
        if not isinstance(at[key], dict | list) or not at[key]:
            break
        at, last, last_key = at[key], at, key
    else:
        key, at = last_key, last
    at[key] = data.draw(JUNK)
    with suppress(Misuse):
        assert isinstance(read_plan(json.dumps(content).encode()), Plan)
