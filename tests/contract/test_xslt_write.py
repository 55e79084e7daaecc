"""Mappings printed as XSLT: the stylesheet gives the same event as the mapping, or both give none."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping as AbstractMapping
from datetime import UTC, datetime
from typing import Any
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from comity.contract.compose import compose
from comity.contract.mapping import Mapping, read_mapping
from comity.contract.xslt import Stylesheet, to_xslt
from comity.contract.xslt.form import ENVELOPE_ATTRIBUTES, is_xml_text, read_attributes, write_record
from comity.errors import Misuse
from comity.event.event import Event
from comity.event.formats.jsonlines import decode
from comity.event.formats.xml.records import read_xml_lines
from comity.event.formats.xml.write import encode_xml
from comity.event.kinds import Kind, Point
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType, EventType
from comity.expression.extensions import ExtensionFunction
from comity.expression.scope import Scope
from comity.expression.tree import Attribute, Call, Expression, Extension, Literal, Lookup, rebuild
from comity.testing.expressions import SAMPLE, events, value_expressions

SINGLE = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STRING, Kind.TIMESTAMP, Kind.DURATION, Kind.BYTES, Kind.POINT)


def safe(value: Any) -> Any:
    """The value without the characters that XML does not have."""
    if isinstance(value, str):
        return "".join(char if is_xml_text(char) else "?" for char in value)
    if isinstance(value, Point):
        return value
    if isinstance(value, dict):
        return {name: safe(one) for name, one in value.items() if one != []}  # an empty list is missing in XML
    return [safe(one) for one in value] if isinstance(value, list) else value


def safe_tree(node: Expression) -> Expression:
    if isinstance(node, Literal):
        return Literal(safe(node.value))
    if isinstance(node, Lookup):
        rows = {safe(key): safe(value) for key, value in node.rows}
        return Lookup(node.table, safe_tree(node.key), tuple(rows.items()))
    return rebuild(node, safe_tree)


def run(mapping: Mapping, event: Event) -> dict[str, Any] | None:
    """What the stylesheet gives, or None when it says that something is missing."""
    stylesheet = Stylesheet.of(to_xslt(mapping))
    written = write_event(event, mapping.source)
    if isinstance(mapping.apply(event), list):
        with pytest.raises(Misuse, match="mapped-missing"):
            stylesheet.run(written)
        return None
    text = stylesheet.run(written)
    root = etree.fromstring(text)
    assert root.tag == mapping.target.name
    assert (root.findtext("id"), root.findtext("src")) == (event.id, event.source)
    return read_attributes(root, mapping.target.attributes)


def expected(mapping: Mapping, event: Event) -> dict[str, Any] | None:
    made = mapping.apply(event)
    return made.data if isinstance(made, Event) else None


def target(*kinds: Kind, optional: bool = True) -> EventType:
    own = {f"a{number}": AttributeType(kind, optional=optional) for number, kind in enumerate(kinds)}
    return EventType("Made", "test", own=own)


def is_printable(expression: Expression, kind: Kind) -> bool:
    try:
        to_xslt(Mapping(SAMPLE, target(kind), ((("a0",), expression),)))
    except Misuse:
        return False
    return True


def write_event(event: Event, type: EventType) -> str:
    given = {name: getattr(event, name) for name in ENVELOPE_ATTRIBUTES}
    return write_record(type.name, given, event.data, type)


@given(st.data())
def test_to_xslt_gives_what_the_mapping_gives(data: st.DataObject) -> None:
    made = [(kind, safe_tree(data.draw(value_expressions(kind, 2)))) for kind in SINGLE]
    kept = [(kind, expression) for kind, expression in made if is_printable(expression, kind)]
    named = tuple(((f"a{number}",), expression) for number, (_, expression) in enumerate(kept))
    mapping = Mapping(SAMPLE, target(*(kind for kind, _ in kept)), named)
    for event in data.draw(st.lists(events(), min_size=3, max_size=3)):
        event = event.replace(type="test.Sample", data=safe(event.data))
        assert run(mapping, event) == expected(mapping, event)


@given(events())
def test_to_xslt_reads_events_as_comity_writes_them_and_writes_what_it_reads(event: Event) -> None:
    event = event.replace(type="test.Sample", data=safe(event.data))
    mapping = mapped(
        {name: name for name in SAMPLE.attributes}, SAMPLE, EventType("Copy", "test", own=SAMPLE.attributes)
    )
    text = Stylesheet.of(to_xslt(mapping)).run(encode_xml(event, SAMPLE).decode())
    types = Taxonomy("test", [EventType("Copy", "test", own=SAMPLE.attributes)])
    ((_, line),) = read_xml_lines(io.BytesIO(text.encode()), types)
    assert isinstance(line, bytes)
    found = decode(line, types)
    assert found == mapping.apply(event)


def test_to_xslt_refuses_seldom() -> None:
    refusals = []

    @given(st.sampled_from(SINGLE).flatmap(value_expressions))
    def count(expression: Expression) -> None:
        refusals.append(not is_printable(safe_tree(expression), Kind.INT))

    count()
    assert sum(refusals) < len(refusals) / 4


def scope(type: EventType, **tables: AbstractMapping[Any, Any]) -> Scope:
    return Scope(type, Taxonomy(type.namespace, [type]), tables)


def mapped(texts: dict[str, str], source: EventType, made: EventType, **tables: Any) -> Mapping:
    mapping, faults = read_mapping(texts, scope(source, **tables), made)
    assert faults == []
    return mapping


TEXT, OPTIONAL = AttributeType(Kind.STRING), AttributeType(Kind.STRING, optional=True)
BUS_LOCATION = EventType(
    "Bus_Location",
    "city",
    own={
        "Line": TEXT,
        "Time": TEXT,
        "Location": AttributeType(Kind.STRUCT, attributes={"Street": TEXT, "City": OPTIONAL, "Country": OPTIONAL}),
    },
)
BUS_POSITION = EventType("Bus_Position", "bus", own={"BusLine": TEXT, "Time": TEXT, "LocationName": TEXT})
TO_POSITION = {"BusLine": "Line", "Time": "Time", "LocationName": "Location.Street + ', ' + Location.City"}


def bus(**location: str) -> Event:
    data = {"Line": "7788", "Time": "13:27:00", "Location": location}
    return Event("1", "city", "city.Bus_Location", datetime(2026, 1, 1, tzinfo=UTC), data)


def test_to_xslt_prints_the_bus_mapping_of_the_seeds() -> None:
    mapping = mapped(TO_POSITION, BUS_LOCATION, BUS_POSITION)
    found = run(mapping, bus(Street="Main Street", City="London", Country="UK"))
    assert found == {"BusLine": "7788", "Time": "13:27:00", "LocationName": "Main Street, London"}
    assert "c:join([Location/Street/string(), ', ', Location/City/string()])" in to_xslt(mapping)


def test_to_xslt_fails_where_something_mandatory_stays_missing() -> None:
    mapping = mapped(TO_POSITION, BUS_LOCATION, BUS_POSITION)
    with pytest.raises(Misuse, match="mapped-missing: LocationName"):
        Stylesheet.of(to_xslt(mapping)).run(write_event(bus(Street="Main Street"), BUS_LOCATION))


def test_to_xslt_builds_structs_of_parts_and_leaves_empty_ones_out() -> None:
    split = EventType(
        "Split", "s", own={"place": AttributeType(Kind.STRUCT, optional=True, attributes={"town": OPTIONAL})}
    )
    mapping = mapped({"place.town": "Location.City"}, BUS_LOCATION, split)
    assert run(mapping, bus(Street="Elm", City="Bonn")) == {"place": {"town": "Bonn"}}
    assert run(mapping, bus(Street="Elm")) == {}


def test_to_xslt_refuses_an_event_of_another_type_but_takes_the_named_subtypes() -> None:
    mapping = mapped(TO_POSITION, BUS_LOCATION, BUS_POSITION)
    night = write_event(bus(Street="Elm", City="Bonn"), EventType("Night_Bus", "city", BUS_LOCATION))
    with pytest.raises(Misuse, match="other-type"):
        Stylesheet.of(to_xslt(mapping)).run(night)
    assert "Elm, Bonn" in Stylesheet.of(to_xslt(mapping, ["Night_Bus"])).run(night)


def test_to_xslt_chains_the_steps_of_a_composed_mapping() -> None:
    first = mapped(TO_POSITION, BUS_LOCATION, BUS_POSITION)
    last = EventType("Shown", "house", own={"text": TEXT})
    mapping = compose(first, mapped({"text": "upper(LocationName) + '!'"}, BUS_POSITION, last))
    assert run(mapping, bus(Street="Elm", City="Bonn")) == {"text": "ELM, BONN!"}
    assert run(mapping, bus(Street="Elm")) is None


def test_to_xslt_looks_up_in_tables_and_copies_structs_lists_and_points() -> None:
    made = EventType(
        "Copied",
        "test",
        own={name: SAMPLE.attributes[name] for name in ("device", "tags", "times", "place")}
        | {"level": AttributeType(Kind.INT, optional=True)},
    )
    texts = {"device": "device", "tags": "marks", "times": "times", "place": "place", "level": "lookup('levels', name)"}
    mapping = mapped(texts, SAMPLE, made, levels={"low": 1, "high": 3})
    data = {
        "device": {"serial": "x", "load": 0.5},
        "marks": ["a", ""],
        "times": [datetime(2026, 1, 1, tzinfo=UTC)],
        "place": Point(1.0, -2.5),
        "name": "high",
    }
    event = Event("1", "s", "test.Sample", None, data)
    assert run(mapping, event) == expected(mapping, event)
    assert run(mapping, event.replace(data={"name": "none"})) == {}


TIMES = {
    "name": "before(name, '-') + after(name, '-') + before_last(name, 'aa') + after_last(name, 'aa')",
    "room": "format_time(since, 'yyyy/MM/d h:mm:ss.SSS a') + text(since) + text(count) + text(span) + text(flag)",
    "since": "parse_time(room, 'd.M.yyyy HH:mm')",
    "goal_x": "float(room) + float(count)",
    "count": "int(room) + int(level) + weekday(since)",
    "span": "time_of_day(since)",
}


@given(st.data())
@pytest.mark.parametrize("name", TIMES)
def test_to_xslt_gives_the_same_for_the_functions_of_texts_and_times(name: str, data: st.DataObject) -> None:
    made = EventType("Made", "test", own={**SAMPLE.attributes, "goal_x": AttributeType(Kind.FLOAT, optional=True)})
    made = EventType("Made", "test", own={name: made.attributes[name].as_optional()})
    words = st.sampled_from(
        ["29.2.2024 23:59", "30.2.2024 1:00", "1.1.0000 00:00", "12", "-0", "1.5e3", "007", "a-b-aaa"]
    )
    event = data.draw(events())
    changed = {**safe(event.data), "room": data.draw(words), "name": data.draw(words)}
    event = event.replace(type="test.Sample", data=changed)
    mapping = mapped({name: TIMES[name]}, SAMPLE, made)
    assert run(mapping, event) == expected(mapping, event)


SIGMAS = [
    "ΟΔΟΣ",
    "ΟΔΟΣ.",
    "Σ",
    "ΑΣΑ",
    "ΑΣ Α",
    "Α'Σ'Α",
    "ΣΣ",
    "Α\u0301Σ\u0301",
    "ⓐΣ",
    "ªΣ",
    "ʰΣ",
    "ᾈΣ:",
    "1Σ",
    "𝐀Σ",
    "Ⅷ.Σ",
]


@pytest.mark.parametrize("text", SIGMAS)
def test_to_xslt_lowers_final_sigmas(text: str) -> None:
    mapping = mapped({"a0": "lower(room)"}, SAMPLE, target(Kind.STRING))
    event = Event("1", "s", "test.Sample", None, {"room": text, "total": 0, "heat": 0.0})
    assert run(mapping, event) == {"a0": text.lower()}


@pytest.mark.nightly
def test_to_xslt_lowers_sigmas_beside_every_character() -> None:
    mapping = mapped({"a0": "lower(room)"}, SAMPLE, target(Kind.STRING))
    stylesheet = Stylesheet.of(to_xslt(mapping))
    # Characters that Python does not know yet may be known to the processor; ideographs have no case.
    left_out = ("Cn", "Cs", "Co")
    chars = [char for char in map(chr, range(0x20, 0x1FFFF)) if is_xml_text(char) and category(char) not in left_out]
    chars = [char for char in chars if category(char) != "Lo" or char < "\u3000"]
    for begin in range(0, len(chars), 10):
        text = "\n".join(f"{char}Σ A{char}Σ AΣ{char}A" for char in chars[begin : begin + 10])
        event = Event("1", "s", "test.Sample", None, {"room": text, "total": 0, "heat": 0.0})
        found = etree.fromstring(stylesheet.run(write_event(event, SAMPLE))).findtext("a0")
        assert found == text.lower()


def shout(text: str) -> str:
    return text + "!"


def test_to_xslt_calls_extension_functions() -> None:
    function = ExtensionFunction("shout", (frozenset({Kind.STRING}),), Kind.STRING, shout, "test")
    whole = Call("length", (Extension("shout", function, (Attribute(("name",)),)),))
    mapping = Mapping(SAMPLE, target(Kind.INT), ((("a0",), whole),))
    stylesheet = Stylesheet.of(to_xslt(mapping), {"shout": function})
    for data, found in (({"name": "ab"}, "3"), ({}, None)):
        event = Event("1", "s", "test.Sample", None, data)
        assert etree.fromstring(stylesheet.run(write_event(event, SAMPLE))).findtext("a0") == found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("if flag then name else name", None),
        ("if exists flag then 'a\x01' else name", "characters that XML does not have"),
        ("if tags contains 'a' then name else room", "looks into a list"),
        ("if device = spare then name else room", "compared as a whole"),
    ],
)
def test_to_xslt_says_what_it_cannot_print(text: str, reason: str | None) -> None:
    mapping = mapped({"a0": text}, SAMPLE, target(Kind.STRING))
    if reason is None:
        assert to_xslt(mapping)
        return
    with pytest.raises(Misuse, match=re.escape(reason)) as raised:
        to_xslt(mapping)
    assert raised.value.code == "not-in-xslt"
