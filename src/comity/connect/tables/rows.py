"""From lines to rows: notifications, late events and rejected records as Arrow tables.

A notification has its envelope in columns. Its attributes are JSON text in one column; where tables are typed, each
attribute is a column of its own, of its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from comity.connect.tables.typed import TypedAttributes
from comity.event.formats.csv import ENVELOPE_COLUMNS

NOTIFICATIONS = "notifications"
"""The table of all notifications, where tables are not typed."""

_TEXT, _TIME = pa.string(), pa.timestamp("us", "UTC")
_ENVELOPE = [(name, _TIME if name == "time" else _TEXT) for name in ENVELOPE_COLUMNS]
NOTIFICATION_SCHEMA = pa.schema([("subscriber", _TEXT), ("profile", _TEXT), *_ENVELOPE, ("data", _TEXT)])
LATE_SCHEMA = pa.schema([*_ENVELOPE, ("data", _TEXT)])
_FAULT_TEXTS = ("path", "value", "reason", "code")
REJECTED_SCHEMA = pa.schema(
    [
        ("code", _TEXT),
        ("reason", _TEXT),
        ("file", _TEXT),
        ("line", pa.int64()),
        ("origin", _TEXT),
        ("contract", _TEXT),
        ("raw", _TEXT),
        ("faults", pa.list_(pa.struct([*((name, _TEXT) for name in _FAULT_TEXTS), ("column", pa.int64())]))),
    ]
)


class EventLine(msgspec.Struct):
    """A notification, or an event, as a line of JSON has it."""

    id: str
    source: str
    type: str
    time: str
    profile: str | None = None
    subject: str | None = None
    sequence: str | int | None = None
    mode: str | None = None
    typeversion: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"{}")


_lines = msgspec.json.Decoder(list[EventLine])
_records = msgspec.json.Decoder(list[dict[str, Any]])


def event_lines(lines: Sequence[bytes]) -> list[EventLine]:
    """What stands in lines of JSON."""
    return _lines.decode(_as_list(lines))


def notification_rows(subscriber: str, events: Sequence[EventLine]) -> pa.Table:
    """Notifications of one subscriber, with their attributes as JSON."""
    first = [_same(subscriber, len(events)), pa.array([one.profile for one in events], _TEXT)]
    return pa.Table.from_arrays([*first, *_envelope(events), _data(events)], schema=NOTIFICATION_SCHEMA)


def late_rows(lines: Sequence[bytes]) -> pa.Table:
    """Events that came too late for patterns."""
    events = event_lines(lines)
    return pa.Table.from_arrays([*_envelope(events), _data(events)], schema=LATE_SCHEMA)


def rejected_rows(lines: Sequence[bytes]) -> pa.Table:
    """Rejected records; the first of their faults is also in columns of its own."""
    rows = [_rejected(record) for record in _records.decode(_as_list(lines))]
    return pa.Table.from_pylist(rows, schema=REJECTED_SCHEMA)


@dataclass(frozen=True, slots=True)
class TypedRows:
    """Makes notifications of one profile into rows, an attribute a column; without types they stay one JSON text."""

    attributes: TypedAttributes | None

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        found = pa.schema([("subscriber", _TEXT), *_ENVELOPE])
        for one in [pa.field("data", _TEXT)] if self.attributes is None else self.attributes.fields:
            found = found.append(one)
        return found

    def rows(self, subscriber: str, events: Sequence[EventLine]) -> pa.Table:
        """The rows."""
        given = [bytes(one.data) for one in events]
        data = [_data(events)] if self.attributes is None else self.attributes.columns(given)
        return pa.Table.from_arrays([_same(subscriber, len(events)), *_envelope(events), *data], schema=self.schema)


def _envelope(events: Sequence[EventLine]) -> list[pa.Array]:
    columns = {name: [getattr(one, name) for one in events] for name in ENVELOPE_COLUMNS}
    columns["sequence"] = [None if one is None else str(one) for one in columns["sequence"]]
    return [pa.array(columns[name], _TEXT).cast(type) for name, type in _ENVELOPE]


def _data(events: Sequence[EventLine]) -> pa.Array:
    return pa.array([bytes(one.data) for one in events], pa.binary()).cast(_TEXT)


def _same(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, _TEXT), count)


def _rejected(record: dict[str, Any]) -> dict[str, Any]:
    faults = [_fault(one) for one in record.get("faults") or ()]
    first = faults[0] if faults else {}
    texts = {name: _text(record.get(name)) for name in ("file", "origin", "contract", "raw")}
    found = {"code": first.get("code"), "reason": first.get("reason"), "line": record.get("line")}
    return {**found, **texts, "faults": faults}


def _fault(given: dict[str, Any]) -> dict[str, Any]:
    return {**{name: _text(given.get(name)) for name in _FAULT_TEXTS}, "column": given.get("column")}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()


def _as_list(lines: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(lines) + b"]"
