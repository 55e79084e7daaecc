"""Events as XML: in, out, and what is wrong with them."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xmlschema
from hypothesis import given

from comity.errors import Misuse
from comity.event import EVENT, AttributeType, Event, EventType, Kind, Rejected, Taxonomy, decode, encode, read_events
from comity.event.files import read_json_lines
from comity.event.formats.xml.records import CHUNK_BYTES, _Elements, read_xml_lines
from comity.event.formats.xml.write import HEAD, TAIL, encode_xml
from comity.event.schemas.names import EVENT_URI
from comity.event.schemas.xsd.write import write_xsd
from comity.limits import limited
from tests.event.generate import event_types, events, structs

STRUCT = AttributeType(Kind.STRUCT, attributes={"serial": AttributeType(Kind.STRING)})
FIRE = EventType(
    "Fire",
    "house",
    EVENT,
    {
        "room": AttributeType(Kind.STRING),
        "heat": AttributeType(Kind.FLOAT, True),
        "floor": AttributeType(Kind.INT, True),
        "on": AttributeType(Kind.BOOL, True),
        "since": AttributeType(Kind.DURATION, True),
        "tags": AttributeType(Kind.LIST, element=AttributeType(Kind.STRING)),
        "devices": AttributeType(Kind.LIST, True, element=STRUCT),
        "at": AttributeType(Kind.POINT, True),
    },
)
HOUSE = Taxonomy("house", [FIRE])
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read(text: str | bytes, types: Any = HOUSE, **options: Any) -> list[Any]:
    content = text.encode() if isinstance(text, str) else text
    lines = read_xml_lines(io.BytesIO(content), types, name="a.xml", **options)
    return [one if isinstance(one, Rejected) else decode(one, types, line_number=number) for number, one in lines]


def shown(text: str | bytes, types: Any = HOUSE, **options: Any) -> list[str]:
    """The ids of events; line and code of what was rejected."""
    found = read(text, types, **options)
    return [one.id if isinstance(one, Event) else f"{one.line_number}:{one.faults[0].code}" for one in found]


def texts(value: Any) -> Iterator[str]:
    """All the texts in decoded JSON."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def envelope(id: int = 1) -> str:
    return f"<id>{id}</id><src>/a</src><ts>2024-05-01T12:00:00Z</ts>"


def test_event_of_the_seeds() -> None:
    (event,) = read(f"<Fire>{envelope()}<room>attic</room><heat> +40 </heat><on>1</on></Fire>")
    assert (event.id, event.source, event.type, event.time.hour) == ("1", "/a", "house.Fire", 12)
    assert event.data == {"room": "attic", "heat": 40.0, "on": True, "tags": []}
    (named,) = read(f'<Event type="Fire">{envelope()}<room>attic</room></Event>')
    assert (named.type, named.data) == ("house.Fire", {"room": "attic", "tags": []})


def test_events_below_a_root() -> None:
    named = f"<Event type='house.Fire'>{envelope(2)}<room>b</room></Event>"
    text = f"<all>\n<Fire>{envelope(1)}<room/></Fire>\n<!-- no event -->\n{named}</all>"
    first, second = read(text)
    assert (first.id, first.data["room"], second.id) == ("1", "", "2")
    assert shown(f"<c:events xmlns:c='{EVENT_URI}'/>") == shown(HEAD + TAIL) == []


def test_a_root_with_nothing_in_it_is_not_lost() -> None:
    for text in ("<all/>", "<all><!-- nothing --></all>", "<all>text</all>", "<Flood at='noon'/>"):
        (found,) = read(text)
        assert [one.path for one in found.faults][:2] == ["event.id", "event.source"]
        assert found.line_number == 1


EPCIS = """<epcis:EPCISDocument xmlns:epcis="urn:epcglobal:epcis:xsd:1" schemaVersion="1.2">
<EPCISHeader><Sender><Identifier>a</Identifier></Sender></EPCISHeader>
<EPCISBody><EventList>
<Fire><id>1</id><src>/a</src><room>a</room></Fire>
<Flood><id>2</id><src>/a</src></Flood>
<extension><Fire><id>3</id><src>/a</src><room>b</room></Fire></extension>
<Fire><id>4</id><src>/a</src><room>c</room></Fire>
</EventList></EPCISBody></epcis:EPCISDocument>
"""


def test_events_below_elements_around_them() -> None:
    assert shown(EPCIS) == ["1", "5:unknown-type", "3", "4"]
    broken = EPCIS.replace("</EventList>", "")
    assert shown(broken)[:-1] == ["1", "5:unknown-type", "3", "4"]
    long = EPCIS.replace("<room>c", "<tags>a</tags>" * 50_000 + "<room>c")
    with limited(max_record_bytes=200_000):
        assert shown(long + " ") == ["1", "5:unknown-type", "3", "7:too-long"]


def test_without_types_parts_of_events_are_no_events() -> None:
    order = f"<Order><customer><id>c</id></customer>{envelope(7)}</Order>"
    assert shown(f"<all>{order}</all>", None) == ["7"]


def test_elements_that_are_no_events_are_records_when_there_are_many() -> None:
    text = "<all>" + "<Flood/>\n" * 250 + f"<Fire>{envelope()}<room/></Fire></all>"
    assert shown(text) == [f"{n}:missing" for n in range(1, 251)] + ["1"]


def test_structs_lists_points_and_attributes_of_xml() -> None:
    (event,) = read(
        f"<Fire room='attic'>{envelope()}<tags>a</tags><devices><serial>x</serial></devices><tags>b</tags>"
        "<devices serial='y'/><at><x>1</x><y>.5</y></at><since>PT5M</since><colour>red</colour></Fire>"
    )
    assert event.data["room"] == "attic"
    assert event.data["tags"] == ["a", "b"]
    assert event.data["devices"] == [{"serial": "x"}, {"serial": "y"}]
    assert event.data["at"] == (1.0, 0.5)
    assert event.data["since"].total_seconds() == 300
    assert "colour" not in event.data


def test_without_types_texts_stay_texts() -> None:
    text = (
        f"<r><Fire xmlns='urn:comity:domain:house'>{envelope()}<heat>40</heat><d u='C'>5</d><t>1</t><t>2</t></Fire></r>"
    )
    (event,) = read(text, None)
    assert event.type == "house.Fire"
    assert event.data == {"heat": "40", "d": {"u": "C", "value": "5"}, "t": ["1", "2"]}
    (alone,) = read(f"<Fire>{envelope()}</Fire>", None)
    assert (alone.type, alone.data) == ("Fire", {})


def test_names_that_are_no_identifiers() -> None:
    bus = EventType("Bus_Position", "city", EVENT, {"bus_line": AttributeType(Kind.INT)})
    (event,) = read(f'<Event type="Bus Position">{envelope()}<bus-line>7</bus-line></Event>', Taxonomy("city", [bus]))
    assert (event.type, event.data) == ("city.Bus_Position", {"bus_line": 7})


def test_an_attribute_may_be_named_like_the_envelope() -> None:
    type = EventType("T", "n", EVENT, {"id": AttributeType(Kind.INT), "ts": AttributeType(Kind.STRING)})
    event = Event("e1", "/a", "n.T", data={"id": 5, "ts": "noon"})
    assert read(encode_xml(event, type), Taxonomy("n", [type])) == [event]
    assert shown("<T><id>5</id><ts>noon</ts></T>", Taxonomy("n", [type])) == ["1:missing"]


@pytest.mark.parametrize(
    ("attribute", "path", "code"),
    [
        ("<heat>hot</heat>", "heat", "wrong-kind"),
        ("<heat/>", "heat", "wrong-kind"),
        ("<heat>INF</heat>", "heat", "not-finite"),
        ("<heat>1</heat><heat>2</heat>", "heat", "wrong-kind"),
        ("<heat><x>1</x></heat>", "heat", "wrong-kind"),
        ("<floor>1.0</floor>", "floor", "wrong-kind"),
        ("<floor>9223372036854775808</floor>", "floor", "out-of-range"),
        ("<on>yes</on>", "on", "wrong-kind"),
        ("<since>5</since>", "since", "bad-duration"),
        ("<devices>text</devices>", "devices[0]", "wrong-kind"),
        ("<devices/>", "devices[0].serial", "missing"),
        ("<at><x>1</x></at>", "at", "wrong-kind"),
    ],
)
def test_a_bad_value_is_rejected_with_its_path(attribute: str, path: str, code: str) -> None:
    (found,) = read(f"<Fire>{envelope()}<room>a</room>{attribute}</Fire>")
    assert [(one.path, one.code) for one in found.faults] == [(path, code)]


def test_what_names_no_known_type_is_rejected() -> None:
    assert shown(f"<all><Fire>{envelope()}<room/></Fire>\n<Flood/></all>") == ["1", "2:missing"]
    (_, flood) = read(f"<all><Fire>{envelope()}<room/></Fire>\n<Flood>{envelope(2)}</Flood></all>")
    assert flood.faults[0].code == "unknown-type"


def test_a_broken_document_keeps_what_came_before() -> None:
    good = f"<all>\n<Fire>{envelope(1)}<room>a</room></Fire>\n<Fire>{envelope(2)}<room>b</room></Fire>\n"
    text = f"{good}<Fire><oops></Fire>"
    assert shown(text) == ["1", "2", "4:broken-xml"]
    assert shown(good) == ["1", "2", "4:broken-xml"]
    assert shown("") == []
    assert shown("no xml") == ["1:broken-xml"]
    assert shown(b"<a><d/><c:even\x00ts") == ["1:missing", "2:broken-xml"]
    assert shown("<Bus Position><BusLine>7788</BusLine></Bus Position>") == ["1:broken-xml"]


def test_entities_and_document_types_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    external = f'<!DOCTYPE r [<!ENTITY x SYSTEM "{secret.as_uri()}">]><Fire>{envelope()}<room>&x;</room></Fire>'
    laughs = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE r [<!ENTITY e0 "ha">{laughs}]><Fire>{envelope()}<room>&e11;</room></Fire>'
    for text in (external, bomb, f'<!DOCTYPE r SYSTEM "http://localhost:1/x.dtd"><Fire>{envelope()}<room/></Fire>'):
        assert shown(text) == ["1:has-doctype"]


def test_numbers_rise_also_for_events_in_one_line() -> None:
    text = (
        "<all>"
        + "".join(f"<Fire>{envelope(n)}<room/></Fire>" for n in range(4))
        + f"\n\n\n\n\n<Fire>{envelope(4)}<room/></Fire></all>"
    )
    numbers = [number for number, _ in read_xml_lines(io.BytesIO(text.encode()), HOUSE)]
    assert numbers == [1, 2, 3, 4, 6]
    assert shown(text, after=2) == ["2", "3", "4"]


def test_files_are_read_by_their_suffix(tmp_path: Path) -> None:
    content = f"<all><Fire>{envelope(1)}<room>a</room></Fire></all>".encode()
    (tmp_path / "a.xml").write_bytes(content)
    (tmp_path / "b.xml.gz").write_bytes(gzip.compress(content.replace(b"<id>1", b"<id>2")))
    (tmp_path / "c.xml.gz").write_bytes(gzip.compress(content)[:-9])
    found = list(read_events(tmp_path, HOUSE, require_time=True))
    assert [one.id if isinstance(one, Event) else one.faults[0].code for one in found] == ["1", "2", "broken-gzip"]
    ((number, line),) = read_json_lines(tmp_path / "a.xml", HOUSE)
    assert (number, line) == (
        1,
        b'{"id":"1","source":"/a","time":"2024-05-01T12:00:00Z","type":"house.Fire","data":{"room":"a","tags":[]}}',
    )


def test_what_was_read_is_forgotten() -> None:
    text = "<all>" + "".join(f"<Fire>{envelope(n)}<room>{'a' * 500}</room></Fire>\n" for n in range(2_000)) + "</all>"
    found = [len(element.getparent()) for _, element in _Elements(io.BytesIO(text.encode()), HOUSE.find)]
    assert len(found) == 2_000
    assert max(found) <= 2 * CHUNK_BYTES // 500


def test_an_event_that_is_too_long_is_left_out() -> None:
    long = f"<Fire>{envelope(2)}{'<tags>b</tags>' * 50_000}</Fire>"
    text = f"<all><Fire>{envelope(1)}<room/></Fire>\n{long}\n<Fire>{envelope(3)}<room/></Fire></all>"
    with limited(max_record_bytes=200_000):
        assert shown(text) == ["1", "2:too-long", "3"]
        assert shown(long) == ["1:too-long"]
    with limited(max_record_bytes=200):
        assert shown(text)[::2] == ["1", "3"]


@given(event=events("n.T", structs({})))
def test_envelopes_come_back_without_types(event: Event) -> None:
    try:
        written = encode_xml(event)
    except Misuse:
        assert any(_NOT_XML.search(one or "") for one in (event.id, event.source, event.subject, event.version))
        return
    assert read(written, None) == [event]


@given(pair=event_types.flatmap(lambda type: events("n.T", structs(type.attributes)).map(lambda event: (type, event))))
def test_events_come_back_as_they_were(pair: tuple[EventType, Event]) -> None:
    type, event = pair
    try:
        written = encode_xml(event, type)
    except Misuse:
        assert any(_NOT_XML.search(text) for text in texts(json.loads(encode(event))))
        return
    assert read(HEAD + written + b"\n" + TAIL, Taxonomy("n", [type])) == [event]


@given(pair=event_types.flatmap(lambda type: events("n.T", structs(type.attributes)).map(lambda event: (type, event))))
def test_written_events_fit_the_written_schema(pair: tuple[EventType, Event]) -> None:
    type, event = pair
    type = EventType("T", "n", EVENT, type.own)
    try:
        written = encode_xml(event, type)
    except Misuse:
        return
    xmlschema.XMLSchema(write_xsd(Taxonomy("n", [type]))).validate(written.decode())


@pytest.mark.parametrize(
    "event",
    [Event("\x00", "/a", "T"), Event("1", "/a", "T", data={"a b": 1}), Event("1", "/a", "T", data={"a": "\ufffe"})],
)
def test_what_xml_cannot_say_is_refused(event: Event) -> None:
    with pytest.raises(Misuse, match="cannot be written as XML"):
        encode_xml(event)
