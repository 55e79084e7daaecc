"""Number sets against membership of sampled numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.filter.sets import Number, NumberSet

ENDS = st.one_of(
    st.integers(-4, 4),
    st.sampled_from([-1.5, 0.1, 0.5, 2.25, 2**53, 2**53 + 1, float(2**53), 1e300, -1e300, 5e-324]),
    st.sampled_from([Fraction(1, 3), Fraction(-7, 2)]),
)
PROBES: list[Number] = [*range(-6, 7), 0.1, 0.5, -1.5, 2.25, 0.25, 2**53, 2**53 + 1, 2**53 + 2, 1e300, -1e300, 1e301]
PROBES += [Fraction(1, 3), Fraction(1, 10), Fraction(-7, 2), 5e-324, 10**300, -(10**301)]


@st.composite
def intervals(draw: st.DrawFn, discrete: bool) -> NumberSet:
    low, high = draw(st.none() | ENDS), draw(st.none() | ENDS)
    return NumberSet.interval(low, high, draw(st.booleans()), draw(st.booleans()), discrete)


def sets(discrete: bool) -> st.SearchStrategy[NumberSet]:
    leaves = st.one_of(
        intervals(discrete),
        st.lists(ENDS, max_size=3).map(lambda points: NumberSet.of(points, discrete)),
        st.tuples(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), ENDS).map(
            lambda pair: NumberSet.compare(*pair, discrete)
        ),
    )
    return st.recursive(
        leaves, lambda inner: st.tuples(inner, inner).map(lambda pair: pair[0].union(pair[1])), max_leaves=3
    )


PAIRS = st.booleans().flatmap(lambda discrete: st.tuples(sets(discrete), sets(discrete)))
SETS = st.booleans().flatmap(sets)


def probes(*of: NumberSet) -> list[Number]:
    ends = [end for one in of for low, high, _, _ in one.intervals() for end in (low, high) if end is not None]
    return PROBES + ends + [end + step for end in ends for step in (-1, 1)]


@settings(deadline=None)
@given(PAIRS)
def test_operations_by_membership(pair: tuple[NumberSet, NumberSet]) -> None:
    left, right = pair
    for value in probes(left, right):
        here, there = left.contains(value), right.contains(value)
        assert left.union(right).contains(value) is (here or there)
        assert left.intersect(right).contains(value) is (here and there)
        assert left.difference(right).contains(value) is (here and not there)
        assert left.complement().contains(value) is (not here and (not left.discrete or value == math.floor(value)))


@settings(deadline=None)
@given(PAIRS)
def test_algebra_is_canonical(pair: tuple[NumberSet, NumberSet]) -> None:
    left, right = pair
    assert left.complement().complement() == left
    assert left.union(right).complement() == left.complement().intersect(right.complement())
    assert left.difference(right) == left.intersect(right.complement())
    assert left.intersect(right).union(left.difference(right)) == left
    assert hash(left.union(right)) == hash(right.union(left))
    assert left.covers(right) is right.difference(left).is_empty
    assert left.overlaps(right) is not left.intersect(right).is_empty
    assert left.union(left.complement()).is_full


@settings(deadline=None)
@given(SETS)
def test_sample_is_a_member(numbers: NumberSet) -> None:
    if numbers.is_empty:
        assert not any(numbers.contains(value) for value in PROBES)
        with pytest.raises(ValueError, match="empty"):
            numbers.sample()
        return
    assert numbers.contains(numbers.sample())


@settings(deadline=None)
@given(SETS)
def test_intervals_rebuild_the_set(numbers: NumberSet) -> None:
    rebuilt = NumberSet.none(numbers.discrete)
    for ends in numbers.intervals():
        rebuilt = rebuilt.union(NumberSet.interval(*ends, discrete=numbers.discrete))
    assert rebuilt == numbers
    if not numbers.is_empty:
        hull = NumberSet.interval(*numbers.hull(), discrete=numbers.discrete)
        assert hull.covers(numbers)
        assert hull.is_interval
        assert (hull == numbers) is numbers.is_interval


@settings(deadline=None)
@given(SETS)
def test_finite_sets_are_listed(numbers: NumberSet) -> None:
    size = numbers.size()
    if size is not None and size < 100:
        assert NumberSet.of(numbers, numbers.discrete) == numbers
        assert len(list(numbers)) == size


@settings(deadline=None)
@given(sets(False), sets(True))
def test_mixed_flavours_meet_in_the_integers(dense: NumberSet, discrete: NumberSet) -> None:
    for value in probes(dense, discrete):
        both = dense.contains(value) and discrete.contains(value)
        assert dense.intersect(discrete).contains(value) is both
        assert discrete.intersect(dense).contains(value) is both
        assert discrete.difference(dense).contains(value) is (discrete.contains(value) and not dense.contains(value))
    assert dense.covers(discrete) is discrete.difference(dense).is_empty


@settings(deadline=None)
@given(sets(False), sets(True))
def test_mixed_flavours_unite_where_the_integers_are_few(dense: NumberSet, discrete: NumberSet) -> None:
    few = discrete.intersect(NumberSet.interval(-50, 50, discrete=True))
    for value in probes(dense, few):
        here, there = dense.contains(value), few.contains(value)
        assert dense.union(few).contains(value) is (here or there)
        assert few.union(dense).contains(value) is (here or there)
        assert dense.difference(few).contains(value) is (here and not there)
    assert few.covers(dense) is dense.difference(few).is_empty


def test_mixed_flavours_refuse_what_no_set_can_hold() -> None:
    naturals = NumberSet.compare(">", 0, discrete=True)
    with pytest.raises(ValueError, match="dense"):
        naturals.union(NumberSet.compare("<", 0))
    with pytest.raises(ValueError, match="dense"):
        NumberSet.all().difference(naturals)
    assert NumberSet.all().union(naturals).is_full


def test_discrete_gaps_are_empty_and_dense_ones_are_not() -> None:
    assert NumberSet.interval(3, 4, False, False, discrete=True).is_empty
    assert not NumberSet.interval(3, 4, False, False).is_empty
    assert NumberSet.interval(1, 3, True, False, discrete=True) == NumberSet.interval(0.5, 2.5, discrete=True)
    assert NumberSet.of([1, 2, 3], discrete=True).is_interval


def test_ints_and_floats_compare_exactly() -> None:
    point = NumberSet.point(float(2**53))
    assert point.contains(2**53)
    assert not point.contains(2**53 + 1)
    assert not NumberSet.compare("<=", 0.1).contains(Fraction(0.1) + Fraction(1, 10**40))


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [
        (NumberSet.all(), 0),
        (NumberSet.compare("<", -3.5), -4),
        (NumberSet.interval(0.1, 0.2, False, False), 0.15),
        (NumberSet.interval(123_456, 200_000, discrete=True), 200_000),
        (NumberSet.interval(-200_000, -123_456, discrete=True), -200_000),
        (NumberSet.point(2**53 + 1), 2**53 + 1),
        (NumberSet.interval(0.1, math.nextafter(0.1, 1), False, False), None),
    ],
)
def test_sample_is_plain(numbers: NumberSet, wanted: Number | None) -> None:
    found = numbers.sample()
    assert isinstance(found, Fraction) if wanted is None else found == wanted


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_sample_is_a_float_wherever_one_fits(low: float, high: float) -> None:
    numbers = NumberSet.interval(low, high, False, False)
    if math.nextafter(low, math.inf) < high:
        found = numbers.sample()
        assert numbers.contains(found)
        assert float(found) == found
