"""Candidates from columns and lines are those that are found event by event."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode, encode
from comity.event.kinds import Kind
from comity.event.scan.scanner import LineScanner
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType
from comity.match.line_candidates import LineCandidates
from comity.pattern.bank import Bank
from comity.pattern.composite import Composite
from comity.pattern.extract import Extraction, one_by_one
from comity.testing.patterns import composites, traces

ATTRIBUTES = {"x": AttributeType(Kind.INT, optional=True), "k": AttributeType(Kind.INT, optional=True)}
TYPES = Taxonomy("t", [EventType(name, "t", parent=EVENT, own=ATTRIBUTES) for name in "ABCDE"])


def rows(table: pa.Table) -> list[str]:
    found = []
    for row in table.to_pylist():
        line = row.pop("line")
        found.append(f"{row} {line and decode(line.encode(), TYPES)}")
    return sorted(found)


@settings(deadline=None)
@given(st.lists(composites(), min_size=1, max_size=3), traces(max_size=20))
def test_line_candidates_are_those_of_the_events(given: list[Composite], trace: list[Event]) -> None:
    bank = Bank([one.bind(f"p{at}", TYPES) for at, one in enumerate(given)])
    lines = [encode(event.replace(type=f"t.{event.type}")) for event in trace]
    decoded = [decode(line, TYPES, require_time=True) for line in lines]
    one, expected = Extraction(bank, one_by_one(bank)), Extraction(bank, one_by_one(bank))
    for event in decoded:
        if isinstance(event, Event):
            expected.take(event)
    refused: list[Rejected] = []
    candidates = LineCandidates(bank, TYPES.types, LineScanner(TYPES.types, require_time=True), one)

    def take_one(at: int) -> None:
        record = decoded[at]
        refused.append(record) if isinstance(record, Rejected) else one.take(record)

    table = candidates.take(pa.array(lines, pa.binary()), take_one)
    assert rows(table) == rows(expected.table())
    assert (one.earliest, one.latest) == (expected.earliest, expected.latest)
    assert len(refused) == sum(isinstance(event, Rejected) for event in decoded)
