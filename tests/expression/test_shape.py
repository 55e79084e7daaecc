"""Shapes: a scope that remembers which comparisons it leaves as they are binds as one that looks at each of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.event import EVENT, AttributeType, EventType, Kind
from comity.event.context import Context
from comity.event.kinds import Point, Value
from comity.expression.bind import bind_filter
from comity.expression.parse import parse
from comity.expression.scope import Scope
from comity.expression.shape import shapes_of
from comity.expression.tree import And, Attribute, Between, Compare, Exists, Expression, In, Literal, Quantity, TextTest

NAMES = ("i", "f", "s", "b", "t", "u", "km", "price", "raw", "at", "tags", "inner", "unknown")
TYPE = EventType(
    "Reading",
    "house",
    EVENT,
    own={
        "i": AttributeType(Kind.INT),
        "f": AttributeType(Kind.FLOAT, optional=True),
        "s": AttributeType(Kind.STRING, context=Context({"codes": "rooms"})),
        "b": AttributeType(Kind.BOOL),
        "t": AttributeType(Kind.TIMESTAMP),
        "u": AttributeType(Kind.DURATION),
        "km": AttributeType(Kind.FLOAT, unit="km"),
        "price": AttributeType(Kind.FLOAT, unit="1000 USD"),
        "raw": AttributeType(Kind.BYTES),
        "at": AttributeType(Kind.POINT),
        "inner": AttributeType(Kind.STRUCT, attributes={"heat": AttributeType(Kind.INT, unit="degC")}),
        "tags": AttributeType(Kind.LIST, element=AttributeType(Kind.STRING)),
    },
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PATHS = (*((name,) for name in NAMES), ("inner", "heat"), ("at", "x"), ("event", "time"), ("event", "source"))
VALUES: tuple[Value, ...] = (
    *(0, 1, -1, 2**63, 10**40, 0.0, 1.0, 1.5, -0.0, 1e308, math.inf, math.nan, True, False),
    *("", "x", "1", "true", "P1D", "2026-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "5 km", "(", "kitchen"),
    *(NOW, datetime.max.replace(tzinfo=UTC), datetime(2026, 1, 1)),
    *(timedelta(0), timedelta.max, b"", b"a", Point(0.0, 0.0), Point(1.0, 2.0)),
)
"""Constants that reading, converting or comparing would treat each in its own way."""
OPERANDS = st.sampled_from([Attribute(path) for path in PATHS])
CONSTANTS: st.SearchStrategy[Expression] = st.one_of(
    st.sampled_from([*map(Literal, VALUES)]), st.sampled_from([Quantity(1, "km"), Quantity(5, "m"), Quantity(3, "s")])
)
ATOMS: st.SearchStrategy[Expression] = st.one_of(
    st.builds(Compare, st.sampled_from(["=", "!=", "<", ">="]), OPERANDS, CONSTANTS),
    st.builds(Compare, st.sampled_from(["=", "<"]), OPERANDS, OPERANDS),
    st.builds(Between, OPERANDS, CONSTANTS, CONSTANTS, st.booleans()),
    st.builds(In, OPERANDS, st.lists(CONSTANTS, min_size=1, max_size=3).map(tuple), st.booleans()),
    st.builds(TextTest, st.sampled_from(["contains", "starts with"]), OPERANDS, st.just("x"), st.booleans()),
    st.builds(Exists, OPERANDS),
)
FILTERS: st.SearchStrategy[Expression] = st.one_of(
    ATOMS, ATOMS, st.lists(ATOMS, min_size=2, max_size=3).map(tuple).map(And)
)


class _Forgetful(set[Any]):
    """Holds nothing, whatever it is given."""

    def issuperset(self, other: Any) -> bool:
        return False


def outcomes(filters: list[Expression], scope: Scope) -> list[Expression | str]:
    found: list[Expression | str] = []
    for tree in filters:
        try:
            found.append(bind_filter(tree, scope))
        except Misuse as error:
            found.append(f"{error} {error.hint} {error.place}")
    return found


def forgetful(type: EventType | None, convert: bool = False) -> Scope:
    scope = Scope(type, convert_open_units=convert)
    object.__setattr__(scope, "kept", _Forgetful())
    return scope


@pytest.mark.parametrize("type", [None, TYPE])
@pytest.mark.parametrize("convert", [False, True])
@settings(max_examples=300, deadline=None)
@given(filters=st.lists(FILTERS, max_size=30))
def test_a_scope_that_remembers_binds_as_one_that_does_not(
    type: EventType | None, convert: bool, filters: list[Expression]
) -> None:
    scope, plain = Scope(type, convert_open_units=convert), forgetful(type, convert)
    assert repr(outcomes(filters, scope)) == repr(outcomes(filters, plain))  # NaN is unlike itself
    assert (scope.open_units, scope.open_texts) == (plain.open_units, plain.open_texts)


@pytest.mark.parametrize("type", [None, TYPE])
@pytest.mark.parametrize("path", PATHS, ids=".".join)
def test_no_constant_hides_what_binding_says_of_another(type: EventType | None, path: tuple[str, ...]) -> None:
    operand = Attribute(path)
    kinds: list[Callable[[Literal], Expression]] = [
        lambda constant: Compare("=", operand, constant),
        lambda constant: Compare("<", operand, constant),
        lambda constant: In(operand, (constant, constant)),
        lambda constant: Between(operand, constant, constant),
    ]
    for first in VALUES:
        filters = [kind(Literal(value)) for kind in kinds for value in (first, *VALUES)]
        assert repr(outcomes(filters, Scope(type))) == repr(outcomes(filters, forgetful(type)))


def test_memory_is_bounded_by_attributes_operators_and_classes() -> None:
    scope = Scope(TYPE)
    for number in range(500):
        bind_filter(parse(f"i > {number} and s = 'room {number}' and f in ({number}, {number}.5) and exists f"), scope)
        outcomes([parse(f"unknown{number} = 1"), parse(f"s > {number}")], scope)
    assert len(scope.kept) == 5


def test_a_changed_scope_remembers_nothing_of_the_one_before() -> None:
    scope = Scope(TYPE)
    bind_filter(parse("i = 1"), scope)
    other = replace(scope, type=EventType("Other", "house", EVENT, own={"i": AttributeType(Kind.STRING)}))
    with pytest.raises(Misuse, match="string = int can never hold"):
        bind_filter(parse("i = 1"), other)


def test_what_was_kept_once_is_not_looked_at_again() -> None:
    scope = Scope(TYPE)
    bind_filter(parse("i > 1 and s in ('x', 'y') and f between 1 and 2.5"), scope)
    for text in ("i > 7", "s = 'z'", "f < 3 and f < 4.5"):
        tree = parse(text)
        assert all(
            scope.kept.issuperset(shapes_of(part)) for part in (tree.items if isinstance(tree, And) else (tree,))
        )
    assert not scope.kept.issuperset(shapes_of(parse("i > 1.5")))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("km > 500 m", "km > 0.5"),
        ("km in (1, 500 m)", "km in (1, 0.5)"),
        ("km between 1 and 5000 m", "km between 1 and 5"),
        ("km between 500 m and 1", "km between 0.5 and 1"),
    ],
)
def test_a_constant_with_a_unit_is_converted_each_time_beside_those_without(text: str, meant: str) -> None:
    scope = Scope(TYPE)
    bind_filter(parse("km > 1 and km < 1 and km = 1"), scope)
    kept = set(scope.kept)
    assert [bind_filter(parse(text), scope) for _ in range(2)] == [parse(meant)] * 2
    assert scope.kept == kept
