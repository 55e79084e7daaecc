"""Exchange rates: what is given, what is derived, and every fault of a table at its place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import Faults, Misuse
from comity.event.kinds import to_microseconds
from comity.meaning.currencies import currencies, is_currency
from comity.meaning.rates import Rate, Rates
from comity.meaning.scales import split_scale, with_scale
from comity.meaning.units import conversion, difference, dimension, exchange, is_time, multiplied

JANUARY = """\
from,to,rate,valid_from,valid_until
EUR,USD,1.25,2026-01-01,2026-02-01
EUR,USD,1.2,2026-02-01,
GBP,EUR,1.16,2026-01-15T12:00:00Z,2026-03-01
USD,EUR,0.9,2026-03-01,
"""


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_rate_is_valid_from_its_beginning_up_to_its_end() -> None:
    rates = Rates.parse(JANUARY)
    assert rates.at("EUR", "USD", day("2025-12-31")) is None
    assert rates.at("EUR", "USD", day("2026-01-01")) == Fraction("1.25")
    assert rates.at("EUR", "USD", day("2026-02-01") - timedelta(microseconds=1)) == Fraction("1.25")
    assert rates.at("EUR", "USD", day("2026-02-01")) == Fraction("1.2")


def test_inverse_and_cross_rates_are_exact_and_given_ones_win() -> None:
    rates = Rates.parse(JANUARY)
    assert rates.at("USD", "EUR", day("2026-02-10")) == Fraction(5, 6)
    assert rates.at("USD", "EUR", day("2026-03-10")) == Fraction(9, 10)
    assert rates.at("EUR", "USD", day("2026-03-10")) == Fraction(6, 5)
    assert rates.at("GBP", "USD", day("2026-01-20")) == Fraction("1.16") * Fraction("1.25")
    assert rates.at("USD", "GBP", day("2026-02-20")) == 1 / (Fraction("1.16") * Fraction("1.2"))
    assert rates.at("GBP", "USD", day("2026-03-10")) is None
    assert rates.at("USD", "USD", day("1999-01-01")) == 1
    assert rates.at("USD", "JPY", day("2026-02-10")) is None


def test_steps_ascend_and_join_what_is_alike() -> None:
    rates = Rates.of(
        [("EUR", "USD", 2, None, day("2026-01-01")), ("EUR", "USD", "2.0", day("2026-01-01"), "2026-02-01")]
    )
    end = to_microseconds(day("2026-02-01"))
    assert rates.steps("USD", "EUR") == ((None, Fraction(1, 2)), (end, None))
    assert rates.steps("EUR", "CHF") == ((None, None),)


def test_the_first_currency_by_the_alphabet_leads_from_one_to_the_other() -> None:
    pairs = [("GBP", "JPY", 200), ("JPY", "USD", "0.01"), ("CHF", "GBP", "0.8"), ("CHF", "USD", "1.2")]
    assert Rates.of(pairs).at("GBP", "USD", day("2026-01-01")) == Fraction("1.2") / Fraction("0.8")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a,b\n", [("bad-rate", "r.csv:1:1")]),
        ("from,to,rate\nEUR,USD\n", [("bad-rate", "r.csv:2:1")]),
        ("from,to,rate\nEUR,USD,0\n", [("bad-rate", "r.csv:2:1")]),
        ("from,to,rate\nEUR,USD,-1\n", [("bad-rate", "r.csv:2:9")]),
        ("from,to,rate\nEUR, USD , nan\n", [("bad-rate", "r.csv:2:12")]),
        ("from,to,rate\nEUR,EUR,1\n", [("bad-rate", "r.csv:2:1")]),
        (
            "from,to,rate\nEUR,EUX,1\nusd,EUR,1\n",
            [("unknown-currency", "r.csv:2:1"), ("unknown-currency", "r.csv:3:1")],
        ),
        ("from,to,rate,valid_from\nEUR,USD,1,soon\n", [("bad-rate", "r.csv:2:11")]),
        ("from,to,rate,valid_from\nEUR,USD,1,2026-02-30\n", [("bad-rate", "r.csv:2:11")]),
        ("from,to,rate,valid_from,valid_until\nEUR,USD,1,2026-02-01,2026-02-01\n", [("bad-rate", "r.csv:2:1")]),
        ("from,to,rate\nEUR,USD,1\n\nEUR,USD,2\n", [("overlapping-rates", "r.csv:4:1")]),
        (
            "from,to,rate,valid_from,valid_until\nEUR,USD,1,2026-02-01,\nEUR,USD,1,2026-01-01,2026-02-02\n",
            [("overlapping-rates", "r.csv:2:1")],
        ),
    ],
)
def test_faults_have_their_place(text: str, faults: list[tuple[str, str]]) -> None:
    with pytest.raises(Misuse) as caught:
        Rates.parse(text, "r.csv")
    errors = caught.value.errors if isinstance(caught.value, Faults) else [caught.value]
    assert [(error.code, str(error.place)) for error in errors] == faults


def test_rows_name_the_row_that_is_wrong() -> None:
    with pytest.raises(Faults) as caught:
        Rates.of([("EUR", "USD", 1), ("EUR", "USD", True, None), ("EUR", "GBP", 1, datetime(2026, 1, 1))])
    assert [str(error.place) for error in caught.value.errors] == ["row 2", "row 3"]


def test_read_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    path.write_text('"from","to","rate"\r\n"EUR","USD",1.5e0\r\n')
    assert Rates.read(path).at("EUR", "USD", day("2026-01-01")) == Fraction(3, 2)
    with pytest.raises(Misuse, match="no such file"):
        Rates.read(tmp_path / "none.csv")


CODES = ("CHF", "EUR", "GBP", "USD")
START = datetime(2026, 1, 1, tzinfo=UTC)


@st.composite
def tables(draw: st.DrawFn) -> list[Rate]:
    """Rates of some pairs, in periods of whole days that do not overlap, with gaps."""
    found: list[Rate] = []
    for source, target in draw(
        st.lists(st.permutations(CODES).map(lambda all: (all[0], all[1])), unique=True, max_size=5)
    ):
        borders = sorted(draw(st.sets(st.integers(0, 20), min_size=2, max_size=6)))
        for begin, end in pairwise(borders):
            if draw(st.booleans()):
                rate = Fraction(draw(st.integers(1, 500)), draw(st.integers(1, 500)))
                found.append(Rate(source, target, rate, START + timedelta(days=begin), START + timedelta(days=end)))
    return found


def plain_rate(rates: list[Rate], source: str, target: str, moment: datetime) -> Fraction | None:
    """The rate, as the module says it in words."""

    def stated(one: str, other: str) -> Fraction | None:
        for rate in rates:
            if (rate.source, rate.target) == (one, other) and rate.valid_from <= moment < rate.valid_until:  # type: ignore[operator]
                return rate.rate
        return None

    def direct(one: str, other: str) -> Fraction | None:
        back = stated(other, one)
        return stated(one, other) or (1 / back if back else None)

    over = (
        first * second
        for middle in CODES
        if (first := direct(source, middle)) is not None and (second := direct(middle, target)) is not None
    )
    return Fraction(1) if source == target else direct(source, target) or next(over, None)


@given(rates=tables(), pair=st.permutations(CODES), hours=st.integers(-24, 24 * 22))
def test_at_is_the_rate_as_it_is_defined(rates: list[Rate], pair: list[str], hours: int) -> None:
    moment = START + timedelta(hours=hours)
    table = Rates(rates)
    assert table.at(pair[0], pair[1], moment) == plain_rate(rates, pair[0], pair[1], moment)
    begins = [begin for begin, _ in table.steps(pair[0], pair[1])]
    assert begins[0] is None
    assert begins[1:] == sorted(set(begins[1:]))  # type: ignore[type-var]


# Units of money, and scales


def test_codes_are_in_capitals_and_have_names() -> None:
    assert len(currencies()) > 170
    assert all(is_currency(code) and name for code, name in currencies().items())
    assert not is_currency("eur")


@pytest.mark.parametrize(
    ("unit", "measures"),
    [
        ("USD", "[money]"),
        ("1000 USD", "[money]"),
        ("USD/kg", "[mass]^-1*[money]"),
        ("1000 mile", "[length]"),
        ("USD/EUR", "[EUR]^-1*[USD]"),
        ("1000 dimensionless", "[number]"),
    ],
)
def test_dimensions_of_money_and_of_scaled_units(unit: str, measures: str) -> None:
    assert dimension(unit) == measures


@pytest.mark.parametrize(
    ("source", "target", "value", "result"),
    [
        ("1000 mile", "mile", Fraction("3.85"), 3850),
        ("mile", "1000 mile", 3850, Fraction("3.85")),
        ("1000 mile", "km", 1, Fraction("1609.344")),
        ("10 degC", "degF", 1, 50),
        ("degF", "10 degC", 50, 1),
        ("0.5 km", "2 m", 1, 250),
        ("1000 USD", "USD", 2, 2000),
        ("USD/kg", "USD/g", 5, Fraction(1, 200)),
        ("1/8 mile", "mile", 8, 1),
        ("min", "1000 s", 50, 3),
    ],
)
def test_conversions_with_scales_are_exact(source: str, target: str, value: Fraction, result: Fraction) -> None:
    assert conversion(source, target).apply(value) == result


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("USD", "EUR", "no-rates"),
        ("USD", "km", "incompatible-units"),
        ("USD/kg", "USD/m", "incompatible-units"),
        ("USD*USD", "EUR*EUR", "incompatible-units"),
        ("USD/EUR", "percent", "incompatible-units"),
        ("0 mile", "mile", "bad-scale"),
        ("usd", "USD", "unknown-unit"),
        ("kUSD", "USD", "unknown-unit"),
    ],
)
def test_conversions_that_are_refused(source: str, target: str, code: str) -> None:
    with pytest.raises(Misuse) as caught:
        conversion(source, target)
    assert caught.value.code == code


def test_an_exchange_says_which_rate_and_the_rest() -> None:
    made = exchange("1000 USD/kg", "EUR/g")
    assert made is not None
    assert (made.source, made.target, made.factor) == ("USD", "EUR", Fraction(1))
    made = exchange("kg/USD", "g/EUR")
    assert made is not None
    assert (made.source, made.target, made.factor) == ("EUR", "USD", Fraction(1000))


def test_products_of_money() -> None:
    assert multiplied("EUR", "USD/EUR") == "USD"
    assert multiplied("USD", "kg", divide=True) == "USD*kilogram^-1"
    assert dimension("USD*kilogram^-1") == dimension("EUR/g")
    assert multiplied("1000 USD", "USD", divide=True) == "1000 dimensionless"
    assert multiplied("1000 USD", "1000 USD", divide=True) is None
    assert difference("1000 degC") == "1000 delta_degC"
    assert difference("USD") == "USD"
    assert is_time("1000 s")


@given(
    scale=st.fractions(min_value=Fraction(1, 10**6), max_value=10**9), unit=st.sampled_from(["mile", "USD", "m / s"])
)
def test_a_scale_is_read_as_it_is_written(scale: Fraction, unit: str) -> None:
    assert split_scale(with_scale(scale, unit)) == (scale, unit)
