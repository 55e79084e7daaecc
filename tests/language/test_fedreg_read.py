"""FedReg in: the figures of the seeds, filters and their precedence, meta information, and what is refused."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.contract.mapping import read_mapping
from comity.errors import Misuse
from comity.event.event import Event
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_filter
from comity.expression.evaluate import holds
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.simplify import simplify
from comity.expression.tree import Attribute, Expression
from comity.language.fedreg.filters import parse_filter
from comity.language.fedreg.read import read_fedreg
from comity.language.fedreg.words import FEDREG_URI
from comity.profile.entries import entry_of

TEXT = AttributeType(Kind.STRING)
GPS = EventType("GPSEvent", "city", own=dict.fromkeys(("longitude", "latitude", "altitude"), TEXT))
BADGE = EventType("ActiveBadgeSighting", "lab", own={"room": TEXT, "time": AttributeType(Kind.TIMESTAMP)})
LOGGED = EventType("LoggedOn", "lab", own={"user": TEXT, "host": TEXT})
BREAK_IN = EventType("breakInEvent", "watch", own={"houseNum": AttributeType(Kind.INT), "street": TEXT, "room": TEXT})
LOCATION = EventType(
    "Bus_Location",
    "city",
    own={
        "Line": TEXT,
        "Time": TEXT,
        "Location": AttributeType(Kind.STRUCT, attributes={"Street": TEXT, "City": TEXT, "Country": TEXT}),
    },
)
POSITION = EventType("Bus_Position", "bus", own={"BusLine": TEXT, "Time": TEXT, "LocationName": TEXT})
TYPES = {one.name: one for one in (GPS, BADGE, LOGGED, BREAK_IN, LOCATION, POSITION)}

FIGURE_5_2_A = """<xce:Subscription> <xce:Template type="GPSEvent"> <longitude>0:07:00E</longitude>
 <latitude>52:12:00N</latitude> <altitude>*</altitude> </xce:Template> </xce:Subscription>"""
FIGURE_5_2_B = """<xce:Subscription> <xce:Template type="ActiveBadgeSighting"> <room xce:filter="'111' ='222'"/>
 <time xce:filter="< 18:00 && > 09:00"/> </xce:Template> </xce:Subscription>"""
FIGURE_5_3 = """<xce:Subscription>
  <xce:Template type="LoggedOn">
    <xce:meta type="disposal">18:00</xce:meta>
    <xce:meta type="register">09:00</xce:meta>
    <user>*</user>
    <host>*</host>
  </xce:Template>
</xce:Subscription>"""
FIGURE_6_4_B = """<xce:Subscription> <xce:Template type="breakInEvent"> <houseNum>25</houseNum>
 <street>South Street</street> <room>*</room> </xce:Template> </xce:Subscription>"""
FIGURE_5_16_A = """<xce:Subscription> <xce:Template type="Bus Location"> <Line>7788</Line> <Time>*</Time> <Location>
 <Street>Main Street</Street> <City>*</City> <Country>*</Country> </Location> </xce:Template> </xce:Subscription>"""
FIGURE_5_16_B = """<xce:Subscription> <xce:Template type="Bus Position"> <BusLine>7788</BusLine> <Time>*</Time>
 <LocationName>Main Street, *</LocationName> </xce:Template> </xce:Subscription>"""


@pytest.mark.parametrize(
    ("text", "on", "where"),
    [
        (FIGURE_5_2_A, "GPSEvent", "longitude = '0:07:00E' and latitude = '52:12:00N'"),
        (
            FIGURE_5_2_B,
            "ActiveBadgeSighting",
            "(room = '111' or room = '222') and time_of_day(time) < duration('PT18H') "
            "and time_of_day(time) > duration('PT9H')",
        ),
        (FIGURE_5_3, "LoggedOn", "true"),
        (FIGURE_6_4_B, "breakInEvent", "houseNum = 25 and street = 'South Street'"),
        (FIGURE_5_16_A, "Bus_Location", "Line = '7788' and Location.Street = 'Main Street'"),
        (FIGURE_5_16_B, "Bus_Position", "BusLine = '7788' and LocationName like 'Main Street, %'"),
    ],
)
def test_the_figures_are_read_as_they_are_printed(text: str, on: str, where: str) -> None:
    (found,) = read_fedreg(text, TYPES)
    assert (found.on, render(found.where.tree)) == (on, where)


def test_figure_5_3_is_a_daily_window() -> None:
    (found,) = read_fedreg(FIGURE_5_3, TYPES, name="office_hours")
    assert entry_of(replace(found, domain="audit")) == {
        "domain": "audit",
        "on": "LoggedOn",
        "where": "true",
        "active": {"from": "09:00", "until": "18:00"},
    }


def sighting(room: str, hour: int, minute: int = 0) -> Event:
    moment = datetime(2026, 5, 1, hour, minute, tzinfo=UTC)
    return Event("1", "s", "lab.ActiveBadgeSighting", moment, {"room": room, "time": moment})


@pytest.mark.parametrize(
    ("event", "matches"),
    [
        (sighting("111", 12), True),
        (sighting("222", 17, 59), True),
        (sighting("333", 12), False),
        (sighting("111", 18), False),
        (sighting("222", 9), False),
        (sighting("222", 9, 1), True),
    ],
)
def test_figure_5_2_b_matches_rooms_during_the_day(event: Event, matches: bool) -> None:
    (found,) = read_fedreg(FIGURE_5_2_B, TYPES)
    assert holds(bound(found.where.tree, BADGE), event) is matches


def bound(tree: Expression, type: EventType) -> Expression:
    return bind_filter(tree, Scope(type, Taxonomy(type.namespace, [type])))


# The subscription translation problem


def bus(street: str, city: str, line: str = "7788") -> Event:
    data = {"Line": line, "Time": "t", "Location": {"Street": street, "City": city, "Country": "UK"}}
    return Event("1", "city", "city.Bus_Location", None, data)


BUSES = [
    bus("Main Street", "London"),
    bus("Main Street", "Bonn, am Rhein"),
    bus("Main", "Street, London"),
    bus("Main Street, North", "London"),
    bus("Mill Lane", "London"),
    bus("Main Street", "London", "1"),
]


def test_figure_5_16_from_the_contract_to_the_local_type() -> None:
    """A subscription to the local text, where an event of the contract is observed: the text is a concatenation."""
    texts = {"BusLine": "Line", "Time": "Time", "LocationName": "Location.Street + ', ' + Location.City"}
    mapping, faults = read_mapping(texts, Scope(LOCATION, Taxonomy("city", [LOCATION])), POSITION)
    assert faults == []
    (local,) = read_fedreg(FIGURE_5_16_B, TYPES)
    wanted = bound(local.where.tree, POSITION)
    translated = simplify(mapping.translate(wanted), LOCATION)
    assert "+" not in render(translated)
    for event in BUSES:
        observed = mapping.apply(event)
        assert isinstance(observed, Event)
        assert holds(translated, event) is holds(wanted, observed)
    assert [holds(translated, event) for event in BUSES] == [True, True, False, True, False, False]


def test_figure_5_16_from_the_local_to_the_contract_type() -> None:
    """A subscription to the contract, where events of the local type are mediated: the text is taken apart."""
    texts = {
        "Line": "BusLine",
        "Time": "Time",
        "Location.Street": "before(LocationName, ', ')",
        "Location.City": "after(LocationName, ', ')",
        "Location.Country": "'UK'",
    }
    mapping, faults = read_mapping(texts, Scope(POSITION, Taxonomy("bus", [POSITION])), LOCATION)
    assert faults == []
    (contract,) = read_fedreg(FIGURE_5_16_A, TYPES)
    wanted = bound(contract.where.tree, LOCATION)
    translated = simplify(mapping.translate(wanted), POSITION)
    for place, matches in (("Main Street, London", True), ("Main Street", False), ("Mill Lane, London", False)):
        event = Event("1", "bus", "bus.Bus_Position", None, {"BusLine": "7788", "Time": "t", "LocationName": place})
        mediated = mapping.apply(event)
        assert holds(translated, event) is matches
        if isinstance(mediated, Event):
            assert holds(wanted, mediated) is matches


# Filter expressions

X = Attribute(("x",))
INT = AttributeType(Kind.INT, optional=True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("< 5", "x < 5"),
        ("5", "x = 5"),
        ("= 5 || = 6 && > 1", "x = 5 or x = 6 and x > 1"),
        ("(= 5 || = 6) && > 1", "(x = 5 or x = 6) and x > 1"),
        ("5 || 6", "x = 5 or x = 6"),
        ("=5 =6 =7", "x = 5 or x = 6 or x = 7"),
        ("!= 5 && != 6", "x != 5 and x != 6"),
        ("< 5 = true", "x < 5 and true or not x < 5 and not true"),
        ("< 5 != > 9", "not (x < 5 and x > 9 or not x < 5 and not x > 9)"),
        ("< 5 = > 9 || 7", "x < 5 and x > 9 or not x < 5 and not x > 9 or x = 7"),
        ("prime() && > 2", "prime(x) = true and x > 2"),
        ("near(3, 'a')", "near(x, 3, 'a') = true"),
        ("> 30 degC", "x > 30 degC"),
    ],
)
def test_filters_bind_as_in_figure_5_4(text: str, found: str) -> None:
    assert render(parse_filter(text, X, INT)) == found


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        (Kind.STRING, "~ 'a.*' && !~ 'ab'", "x matches 'a.*' and x not matches 'ab'"),
        (Kind.STRING, "'it''s'", "x = 'it''s'"),
        (Kind.STRING, "Main Street", "x = 'Main Street'"),
        (Kind.STRING, "< 18:00", "x < '18:00'"),
        (Kind.FLOAT, ">= -1.5e3", "x >= -1500.0"),
        (Kind.BOOL, "= true", "x = true"),
        (Kind.TIMESTAMP, "> 2026-05-01", "x > 2026-05-01T00:00:00Z"),
        (Kind.TIMESTAMP, ">= 9:30:15", "time_of_day(x) >= duration('PT9H30M15S')"),
        (Kind.DURATION, "< PT5M || > 1:00", "x < duration('PT5M') or x > duration('PT1H')"),
        (Kind.BYTES, "= 'YWI='", "x = bytes('YWI=')"),
        (None, "7788", "x in (7788, '7788')"),
        (None, "!= true", "x not in (true, 'true')"),
        (None, "'7788'", "x = '7788'"),
        (None, "< 5", "x < 5"),
        (None, "> 09:00", "time_of_day(x) > duration('PT9H')"),
    ],
)
def test_values_mean_what_the_type_declares(kind: Kind | None, text: str, found: str) -> None:
    assert render(parse_filter(text, X, AttributeType(kind) if kind else None)) == found


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("", "syntax", 1),
        ("< ", "syntax", 2),
        ("< 5 > 3", "syntax", 5),
        ("< 5 7", "bad-value", 3),
        ("= 5 < 7", "syntax", 5),
        ("(< 5", "syntax", 5),
        ("< 5)", "syntax", 4),
        ("&& < 5", "syntax", 1),
        ("'5", "syntax", 1),
        ("< five", "bad-value", 3),
        ("~ '('", "bad-regex", 3),
        ("< 5 & < 6", "syntax", 5),
        ("(" * 300 + "1" + ")" * 300, "syntax", None),
    ],
)
def test_a_wrong_filter_is_refused_with_its_place(text: str, code: str, column: int | None) -> None:
    with pytest.raises(Misuse) as raised:
        parse_filter(text, X, INT)
    assert raised.value.code == code
    if column is not None:
        assert raised.value.place is not None
        assert raised.value.place.column == column


@given(st.text(alphabet="<>=!~&|()' \"5ax:,.-", max_size=20))
def test_every_text_is_a_filter_or_refused(text: str) -> None:
    for declared in (INT, TEXT, None):
        with contextlib.suppress(Misuse):
            parse_filter(text, X, declared)


# Meta information


def subscription(inside: str, type: str = "LoggedOn") -> str:
    return f'<Subscription xmlns="{FEDREG_URI}"><Template type="{type}">{inside}</Template></Subscription>'


def metas(**given: str) -> str:
    return "".join(f'<meta type="{type.rstrip("_")}">{text}</meta>' for type, text in given.items())


@pytest.mark.parametrize(
    ("given", "entry"),
    [
        ({"disposal": "2026-12-31T23:00:00Z"}, {"expires": "2026-12-31T23:00:00Z"}),
        ({"disposal": "18:00"}, {"expires": "2026-05-01T18:00:00Z"}),
        ({"disposal": "11:00"}, {"expires": "2026-05-02T11:00:00Z"}),
        ({"disposal": "06:00", "register": "22:00:30"}, {"active": {"from": "22:00:30", "until": "06:00"}}),
        (
            {"disposal": "18:00", "register": "9:00", "disposal_": "2026-12-31T23:00:00Z"},
            {"active": {"from": "09:00", "until": "18:00"}, "expires": "2026-12-31T23:00:00Z"},
        ),
        ({"qos": "real-time"}, {"priority": 100}),
        ({"qos": "normal"}, {}),
        ({"qos": "bulk"}, {"priority": -100}),
        ({"qos": "-7"}, {"priority": -7}),
        ({"scope": "house_a, house_b"}, {"scope": ["house_a", "house_b"]}),
    ],
)
def test_meta_information_becomes_fields_of_the_profile(given: dict[str, str], entry: dict[str, Any]) -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    (found,) = read_fedreg(subscription(metas(**given)), TYPES, registered=noon)
    assert entry_of(found) == {"on": "LoggedOn", "where": "true", **entry}


@pytest.mark.parametrize(
    "given",
    [
        {"disposal": "when the badge is lost"},
        {"disposal": "24:00"},
        {"register": "09:00"},
        {"disposal": "18:00", "register": "2026-12-31T23:00:00Z"},
        {"disposal": "18:00", "disposal_": "19:00", "register": "09:00"},
        {"disposal": "18:00"},
        {"qos": "fast"},
        {"qos": "2000"},
        {"colour": "red"},
    ],
)
def test_meta_information_that_cannot_be_carried_out_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(Misuse) as raised:
        read_fedreg(subscription(metas(**given)), TYPES)
    assert raised.value.code == "bad-meta"
    assert raised.value.hint


# Documents


def test_several_templates_are_several_profiles() -> None:
    inside = '<Template type="LoggedOn"/><Template type="GPSEvent"/><Template type="LoggedOn"/>'
    text = f'<Subscription xmlns="{FEDREG_URI}">{inside}</Subscription>'
    assert [one.name for one in read_fedreg(text, TYPES, name="mine")] == ["mine", "mine_2", "mine_3"]
    assert [one.name for one in read_fedreg(text, TYPES)] == ["loggedon", "gpsevent", "loggedon_2"]


def test_a_wildcard_asks_nothing_and_a_part_of_one_asks_for_a_text() -> None:
    inside = "<user>*</user><host/>"
    assert render(read_fedreg(subscription(inside), TYPES)[0].where.tree) == "true"
    inside = r"<user>a\*b*100%_</user>"
    assert render(read_fedreg(subscription(inside), TYPES)[0].where.tree) == r"user like 'a*b%100\%\_'"


def test_identity_and_time_of_an_event_can_be_asked_for() -> None:
    (found,) = read_fedreg(subscription('<src>house_a</src><ts filter="&lt; 12:00"/>'), TYPES)
    assert render(found.where.tree) == "event.source = 'house_a' and time_of_day(event.time) < duration('PT12H')"


def test_types_of_contracts_are_found_by_their_simple_name() -> None:
    known = {"LoggedOn": LOGGED, "watch.breakInEvent": BREAK_IN}
    assert read_fedreg(FIGURE_6_4_B, known)[0].on == "watch.breakInEvent"
    with pytest.raises(Misuse, match="several event types"):
        read_fedreg(FIGURE_6_4_B, {"watch.breakInEvent": BREAK_IN, "police.breakInEvent": BREAK_IN})


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<Subscription", "bad-xml"),
        ('<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>', "has-doctype"),
        ("<a/>", "bad-fedreg"),
        (f'<Subscription xmlns="{FEDREG_URI}"/>', "bad-fedreg"),
        (f'<Subscription xmlns="{FEDREG_URI}"><Other/></Subscription>', "bad-fedreg"),
        (f'<Subscription xmlns="{FEDREG_URI}"><Template/></Subscription>', "bad-fedreg"),
        (subscription("", "Nothing"), "unknown-type"),
        (subscription("<nothing/>"), "unknown-attribute"),
        (subscription("<user><a/></user>"), "wrong-kind"),
        (subscription('<user colour="red"/>'), "bad-fedreg"),
        (subscription("<houseNum>many</houseNum>", "breakInEvent"), "bad-value"),
        (subscription('<houseNum filter="&lt; many"/>', "breakInEvent"), "bad-value"),
        (subscription("<Location>x<Street>y</Street></Location>", "Bus_Location"), "bad-fedreg"),
    ],
)
def test_a_wrong_document_is_refused_with_its_place(text: str, code: str) -> None:
    with pytest.raises(Misuse) as raised:
        read_fedreg(text, TYPES, file="watch.xml")
    assert raised.value.code == code
    assert raised.value.place is not None
    assert raised.value.place.file == "watch.xml"


def test_times_of_day_are_exact() -> None:
    (found,) = read_fedreg(subscription('<time filter="> 09:00"/>', "ActiveBadgeSighting"), TYPES)
    just_after = datetime(2026, 5, 1, 9, tzinfo=UTC) + timedelta(microseconds=1)
    event = Event("1", "s", "lab.ActiveBadgeSighting", just_after, {"room": "1", "time": just_after})
    assert holds(bound(found.where.tree, BADGE), event)
    assert found.terms.active is None
    assert time(9) < just_after.time()
