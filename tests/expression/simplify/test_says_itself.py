"""What is seen at a glance of an atom is what the search for its values finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.event.kinds import INT_MAX, Kind
from comity.event.types import AttributeType, EventType
from comity.expression.simplify.ranges import range_of, says_itself
from comity.expression.tree import Attribute, Between, Compare, Expression, Literal

KINDS = {"f": Kind.FLOAT, "i": Kind.INT, "s": Kind.STRING, "t": Kind.TIMESTAMP, "d": Kind.DURATION, "b": Kind.BOOL}
TYPE = EventType("T", "test", own={name: AttributeType(kind) for name, kind in KINDS.items()})
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from((0.0, -0.0, 0.5, -2.5, 1e14 + 0.5, 1e15, -1e15, 1.7976931348623157e308, INT_MAX, -INT_MAX - 1)),
    st.integers(-INT_MAX, INT_MAX),
    st.floats(allow_nan=False, allow_infinity=False),
)
CONSTANTS = st.one_of(NUMBERS, NUMBERS, st.booleans(), st.sampled_from(("", "a"))).map(Literal)
ATTRIBUTES = st.sampled_from((*KINDS, "unknown")).map(lambda name: Attribute((name,)))
ATOMS = st.one_of(
    st.builds(Compare, st.sampled_from(("=", "!=", "<", "<=", ">", ">=")), ATTRIBUTES, CONSTANTS),
    st.builds(Between, ATTRIBUTES, CONSTANTS, CONSTANTS, st.booleans()),
)


@given(ATOMS)
def test_an_atom_that_says_itself_has_no_order_or_some_values_that_pass_and_some_that_do_not(atom: Expression) -> None:
    if says_itself(atom, TYPE):
        found = range_of(atom, TYPE)
        assert found is None or found.spans not in ((), ((found.domain.first, found.domain.last),))


@pytest.mark.parametrize(
    "atom",
    [
        Compare("=", Attribute(("s",)), Literal("m-1")),
        Compare("<=", Attribute(("f",)), Literal(30)),
        Compare("=", Attribute(("i",)), Literal(3)),
        Between(Attribute(("f",)), Literal(0.25), Literal(0.5)),
        Between(Attribute(("i",)), Literal(0.25), Literal(1.5)),
    ],
)
def test_common_atoms_are_seen_at_a_glance(atom: Expression) -> None:
    assert says_itself(atom, TYPE)
