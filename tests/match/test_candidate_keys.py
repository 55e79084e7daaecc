"""Correlation keys of candidates: worked out over columns they are those of the events, whatever they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.formats.jsonlines import decode, encode
from comity.event.kinds import Kind
from comity.event.scan.scanner import LineScanner
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType
from comity.match.line_candidates import LineCandidates
from comity.match.operands import OperandMatcher
from comity.pattern.bank import Bank
from comity.pattern.extract import Extraction, one_by_one
from comity.profile.blocks import parse_composite


def optional(kind: Kind, **more: Any) -> AttributeType:
    return AttributeType(kind, optional=True, **more)


OWN = {
    "i": optional(Kind.INT),
    "f": optional(Kind.FLOAT),
    "s": optional(Kind.STRING),
    "b": optional(Kind.BOOL),
    "t": optional(Kind.TIMESTAMP),
    "m": optional(Kind.STRUCT, attributes={"n": optional(Kind.INT), "q": optional(Kind.STRING)}),
}
TYPES = Taxonomy("t", [EventType(name, "t", parent=EVENT, own=OWN) for name in "AB"])
START = datetime(2026, 5, 1, 10, tzinfo=UTC)

events = st.builds(
    lambda type, data: Event(
        "", "/s", f"t.{type}", START, {name: one for name, one in data.items() if one is not None}
    ),
    st.sampled_from("AB"),
    st.fixed_dictionaries(
        {
            "i": st.none() | st.integers(0, 2),
            "f": st.none() | st.sampled_from([0.0, -0.0, 1.0, 0.5]),
            "s": st.none() | st.sampled_from(["", "a", "ä", 'a"', "\\", "\n"]),
            "b": st.none() | st.booleans(),
            "t": st.none() | st.sampled_from([START, START + timedelta(microseconds=1)]),
            "m": st.none() | st.sampled_from([{}, {"n": 1}, {"n": 1, "q": "a"}, {"q": "a"}]),
        }
    ),
)


def bank_on(condition: str, clause: str = "") -> Bank:
    composite = parse_composite(f"profile p\non A a ; B b within 1 min\nwhere {condition}\n{clause}")[1]
    bound = composite.bind("p", TYPES)
    assert bound.key is not None
    return Bank([bound])


def keys(table: pa.Table) -> list[tuple[str, int, str, int]]:
    return sorted((row["id"], row["operand"], row["key"], row["tie"]) for row in table.to_pylist())


def candidates(bank: Bank, lines: list[bytes]) -> Iterator[list[tuple[str, int, str, int]]]:
    """From the columns of scanned lines, and event by event."""
    one, expected = Extraction(bank, one_by_one(bank)), Extraction(bank, one_by_one(bank))

    def doubtful(at: int) -> None:
        raise AssertionError(f"the scanner knows lines like {lines[at]!r}")

    scanned = LineCandidates(bank, TYPES.types, LineScanner(TYPES.types, require_time=True), one)
    yield keys(scanned.take(pa.array(lines, pa.binary()), doubtful))
    for line in lines:
        event = decode(line, TYPES, require_time=True)
        assert isinstance(event, Event)
        expected.take(event)
    yield keys(expected.table())


@settings(max_examples=40)
@pytest.mark.parametrize(
    ("condition", "clause"),
    [
        ("a.i = b.i", ""),
        ("a.f = b.f", ""),
        ("a.f = b.i", ""),
        ("a.s = b.s", ""),
        ("a.b = b.b", ""),
        ("a.t = b.t", ""),
        ("a.event.time = b.t", ""),
        ("a.m.n = b.m.n", ""),
        ("a.m = b.m", ""),
        ("a.i = b.i and a.s = b.s and a.m.q = b.m.q", ""),
        ("a.i = b.i and a.m.n = b.i", ""),
        ("a.s = b.s", "ties m.n"),
    ],
)
@given(some=st.lists(events, max_size=8))
def test_keys_of_columns_are_those_of_the_events(condition: str, clause: str, some: list[Event]) -> None:
    lines = [encode(event.replace(id=str(at))) for at, event in enumerate(some)]
    of_columns, of_events = candidates(bank_on(condition, clause), lines)
    assert of_columns == of_events


def test_keys_of_many_parts_with_many_values_stay_apart() -> None:
    """Numbers of combinations do not fit 64 bits, and without care only the last parts would count."""
    names = [f"k{i}" for i in range(5)]
    type = EventType("A", "t", parent=EVENT, own={name: AttributeType(Kind.INT) for name in names})
    types = Taxonomy("t", [type])
    equal = " and ".join(f"a.{name} = b.{name}" for name in names)
    composite = parse_composite(f"profile p\non A a ; A b within 1 min\nwhere {equal}")[1]
    matcher = OperandMatcher(Bank([composite.bind("p", types)]), type)
    count = 2**16
    rows = np.arange(count)
    first = np.where(rows == 7, 1, 0)  # in row 7 as in row 6, but for the first part
    columns = {names[0]: first, **{name: np.where(rows == 7, 6, rows) for name in names[1:]}}
    envelope = {
        "event.id": pa.array(rows.astype(str)),
        "event.source": pa.array(["/s"] * count),
        "event.time": pa.array(rows),
    }
    found = matcher.candidates(pa.RecordBatch.from_pydict({**envelope, **columns}))
    of_first = found.filter(pa.compute.equal(found.column("operand"), 0))
    assert len(set(of_first.column("key").to_pylist())) == count
