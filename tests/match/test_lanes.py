"""Events as the scanner has them match what their columns match."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.kinds import Kind
from comity.event.scan.lanes import LaneScanner
from comity.event.scan.scanner import LineScanner
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.match.live import LiveIndex

_PLACE = AttributeType(
    Kind.STRUCT,
    optional=True,
    attributes={"w": AttributeType(Kind.STRING, optional=True), "n": AttributeType(Kind.FLOAT, optional=True)},
)
_OWN = {
    "n": AttributeType(Kind.FLOAT, optional=True),
    "s": AttributeType(Kind.STRING, optional=True),
    "b": AttributeType(Kind.BOOL, optional=True),
    "d": _PLACE,
}
_TYPES = [EventType("Base", "", own=_OWN), EventType("x.Other", "", own={"s": _OWN["s"], "n": _OWN["n"]})]
_TEXTS = [
    *("n > 1", "n between -1 and 2.5", "not exists n", "s = 'a'", "s >= 'ab'", "s ends with 'b'", "b = true"),
    *("exists d", "d.w = 'ü\"'", "d.n < 0 or s != 'a'", "event.type = 'Base'", "event.subject = 'q'", "exists t"),
    *("event.id = '7'", "n = 2 and event.type = 'x.Other'", "s + 'b' = 'ab'"),
]


def _line(chance: Random, number: int) -> bytes:
    data: dict[str, Any] = {
        "n": chance.choice((-1, 0, 2, 2.5, 1e300)),
        "s": chance.choice(("", "a", "ab", 'ü"', "ab\n")),
    }
    data |= {"b": chance.random() < 0.5, "d": {"w": chance.choice(("a", 'ü"')), "n": chance.randint(-2, 2)}}
    kept = {name: value for name, value in data.items() if chance.random() < 0.7}
    event = {"id": str(number), "source": "/a", "type": chance.choice(("Base", "Base", "x.Other", "Unknown"))}
    if chance.random() < 0.3:
        event["subject"] = "q"
    line = json.dumps(event | {"data": kept}, ensure_ascii=chance.random() < 0.5).encode()
    return b"  " if chance.random() < 0.05 else b"no event" if chance.random() < 0.05 else line


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(_TEXTS), min_size=1, max_size=12), st.integers(0, 10_000))
def test_lanes_match_as_columns_do(texts: list[str], seed: int) -> None:
    chance = Random(seed)
    lines = LineScanner(_TYPES, require_time=False, simple_names=False)
    lanes = LaneScanner(lines)
    index = LiveIndex([bind_text(text, Scope()) for text in texts], is_shared=False)
    for size in (chance.randint(1, 40), 300, 3):  # buffers grow, and are used again for less
        batch = [_line(chance, number) for number in range(size)]
        scanned = lines.scan(pa.array(batch, pa.binary()))
        offsets = np.cumsum([0, *map(len, batch)])
        groups, doubtful = lanes.scan(np.frombuffer(b"".join(batch), np.uint8), offsets)
        assert doubtful.tolist() == scanned.doubtful.tolist()
        assert [group.type_name for group in groups] == [group.type.qualified_name for group in scanned.groups]
        for group, columns in zip(groups, scanned.groups, strict=True):
            assert group.rows.tolist() == columns.rows.tolist()
            assert group.batch().equals(columns.batch)
            one, other = index.match_lanes(group), index.match(columns.batch)
            assert [one.of(at) for at in range(len(group.rows))] == [other.of(at) for at in range(len(group.rows))]
