"""Constants in the kind of their attribute: the same answer for every value, at the edges of ints and floats, too."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.kinds import INT_MAX, INT_MIN, Kind, Value
from comity.expression.evaluate import holds
from comity.expression.tree import Attribute, Between, Compare, Expression, In, Literal
from comity.language.numbers import in_kind

X = Attribute(("x",))
EDGES = [0, 3, 2**53 + 1, 2**53 + 3, -(2**53) - 1, -(2**53) - 3, INT_MAX, INT_MIN, INT_MAX - 1]
INTS = st.sampled_from(EDGES) | st.integers(-5, 5)
FLOATS = st.sampled_from([*map(float, EDGES), 2.5, -0.0, 1e300, -1e300, 2.0**63, -(2.0**64)])
NUMBERS = INTS | FLOATS
OPERATORS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])


def near(value: Value, kind: Kind) -> list[Value]:
    """Values of the kind around a constant, and none at all."""
    if kind is Kind.INT:
        middle = int(max(min(value, INT_MAX), INT_MIN))
        return [None, *(one for one in range(middle - 2, middle + 3) if INT_MIN <= one <= INT_MAX)]
    middle = float(value)
    return [None, middle, math.nextafter(middle, math.inf), math.nextafter(middle, -math.inf), 0.0]


def assert_same(atom: Expression, kind: Kind, constants: list[Value]) -> None:
    found = in_kind(atom, kind)
    for value in [one for constant in constants for one in near(constant, kind)]:
        event = Event("1", "/a", "T", data={} if value is None else {"x": value})
        assert found is None or holds(found, event) == holds(atom, event), (value, found)
    wrong = float if kind is Kind.INT else int
    if any(type(constant) is wrong for constant in constants):
        assert found is not None


@given(OPERATORS, NUMBERS, st.sampled_from([Kind.INT, Kind.FLOAT]))
def test_in_kind_of_a_comparison(operator: str, constant: Value, kind: Kind) -> None:
    assert_same(Compare(operator, X, Literal(constant)), kind, [constant])


@given(NUMBERS, NUMBERS, st.booleans(), st.sampled_from([Kind.INT, Kind.FLOAT]))
def test_in_kind_of_a_range(low: Value, high: Value, negated: bool, kind: Kind) -> None:
    assert_same(Between(X, Literal(low), Literal(high), negated), kind, [low, high])


@given(st.lists(NUMBERS, min_size=1, max_size=4), st.booleans(), st.sampled_from([Kind.INT, Kind.FLOAT]))
def test_in_kind_of_a_list(constants: list[Value], negated: bool, kind: Kind) -> None:
    assert_same(In(X, tuple(map(Literal, constants)), negated), kind, constants)
