"""Generated records for the types of a federation: events as they should be, and everything that sources send instead.

As in `comity.testing.federations` all choices are made by a `random.Random`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec

from comity.event.event import Event
from comity.event.formats.jsonlines import encode
from comity.event.kinds import INT_MAX, INT_MIN, Kind, Point, Value
from comity.event.types import AttributeType, EventType

NOW = datetime(2026, 6, 15, 12, 30, tzinfo=UTC)
"""The time at which the records come."""

_INTS = (0, 1, -1, 2, 3, 7, 2**53 + 1, INT_MAX, INT_MIN)
_FLOATS = (0.0, -0.0, 0.5, 1.0, -2.5, 3.0, 20.0, 68.0, 293.15, 2.0**53, 1e300, 5e-324, -1.7976931348623157e308)
_TEXTS = (
    "",
    "a",
    "b",
    "ab",
    "AB",
    "Straße",
    "😀",
    "a'b",
    'a"b\\',
    "a,b",
    " a ",
    "\x00",
    "\u2028\x85",
    "e\u0301",
    "İ",
    "null",
)
_BROKEN_TEXTS = ("a\nb", "\r", "a\r\nb")
_MOMENTS = (
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1582, 10, 10, 3, 4, 5, tzinfo=UTC),
    datetime(1883, 11, 18, 12, 3, 58, 999_999, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
)
_SPANS = (
    timedelta(),
    timedelta(microseconds=1),
    timedelta(minutes=5),
    timedelta(days=-1.5),
    timedelta(microseconds=INT_MAX),
    timedelta(microseconds=-INT_MAX),
)
_SOURCES = ("/a", "/b/ü", "urn:x?y=1#z")
Record = dict[str, Any]
Change = Callable[[Random, Record, EventType], "Record | bytes"]


def good_events(chance: Random, types: Sequence[EventType], count: int, *, line_breaks: bool = True) -> list[Event]:
    """Events that fit their types; some come again."""
    events: list[Event] = []
    for number in range(count):
        if events and chance.random() < 0.1:
            events.append(chance.choice(events))
        else:
            events.append(_event(chance, chance.choice(types), number, line_breaks))
    return events


def _event(chance: Random, type: EventType, number: int, line_breaks: bool) -> Event:
    texts = _TEXTS + _BROKEN_TEXTS if line_breaks else _TEXTS
    return Event(
        f"{number}{chance.choice(('', '', 'ß', ' x', chr(34)))}",
        chance.choice(_SOURCES),
        type.qualified_name,
        NOW - timedelta(microseconds=chance.choice((0, 1, 999_000_000, chance.randrange(10**14)))),
        _struct(chance, type.attributes, texts),
        chance.choice((None, None, "a", "Straße")),
        chance.choice((None, None, 3, 4, INT_MAX)),
        chance.choice((None, "live", "past", "replay")),
        chance.choice((None, None, "1", "2.0")),
    )


def _struct(chance: Random, attributes: Any, texts: Sequence[str]) -> dict[str, Value]:
    return {
        name: _value(chance, one, texts)
        for name, one in attributes.items()
        if not one.optional or chance.random() < 0.7
    }


def _value(chance: Random, declared: AttributeType, texts: Sequence[str]) -> Value:
    match declared.kind:
        case Kind.STRUCT:
            return _struct(chance, declared.attributes, texts)
        case Kind.LIST:
            assert declared.element is not None
            return [_value(chance, declared.element, texts) for _ in range(chance.choice((0, 1, 2)))]
        case Kind.POINT:
            return Point(chance.choice(_FLOATS), chance.choice((0.0, 1.5)))
        case Kind.BOOL:
            return chance.random() < 0.5
        case Kind.BYTES:
            return chance.choice((b"", b"\x00", b"ab\xff"))
        case Kind.INT:
            return chance.choice((*_INTS, chance.randint(-4, 4), chance.randint(-4, 4)))
        case Kind.FLOAT:
            return chance.choice((*_FLOATS, chance.uniform(-5, 80), float(chance.randint(-4, 80))))
        case Kind.STRING:
            return chance.choice(texts)
        case Kind.TIMESTAMP:
            return chance.choice((*_MOMENTS, NOW - timedelta(seconds=chance.randint(0, 10**8))))
        case Kind.DURATION:
            return chance.choice((*_SPANS, timedelta(seconds=chance.randint(-200_000, 200_000))))
    raise AssertionError(declared.kind)


def lines(chance: Random, events: Sequence[Event], types: Sequence[EventType], odd: int) -> list[bytes]:
    """Lines of CloudEvents JSON: the events, each spelt in some way, and among them so many odd ones."""
    by_name = {one.qualified_name: one for one in types}
    found = [_spelt(chance, event) for event in events]
    for number in range(odd if events else 0):
        event = chance.choice(events)
        record = msgspec.json.decode(encode(msgspec.structs.replace(event, id=f"odd {number}")))
        changed = chance.choice(_CHANGES)(chance, record, by_name[event.type])
        line = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
        found.insert(chance.randint(0, len(found)), line)
    return found


def _spelt(chance: Random, event: Event) -> bytes:
    """The same event in one of the forms that JSON has for it."""
    line = encode(event)
    if chance.random() < 0.6:
        return line
    record = msgspec.json.decode(line)
    if chance.random() < 0.5:
        record |= {"traceparent": "00-1", "datacontenttype": "application/json"}
        record["data"] |= {"unheard": {"of": [1, None]}}
    if "sequence" in record and chance.random() < 0.5:
        record["sequence"] = int(record["sequence"])
    entries = list(record.items())
    chance.shuffle(entries)
    text = json.dumps(dict(entries), ensure_ascii=chance.random() < 0.5, indent=None, separators=chance.choice(_SPACES))
    return text.encode() + chance.choice((b"", b" ", b"\r"))


_SPACES = ((",", ":"), (", ", ": "), (" ,", " : "))

# What sources send instead. Each takes a good record and its type.


def _with(**parts: Any) -> Change:
    return lambda chance, record, type: {**record, **parts}


def _as(*texts: bytes) -> Change:
    return lambda chance, record, type: chance.choice(texts)


def _without(*names: str) -> Change:
    def change(chance: Random, record: Record, type: EventType) -> Record:
        left_out = chance.choice(names)
        return {name: value for name, value in record.items() if name != left_out}

    return change


def _wrong_attribute(chance: Random, record: Record, type: EventType) -> Record:
    """An attribute of a kind that is wrong for most of them, right for some."""
    odd: tuple[Any, ...] = (
        None,
        True,
        5,
        5.0,
        -1.5,
        "x",
        "",
        "5 min",
        "2024-02-30T00:00:00Z",
        "!!!",
        2**63,
        -(2**70),
        [],
        [1],
        [None],
    )
    value = chance.choice((*odd, {}, {"x": 1}, {"x": 1, "y": "2"}, [1, 2], {"deep": 1.0}, {"ports": None}, 1e999))
    names = list(type.attributes) or ["none"]
    return {**record, "data": {**record["data"], chance.choice(names): value}}


def _less(chance: Random, record: Record, type: EventType) -> Record:
    names = [name for name in record["data"] if chance.random() < 0.5]
    return {**record, "data": {name: record["data"][name] for name in names}}


def _cut(chance: Random, record: Record, type: EventType) -> bytes:
    line = json.dumps(record).encode()
    return line[: chance.randrange(1, len(line))]


def _repeated_key(chance: Random, record: Record, type: EventType) -> bytes:
    return b'{"id":"first","type":5,' + json.dumps(record).encode()[1:]


def _deep(chance: Random, record: Record, type: EventType) -> bytes:
    levels = chance.choice((10, 100, 5_000))
    return json.dumps({**record, "deep": None}).encode()[:-5] + b"[" * levels + b"]" * levels + b"}"


def _oversized(chance: Random, record: Record, type: EventType) -> Record:
    return {**record, "padding": chance.choice(("x", "ß")) * OVERSIZED}


OVERSIZED = 25_000
"""Characters that make a line too long, if `max_record_bytes` is set to a tenth or so of what it is."""

_CHANGES: tuple[Change, ...] = (
    _wrong_attribute,
    _wrong_attribute,
    _wrong_attribute,
    _less,
    _less,
    _cut,
    _repeated_key,
    _deep,
    _oversized,
    _without("id", "source", "type", "time", "data", "specversion"),
    _with(type="nobody.Knows"),
    _with(type="Reading"),
    _with(type=""),
    _with(time="1960-01-01T00:00:00Z"),
    _with(time="2999-01-01T00:00:00Z"),
    _with(time="2026-06-15T14:30:00+02:00"),
    _with(time="yesterday"),
    _with(time=1),
    _with(id=7),
    _with(source=""),
    _with(subject=""),
    _with(subject=None),
    _with(sequence="x1"),
    _with(sequence=2**63),
    _with(mode="later"),
    _with(data=None),
    _with(data=[1]),
    _with(data_base64="AA=="),
    _with(specversion="0.3"),
    _with(typeversion=2),
    _with(subject="😀 \x00"),
    lambda chance, record, type: json.dumps({**record, "subject": "\ud800"}).encode(),
    lambda chance, record, type: json.dumps({**record, "data": {"n": float("nan")}}).encode(),
    lambda chance, record, type: json.dumps(record).encode() + b" trailing",
    lambda chance, record, type: b"\xff\xfe" + json.dumps(record).encode(),
    _as(b"", b" ", b"\t \r", b"null", b"[]", b"{}", b"5", b'"text"', b"{broken", b"\x00", b"// no"),
)
