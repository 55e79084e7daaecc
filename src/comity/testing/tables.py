"""Generated records as rows of CSV and Parquet, and events as files of Avro."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa

from comity.errors import Misuse
from comity.event.arrow_types import ARROW_TYPES, arrow_type
from comity.event.event import Event
from comity.event.formats.avro import write_avro_events
from comity.event.formats.csv import ENVELOPE_COLUMNS, encode_header, encode_row, read_header
from comity.event.kinds import Kind
from comity.event.times import format_duration
from comity.event.types import EventType

_TEXTS_FOR_SPANS: Mapping[Kind, pa.DataType] = {**ARROW_TYPES, Kind.DURATION: pa.string()}


def encode_avro(events: Iterable[Event], type: EventType) -> bytes:
    """A file of Avro with events of one type."""
    stream = io.BytesIO()
    write_avro_events(events, [type], stream)
    return stream.getvalue()


def csv_lines(chance: Random, events: Sequence[Event], types: Sequence[EventType], odd: int) -> list[bytes]:
    """A header, a row for each event that a row can hold, and among them so many broken ones."""
    names = sorted({name for one in types for name in one.attributes})
    columns = encode_header([*ENVELOPE_COLUMNS, *(f"data.{name}" for name in names)])
    header = read_header(columns)
    rows: list[bytes] = []
    for event in events:
        try:
            rows.append(encode_row(event, header))
        except Misuse:  # a line break in a text
            continue
    for _ in range(odd if rows else 0):
        row = chance.choice(rows)
        at = chance.randrange(len(row))
        rows.insert(chance.randint(0, len(rows)), chance.choice((row[:at], row + b",1", row[:at] + b"x" + row[at:])))
    return [columns, *(row for row in rows if not row.isspace())]


def parquet_table(chance: Random, events: Sequence[Event], type: EventType, odd: int) -> pa.Table:
    """The events of one type, attributes in columns of their own or in a struct `data`, so many of them spoilt."""
    rows = [_row(event) for event in events if event.type == type.qualified_name]
    for _ in range(odd if rows else 0):
        spoilt = _spoilt(chance, chance.choice(rows), type)
        rows.insert(chance.randint(0, len(rows)), spoilt)
    own = {name: arrow_type(one, _TEXTS_FOR_SPANS) for name, one in type.attributes.items()}
    if own and (chance.random() < 0.5 or not own.keys().isdisjoint(ENVELOPE_COLUMNS)):
        fields = [("data", pa.struct(list(own.items())))]
    else:
        fields = list(own.items())
        rows = [{**row, **(row["data"] or {})} for row in rows]
    texts = [(name, pa.string()) for name in ENVELOPE_COLUMNS if name not in ("time", "sequence")]
    moment = ("time", pa.timestamp("us", chance.choice(("UTC", None))))
    return pa.Table.from_pylist(rows, schema=pa.schema([*texts, moment, ("sequence", pa.int64()), *fields]))


def _row(event: Event) -> dict[str, Any]:
    row = {name: getattr(event, "version" if name == "typeversion" else name) for name in ENVELOPE_COLUMNS}
    assert event.time is not None
    return {**row, "data": _cell(event.data)}


def _cell(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cell(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_cell(item) for item in value]
    if isinstance(value, tuple):
        return {"x": value[0], "y": value[1]}
    return format_duration(value) if type(value).__name__ == "timedelta" else value


def _spoilt(chance: Random, row: dict[str, Any], type: EventType) -> dict[str, Any]:
    """A row that says something that no event may say, or less than an event must say."""
    row = {**row, "id": f"{row['id']} spoilt {chance.randrange(10**6)}", "data": dict(row["data"] or {})}
    names = list(type.attributes)
    kind = chance.choice(("nan", "missing", "mode", "type", "source", "time", "subject", "data"))
    floats = [name for name, one in type.attributes.items() if one.kind is Kind.FLOAT]
    points = [name for name, one in type.attributes.items() if one.kind is Kind.POINT]
    match kind:
        case "nan" if floats:
            row["data"][chance.choice(floats)] = chance.choice((math.nan, math.inf, -math.inf))
        case "nan" if points:
            row["data"][points[0]] = chance.choice(({"x": math.nan, "y": 0.0}, {"x": None, "y": 0.0}))
        case "missing" if names:
            row["data"].pop(chance.choice(names), None)
        case "mode":
            row["mode"] = "later"
        case "type":
            row["type"] = chance.choice(("nobody.Knows", "", None))
        case "source":
            row["source"] = chance.choice(("", None))
        case "time":
            row["time"] = chance.choice((None, datetime(1960, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)))
        case "subject":
            row["subject"] = ""
        case "data":
            row["data"] = None
    return row
