"""Rows of CSV: what they mean, what is wrong with them, and that they say what JSON Lines say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.event import AttributeType, Event, EventType, Kind, Point, Rejected, decode, encode
from comity.event.formats.csv import ENVELOPE_COLUMNS, decode_row, encode_header, encode_row, read_header
from comity.limits import limited
from tests.event.generate import event_types, events, json_values, structs

ALL = EventType(
    "All",
    "n",
    own={
        "flag": AttributeType(Kind.BOOL, optional=True),
        "count": AttributeType(Kind.INT, optional=True),
        "heat": AttributeType(Kind.FLOAT, optional=True),
        "name": AttributeType(Kind.STRING, optional=True),
        "since": AttributeType(Kind.TIMESTAMP, optional=True),
        "span": AttributeType(Kind.DURATION, optional=True),
        "blob": AttributeType(Kind.BYTES, optional=True),
        "at": AttributeType(Kind.POINT, optional=True),
        "tags": AttributeType(Kind.LIST, optional=True, element=AttributeType(Kind.STRING)),
        "device": AttributeType(Kind.STRUCT, optional=True, attributes={"serial": AttributeType(Kind.STRING)}),
        "time": AttributeType(Kind.INT, optional=True),
    },
)


def lookup(name: str) -> EventType | None:
    return ALL if name == "n.All" else None


def typed(column: str, cell: str) -> object:
    """What a cell of a column becomes, or the codes of its faults."""
    header = read_header(f"id,source,type,{column}".encode())
    found = decode_row(f"1,/a,n.All,{cell}".encode(), header, lookup)
    if isinstance(found, Rejected):
        return [(one.path, one.code) for one in found.faults]
    return found.get(tuple(column.removeprefix("data.").split(".")))


@pytest.mark.parametrize(
    ("column", "cell", "value"),
    [
        ("flag", "true", True),
        ("flag", "FALSE", False),
        ("count", "5", 5),
        ("count", " 5 ", 5),
        ("heat", "5", 5.0),
        ("heat", "-1.5e3", -1500.0),
        ("name", "5", "5"),
        ("name", "true", "true"),
        ("name", '"a ""b"", c"', 'a "b", c'),
        ("name", '""', ""),
        ("name", "", None),
        ("heat", '""', None),
        ("since", "2024-05-01T12:00:00+02:00", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("span", "5 min", timedelta(minutes=5)),
        ("blob", "AP8=", b"\x00\xff"),
        ("at", '"{""x"": 1, ""y"": 2}"', Point(1.0, 2.0)),
        ("at", '"[1, 2]"', Point(1.0, 2.0)),
        ("tags", '"[""a"",""b""]"', ["a", "b"]),
        ("device", '"{""serial"":""x""}"', {"serial": "x"}),
        ("device.serial", "007", "007"),
        ("data.device.serial", "x", "x"),
        ("data.time", "7", 7),
        ("nobody.asked", "{", None),
    ],
)
def test_decode_row_reads_a_cell_by_its_kind(column: str, cell: str, value: object) -> None:
    assert typed(column, cell) == value


@pytest.mark.parametrize(
    ("column", "cell", "faults"),
    [
        ("flag", "yes", [("flag", "wrong-kind")]),
        ("count", "5.0", [("count", "wrong-kind")]),
        ("count", "five", [("count", "wrong-kind")]),
        ("count", "9223372036854775808", [("count", "out-of-range")]),
        ("heat", "NaN", [("heat", "not-finite")]),
        ("heat", "-inf", [("heat", "not-finite")]),
        ("heat", "1e999", [("heat", "not-finite")]),
        ("since", "yesterday", [("since", "bad-timestamp")]),
        ("span", "P1M", [("span", "bad-duration")]),
        ("blob", "?", [("blob", "bad-base64")]),
        ("tags", "a", [("tags", "bad-json")]),
        ("tags", '"[1], ""x"": [2]"', [("tags", "bad-json")]),
        ("tags", '"[1,""a""]"', [("tags[0]", "wrong-kind")]),
        ("device", '"{}"', [("device.serial", "missing")]),
        ("mode", "dead", [("event.mode", "bad-mode")]),
        ("sequence", "1.5", [("event.sequence", "bad-sequence")]),
        ("time", "noon", [("event.time", "bad-timestamp")]),
    ],
)
def test_decode_row_tells_what_is_wrong_with_a_cell(column: str, cell: str, faults: object) -> None:
    assert typed(column, cell) == faults


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (b"1,/a", "bad-csv"),
        (b"1,/a,n.All,x,y", "bad-csv"),
        (b'1,/a,n.All,"open', "bad-csv"),
        (b'1,/a,n.All,a"b', "bad-csv"),
        (b'1,/a,n.All,"a"b', "bad-csv"),
        (b"1,/a,n.All,a\rb", "bad-csv"),
        (b"1,/a,n.All,\xff", "not-utf-8"),
        (b"1,/a,n.None,x", "unknown-type"),
        (b",/a,n.All,x", "missing"),
        (b'"",/a,n.All,x', "missing"),
        (b"1,/a,n.All," + b"x" * 200, "too-long"),
    ],
)
def test_decode_row_rejects_a_row(row: bytes, code: str) -> None:
    with limited(max_record_bytes=200):
        found = decode_row(row, read_header(b"id,source,type,name"), lookup, line_number=7, source_file="f.csv")
    assert isinstance(found, Rejected)
    assert [one.code for one in found.faults] == [code]
    assert (found.line_number, found.source_file) == (7, "f.csv")
    assert found.raw == row.decode("utf-8", "backslashreplace")


def test_decode_row_needs_a_time_if_told_so() -> None:
    header = read_header(b"id,source,type")
    found = decode_row(b"1,/a,T", header, require_time=True)
    assert isinstance(found, Rejected)
    assert found.faults[0].path == "event.time"


def test_decode_row_without_types() -> None:
    header = read_header(b"id,source,type,a,b,c,d,e,f.g")
    found = decode_row(b'1,/a,T,5,true,"[1,{""x"":null}]",05,{oops,2.5', header)
    assert isinstance(found, Event)
    assert found.data == {"a": 5, "b": True, "c": [1, {}], "d": "05", "e": "{oops", "f": {"g": 2.5}}


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"id,id", "two columns"),
        (b"id,data.x,x", "two columns"),
        (b"id,,type", "without a name"),
        (b"id,a..b", "without a name"),
        (b"id,a,a.b", "inside column"),
        (b"id,data,x", "inside column"),
        (b'id,"a', "does not end"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_every_row_below_a_bad_header_is_rejected(header: bytes, reason: str) -> None:
    found = decode_row(b"1,2", read_header(header))
    assert isinstance(found, Rejected)
    assert found.faults[0].code == "bad-header"
    assert reason in found.faults[0].reason
    assert found.raw == "1,2"


def test_read_header_with_a_byte_order_mark_and_spaces() -> None:
    assert read_header(b"\xef\xbb\xbfid, type").columns == (("id",), ("type",))


def columns_of(declared: EventType) -> bytes:
    attributes = [f"data.{name}" if name in (*ENVELOPE_COLUMNS, "data") else name for name in declared.attributes]
    return encode_header([*ENVELOPE_COLUMNS, *attributes])


def _has_line_break(value: object) -> bool:
    """In a text of its own cell; inside a list or struct it is escaped."""
    if isinstance(value, str):
        return "\n" in value or "\r" in value
    cells = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(one, str) and _has_line_break(one) for one in cells)


@given(st.data(), event_types)
def test_encode_row_then_decode_row_gives_the_same_event(data: st.DataObject, declared: EventType) -> None:
    event = data.draw(events("n.T", structs(declared.attributes)))
    header = read_header(columns_of(declared))
    if _has_line_break(event.data) or _has_line_break([event.id, event.source, event.subject, event.version]):
        with pytest.raises(Misuse, match="line break"):
            encode_row(event, header)
        return
    row = encode_row(event, header)
    assert b"\n" not in row
    assert decode_row(row, header, lambda name: declared) == event


@given(st.data(), event_types)
def test_decode_row_has_the_faults_of_json_lines(data: st.DataObject, declared: EventType) -> None:
    """Any JSON in the cells: a row is refused, attribute by attribute, as the line is that it stands for."""
    values = {name: data.draw(json_values.filter(lambda one: not isinstance(one, str))) for name in declared.attributes}
    event = Event("1", "/a", "n.T", data=values)
    header = read_header(columns_of(declared))
    # A text reads a cell as it is, so it takes numbers that JSON Lines refuse.
    assume(not any(one.kind in (Kind.STRING, Kind.BYTES) for one in declared.attributes.values()))
    try:
        row = encode_row(event, header)
    except Misuse:
        return
    by_row, by_line = decode_row(row, header, lambda name: declared), decode(encode(event), lambda name: declared)
    assert _codes(by_row).keys() == _codes(by_line).keys()


def _codes(found: Event | Rejected) -> dict[str, str]:
    return {one.path: one.code for one in found.faults} if isinstance(found, Rejected) else {}


@given(st.binary(max_size=60), st.binary(max_size=30))
def test_decode_row_of_anything_never_fails(row: bytes, header: bytes) -> None:
    for types in (None, lookup):
        assert isinstance(decode_row(row, read_header(header), types), Event | Rejected)


def test_encode_row_refuses_line_breaks() -> None:
    with pytest.raises(Misuse, match="line break"):
        encode_row(Event("1", "/a", "T", data={"x": "a\nb"}), read_header(b"id,source,type,x"))
