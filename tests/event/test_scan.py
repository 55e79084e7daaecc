"""The scanner: each line is doubtful, or what the decoder makes of it; ordinary lines are never doubtful."""

from __future__ import annotations

import json
import math
import pickle
import random
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.compiled import fingerprint
from comity.event import AttributeType, Event, EventType, Kind, Point, Rejected, decode, encode
from comity.event.kinds import timestamp_from_microseconds, to_microseconds
from comity.event.scan.kernels import lines
from comity.event.scan.scanner import LineScanner, Scanned
from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.limits import limited
from comity.match.index import ProfileIndex

from .generate import attribute_types, events, names, structs, texts

DEVICE = AttributeType(
    Kind.STRUCT,
    optional=True,
    attributes={
        "serial": AttributeType(Kind.STRING),
        "at": AttributeType(Kind.POINT, optional=True),
        "maker": AttributeType(
            Kind.STRUCT, optional=True, attributes={"since": AttributeType(Kind.TIMESTAMP, optional=True)}
        ),
    },
)
FIRE = EventType(
    "Fire",
    "house",
    own={
        "heat": AttributeType(Kind.FLOAT),
        "rooms": AttributeType(Kind.INT, optional=True),
        "who": AttributeType(Kind.STRING, optional=True),
        "tested": AttributeType(Kind.BOOL, optional=True),
        "since": AttributeType(Kind.TIMESTAMP, optional=True),
        "device": DEVICE,
        "lasted": AttributeType(Kind.DURATION, optional=True),
        "größe": AttributeType(Kind.INT, optional=True),
    },
)
QUIET = EventType("Quiet", "house", own={"note": AttributeType(Kind.STRING, optional=True)})
ALARM = EventType("Alarm", "house", abstract=True)
HOUSE = [ALARM, FIRE, QUIET]


# Comparing


def lookup(types: Sequence[EventType]) -> Mapping[str, EventType]:
    by_name = {one.qualified_name: one for one in types}
    if len({one.namespace for one in types}) == 1:
        by_name |= {one.name: one for one in types}
    return by_name


def value_of(scalar: pa.Scalar, attribute: AttributeType) -> Any:
    """The value in a column as an event carries it; None when it is missing."""
    if not scalar.is_valid:
        return None
    if attribute.kind is Kind.STRUCT:
        return struct_of(scalar, attribute.attributes)
    if attribute.kind is Kind.POINT:
        return Point(scalar["x"].as_py(), scalar["y"].as_py())
    return timestamp_from_microseconds(scalar.value) if attribute.kind is Kind.TIMESTAMP else scalar.as_py()


def struct_of(row: Any, attributes: Mapping[str, AttributeType]) -> dict[str, Any]:
    found = {name: value_of(row[name], one) for name, one in attributes.items()}
    return {name: value for name, value in found.items() if value is not None}


def event_of(type: EventType, batch: pa.RecordBatch, row: int) -> Event:
    envelope = {name: batch[f"event.{name}"][row].as_py() for name in ("id", "source", "type", "subject", "sequence")}
    envelope |= {name: batch[f"event.{name}"][row].as_py() for name in ("mode", "version")}
    time = value_of(batch["event.time"][row], AttributeType(Kind.TIMESTAMP))
    data = struct_of({name: batch[name][row] for name in type.attributes}, type.attributes)
    return Event(time=time, data=data, **envelope)


def check(scanned: Scanned, types: Sequence[EventType], lines: Sequence[bytes], require_time: bool = False) -> set[int]:
    """Compares what was scanned with the decoder, bit for bit; gives the doubtful lines."""
    find = lookup(types).get
    doubtful = scanned.doubtful.tolist()
    places = sorted([*doubtful, *(row for group in scanned.groups for row in group.rows.tolist())])
    assert places == [number for number, line in enumerate(lines) if line and not line.isspace()]
    assert doubtful == sorted(doubtful)
    for type, rows, batch in scanned.groups:
        batch.validate(full=True)
        assert len(rows) == batch.num_rows > 0
        assert (np.diff(rows) > 0).all()
        for row, number in enumerate(rows.tolist()):
            expected = decode(lines[number], find, require_time=require_time)
            assert isinstance(expected, Event), (lines[number], expected)
            # repr tells 1 from 1.0 and true, and 0.0 from -0.0
            assert repr(event_of(type, batch, row)) == repr(expected), lines[number]
    return set(doubtful)


def scan(types: Sequence[EventType], lines: Sequence[bytes], **options: Any) -> set[int]:
    """The doubtful lines, after comparing the others; also when lines are the last of their memory, and when not."""
    options.setdefault("require_time", False)
    scanner = LineScanner(types, **options)
    padded = pa.array([b"{", *lines, b'"' + b" " * 64], pa.binary())[1:-1]
    found = check(scanner.scan(padded), types, lines, options["require_time"])
    alone = check(scanner.scan(pa.array(lines, pa.large_binary())), types, lines, options["require_time"])
    assert alone == found
    return found


def fire(envelope: str = "", **data: Any) -> bytes:
    text = json.dumps({"heat": 40.5} | data)
    return f'{{"id":"1","source":"/a","type":"house.Fire"{envelope},"data":{text}}}'.encode()


# Writing JSON in odd ways


def spell_number(value: int | float, chance: random.Random) -> str:
    if isinstance(value, int):
        return str(value)
    exact = Decimal(value)
    beside = exact + (Decimal(math.nextafter(value, math.inf)) - exact) / 2 if abs(value) < 1e300 else exact
    spelt = [repr(value), f"{value:.25e}", f"{value:.17G}", f"{exact:.40e}", f"{beside:.30e}", f"{beside:e}"]
    if 1e-30 < abs(value) < 1e30:
        spelt += [f"{exact:f}", f"{value:.30f}", f"{exact:f}" + ("000" if value % 1 else ".000")]
    return chance.choice(spelt)


def spell_text(text: str, chance: random.Random) -> str:
    spelt = [json.dumps(text), json.dumps(text, ensure_ascii=False)]
    units = text.encode("utf-16-be")
    spelt.append('"' + "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2)) + '"')
    return chance.choice(spelt)


def spell(value: Any, chance: random.Random) -> str:
    """A JSON text of a value, with odd white space, order, escapes and numbers, nulls and unknown keys."""

    def blank() -> str:
        return "".join(chance.choices(" \t\r\n", k=chance.choice([0, 0, 0, 0, 1, 2])))

    if isinstance(value, dict):
        items = [(spell_text(name, chance), spell(item, chance)) for name, item in value.items()]
        if chance.random() < 0.2:
            items.append((spell_text(chance.choice(["other", "é", "a b"]), chance), spell([1, {"a": None}], chance)))
        if chance.random() < 0.05 and items:
            items.append((chance.choice(items)[0], chance.choice(["null", "1", '"a"', "{}"])))
        if chance.random() < 0.5:
            chance.shuffle(items)
        inside = ",".join(f"{blank()}{name}{blank()}:{blank()}{item}{blank()}" for name, item in items)
        return f"{{{inside or blank()}}}"
    if isinstance(value, list):
        return "[" + ",".join(blank() + spell(item, chance) + blank() for item in value) + "]"
    if isinstance(value, str):
        return spell_text(value, chance)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return spell_number(value, chance)
    return json.dumps(value)


INTERESTING = b'{}[]",:\\ \t\r\n\x0b0123456789-+eEu.tfn/aZ\x00\x1f\x7f\x80\xbf\xc3\xed\xf4\xff'


def mutate(line: bytes, chance: random.Random) -> bytes:
    found = bytearray(line)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        at = chance.randrange(len(found) + 1)
        change = chance.randrange(6)
        if change == 0:
            found[at : at + 1] = bytes([chance.choice(INTERESTING)])
        elif change == 1:
            found[at:at] = bytes([chance.choice(INTERESTING)])
        elif change == 2:
            del found[at : at + chance.choice([1, 1, 2, 8])]
        elif change == 3 and at < len(found):
            found[at] ^= 1 << chance.randrange(8)
        elif change == 4:
            del found[at:]
        else:
            other = chance.randrange(len(found) + 1)
            found[at:at] = found[other : other + chance.choice([1, 4, 16])]
    return bytes(found)


def has_refused(value: Any) -> bool:
    """Whether a value is of a kind whose lines are doubtful, or holds one."""
    if isinstance(value, dict):
        return any(has_refused(item) for item in value.values())
    return isinstance(value, timedelta | bytes | list)


@st.composite
def typed_events(draw: st.DrawFn) -> tuple[list[EventType], list[Event]]:
    """Some types, and events of them."""
    attributes = st.dictionaries(names | texts.filter(lambda name: name != "event"), attribute_types, max_size=5)
    count = draw(st.integers(1, 3))
    namespaces = draw(st.lists(st.sampled_from(["n", "m"]), min_size=count, max_size=count))
    types = [EventType(f"T{i}", namespaces[i], own=draw(attributes)) for i in range(count)]
    found = []
    for _ in range(draw(st.integers(1, 6))):
        one = draw(st.sampled_from(types))
        found.append(draw(events(one.qualified_name, structs(one.attributes))))
    return types, found


def is_plain_type(type: EventType) -> bool:
    """Whether JSON writes all names as they are."""

    def is_plain(attributes: Mapping[str, AttributeType]) -> bool:
        return all(json.dumps(name, ensure_ascii=False) == f'"{name}"' for name in attributes) and all(
            is_plain(one.attributes) for one in attributes.values()
        )

    return is_plain(type.attributes)


@given(typed_events(), st.booleans())
def test_scan_ordinary_lines_are_never_doubtful(drawn: Any, require_time: bool) -> None:
    types, found = drawn
    doubtful = scan(types, [encode(event) for event in found], require_time=require_time)
    by_name = lookup(types)
    for number, event in enumerate(found):
        lacks_time = require_time and event.time is None
        is_ordinary = is_plain_type(by_name[event.type]) and not has_refused(event.data) and not lacks_time
        assert (number in doubtful) <= (not is_ordinary), encode(event)


@given(typed_events(), st.integers(0, 2**32), st.booleans())
def test_scan_odd_lines_agree_with_decode(drawn: Any, seed: int, require_time: bool) -> None:
    types, found = drawn
    chance = random.Random(seed)
    lines = [spell(json.loads(encode(event)), chance).encode() for event in found]
    scan(types, lines, require_time=require_time)


@given(typed_events(), st.integers(0, 2**32))
def test_scan_broken_lines_agree_with_decode(drawn: Any, seed: int) -> None:
    types, found = drawn
    chance = random.Random(seed)
    lines = [encode(event) for event in found] + [spell(json.loads(encode(event)), chance).encode() for event in found]
    scan(types, [mutate(chance.choice(lines), chance) for _ in range(30)])


WHOLE = (
    b'{"specversion":"1.0","id":"1","source":"/a","type":"house.Fire","time":"2024-05-01T12:00:00.5+02:00","subject":"s"'
    b',"sequence":"12","mode":"past","typeversion":"2","data":{"heat":-1.5e3,"rooms":-4,"who":"a\\n\\u00e9\xc3\xa9\\ud83d'
    b'\\ude00","tested":true,"since":"2024-02-29T00:00:00Z","other":[{"a":[1,null,{}]},-0.5e-1,"\\"",false],"device":{'
    b'"serial":"x","at":[1,2.5],"maker":{"since":null},"more":{}}}}'
)


def test_scan_every_cut_and_every_byte_changed() -> None:
    assert scan(HOUSE, [WHOLE]) == set()
    cuts = [WHOLE[:end] for end in range(len(WHOLE))]
    assert scan(HOUSE, cuts) == set(range(1, len(cuts)))
    chance = random.Random(5)
    changed = []
    for at in range(len(WHOLE)):
        for byte in chance.sample(INTERESTING, 8):
            changed.append(WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :])
            changed.append(WHOLE[:at] + bytes([byte]) + WHOLE[at:])
        changed.append(WHOLE[:at] + WHOLE[at + 1 :])
    scan(HOUSE, changed)


def test_scan_odd_lines_are_doubtful_only_for_keys_that_come_twice() -> None:
    def has_twice(line: str) -> bool:
        counts: list[bool] = []
        json.loads(line, object_pairs_hook=lambda pairs: counts.append(len(dict(pairs)) < len(pairs)))
        return any(counts)

    record = json.loads(WHOLE) | {"time": None, "sequence": 5}  # nobody writes a time with escapes
    record["data"] |= {"heat": 7, "since": None, "device": {"serial": "", "at": {"x": 1, "y": 2}}}
    chance = random.Random(4)
    lines = [spell(record, chance) for _ in range(1_000)]
    twice = {number for number, line in enumerate(lines) if has_twice(line)}
    assert 0 < len(twice) < 500
    assert scan(HOUSE, [line.encode() for line in lines]) <= twice


# Lines that were written by hand

VOUCHED = [
    fire(),
    fire() + b"\r",
    b" \t" + fire() + b" \r\n",
    fire().replace(b":", b" :\t").replace(b",", b" ,\n"),
    fire().replace(b"house.Fire", b"Fire"),
    fire(',"specversion":"1.0"'),
    fire(',"sequence":"-0"'),
    fire(',"sequence":-9223372036854775808'),
    fire(',"sequence":"9223372036854775807"'),
    fire(',"sequence":"0000000000000000012"'),
    fire(',"sequence":null,"mode":null,"subject":null,"typeversion":null,"time":null'),
    fire(',"mode":"replay","subject":"\\u0000","typeversion":"\\/"'),
    fire(',"time":"2024-05-01t12:00:00.123456789012345678901234567890z"'),
    fire(',"time":"0001-01-01T00:00:00-00:00"'),
    fire(',"time":"9999-12-31T23:59:59.9999999+00:00"'),
    fire(',"extension":{"a":[1,2,{"b":"\\u00e9"}]},"another":12345678901234567890123,"e":1e-200'),
    fire(',"mod\\u0065":"live"'),
    fire(heat=-0.0),
    fire(heat=0),
    fire(heat=12345678901234567890123),
    fire(heat=5e-324),
    fire(heat=1.7976931348623157e308),
    fire().replace(b"40.5", b"-0"),
    fire().replace(b"40.5", b"-0e5"),
    fire().replace(b"40.5", b"1e-400"),
    fire().replace(b"40.5", b"0e99999999999999999999"),
    fire().replace(b"40.5", b"1E+05"),
    fire().replace(b"40.5", b"9007199254740993"),
    fire().replace(b"40.5", b"9007199254740992.99999999999999999999999"),
    fire(rooms=2**63 - 1),
    fire(rooms=-(2**63)),
    fire(rooms=None, who=None, device=None, größe=3),
    fire(who="", unknown="\U0001f600 \x7f"),
    fire(device={"serial": "a" * 100, "at": {"x": 1, "y": -0.0, "z": [1]}}),
    fire(device={"serial": "", "at": [0, 1e300], "maker": {}}),
    fire(device={"serial": "", "maker": {"since": "2000-02-29T23:59:59Z"}}),
    fire(lasted=None),
    b'{"data":{"heat":1},"type":"house.Fire","source":"/a","id":"1"}',
    b'{"data":null,"type":"house.Quiet","source":"/a","id":"1"}',
    b'{"type":"house.Quiet","source":"/a","id":"1"}',
    b'{"type":"house.Quiet","source":"/a","id":"1","data":{}}',
    b'{"type":"Quiet","source":"/a","id":"1","data": { } , "x":[[],{}, [ ] , { } ]}',
    fire(unknown=json.loads("[" * 50 + "]" * 50)),
]
DOUBTFUL = [
    b"{}",
    b"[]",
    b"null",
    b"{",
    b'"',
    b"\xef\xbb\xbf" + fire(),
    b"\x0b" + fire(),
    fire() + b"\x00",
    fire() + fire(),
    fire() + b",",
    fire()[:-1],
    fire()[:-1] + b",}",
    fire()[:-2] + b",}}",
    fire().replace(b'{"heat"', b'{,"heat"'),
    fire().replace(b": 40.5", b":"),
    fire().replace(b": 40.5", b""),
    fire(',"a":'),
    fire(',"a" 1'),
    fire(",a:1"),
    fire(',"a":[1,]'),
    fire(',"a":[1}'),
    fire(',"a":{"b":1]'),
    fire(',"a":{"b":}'),
    fire(',"a":{1:2}'),
    fire(',"a":tru'),
    fire(',"a":nul'),
    fire(',"a":truf'),
    fire(',"a":NaN'),
    fire(',"a":-Infinity'),
    fire(',"a":01'),
    fire(',"a":1.'),
    fire(',"a":.5'),
    fire(',"a":-'),
    fire(',"a":1e'),
    fire(',"a":1e+'),
    fire(',"a":+1'),
    fire(',"a":1e999'),
    fire(',"a":"\\ud800"'),
    fire(',"a":"\\udc00\\ud800"'),
    fire(',"a":"\\ud800\\u0041"'),
    fire(',"a":"\\x41"'),
    fire(',"a":"\\u00g1"'),
    fire(',"a":"\\"'),
    fire(',"a":"\t"'),
    fire(',"\\ud800":1'),
    fire(who="").replace(b'""', b'"\xc0\x80"'),
    fire(who="").replace(b'""', b'"\xed\xa0\x80"'),
    fire(who="").replace(b'""', b'"\xf4\x90\x80\x80"'),
    fire(who="").replace(b'""', b'"\xe2\x82"'),
    fire(who="").replace(b'""', b'"\xff"'),
    fire(who="").replace(b'""', b'"\x80"'),
    fire(who="").replace(b'""', b'"\xe0\x80\x80"'),
    fire(who="").replace(b'""', b'"\xf0\x80\x80\x80"'),
    fire(',"specversion":"1.1"'),
    fire(',"specversion":null'),
    fire(',"specversion":1.0'),
    fire(',"id":"1"'),
    fire(',"\\u0069d":"1"'),
    fire(',"data_base64":null'),
    fire(',"data_base64":"aGk="'),
    fire(',"sequence":1.0'),
    fire(',"sequence":""'),
    fire(',"sequence":"-"'),
    fire(',"sequence":"+1"'),
    fire(',"sequence":" 1"'),
    fire(',"sequence":"9223372036854775808"'),
    fire(',"sequence":"00000000000000000012"'),
    fire(',"sequence":9223372036854775808'),
    fire(',"sequence":true'),
    fire(',"mode":"LIVE"'),
    fire(',"mode":1'),
    fire(',"mode":[]'),
    fire(',"subject":""'),
    fire(',"subject":1'),
    fire(',"typeversion":""'),
    fire(',"time":"2024-05-01T12:00:00"'),
    fire(',"time":"2024-05-01 12:00:00Z"'),
    fire(',"time":"2023-02-29T12:00:00Z"'),
    fire(',"time":"1900-02-29T12:00:00Z"'),
    fire(',"time":"2024-04-31T12:00:00Z"'),
    fire(',"time":"2024-13-01T12:00:00Z"'),
    fire(',"time":"2024-00-01T12:00:00Z"'),
    fire(',"time":"2024-01-00T12:00:00Z"'),
    fire(',"time":"2024-05-01T24:00:00Z"'),
    fire(',"time":"2024-05-01T12:60:00Z"'),
    fire(',"time":"2024-05-01T12:00:60Z"'),
    fire(',"time":"2024-05-01T12:00:00.Z"'),
    fire(',"time":"2024-05-01T12:00:00.1"'),
    fire(f',"time":"2024-05-01T12:00:00.{"1" * 31}Z"'),
    fire(',"time":"2024-05-01T12:00:00+24:00"'),
    fire(',"time":"2024-05-01T12:00:00+02:60"'),
    fire(',"time":"2024-05-01T12:00:00+0200"'),
    fire(',"time":"2024-05-01T12:00:00Z "'),
    fire(',"time":"0000-05-01T12:00:00Z"'),
    fire(',"time":"0001-01-01T00:00:00+00:01"'),
    fire(',"time":"9999-12-31T23:59:59-00:01"'),
    fire(',"time":1714564800'),
    fire().replace(b'"1"', b'""'),
    fire().replace(b'"1"', b"1"),
    fire().replace(b'"1"', b"null"),
    fire().replace(b'"id":"1",', b""),
    fire().replace(b"house.Fire", b"house.Water"),
    fire().replace(b"house.Fire", b"house.Alarm"),
    fire().replace(b"house.Fire", b"house.Fir"),
    fire().replace(b"house.Fire", b"house.Fires"),
    fire().replace(b'"house.Fire"', b"7"),
    fire().replace(b'{"heat": 40.5}', b"{}"),
    fire().replace(b'{"heat": 40.5}', b"null"),
    fire().replace(b'{"heat": 40.5}', b"[]"),
    fire().replace(b'{"heat": 40.5}', b'"{}"'),
    fire().replace(b"40.5", b"null"),
    fire().replace(b"40.5", b'"40.5"'),
    fire().replace(b"40.5", b"true"),
    fire().replace(b"40.5", b"1e400"),
    fire().replace(b"40.5", b"1" * 310),
    fire().replace(b"40.5", b"40.5.5"),
    fire().replace(b"40.5", b"40.5 5"),
    fire().replace(b"40.5", b"40.5e5e5"),
    fire().replace(b"40.5}", b'40.5,"heat":41}'),
    fire(rooms=5.0),
    fire(rooms=2**63),
    fire(rooms=-(2**63) - 1),
    fire(rooms=10**19),
    fire(rooms=True),
    fire(rooms="5"),
    fire(who=5),
    fire(tested=1),
    fire(tested="true"),
    fire(since=5),
    fire(since="yesterday"),
    fire(device={}),
    fire(device=[]),
    fire(device={"serial": None}),
    fire(device={"serial": "a", "at": {"x": 1}}),
    fire(device={"serial": "a", "at": {"x": 1, "y": None}}),
    fire(device={"serial": "a", "at": {"x": 1, "y": "2"}}),
    fire(device={"serial": "a", "at": []}),
    fire(device={"serial": "a", "at": [1]}),
    fire(device={"serial": "a", "at": [1, 2, 3]}),
    fire(device={"serial": "a", "at": [1, None]}),
    fire(device={"serial": "a", "at": [1, 2]}).replace(b"[1, 2]", b"[1, 2,]"),
    fire(device={"serial": "a", "at": [1, 2]}).replace(b"[1, 2]", b"[1, 2}"),
    fire(device={"serial": "a", "at": {"x": 1, "y": 2}}).replace(b'"x": 1', b'"x": 1, "x": 1'),
    fire(lasted="PT5M"),
    fire(unknown=json.loads("[" * 100 + "]" * 100)),
    b'{"data":[],"type":"house.Fire","source":"/a","id":"1"}',
    b'{"data":{"heat":"1"},"type":"house.Fire","source":"/a","id":"1"}',
    b'{"data":{"heat":1,"heat":2},"type":"house.Fire","source":"/a","id":"1"}',
    b'{"data":{},"type":"house.Fire","source":"/a","id":"1"}',
    b'{"data":{"heat":1},"source":"/a","id":"1"}',
]
BLANK = [b"", b" ", b"\r", b" \t\r\n\x0b\x0c", b" " * 100]


def test_scan_lines_by_hand() -> None:
    lines = VOUCHED + BLANK + DOUBTFUL
    doubtful = scan(HOUSE, lines)
    assert [lines[number] for number in sorted(doubtful)] == DOUBTFUL
    for line in lines:  # alone in its memory
        scan(HOUSE, [line])


def test_scan_key_is_not_continued_in_the_next_line() -> None:
    rest = b'd":"1","source":"/a","type":"house.Quiet"}'
    assert scan(HOUSE, [b'{"i', rest, b'{"id":"1', rest, b'{"id":"1"', rest[1:], b'{"i' + rest]) == {0, 1, 2, 3, 4, 5}


# Numbers and times


def scan_floats(spelt: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that were read, and those that are doubtful."""
    type = EventType("T", "", own={"f": AttributeType(Kind.FLOAT)})
    lines = [f'{{"id":"1","source":"a","type":"T","data":{{"f":{text}}}}}' for text in spelt]
    found = LineScanner([type], require_time=False).scan(pa.array(lines, pa.string()))
    values = np.full(len(lines), np.nan)
    for _, rows, batch in found.groups:
        values[rows] = batch["f"].to_numpy()
    return values, found.doubtful


def bits(values: Any) -> list[int]:
    return np.asarray(values, np.float64).view(np.uint64).tolist()


def test_scan_floats_any_bits() -> None:
    chance = random.Random(1)
    values = [struct.unpack("d", struct.pack("Q", chance.getrandbits(64)))[0] for _ in range(20_000)]
    values += [math.ldexp(chance.getrandbits(52), -1074) for _ in range(5_000)]  # subnormal ones
    values += [math.ldexp(1, power) for power in range(-1074, 1024)]
    values += [math.nextafter(math.ldexp(1, power), way) for power in range(-1022, 1024) for way in (0, math.inf)]
    values = [value for value in values if math.isfinite(value)]
    found, doubtful = scan_floats([repr(value) for value in values])
    assert not len(doubtful)
    assert bits(found) == bits(values)


def test_scan_floats_of_19_digits() -> None:
    chance = random.Random(2)
    spelt = [f"{chance.getrandbits(chance.randrange(1, 60))}e{chance.randrange(-345, 290)}" for _ in range(20_000)]
    spelt += [f"{chance.randrange(10**18, 10**19)}e{chance.randrange(-345, 289)}" for _ in range(20_000)]
    spelt += [str((1 << 53) * k + k // 2 + 1) for k in range(1, 1000)]
    spelt += [f"{(2 * chance.getrandbits(52) + 2**53 + 1) * 5**k}e-{k}" for k in range(4) for _ in range(500)]  # ties
    found, doubtful = scan_floats(spelt)
    assert not len(doubtful)
    assert bits(found) == bits([float(text) for text in spelt])


def test_scan_floats_of_many_digits() -> None:
    chance = random.Random(3)
    exact = [math.ldexp(chance.getrandbits(53) | 1 << 52, chance.randrange(-1074, 960)) for _ in range(3_000)]
    spelt = [f"{Decimal(value):.{chance.randrange(18, 60)}e}" for value in exact]
    halves = [Fraction(value) + Fraction(math.ulp(value)) / 2 for value in exact]
    with localcontext(prec=1200):
        middles = [Decimal(half.numerator) / Decimal(half.denominator) for half in halves]
    found, doubtful = scan_floats(spelt + [f"{one:.40e}" for one in middles])
    certain = np.ones(len(found), bool)
    certain[doubtful] = False
    assert certain[: len(spelt)].mean() > 0.99
    expected = [float(text) for text in spelt + [f"{one:.40e}" for one in middles]]
    assert bits(found[certain]) == bits(np.array(expected)[certain])


@given(st.lists(st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,4})?", fullmatch=True)))
def test_scan_floats_agree_with_python(spelt: list[str]) -> None:
    found, doubtful = scan_floats(spelt)
    for number, text in enumerate(spelt):
        if number not in doubtful:
            is_int = text.lstrip("-").isdigit()
            assert bits([found[number]]) == bits([float(int(text)) if is_int else float(text)]), text


TIME = EventType("T", "", own={"t": AttributeType(Kind.TIMESTAMP)})
DIGITS = (
    r"[0-9]{4}-[01][0-9]-[0-3][0-9][Tt][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?([Zz]|[-+][0-2][0-9]:[0-5][0-9])"
)


@given(st.lists(st.from_regex(DIGITS, fullmatch=True)))
def test_scan_times_agree_with_decode(spelt: list[str]) -> None:
    lines = [f'{{"id":"1","source":"a","type":"T","data":{{"t":"{text}"}}}}'.encode() for text in spelt]
    doubtful = scan([TIME], lines)
    assert doubtful == {
        number for number, line in enumerate(lines) if isinstance(decode(line, lookup([TIME]).get), Rejected)
    }


def test_scan_times_of_every_day() -> None:
    days = [
        datetime(1, 1, 1, tzinfo=UTC) + timedelta(days=day, seconds=day % 86_400) for day in range(0, 3_652_059, 37)
    ]
    lines = [f'{{"id":"1","source":"a","type":"T","data":{{"t":"{day.isoformat()}"}}}}' for day in days]
    found = LineScanner([TIME], require_time=False).scan(pa.array(lines))
    assert found.groups[0].batch["t"].cast(pa.int64()).to_pylist() == [to_microseconds(day) for day in days]


# What the caller sees


def test_scan_time_out_of_range_is_doubtful() -> None:
    lines = [fire(f',"time":"2024-05-01T12:00:0{second}Z"') for second in range(5)] + [fire()]
    start = to_microseconds(datetime(2024, 5, 1, 12, tzinfo=UTC))
    assert scan(HOUSE, lines, earliest_us=start + 1_000_000, latest_us=start + 3_000_000) == {0, 4}
    assert scan(HOUSE, lines, require_time=True) == {5}


def test_scan_line_too_long_is_doubtful() -> None:
    with limited(max_record_bytes=len(fire())):
        assert scan(HOUSE, [fire(), fire() + b" ", b" " * 1000]) == {1}


def test_scan_groups_by_type_in_the_order_of_lines() -> None:
    quiet = b'{"type":"Quiet","source":"/a","id":"%d"}'
    lines = [fire(), quiet % 1, b"no", quiet % 2, fire(), b"", quiet % 3]
    scanned = LineScanner(HOUSE, require_time=False).scan(pa.array(lines))
    found = [(group.type, group.rows.tolist(), group.batch["event.id"].to_pylist()) for group in scanned.groups]
    assert found == [(FIRE, [0, 4], ["1", "1"]), (QUIET, [1, 3, 6], ["1", "2", "3"])]
    assert scanned.doubtful.tolist() == [2]


def test_scan_missing_in_a_line_after_a_broken_one_stays_missing() -> None:
    whole = fire(',"subject":"s","sequence":"1","mode":"live"', rooms=1, who="x", device={"serial": "y"})
    assert scan(HOUSE, [whole, whole[:-1], fire(), whole]) == {1}


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_scan_kinds_of_arrays(kind: pa.DataType) -> None:
    lines = pa.array([None, fire(), None, b"x", fire(who="é")], kind)
    scanner = LineScanner(HOUSE, require_time=False)
    for array in (lines, lines[1:], lines[4:]):
        scanned = scanner.scan(array)
        expected = [i for i, line in enumerate(array.to_pylist()) if line is not None and len(line) > 1]
        assert scanned.groups[0].rows.tolist() == expected
        assert scanned.groups[0].batch["who"].to_pylist()[-1] == "é"
    for empty in (pa.array([], kind), pa.array(["", None], kind), lines[:0]):
        assert scanner.scan(empty).groups == []


def test_scan_without_types_everything_is_doubtful() -> None:
    assert scan([], [fire(), b""]) == {0}
    assert scan([ALARM], [fire(), b"{}"]) == {0, 1}


def test_scan_name_that_json_escapes_is_left_to_the_decoder() -> None:
    odd = EventType("T", "", own={'a"b': AttributeType(Kind.INT)})
    assert scan([odd], [b'{"id":"1","source":"a","type":"T","data":{"a"b":1}}', b'{"id":"1","type":"T"}']) == {0, 1}


def test_scanner_can_be_pickled_after_use() -> None:
    scanner = LineScanner(HOUSE, require_time=True, latest_us=5)
    scanner.scan(pa.array([fire()]))
    other = pickle.loads(pickle.dumps(scanner))
    assert other.scan(pa.array([fire(',"time":"1970-01-01T00:00:00Z"'), fire()])).doubtful.tolist() == [1]


def test_kernels_on_disk_are_good_only_for_the_sources_of_all() -> None:
    LineScanner(HOUSE, require_time=False).scan(pa.array([fire()]))
    kernel: Any = lines.scan_lines
    pattern = f"lines.scan_lines-{kernel.py_func.__code__.co_firstlineno}.*.nbi"
    indexes = list(Path(kernel.stats.cache_path).glob(pattern))
    assert indexes
    assert all(fingerprint(Path(lines.__file__).parent).encode() in index.read_bytes() for index in indexes)
    assert len(kernel.signatures) == 1, "compiled more than once"


def test_scanned_columns_are_those_that_an_index_reads() -> None:
    filters = [
        "heat > 40 and device.serial = 'x'",
        "device.at.x < 2 or rooms = 3",
        "since > 2024-01-01T00:00:00Z and event.mode = 'past'",
        "event.sequence = 12 and event.time > 2024-01-01T00:00:00Z",
        "not exists device",
        "tested and who contains 'é'",
        "exists lasted",
    ]
    lines = [WHOLE, fire(rooms=3), fire(heat=1, device={"serial": "x"}), fire(device={"serial": "x", "at": [1, 1]})]
    batch = LineScanner(HOUSE, require_time=False).scan(pa.array(lines)).groups[0].batch
    bound = [bind_text(text, Scope(type=FIRE)) for text in filters]
    index = ProfileIndex.build(bound, {(name,): one for name, one in FIRE.attributes.items()})
    matches = index.match(batch)
    decoded = [decode(line, lookup(HOUSE).get) for line in lines]
    assert [matches.of(row) for row in range(len(lines))] == [index.match_one(event) for event in decoded]
    assert [matches.of(row) for row in range(len(lines))] == [[1, 2, 3, 5], [1, 4], [], [0, 1]]
