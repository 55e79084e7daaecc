"""Contexts in expressions: units, scales, currencies and codes meet, and what is compared is what they mean."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.contract.mapping import read_mapping
from comity.errors import Misuse
from comity.event import AttributeType, Event, EventType, Kind, Taxonomy
from comity.event.context import Context
from comity.expression.bind import bind_for, bind_text
from comity.expression.evaluate import evaluate, holds
from comity.expression.parse import parse
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.simplify import simplify
from comity.expression.tree import Attribute, Conditional, Expression, Literal, Quantity, walk
from comity.expression.with_units import with_units
from comity.filter.filter import Filter
from comity.limits import limited
from comity.meaning import units
from comity.meaning.rates import Rates

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
RATES = Rates.of(
    [
        ("EUR", "USD", "1.25", START, START + DAY),
        ("EUR", "USD", "1.2", START + DAY, START + 3 * DAY),
        ("EUR", "USD", "1.1", START + 4 * DAY, START + 6 * DAY),
        ("GBP", "EUR", "1.16", START + 2 * DAY, None),
        ("DKK", "EUR", "0.134", None, None),
        ("CHF", "EUR", "1.05", None, START + DAY),
    ]
)
COUNTRIES = {("alpha2", "alpha3"): {"DE": "DEU", "FR": "FRA"}, ("alpha2", "continent"): {"DE": "EU", "FR": "EU"}}


def number(unit: str | None, kind: Kind = Kind.FLOAT) -> AttributeType:
    return AttributeType(kind, unit=unit)


def text(codes: str | None) -> AttributeType:
    return AttributeType(Kind.STRING, context=Context({"codes": codes} if codes else {}))


SALE = EventType(
    "Sale",
    "shop",
    own={
        "price": number("USD"),
        "cost": number("EUR"),
        "turnover": number("1000 USD"),
        "fee": number("DKK"),
        "rate": number("USD/EUR"),
        "weight": number("kg"),
        "unit_price": number("USD/kg"),
        "distance": number("1000 mile"),
        "miles": number("mile"),
        "metres": number("m", Kind.INT),
        "km": number("km"),
        "share": number("percent"),
        "count": number(None, Kind.INT),
        "country": text("alpha2"),
        "origin": text("alpha3"),
        "continent": text("continent"),
        "town": text(None),
    },
)
TAXONOMY = Taxonomy("shop", [SALE])
SCOPE = Scope(SALE, TAXONOMY, rates=RATES, codes=COUNTRIES)


def sale(day: float | None = 0, **data: object) -> Event:
    return Event("1", "/shop", "shop.Sale", None if day is None else START + day * DAY, data)


def matches(filter_text: str, event: Event, scope: Scope = SCOPE) -> bool:
    tree = bind_text(filter_text, scope)
    simple = simplify(tree, SALE)
    assert holds(simple, event) == holds(tree, event)
    return holds(tree, event)


def refused(filter_text: str, scope: Scope = SCOPE) -> Misuse:
    with pytest.raises(Misuse) as caught:
        bind_text(filter_text, scope)
    return caught.value


# Scales


def test_the_two_distances_of_the_seed_are_equal() -> None:
    assert matches("miles = distance", sale(miles=3850.0, distance=3.85))
    assert matches("distance = miles", sale(miles=3850.0, distance=3.85))
    assert matches("distance = 3850 mile and miles = quantity(3.85, '1000 mile')", sale(miles=3850.0, distance=3.85))


@pytest.mark.parametrize(
    ("given_text", "bound"),
    [
        ("distance < 1609.344 km", "distance < 1.0"),
        ("distance > 5000 mile", "distance > 5"),
        ("turnover > 2500 USD", "turnover > 2.5"),
        ("turnover > price", "turnover > price / 1000.0"),
        ("price > turnover", "price > turnover * 1000.0"),
        ("price > quantity(3, '1000 USD')", "price > 3000"),
        ("value(turnover, 'USD') > 5", "turnover * 1000.0 > 5"),
        ("distance between 1000 mile and 2000 mile", "distance between 1 and 2"),
        ("distance in (1000 mile, 7)", "distance in (1, 7)"),
        ("price / weight > 5 USD/g", "price / weight > 5000"),
        ("unit_price * weight > 5 USD", "unit_price * weight > 5"),
        ("cost * rate > 5 USD", "cost * rate > 5"),
        ("km / metres > 5", "km / metres * 1000.0 > 5"),
        ("turnover / price > 5", "turnover / price * 1000.0 > 5"),
        ("km % 500 m > 0 km", "km % 0.5 > 0"),
        ("share * share > 0.25", "share * share / 10000.0 > 0.25"),
        ("share * price > 5 USD", "share * price > 500"),
    ],
)
def test_scales_and_products(given_text: str, bound: str) -> None:
    assert render(bind_text(given_text, SCOPE)) == bound


def test_with_units_writes_scaled_numbers_in_the_plain_unit() -> None:
    shown = with_units(
        bind_text("distance > 5000 mile and distance < 7500.5 mile", SCOPE), {("distance",): "1000 mile"}
    )
    assert render(shown) == "distance > 5000 mile and distance < 7500.5 mile"


# Money


def test_a_constant_is_converted_at_the_time_of_the_event() -> None:
    assert [matches("price > 100 EUR", sale(day, price=122.0)) for day in (0, 1, 2, 4)] == [False, True, True, True]
    assert [matches("price = 100 EUR", sale(day, price=120.0)) for day in (0, 1, 2, 4)] == [False, True, True, False]


@pytest.mark.parametrize("day", [-1, 3, 3.5, 6, 100])
def test_where_no_rate_is_valid_nothing_compares(day: float) -> None:
    for symbol in ("<", "<=", "=", "!=", ">", ">="):
        assert not matches(f"price {symbol} 100 EUR", sale(day, price=100.0))
        assert not matches(f"price {symbol} cost", sale(day, price=100.0, cost=100.0))
    assert not matches("price between 1 EUR and 1000 EUR", sale(day, price=100.0))
    assert not matches("price not between 1 EUR and 2 EUR", sale(day, price=100.0))
    assert not matches("price not in (1 EUR, 2 EUR)", sale(day, price=100.0))
    assert matches("not price > 100 EUR", sale(day, price=1000.0))


def test_an_event_without_a_time_has_no_rate_but_a_fixed_one() -> None:
    assert not matches("value(cost, 'CHF') > 0", sale(None, cost=5.0))
    assert matches("value(cost, 'CHF') > 0", sale(-100, cost=5.0))
    assert matches("fee > 1 EUR", sale(None, fee=7.5))
    assert not matches("fee > 1 EUR", sale(None, fee=7.4))


def test_attributes_in_different_currencies() -> None:
    assert matches("price = cost", sale(0, price=125.0, cost=100.0))
    assert matches("cost = price", sale(0, price=125.0, cost=100.0))
    assert matches("turnover = cost", sale(1, turnover=0.12, cost=100.0))
    assert not matches("price = cost", sale(1, price=125.0, cost=100.0))


@pytest.mark.parametrize(
    ("filter_text", "low", "inside", "high"),
    [
        ("price between 100 EUR and 200 EUR", 124.9, 125.0, 250.1),
        ("price between 100 EUR and 240 USD", 124.9, 240.0, 240.1),
        ("value(price, 'EUR') between 100 and 200", 124.9, 200.0, 250.1),
        ("price * 2 between 200 EUR and 400 EUR", 124.9, 125.0, 250.1),
        ("price + 100 EUR between 200 EUR and 300 EUR", 124.9, 125.0, 250.1),
    ],
)
def test_ranges_of_money(filter_text: str, low: float, inside: float, high: float) -> None:
    negated = filter_text.replace("between", "not between")
    for price, is_inside in ((low, False), (inside, True), (high, False)):
        assert matches(filter_text, sale(0, price=price)) is is_inside
        assert matches(negated, sale(0, price=price)) is not is_inside


def test_lists_of_money() -> None:
    listed = "price in (100 EUR, 200 EUR, 3)"
    assert [matches(listed, sale(0, price=price)) for price in (125.0, 250.0, 3.0, 4.0)] == [True, True, True, False]
    negated = "price not in (100 EUR, 200 EUR, 3)"
    assert [matches(negated, sale(0, price=price)) for price in (125.0, 250.0, 3.0, 4.0)] == [False, False, False, True]
    assert matches("price not in (100 EUR, 100 GBP)", sale(0, price=1.0)), "one of them has a rate"
    assert not matches("price not in (100 EUR, 100 GBP)", sale(0, price=125.0))


def test_a_range_whose_ends_have_rates_at_different_times() -> None:
    assert not matches("price not between 100 GBP and 200 EUR", sale(0, price=1000.0))
    assert matches("price not between 100 GBP and 200 EUR", sale(2, price=1000.0))


def test_unit_prices_convert_currency_and_unit_at_once() -> None:
    tree = bind_for(parse("unit_price"), SCOPE, number("EUR/g"))
    assert evaluate(tree, sale(0, unit_price=1250.0)) == 1.0
    assert matches("unit_price > 1 EUR/g", sale(0, unit_price=1250.1))


@pytest.mark.parametrize(
    ("filter_text", "code"),
    [
        ("price > 5 km", "incompatible-units"),
        ("price > 5 JPY", "no-rates"),
        ("price > count", "incompatible-units"),
        ("price + weight > 5", "incompatible-units"),
        ("rate > 5 percent", "incompatible-units"),
        ("price > 5 eur", "unknown-unit"),
        ("value(price, 'EUX') > 5", "unknown-unit"),
        ("value(distance, '0 mile') > 5", "bad-scale"),
    ],
)
def test_what_cannot_be_converted(filter_text: str, code: str) -> None:
    assert refused(filter_text).code == code


def test_without_rates_money_is_not_converted_and_the_error_says_how() -> None:
    scope = Scope(SALE, TAXONOMY)
    assert holds(bind_text("price > 5 USD and price > quantity(1, '1000 USD')", scope), sale(price=2000.0))
    error = refused("price > 5 EUR", scope)
    assert error.code == "no-rates"
    assert "table of rates" in (error.hint or "")
    assert refused("price > cost", scope).code == "no-rates"


def test_rates_with_too_many_periods_are_refused() -> None:
    with limited(max_rate_periods=3):
        assert refused("price > 100 EUR").code == "too-many-rates"


def test_the_tree_of_a_rate_is_balanced_and_pickles() -> None:
    rows = [("EUR", "USD", 1 + day, START + day * DAY, START + (day + 1) * DAY) for day in range(1000)]
    tree = bind_text("price > 1 EUR", Scope(SALE, rates=Rates.of(rows)))
    assert depth(tree) <= 13
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert all(holds(tree, sale(day, price=1.5 + day)) for day in range(0, 1000, 7))


def depth(tree: Expression) -> int:
    if isinstance(tree, Conditional):
        return 1 + max(depth(tree.then), depth(tree.otherwise))
    return max([depth(part) for part in (getattr(tree, "left", None), getattr(tree, "right", None)) if part], default=0)


def test_a_year_of_daily_rates_is_simplified_within_bounds() -> None:
    rows = [("EUR", "USD", f"1.{day:03}", START + day * DAY, START + (day + 1) * DAY) for day in range(365)]
    tree = bind_text("price > 100 EUR", Scope(SALE, rates=Rates.of(rows)))
    simple = simplify(tree, SALE)
    assert not any(isinstance(part, Conditional) for part in walk(simple))
    assert sum(1 for _ in walk(simple)) < 6_000
    for day in range(-1, 366, 5):
        event = sale(day + 0.5, price=100 + day / 10)
        assert holds(simple, event) == holds(tree, event)


def test_relations_know_periods() -> None:
    wide, narrow = Filter("price > 100 EUR", SCOPE), Filter("price > 200 EUR", SCOPE)
    assert (wide.covers(narrow).value, narrow.covers(wide).value) == (True, False)


# Codes


def test_codes_are_converted_by_a_table_in_both_directions() -> None:
    assert matches("country = origin", sale(country="DE", origin="DEU"))
    assert matches("origin = country", sale(country="DE", origin="DEU"))
    assert not matches("origin = country", sale(country="DE", origin="FRA"))
    assert not matches("country = origin or country != origin", sale(country="DE", origin="QQQ"))


def test_a_text_without_codes_is_in_those_that_it_meets() -> None:
    assert matches("country = 'DE' and country in ('DE', 'FR') and town = country", sale(country="DE", town="DE"))
    assert matches("continent = country and country starts with 'D'", sale(country="DE", continent="EU"))


def test_codes_without_a_table_are_refused() -> None:
    assert refused("origin = continent").code == "no-code-table"
    assert refused("country = continent").code == "no-code-table", "the table has no inverse"
    assert refused("coalesce(origin, continent) = 'x'").code == "no-code-table"


def test_mappings_convert_money_scales_and_codes() -> None:
    target = EventType(
        "Deal", "market", own={"price": number("EUR"), "land": text("alpha3"), "any": text(None), "way": number("km")}
    )
    texts = {"price": "price", "land": "country", "any": "country", "way": "distance"}
    mapping, faults = read_mapping(texts, SCOPE, target)
    assert not faults
    made = mapping.apply(sale(0, price=125.0, country="FR", distance=1.0))
    assert isinstance(made, Event)
    assert made.data == {"price": 100.0, "land": "FRA", "any": "FR", "way": 1609.344}
    late = mapping.apply(sale(3, price=125.0, country="FR", distance=1.0))
    assert isinstance(late, list), "no rate, so the mandatory price is missing"


# The law: a comparison in any context is that of the exact values, up to the rounding that contexts.py states

FAMILIES = [
    ["m", "km", "mile", "1000 mile", "0.5 ft", "7 inch"],
    ["degC", "degF", "kelvin", "10 degC"],
    ["USD", "1000 USD", "EUR", "GBP", "DKK", "0.01 EUR"],
    ["USD/kg", "EUR/g", "1000 GBP/lb"],
]
OPERATORS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
pairs = st.sampled_from(FAMILIES).flatmap(lambda family: st.tuples(*[st.sampled_from(family)] * 2))
decimals = st.decimals(-10_000, 10_000, allow_nan=False, places=3).map(str) | st.integers(-10_000, 10_000).map(str)
floats = st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda one: one == 0 or abs(one) > 1e-6)
moments = st.sampled_from([0.0, 0.999, 1.0, 2.5, 3.0, 4.0, 5.9])


def exact(value: Fraction, source: str, target: str, moment: datetime) -> Fraction | None:
    """The value in another unit, in rational arithmetic."""
    needed = units.exchange(source, target)
    if needed is None:
        return units.conversion(source, target).apply(value)
    rate = RATES.at(needed.source, needed.target, moment)
    return None if rate is None else value * rate * needed.factor


def typed(**declared: AttributeType) -> Scope:
    return Scope(EventType("T", "law", own=declared), rates=RATES)


@settings(max_examples=500)
@given(pair=pairs, constant=decimals, chosen=floats | st.none(), day=moments, symbol=st.sampled_from(list(OPERATORS)))
def test_law_for_constants(pair: tuple[str, str], constant: str, chosen: float | None, day: float, symbol: str) -> None:
    own, other = pair
    moment = START + day * DAY
    meant = exact(Fraction(constant), other, own, moment)
    scope = typed(x=number(own))
    assert scope.type is not None
    tree = bind_text(f"x {symbol} quantity({constant}, '{other}')", scope)
    assert not any(isinstance(part, Quantity) for part in walk(tree))
    value = chosen if chosen is not None or meant is None else float(meant)  # often the very edge
    event = Event("1", "/", "law.T", moment, {} if value is None else {"x": value})
    found = holds(tree, event)
    assert holds(simplify(tree, scope.type), event) == found
    if value is None or meant is None:
        assert not found
    else:
        rounded = Fraction(float(meant)) if Fraction(value) == Fraction(float(meant)) else meant
        assert found == OPERATORS[symbol](Fraction(value), rounded)


@settings(max_examples=500)
@given(pair=pairs, left=floats, right=floats, near=st.booleans(), day=moments, symbol=st.sampled_from(list(OPERATORS)))
def test_law_for_attributes(
    pair: tuple[str, str], left: float, right: float, near: bool, day: float, symbol: str
) -> None:
    own, other = pair
    moment = START + day * DAY
    meant = exact(Fraction(right), other, own, moment)
    if near and meant is not None:
        left = float(meant)
    scope = typed(x=number(own), y=number(other))
    event = Event("1", "/", "law.T", moment, {"x": left, "y": right})
    found = holds(bind_text(f"x {symbol} y", scope), event)
    made = evaluate(bind_for(Attribute(("y",)), scope, number(own)), event)
    if meant is None:
        assert not found
        assert made is None
        return
    offset = (
        max((abs(units.conversion(one, two).offset) for one, two in (pair, pair[::-1])), default=0)
        if is_plain(pair)
        else 0
    )
    assert made is not None
    tolerance = Fraction(1, 2**52) * (abs(meant) + 1000 * offset)
    assert abs(Fraction(made) - meant) <= tolerance
    assert found == OPERATORS[symbol](Fraction(left), Fraction(made))


def is_plain(pair: tuple[str, str]) -> bool:
    return units.exchange(*pair) is None


@given(pair=pairs, ends=st.tuples(decimals, decimals), chosen=floats, day=moments, negated=st.booleans())
def test_law_for_ranges_and_lists(
    pair: tuple[str, str], ends: tuple[str, str], chosen: float, day: float, negated: bool
) -> None:
    own, other = pair
    low, high = (f"quantity({end}, '{other}')" for end in ends)
    scope = typed(x=number(own))
    word = "not " if negated else ""
    event = Event("1", "/", "law.T", START + day * DAY, {"x": chosen})
    between = holds(bind_text(f"x {word}between {low} and {high}", scope), event)
    inside = holds(bind_text(f"x >= {low} and x <= {high}", scope), event)
    compares = holds(bind_text(f"(x >= {low} or x < {low}) and (x <= {high} or x > {high})", scope), event)
    assert between == (compares and inside is not negated)


def test_bound_trees_of_money_hold_no_quantity() -> None:
    tree = bind_text("price > 5 EUR and price in (1 EUR, 2) and price not between 1 EUR and 2 GBP", SCOPE)
    assert not any(isinstance(part, Quantity) for part in walk(tree))
    assert all(isinstance(part.value, datetime | int | float) for part in walk(tree) if isinstance(part, Literal))
