"""Mappings: application, rejection of incomplete results, and translation of filters by substitution."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.contract.mapping import Mapping, read_mapping
from comity.errors import Misuse
from comity.event import Event, EventType
from comity.event.kinds import Kind, Point
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope

FLOAT, INT, TEXT = AttributeType(Kind.FLOAT), AttributeType(Kind.INT), AttributeType(Kind.STRING)
LOCAL = EventType(
    "Reading",
    "plant",
    own={
        "heat": AttributeType(Kind.FLOAT, unit="degF"),
        "count": AttributeType(Kind.INT, optional=True),
        "street": TEXT,
        "city": AttributeType(Kind.STRING, optional=True),
        "code": AttributeType(Kind.STRING, optional=True),
        "at": AttributeType(Kind.POINT, optional=True),
        "seen": AttributeType(Kind.TIMESTAMP, optional=True),
    },
)
COMMON = EventType(
    "Measured",
    "shared",
    own={
        "temperature": AttributeType(Kind.FLOAT, unit="degC"),
        "address": AttributeType(Kind.STRING, optional=True),
        "twice": AttributeType(Kind.INT, optional=True),
        "level": AttributeType(Kind.INT, optional=True),
        "place": AttributeType(
            Kind.STRUCT, optional=True, attributes={"town": AttributeType(Kind.STRING, optional=True)}
        ),
        "where": AttributeType(Kind.POINT, optional=True),
        "expires": AttributeType(Kind.TIMESTAMP, optional=True),
    },
)
TABLES = {"levels": {"low": 1, "high": 3}}
MAP = {
    "temperature": "heat",
    "address": "street + ', ' + city",
    "twice": "count * 2",
    "level": "lookup('levels', code)",
    "place.town": "city",
    "where": "at",
    "expires": "seen + 1 h",
}


def local_scope() -> Scope:
    return Scope(LOCAL, Taxonomy("plant", [LOCAL]), TABLES)


def common_scope() -> Scope:
    return Scope(COMMON, Taxonomy("shared", [COMMON]))


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    made, faults = read_mapping(MAP, local_scope(), COMMON)
    assert faults == []
    return made


def reading(**data: Any) -> Event:
    return Event(
        "1", "/plant", "plant.Reading", datetime(2026, 1, 1, tzinfo=UTC), {"heat": 86.0, "street": "Elm", **data}
    )


def test_apply_converts_units_joins_texts_and_looks_up(mapping: Mapping) -> None:
    seen = datetime(2026, 5, 1, tzinfo=UTC)
    result = mapping.apply(reading(count=4, city="Bonn", code="high", at=Point(1.0, 2.0), seen=seen))
    assert isinstance(result, Event)
    assert result.type == "shared.Measured"
    assert result.identity == ("/plant", "1")
    assert result.data == {
        "temperature": pytest.approx(30),
        "address": "Elm, Bonn",
        "twice": 8,
        "level": 3,
        "place": {"town": "Bonn"},
        "where": Point(1.0, 2.0),
        "expires": seen + timedelta(hours=1),
    }


def test_apply_leaves_out_what_its_inputs_lack(mapping: Mapping) -> None:
    result = mapping.apply(reading())
    assert isinstance(result, Event)
    assert set(result.data) == {"temperature"}


def test_apply_reports_every_mandatory_attribute_that_stays_missing() -> None:
    target = EventType("Strict", "shared", own={"town": TEXT, "twice": INT})
    made, faults = read_mapping({"town": "city", "twice": "count * 2"}, local_scope(), target)
    assert faults == []
    result = made.apply(reading())
    assert isinstance(result, list)
    assert [(fault.path, fault.code) for fault in result] == [("town", "mapped-missing"), ("twice", "mapped-missing")]


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ({"temperature": "heat", "nothing": "heat"}, "unknown-attribute"),
        ({"temperature": "heet"}, "unknown-attribute"),
        ({"temperature": "street"}, "incompatible-units"),
        ({"temperature": "heat", "twice": "street"}, "wrong-kind"),
        ({"address": "street"}, "unmapped"),
        ({"temperature": "quantity(count, 'kg')"}, "incompatible-units"),
        ({"temperature": "heat +"}, "syntax"),
        ({"temperature": "heat", "level": "lookup('nowhere', code)"}, "unknown-table"),
        ({"temperature": "heat", "where.x": "1.0"}, "wrong-kind"),
        ({"temperature": "heat", "place.town": "city", "place": "place"}, "mapped-twice"),
    ],
)
def test_read_mapping_names_the_fault(texts: dict[str, str], code: str) -> None:
    _, faults = read_mapping(texts, local_scope(), COMMON)
    assert code in [error.code for _, error in faults]


FILTERS = [
    "temperature > 30 degC",
    "not temperature > 86 degF",
    "address like 'Elm, %'",
    "not address like 'Elm, %'",
    "exists address",
    "not exists address",
    "twice between 2 and 8",
    "twice != 4",
    "twice not in (2, 4)",
    "level = 3 or not exists level",
    "exists place",
    "place.town starts with 'B'",
    "not exists place.town",
    "where.x > 1 and where.y <= 2",
    "where in rectangle(0, 0, 1, 1)",
    "expires > 2026-05-01T00:30:00Z",
    "event.source = '/plant'",
    "event.type = 'shared.Measured'",
    "is Measured",
    "address = place.town",
    "twice * 2 > level + 10",
]

local_events = st.builds(
    lambda **data: Event(
        "1",
        "/plant",
        "plant.Reading",
        datetime(2026, 1, 1, tzinfo=UTC),
        {name: value for name, value in data.items() if value is not None},
    ),
    heat=st.floats(-500, 500) | st.sampled_from([86.0, 85.99999999999999, 86.00000000000001]),
    count=st.none() | st.integers(-5, 5) | st.sampled_from([2**62, -(2**63)]),
    street=st.sampled_from(["Elm", "Oak", ""]),
    city=st.none() | st.sampled_from(["Bonn", "Aarau", ""]),
    code=st.none() | st.sampled_from(["low", "high", "other"]),
    at=st.none() | st.builds(Point, st.floats(-2, 2), st.floats(-2, 3)),
    seen=st.none() | st.datetimes(datetime(2026, 4, 30), datetime(2026, 5, 2)).map(lambda one: one.replace(tzinfo=UTC)),
)


@given(event=local_events, text=st.sampled_from(FILTERS))
def test_translate_means_the_same_as_filtering_the_mapped_event(mapping: Mapping, event: Event, text: str) -> None:
    filter_on_target = bind_text(text, common_scope())
    mapped = mapping.apply(event)
    assert isinstance(mapped, Event)
    assert holds(mapping.translate(filter_on_target), event) == holds(filter_on_target, mapped)


@given(event=local_events, text=st.sampled_from(["where.x > 1", "not where.y <= 2", "exists where", "where.x != 1"]))
def test_translate_knows_that_a_point_needs_both_coordinates(event: Event, text: str) -> None:
    target = EventType("T", "shared", own={"where": AttributeType(Kind.POINT, optional=True)})
    made, faults = read_mapping({"where": "point(count, at.x)"}, local_scope(), target)
    assert faults == []
    tree = bind_text(text, Scope(target, Taxonomy("shared", [target])))
    mapped = made.apply(event)
    assert isinstance(mapped, Event)
    assert holds(made.translate(tree), event) == holds(tree, mapped)


def test_translate_refuses_to_look_inside_a_computed_struct() -> None:
    target = EventType("T", "shared", own={"where": AttributeType(Kind.POINT)})
    made, faults = read_mapping({"where": "if count > 1 then at else point(0, 0)"}, local_scope(), target)
    assert faults == []
    with pytest.raises(Misuse, match="cannot be translated"):
        made.translate(bind_text("where.x > 1", Scope(target, Taxonomy("shared", [target]))))


def struct_of(**attributes: AttributeType) -> AttributeType:
    return AttributeType(Kind.STRUCT, attributes=attributes)


def test_a_struct_in_other_units_is_made_part_by_part() -> None:
    source = EventType("S", "plant", own={"p": struct_of(heat=AttributeType(Kind.FLOAT, unit="degF"), n=INT)})
    target = EventType("T", "shared", own={"q": struct_of(heat=AttributeType(Kind.FLOAT, unit="degC"))})
    made, faults = read_mapping({"q": "p"}, Scope(source, Taxonomy("plant", [source])), target)
    assert faults == []
    result = made.apply(Event("1", "/s", "plant.S", data={"p": {"heat": 86.0, "n": 1}}))
    assert isinstance(result, Event)
    assert result.data == {"q": {"heat": 30.0}}


def test_a_struct_that_lacks_something_mandatory_is_refused() -> None:
    source = EventType("S", "plant", own={"p": struct_of(n=INT)})
    target = EventType("T", "shared", own={"q": struct_of(n=INT, m=INT)})
    _, faults = read_mapping({"q": "p"}, Scope(source, Taxonomy("plant", [source])), target)
    assert [error.code for _, error in faults] == ["unmapped"]


def test_lists_are_copied_only_as_they_are() -> None:
    source = EventType("S", "plant", own={"p": AttributeType(Kind.LIST, element=INT)})
    target = EventType("T", "shared", own={"q": AttributeType(Kind.LIST, element=TEXT)})
    _, faults = read_mapping({"q": "p"}, Scope(source, Taxonomy("plant", [source])), target)
    assert [error.code for _, error in faults] == ["wrong-kind"]
