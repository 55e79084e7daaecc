"""CloudEvents lines: what is read, what is rejected and why, and that writing and reading are inverse."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.event import AttributeType, Event, EventType, Kind, Point, Rejected, Taxonomy, decode, encode, write_events
from comity.event.formats.jsonlines import MAX_FAULTS, fitting, line_of
from comity.limits import limited

from .generate import event_types, events, json_values, structs, texts

ALARM = EventType("Alarm", "house", abstract=True)
FIRE = EventType(
    "Fire",
    "house",
    ALARM,
    own={"heat": AttributeType(Kind.FLOAT), "since": AttributeType(Kind.TIMESTAMP, optional=True)},
)
HOUSE = Taxonomy("house", [ALARM, FIRE])


def line(**changes: Any) -> bytes:
    record = {"specversion": "1.0", "id": "1", "source": "/a", "type": "house.Fire", "data": {"heat": 40}} | changes
    return json.dumps({key: value for key, value in record.items() if value is not ...}).encode()


def event_of(text: bytes, types: Any = None, **options: Any) -> Event:
    found = decode(text, types, **options)
    assert isinstance(found, Event), found
    return found


def faults_of(text: bytes, types: Any = None, **options: Any) -> list[tuple[str, str]]:
    found = decode(text, types, **options)
    assert isinstance(found, Rejected), found
    return [(fault.path, fault.code) for fault in found.faults]


def test_decode_without_types_keeps_json() -> None:
    data = {"a": 1, "b": 1.0, "c": [True, None, "x"], "d": {"e": None}}
    event = event_of(line(data=data))
    assert event.data == {"a": 1, "b": 1.0, "c": [True, None, "x"], "d": {}}
    assert type(event.data["a"]) is int
    assert type(event.data["b"]) is float


def test_decode_whole_envelope() -> None:
    text = line(
        time="2024-05-01T12:00:00.5Z", subject="s", sequence="12", mode="past", typeversion="2", other="dropped"
    )
    time = datetime(2024, 5, 1, 12, 0, 0, 500_000, tzinfo=UTC)
    assert event_of(text) == Event("1", "/a", "house.Fire", time, {"heat": 40}, "s", 12, "past", "2")


def test_decode_with_types() -> None:
    event = event_of(line(type="Fire", data={"heat": 40, "since": "2024-05-01T12:00:00Z", "colour": 1}), HOUSE)
    assert event.type == "house.Fire"
    assert event.data == {"heat": 40.0, "since": datetime(2024, 5, 1, 12, tzinfo=UTC)}
    assert event_of(line(), {"house.Fire": FIRE}.get).data == {"heat": 40.0}


@pytest.mark.parametrize("missing", ["specversion", "data", "time"])
def test_decode_may_lack(missing: str) -> None:
    assert event_of(line(**{missing: ...})).id == "1"
    assert event_of(line(data=None)).data == {}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"specversion": "0.3"}, ("specversion", "bad-specversion")),
        ({"specversion": 1}, ("specversion", "bad-specversion")),
        ({"id": ...}, ("event.id", "missing")),
        ({"id": ""}, ("event.id", "wrong-kind")),
        ({"id": 5}, ("event.id", "wrong-kind")),
        ({"source": None}, ("event.source", "missing")),
        ({"type": ["x"]}, ("event.type", "wrong-kind")),
        ({"time": "2024-05-01T12:00:00"}, ("event.time", "bad-timestamp")),
        ({"time": 5}, ("event.time", "bad-timestamp")),
        ({"subject": ""}, ("event.subject", "wrong-kind")),
        ({"sequence": 1.5}, ("event.sequence", "bad-sequence")),
        ({"sequence": True}, ("event.sequence", "bad-sequence")),
        ({"sequence": "a1"}, ("event.sequence", "bad-sequence")),
        ({"sequence": 2**63}, ("event.sequence", "bad-sequence")),
        ({"sequence": str(2**63)}, ("event.sequence", "bad-sequence")),
        ({"mode": "dead"}, ("event.mode", "bad-mode")),
        ({"mode": ["live"]}, ("event.mode", "bad-mode")),
        ({"typeversion": 2}, ("event.typeversion", "wrong-kind")),
        ({"data": [1]}, ("data", "wrong-kind")),
        ({"data": "text"}, ("data", "wrong-kind")),
        ({"data_base64": "aGk="}, ("data_base64", "binary-data")),
        ({"data": {"a": 2**63}}, ("a", "out-of-range")),
        ({"data": {"a": [10**30]}}, ("a[0]", "out-of-range")),
    ],
)
def test_decode_rejects(changes: dict[str, Any], fault: tuple[str, str]) -> None:
    assert faults_of(line(**changes)) == [fault]


def test_decode_time_may_be_required() -> None:
    assert faults_of(line(), require_time=True) == [("event.time", "missing")]


def test_decode_with_types_rejects() -> None:
    assert faults_of(line(type="house.Flood"), HOUSE) == [("event.type", "unknown-type")]
    assert faults_of(line(type="Alarm"), HOUSE) == [("event.type", "abstract-type")]
    assert faults_of(line(type="Event"), HOUSE) == [("event.type", "abstract-type")]
    assert faults_of(line(id=5, data={"since": "now"}), HOUSE) == [
        ("event.id", "wrong-kind"),
        ("heat", "missing"),
        ("since", "bad-timestamp"),
    ]


PREFIX = b'{"id": "1", "source": "/a", "type": "T", "data": '


@pytest.mark.parametrize(
    ("text", "path", "code", "column"),
    [
        (b"", "", "truncated-json", 1),
        (b'{"id": "1", ', "", "truncated-json", 13),
        (b'{"id": "1', "", "truncated-json", 8),
        (b'{"id": nul}', "", "bad-json", 8),
        (b'{"id": "1"} x', "", "bad-json", 13),
        (b"{'id': 1}", "", "bad-json", 2),
        (b'{"id": 01}', "", "bad-json", 9),
        (b'{"id": "a\x01"}', "", "bad-json", 10),
        (b'{"id": "\xff"}', "", "not-utf-8", 9),
        (b'{"id": "\xed\xa0\x80"}', "", "not-utf-8", 9),
        (b"\xff\xfe{\x00}\x00", "", "not-utf-8", 1),
        (b"[1]", "", "not-an-object", None),
        (b"5", "", "not-an-object", None),
        (b"null", "", "not-an-object", None),
        (PREFIX + b'{"a": NaN}}', "a", "not-finite", None),
        (PREFIX + b'{"a": [0, -Infinity]}}', "a[1]", "not-finite", None),
        (b'{"id": NaN}', "event.id", "not-finite", None),
        (PREFIX + b'{"a": 1e400}}', "a", "not-finite", None),
        (PREFIX + b'{"a": "x\\ud800"}}', "a", "bad-text", None),
        (PREFIX + b'{"\\udc00": 1}}', "\\udc00", "bad-text", None),
        (PREFIX + b'{"a": ' + b"9" * 6000 + b"}}", "a", "not-finite", None),
        (PREFIX + b'{"a": ' + b"9" * 900 + b"}}", "a", "out-of-range", None),
        (b"[" * 100_000, "", "too-deep", None),
        (PREFIX + b"[" * 5000 + b"]" * 5000 + b"}", "", "too-deep", None),
        (PREFIX + b'{"a":' + b"[" * 100 + b"]" * 100 + b"}}", "a" + "[0]" * 63, "too-deep", None),
    ],
)
def test_decode_bad_lines(text: bytes, path: str, code: str, column: int | None) -> None:
    found = decode(text)
    assert isinstance(found, Rejected)
    assert [(fault.path, fault.code, fault.column) for fault in found.faults] == [(path, code, column)]


def test_decode_nan_in_an_unnamed_attribute_is_still_no_json() -> None:
    assert faults_of(b'{"id":"1","source":"/a","type":"Fire","data":{"heat":1,"x":NaN}}', HOUSE) == [
        ("x", "not-finite")
    ]


def test_decode_duplicate_keys_last_wins() -> None:
    assert event_of(PREFIX + b'{"a": 1, "a": 2}}').data == {"a": 2}


def test_rejected_is_bounded_and_plain() -> None:
    with limited(max_rejected_chars=10):
        found = decode(b'{"id": "\xff' + b"x" * 1000, line_number=3, source_file="f.jsonl")
    assert isinstance(found, Rejected)
    assert found.raw == '{"id": "\\x'
    shape = found.as_dict()
    assert (shape["file"], shape["line"]) == ("f.jsonl", 3)
    json.dumps(shape, allow_nan=False).encode()


def test_rejected_faults_are_bounded() -> None:
    found = decode(line(data={"a": [2**70] * 500}))
    assert isinstance(found, Rejected)
    assert len(found.faults) == MAX_FAULTS + 1
    assert found.faults[-1].reason == "400 more faults"


def test_decode_too_long() -> None:
    with limited(max_record_bytes=20):
        assert faults_of(line()) == [("", "too-long")]


def test_encode_typed_values() -> None:
    data: dict[str, Any] = {
        "t": datetime(2024, 5, 1, tzinfo=UTC),
        "d": timedelta(minutes=5),
        "b": b"hi",
        "p": Point(1.0, 2.0),
        "n": None,
    }
    record = json.loads(encode(Event("1", "/a", "T", data["t"], data, "s", 7, "live", "2")))
    assert record == {
        "specversion": "1.0",
        "id": "1",
        "source": "/a",
        "type": "T",
        "time": "2024-05-01T00:00:00Z",
        "subject": "s",
        "sequence": "7",
        "mode": "live",
        "typeversion": "2",
        "data": {"t": "2024-05-01T00:00:00Z", "d": "PT5M", "b": "aGk=", "p": {"x": 1.0, "y": 2.0}},
    }


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, 2**63, "\ud800", object(), {"a": [math.nan]}, Point(math.nan, 0.0), datetime(2024, 5, 1)],
)
def test_encode_refuses_what_no_event_carries(value: Any) -> None:
    with pytest.raises(Misuse) as caught:
        encode(Event("1", "/a", "T", data={"x": value}))
    assert caught.value.code == "not-encodable"
    str(caught.value).encode()


@given(st.data())
def test_round_trip_typed(data: st.DataObject) -> None:
    type = data.draw(event_types)
    event = data.draw(events(type.qualified_name, structs(type.attributes)))
    assert decode(encode(event), {type.qualified_name: type}.get) == event


@given(events("any.Type", st.dictionaries(texts, json_values, max_size=4)))
def test_round_trip_open(event: Event) -> None:
    text = encode(event)
    assert b"\n" not in text
    found = event_of(text)
    assert found == event
    assert repr(found.data) == repr(event.data)  # 1, 1.0 and true are equal, but not the same


@given(st.binary(max_size=60) | st.builds(lambda value: json.dumps(value).encode(), json_values))
def test_decode_any_line_gives_an_answer(text: bytes) -> None:
    found = decode(text, HOUSE)
    assert isinstance(found, Rejected)
    assert found.faults
    json.dumps(found.as_dict()).encode()


@given(st.integers(0, 200))
def test_decode_cut_line_is_rejected(length: int) -> None:
    whole = line(time="2024-05-01T12:00:00Z", subject="é")
    cut = whole[: min(length, len(whole) - 1)]
    assert isinstance(decode(cut), Rejected)


def test_write_events(tmp_path: Any) -> None:
    path = tmp_path / "out.jsonl"
    with path.open("wb") as stream:
        assert write_events([Event("1", "a", "T"), Event("2", "a", "T")], stream) == 2
    assert [event_of(text).id for text in path.read_bytes().splitlines()] == ["1", "2"]


_NAIVE, _DAY = datetime(2026, 11, 1), date(2026, 11, 1)
_BEYOND = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12)))
_NOON = datetime(2026, 11, 1, 12, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"time": _NOON},
        {"data": {"heat": 40, "since": _NOON}},
        *({"time": time} for time in (_NAIVE, _DAY, _BEYOND, 1.7e9, "yesterday", "2026-11-01T12:00:00Z")),
        *({"data": {"heat": heat}} for heat in (math.nan, -math.inf, 10**400, "hot", True, None, _NOON, object())),
        *({"data": data} for data in (None, [1], {"heat": 40.0, 5: 6})),
        *({"id": id} for id in ("", 5, None, "\ud800")),
        *({"source": source} for source in ("", None, 7)),
        *({"type": type} for type in (7, "house.Flood", "house.Alarm")),
    ],
)
def test_what_a_program_made_is_read_back_as_it_was_taken(changes: dict[str, Any]) -> None:
    record = {"id": "1", "source": "/a", "type": "house.Fire", "data": {"heat": 40}} | changes
    for made in (record, Event(**record)):
        taken, read = (fitting(made, HOUSE), decode(line_of(made), HOUSE))
        assert isinstance(read, Rejected) is isinstance(taken, Rejected)
        assert isinstance(taken, Rejected) or read == taken


@pytest.mark.parametrize("nothing", [None, 42, [1], "text", object()])
def test_what_is_no_record_is_rejected(nothing: Any) -> None:
    assert isinstance(fitting(nothing, HOUSE), Rejected)
    assert isinstance(decode(line_of(nothing), HOUSE), Rejected)
