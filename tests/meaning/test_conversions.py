"""What conversions claim of themselves is so; a wrong claim fails here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.meaning.context import Simple
from comity.meaning.conversions import (
    CodeTable,
    Composition,
    Conversion,
    ConversionManager,
    LinearConversion,
    RateConversion,
    Registered,
    composed,
    unit_conversion,
)
from comity.meaning.rates import Rates

NOW = datetime(2026, 1, 15, tzinfo=UTC)
RATES = Rates.of([("EUR", "USD", "1.25", "2026-01-01", "2026-02-01")])
CODES = ["a", "b", "c", "d", "e"]

numbers = st.fractions(max_denominator=1_000)
factors = numbers.filter(bool)
linear = st.one_of(
    st.builds(LinearConversion, factors, numbers),
    st.sampled_from([("degC", "degF"), ("m", "[in_i]"), ("mm[Hg]", "kPa")]).map(lambda pair: unit_conversion(*pair)),
    st.builds(LinearConversion, st.fractions(min_value=0, max_denominator=1_000).filter(bool)),
)
numeric = st.one_of(linear, st.just(RateConversion(RATES, "EUR", "USD")), st.just(RateConversion(RATES, "USD", "EUR")))
tables = st.builds(
    CodeTable,
    st.dictionaries(st.sampled_from(CODES), st.sampled_from(CODES), min_size=1),
    st.one_of(st.none(), st.sampled_from(CODES)),
)


def _compositions(steps: st.SearchStrategy[Conversion]) -> st.SearchStrategy[Conversion]:
    return st.lists(steps, min_size=1, max_size=3).map(lambda some: composed(some))


conversions = st.one_of(
    st.tuples(st.one_of(numeric, _compositions(numeric)), st.lists(numbers, min_size=2, max_size=5)),
    st.tuples(st.one_of(tables, _compositions(tables)), st.lists(st.sampled_from(CODES), min_size=2, max_size=5)),
)


def _check(conversion: Conversion, values: list[Simple]) -> None:
    """Each claim of a conversion, tried on values."""
    done = [(value, conversion.apply(value, at=NOW)) for value in values]
    assert not conversion.total or all(found is not None for _, found in done)
    kept = [(value, found) for value, found in done if found is not None]
    back = conversion.inverse()
    assert (back is not None) == conversion.lossless
    if back is not None:
        assert all(back.apply(found, at=NOW) == value for value, found in kept)
    for value, found in kept:
        for other, other_found in kept:
            if conversion.order is not None and value < other:  # type: ignore[operator]
                rises = found < other_found  # type: ignore[operator]
                assert rises == (conversion.order == "rising")
                assert found != other_found


@given(conversions)
def test_claims(pair: tuple[Conversion, list[Simple]]) -> None:
    _check(*pair)


@pytest.mark.parametrize(
    "wrong",
    [
        Composition((CodeTable({"a": "b"}, default="c"), CodeTable({"b": "a"}))),  # total in its first step only
    ],
)
def test_a_composition_claims_no_more_than_its_steps(wrong: Conversion) -> None:
    assert not wrong.total
    assert wrong.apply("x") is None


def test_a_wrong_claim_is_found() -> None:
    class Forgets(LinearConversion):
        def apply(self, value: Simple, *, at: datetime | None = None) -> Simple | None:
            return Fraction(0)

    with pytest.raises(AssertionError):
        _check(Forgets(Fraction(2)), [Fraction(1), Fraction(2)])


@pytest.mark.parametrize(
    ("rows", "default", "total", "lossless", "order"),
    [
        ({"a": "x", "b": "y"}, None, False, True, "rising"),
        ({"a": "y", "b": "x"}, None, False, True, "falling"),
        ({"a": "x", "b": "z", "c": "y"}, None, False, True, None),
        ({"a": "x", "b": "x"}, None, False, False, None),
        ({"a": "x", "b": "y"}, "z", True, False, None),
        ({"a": Fraction(1), "b": Fraction(2)}, None, False, True, "rising"),
        ({"a": Fraction(1), "b": "x"}, None, False, True, None),
    ],
)
def test_what_a_table_claims(rows: dict[Simple, Simple], default: str, total: bool, lossless: bool, order: str) -> None:
    table = CodeTable(rows, default)
    assert (table.total, table.lossless, table.order) == (total, lossless, order)


@given(st.lists(linear, min_size=1, max_size=4), numbers)
def test_in_steps_or_at_once(steps: list[LinearConversion], number: Fraction) -> None:
    at_once = composed(steps)
    assert isinstance(at_once, LinearConversion)
    assert at_once.apply(number) == Composition(tuple(steps)).apply(number)


def test_no_conversion_forgets_everything() -> None:
    with pytest.raises(Misuse):
        LinearConversion(Fraction(0))


def test_the_manager_looks_up_what_is_valid() -> None:
    manager = ConversionManager()
    old, new = LinearConversion(Fraction(2)), LinearConversion(Fraction(3))
    manager.register(Registered("Grade", "system", "a", "b", old, until=NOW))
    manager.register(Registered("Grade", "System", "a", "b", new, since=NOW))
    assert manager.find(["Grade"], "system", "a", "b", at=NOW - timedelta(microseconds=1)) == old
    assert manager.find(["Grade"], "system", "a", "b", at=NOW) == new
    assert manager.find(["Mark", "Grade"], "system", "b", "a", at=NOW) == new.inverse()
    assert manager.find(["Mark"], "system", "a", "b", at=NOW) is None
    with pytest.raises(Misuse) as raised:
        manager.find(["Grade"], "system", "a", "b")
    assert raised.value.code == "moment-needed"
    with pytest.raises(Misuse) as raised:
        manager.register(Registered("Grade", "system", "a", "b", old, since=NOW + timedelta(days=1)))
    assert raised.value.code == "overlapping-validity"


def test_the_manager_goes_in_steps() -> None:
    steps = [("a", "b", 2), ("b", "c", 3), ("d", "c", 5)]
    manager = ConversionManager(
        Registered("X", "p", one, other, LinearConversion(Fraction(factor))) for one, other, factor in steps
    )
    found = manager.find(["X"], "p", "a", "d")
    assert found is not None
    assert found.apply(Fraction(5)) == 6
    assert manager.find(["X"], "p", "a", "z") is None


def test_the_nearest_concept_counts() -> None:
    broad, narrow = LinearConversion(Fraction(2)), LinearConversion(Fraction(3))
    manager = ConversionManager(
        [Registered("Broad", "p", "a", "b", broad), Registered("Narrow", "p", "a", "b", narrow)]
    )
    assert manager.find(["Narrow", "Broad"], "p", "a", "b") == narrow
    assert manager.find(["Other", "Broad"], "p", "a", "b") == broad
