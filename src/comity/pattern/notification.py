"""Reports as events: what a subscriber of a composite profile is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from comity.event.event import Event
from comity.event.kinds import Value
from comity.pattern.report import moment_text
from comity.pattern.rows import ReportRow

REPORT_TYPE = "comity.Report"


def report_source(profile: str) -> str:
    """The source of what a profile reports."""
    return f"comity/{profile}"


def report_event(found: ReportRow) -> Event:
    """The report as an event: its time is the end, and its attributes are the interval and the events of each operand.

    >>> report = ReportRow("fire", "f00", 0, 5_000_000, {"a": "1"}, {"a": '{"id":"1","type":"Smoke"}'})
    >>> event = report_event(report)
    >>> event.source, event.data["end"], event.data["events"]
    ('comity/fire', '1970-01-01T00:00:05Z', {'a': {'id': '1', 'type': 'Smoke'}})
    """
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found.end)
    events: dict[str, Value] = {name: _events(lines) for name, lines in found.lines.items()}
    data: dict[str, Value] = {"start": moment_text(found.start), "end": moment_text(found.end), "events": events}
    return Event(found.id, report_source(found.profile), REPORT_TYPE, time, data)


def _events(lines: str | list[str]) -> Value:
    if isinstance(lines, list):
        return [msgspec.json.decode(line) for line in lines]
    found: Value = msgspec.json.decode(lines)
    return found
