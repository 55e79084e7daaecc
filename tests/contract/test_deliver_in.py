"""`deliver in`: events in the context that a subscriber names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.contract.deliver_in import deliver_in
from comity.contract.mapping import Mapping
from comity.errors import Misuse
from comity.event import EVENT, AttributeType, Event, EventType, Kind
from comity.event.context import Context
from comity.event.taxonomy import Taxonomy
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.meaning.rates import Rates

HEAT = AttributeType(Kind.FLOAT, unit="degC", concept="Temperature")
BASE = EventType("Base", "plant", EVENT, own={"outside": HEAT, "name": AttributeType(Kind.STRING)})
PLANT = EventType(
    "Plant",
    "plant",
    BASE,
    own={
        "inside": AttributeType(Kind.FLOAT, optional=True, unit="degF", concept="Temperature"),
        "way": AttributeType(Kind.INT, unit="km"),
        "price": AttributeType(Kind.INT, unit="USD", concept="Price"),
        "turnover": AttributeType(Kind.FLOAT, optional=True, unit="1000 USD"),
        "country": AttributeType(Kind.STRING, optional=True, context=Context({"codes": "alpha2", "by": "mail"})),
        "count": AttributeType(Kind.INT),
        "place": AttributeType(
            Kind.STRUCT,
            attributes={
                "height": AttributeType(Kind.FLOAT, optional=True, unit="m"),
                "room": AttributeType(Kind.STRING, optional=True),
            },
        ),
    },
)
SCOPE = Scope(
    PLANT,
    Taxonomy("plant", [BASE, PLANT]),
    rates=Rates.of([("EUR", "USD", "1.25", "2026-01-01", None)]),
    codes={("alpha2", "alpha3"): {"DE": "DEU"}},
)
DATA: dict[str, Any] = {
    "outside": 30.0,
    "name": "a",
    "inside": 50.0,
    "way": 3,
    "price": 100,
    "turnover": 2.5,
    "country": "DE",
    "count": 7,
    "place": {"height": 3.048, "room": "hall"},
}


def event(**changes: Any) -> Event:
    data = {name: value for name, value in {**DATA, **changes}.items() if value is not None}
    return Event("1", "/plant", "plant.Plant", datetime(2026, 5, 1, tzinfo=UTC), data)


def mapping(context: dict[str, object]) -> Mapping:
    made = deliver_in(SCOPE, context)
    assert made is not None
    return made


def delivered(context: dict[str, object], **changes: Any) -> dict[str, Any]:
    """What differs from the event as it came."""
    found = mapping(context).apply(event(**changes))
    assert isinstance(found, Event)
    assert found.type == "plant.Plant"
    return {name: value for name, value in found.data.items() if value != {**DATA, **changes}.get(name)}


@pytest.mark.parametrize(
    ("context", "changed"),
    [
        ({"unit": "degF"}, {"outside": 86.0}),
        ({"unit": "kelvin"}, {"outside": 303.15, "inside": 283.15}),
        ({"unit": "degC"}, {"inside": 10.0}),
        ({"unit": "m"}, {"way": 3000}),
        ({"unit": "mile"}, {"way": 3 / 1.609344, "place": {"height": 3.048 / 1609.344, "room": "hall"}}),
        ({"currency": "EUR"}, {"price": 80.0, "turnover": 2000.0}),
        ({"currency": "USD"}, {"turnover": 2500.0}),
        ({"currency": "USD", "scale": 1000}, {"price": 0.1}),
        ({"scale": 1}, {"turnover": 2500.0}),
        ({"scale": 500}, {"turnover": 5.0}),
        ({"codes": "alpha3"}, {"country": "DEU"}),
        ({"inside": "degC"}, {"inside": 10.0}),
        ({"place.height": "ft"}, {"place": {"height": 10.0, "room": "hall"}}),
        ({"Temperature": "degF"}, {"outside": 86.0}),
        ({"Temperature": "kelvin", "outside": "degF"}, {"outside": 86.0, "inside": 283.15}),
        ({"unit": "kelvin", "Temperature": "degC"}, {"inside": 10.0}),
        ({"country": "alpha3", "Price": "1000 USD"}, {"country": "DEU", "price": 0.1}),
    ],
)
def test_a_context_changes_what_it_names(context: dict[str, object], changed: dict[str, Any]) -> None:
    found = delivered(context)
    assert found.keys() == changed.keys()
    for name, value in changed.items():
        assert near(found[name], value)


def near(found: Any, value: Any) -> bool:
    if isinstance(value, dict):
        return found.keys() == value.keys() and all(near(found[name], inner) for name, inner in value.items())
    return bool(found == (value if isinstance(value, str) else pytest.approx(value, rel=1e-12)))


def test_the_target_is_the_same_type_in_the_units_that_were_named() -> None:
    target = mapping({"currency": "EUR", "unit": "m", "place.height": "ft", "codes": "alpha3"}).target
    assert (target.qualified_name, target.lineage) == (PLANT.qualified_name, PLANT.lineage)
    assert list(target.attributes) == list(PLANT.attributes)
    assert [target.attributes[name].unit for name in ("price", "turnover", "way")] == ["EUR", "EUR", "m"]
    assert [target.attributes[name].kind for name in ("price", "way")] == [Kind.FLOAT, Kind.INT]
    assert target.attributes["country"].context == {"codes": "alpha3", "by": "mail"}
    assert target.attributes["outside"] == HEAT
    height = target.attribute_at(("place", "height"))
    assert height is not None
    assert height.unit == "ft"


def test_an_int_stays_one_only_where_every_int_does() -> None:
    assert delivered({"way": "m"}) == {"way": 3000}
    assert type(delivered({"way": "m"})["way"]) is int
    assert delivered({"way": "1000 km"}) == {"way": 0.003}


@pytest.mark.parametrize("context", [{}, {"unit": "km", "place.height": "m"}, {"outside": "degC"}])
def test_nothing_changes(context: dict[str, object]) -> None:
    assert deliver_in(SCOPE, context) is None


def test_a_scale_of_one_is_no_fault_where_there_is_none() -> None:
    assert deliver_in(Scope(BASE), {"scale": 1}) is None


@pytest.mark.parametrize(
    ("context", "code", "path"),
    [
        ({"unit": "kg"}, "unknown-context", "unit"),
        ({"unit": "parsnip"}, "unknown-unit", None),
        ({"unit": 5}, "bad-value", "unit"),
        ({"currency": "euro"}, "unknown-currency", "currency"),
        ({"currency": "JPY"}, "no-rates", "price"),
        ({"scale": 0}, "bad-scale", "scale"),
        ({"codes": "numeric"}, "no-code-table", "country"),
        ({"outsid": "degC"}, "unknown-context", "outsid"),
        ({"Heat": "degC"}, "unknown-context", "Heat"),
        ({"outside": "km"}, "incompatible-units", "outside"),
        ({"count": "km"}, "incompatible-units", "count"),
        ({"name": "alpha3"}, "incompatible-units", "name"),
        ({"place": "ft"}, "unknown-context", "place"),
        ({"Temperature": "km"}, "incompatible-units", "outside"),
    ],
)
def test_what_is_refused(context: dict[str, object], code: str, path: str | None) -> None:
    with pytest.raises(Misuse) as caught:
        deliver_in(SCOPE, context)
    assert caught.value.code == code
    assert (caught.value.place.path if caught.value.place else None) == path


def test_money_without_rates_and_scales_without_any() -> None:
    with pytest.raises(Misuse, match="no-rates"):
        deliver_in(Scope(PLANT), {"currency": "EUR"})
    with pytest.raises(Misuse, match="no attribute has a scale"):
        deliver_in(Scope(BASE), {"scale": 1000})


def test_missing_values_stay_missing_and_a_struct_without_parts_is_no_fault() -> None:
    made = mapping({"place.height": "ft", "unit": "kelvin"})
    found = made.apply(event(inside=None, turnover=None, country=None, place={}))
    assert isinstance(found, Event)
    assert set(found.data) == {"outside", "name", "way", "price", "count"}


CONTEXTS: list[dict[str, object]] = [
    {"unit": "kelvin"},
    {"currency": "EUR", "unit": "m"},
    {"scale": 1, "codes": "alpha3"},
    {"inside": "degC", "place.height": "ft", "price": "1000 EUR"},
]
FILTERS = [
    "outside > 300 kelvin",
    "inside < 10 degC or not exists inside",
    "price > 80 EUR",
    "way >= 3 km and turnover > 2000 EUR",
    "exists place.height and place.height < 10 ft",
    "country = 'DEU' or country = 'DE'",
]


@given(
    context=st.sampled_from(CONTEXTS),
    text=st.sampled_from(FILTERS),
    heat=st.floats(-100, 100) | st.sampled_from([26.85, 30.0]),
    inside=st.none() | st.floats(0, 100) | st.just(50.0),
    price=st.integers(0, 200),
    country=st.sampled_from([None, "DE", "XX"]),
    height=st.none() | st.floats(0, 5) | st.just(3.048),
)
def test_filters_after_and_before_delivery_agree(
    context: dict[str, object],
    text: str,
    heat: float,
    inside: float | None,
    price: int,
    country: str | None,
    height: float | None,
) -> None:
    made = mapping(context)
    place = {"room": "hall"} | ({} if height is None else {"height": height})
    before = event(outside=heat, inside=inside, price=price, country=country, place=place)
    after = made.apply(before)
    assert isinstance(after, Event)
    tree = bind_text(text, Scope(made.target, rates=SCOPE.rates))
    assert holds(made.translate(tree), before) == holds(tree, after)
