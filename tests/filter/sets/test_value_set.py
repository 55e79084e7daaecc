"""Value sets: each kind keeps to itself, and the laws hold for all of them together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.kinds import INT_MAX, INT_MIN, Kind, Point, kind_of, to_microseconds
from comity.filter.sets import MISSING, NumberSet, StringSet, ValueSet

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
VALUES: list[Any] = [MISSING, True, False, 0, 1, 1.5, -3, 2.0, "", "a", "ab", b"x", [1], {"a": 1}, Point(0.0, 0.0)]
VALUES += [datetime(2026, 1, 1, tzinfo=UTC), FIRST, LAST, timedelta(seconds=1), timedelta(0), timedelta(days=-1)]
OPERATORS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
COUNTS = st.tuples(OPERATORS, st.sampled_from([0, 1_000_000, to_microseconds(VALUES[15])]), st.just(True)).map(
    lambda three: NumberSet.compare(*three)
)


@st.composite
def sets(draw: st.DrawFn) -> ValueSet:
    found = ValueSet(
        missing=draw(st.booleans()),
        numbers=NumberSet.compare(draw(OPERATORS), draw(st.integers(-3, 3))),
        strings=StringSet.compare(draw(OPERATORS), draw(st.sampled_from(["", "a", "b"]))),
        bools=draw(st.frozensets(st.booleans())),
        timestamps=draw(COUNTS),
        durations=draw(COUNTS),
        other=draw(st.booleans()),
    )
    return found.intersect(draw(st.sampled_from([ValueSet.open_universe(), *map(ValueSet.universe, Kind)])))


@settings(deadline=None)
@given(sets(), sets())
def test_operations_by_membership(left: ValueSet, right: ValueSet) -> None:
    universe = ValueSet.open_universe()
    if left.numbers.discrete != right.numbers.discrete:
        right = right.difference(ValueSet(numbers=right.numbers))
    for value in VALUES:
        here, there = left.contains(value), right.contains(value)
        assert left.intersect(right).contains(value) is (here and there)
        assert left.union(right).contains(value) is (here or there)
        assert left.difference(right).contains(value) is (here and not there)
        if not left.numbers.discrete:
            assert left.complement(universe).contains(value) is not here


@settings(deadline=None)
@given(sets(), sets())
def test_relations_agree_with_operations(left: ValueSet, right: ValueSet) -> None:
    if left.numbers.discrete != right.numbers.discrete:
        right = right.difference(ValueSet(numbers=right.numbers))
    assert left.covers(right) is right.difference(left).is_empty
    assert left.overlaps(right) is not left.intersect(right).is_empty
    assert left.intersect(right).union(left.difference(right)) == left
    assert hash(left.union(right)) == hash(right.union(left))


@settings(deadline=None)
@given(sets())
def test_sample_is_a_member(values: ValueSet) -> None:
    if values.is_empty:
        assert not any(map(values.contains, VALUES))
        with pytest.raises(ValueError, match="empty"):
            values.sample()
    else:
        assert values.contains(values.sample())


@pytest.mark.parametrize("kind", Kind)
def test_universe_holds_its_kind(kind: Kind) -> None:
    universe = ValueSet.universe(kind, optional=True)
    for value in VALUES:
        if value is not MISSING and kind_of(value) is kind:
            assert universe.contains(value)
            assert not universe.contains(MISSING) or universe.missing
    assert universe.contains(MISSING)
    assert not ValueSet.universe(kind).contains(MISSING)
    assert ValueSet.open_universe().covers(universe)
    assert universe.difference(universe).is_empty


def test_universe_of_int_is_bounded() -> None:
    ints = ValueSet.universe(Kind.INT)
    assert ints.intersect(ValueSet(numbers=NumberSet.compare(">", INT_MAX, discrete=True))).is_empty
    assert ints.intersect(ValueSet(numbers=NumberSet.compare("<", INT_MIN + 1, discrete=True))).sample() == INT_MIN
    assert not ints.contains(0.5)


def test_universe_of_float_ends_at_the_greatest_float() -> None:
    floats = ValueSet.universe(Kind.FLOAT)
    assert floats.intersect(ValueSet(numbers=NumberSet.compare(">", 1.7976931348623157e308))).is_empty
    assert isinstance(floats.sample(), float)


@pytest.mark.parametrize(("kind", "low", "high"), [(Kind.TIMESTAMP, FIRST, LAST)])
def test_samples_at_the_edges_are_timestamps(kind: Kind, low: datetime, high: datetime) -> None:
    universe = ValueSet.universe(kind)
    first = NumberSet.compare("<=", to_microseconds(low), discrete=True)
    last = NumberSet.compare(">=", to_microseconds(high), discrete=True)
    assert universe.intersect(ValueSet(timestamps=first)).sample() == low
    assert universe.intersect(ValueSet(timestamps=last)).sample() == high


def test_samples_of_durations_are_timedeltas() -> None:
    longest = NumberSet.compare(">=", INT_MAX, discrete=True)
    found = ValueSet.universe(Kind.DURATION).intersect(ValueSet(durations=longest)).sample()
    assert found == timedelta(microseconds=INT_MAX)


def test_bools_are_not_numbers() -> None:
    assert not ValueSet(numbers=NumberSet.all()).contains(True)
    assert not ValueSet(bools=frozenset([True, False])).contains(1)
