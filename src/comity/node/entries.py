"""What stands in the log of a node, a line each: events as they were published, and reports of composite rules.

A report stands there like an event, once, so one number says how far a subscriber is with both. Its line is an array,
and that of an event an object, so that they cannot be taken for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from comity.event.event import Event
from comity.event.formats.jsonlines import decode
from comity.event.taxonomy import Taxonomy
from comity.pattern.bound import BoundPattern
from comity.pattern.rows import ReportRow
from comity.server.store.port import NewEvent, StoredEvent

_encode = msgspec.json.Encoder().encode
_REPORTS = "comity/rule/"
"""Before the number of a rule: the source of its reports, which no event of a client can have."""


class LoggedReport(msgspec.Struct, array_like=True, frozen=True):
    """A report of the rule of a number: the interval, and its events in the order of the operands, with their names."""

    rule: int
    id: str
    start: int
    end: int
    operands: list[str]
    events: list[msgspec.Raw]


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What one line of the log holds."""

    sequence: int
    at_us: int
    line: bytes
    content: Event | LoggedReport


def read_entry(stored: StoredEvent, taxonomy: Taxonomy) -> LogEntry:
    """The entry in a line of the log, which was checked when it was written."""
    if stored.line.startswith(b"["):
        content: Event | LoggedReport = msgspec.json.decode(stored.line, type=LoggedReport)
    else:
        found = decode(stored.line, taxonomy)
        assert isinstance(found, Event), f"event {stored.sequence} was one when it was stored: {found.faults[0]}"
        content = found
    return LogEntry(stored.sequence, stored.at_us, stored.line, content)


def read_entries(stored: Sequence[StoredEvent], taxonomy: Taxonomy) -> list[LogEntry]:
    """The same for some lines."""
    return [read_entry(one, taxonomy) for one in stored]


def report_entry(rule: int, pattern: BoundPattern, found: ReportRow) -> NewEvent:
    """The line that a report is kept as; the same report has the same identity whenever it is found."""
    operands: list[str] = []
    events: list[msgspec.Raw] = []
    for name in pattern.operand_names:
        lines = found.lines.get(name, ())
        for line in [lines] if isinstance(lines, str) else lines:
            operands.append(name)
            events.append(msgspec.Raw(line.encode()))
    report = LoggedReport(rule, found.id, found.start, found.end, operands, events)
    return NewEvent(f"{_REPORTS}{rule}", found.id, _encode(report))


def event_entry(publisher: str, event: Event, line: bytes) -> NewEvent:
    """The line that an event is kept as. Whoever publishes it is part of its identity: nobody can take up another's."""
    return NewEvent(f"{publisher}\n{event.source}", event.id, line)
