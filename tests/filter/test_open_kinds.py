"""What relations take open attributes to be is within what the one inference of kinds allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.event.kinds import ANY_KIND, Kind
from comity.expression.kinds import Kinds, kinds_of
from comity.expression.parse import parse
from comity.expression.tree import Attribute, Compare, Expression, attributes
from comity.filter.open_kinds import open_classes
from comity.filter.sets.values import CLASS_OF_KIND
from comity.testing.expressions import value_expressions

OTHER = ("compared",)
VALUES = st.sampled_from([kind for kind in Kind if kind not in (Kind.STRUCT, Kind.LIST)]).flatmap(value_expressions)


def assumed(value: Expression) -> frozenset[str]:
    """What an attribute is taken to be that is compared with the value, and with nothing else."""
    return open_classes([Compare("=", Attribute(OTHER), value)]).get(OTHER, frozenset())


def inferred(value: Expression) -> frozenset[str]:
    return frozenset(CLASS_OF_KIND[kind] for kind in kinds_of(value, _anything))


def _anything(path: tuple[str, ...]) -> Kinds:
    return ANY_KIND


@given(VALUES)
def test_what_is_assumed_is_possible(value: Expression) -> None:
    if not isinstance(value, Attribute):  # two attributes share what others say of them
        assert assumed(value) <= inferred(value)


@pytest.mark.parametrize("text", ["5", "'a'", "2.5 * 2", "true", "-duration('PT5M')", "lower('A')", "length('abc')"])
def test_of_constants_both_say_the_same(text: str) -> None:
    value = parse(text)
    assert not list(attributes(value))
    assert assumed(value) == inferred(value) != frozenset()


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("x + y", {"numbers"}),  # could be texts, times or durations, too
        ("coalesce(x, 5)", {"numbers"}),  # x could be anything
        ("if x = 1 then y else 'a'", {"strings"}),
        ("t + duration('PT5M')", {"durations"}),  # t could be a timestamp, too
    ],
)
def test_an_assumption_is_narrower_than_what_is_possible(text: str, classes: set[str]) -> None:
    value = parse(text)
    assert assumed(value) == classes < inferred(value)


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("x * duration('PT5M') > duration('PT10M')", {"numbers"}),
        ("x / duration('PT5M') > 2", {"durations"}),
        ("x + 2026-01-01T00:00:00Z > 2026-01-02T00:00:00Z", {"durations"}),
        ("2026-01-01T00:00:00Z - x > duration('PT10M')", {"timestamps"}),
        ("x < -duration('PT10M')", {"durations"}),
        ("x + 'a' = 'ba'", {"strings"}),
    ],
)
def test_an_operand_is_taken_to_be_what_has_a_meaning(text: str, classes: set[str]) -> None:
    assert open_classes([parse(text)])["x",] == classes
