"""Rows of named values as lines of CloudEvents JSON: what files of columns and of records have in common."""

from __future__ import annotations

import base64
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec

from comity.event.formats.csv import ENVELOPE_COLUMNS
from comity.event.formats.jsonlines import Rejected, rejected
from comity.event.times import format_duration, format_timestamp
from comity.event.validate import Fault, fault

DATA = "data"
"""The name of the value that has all attributes, if there is one."""


def row_line(row: dict[str, Any], has_data: bool, number: int, file: str) -> bytes | Rejected:
    """The line of CloudEvents JSON that a row stands for, not yet checked, or why it stands for none.

    >>> row_line({"id": "1", "source": "/a", "type": "T", "heat": 4.5}, False, 1, "a.parquet")
    b'{"id":"1","source":"/a","type":"T","data":{"heat":4.5}}'
    """
    faults: list[Fault] = []
    record = {name: _json(row[name], f"event.{name}", faults) for name in ENVELOPE_COLUMNS if name in row}
    if not has_data:
        attributes = {name: value for name, value in row.items() if name not in ENVELOPE_COLUMNS}
        record[DATA] = _json(attributes, "", faults)
    elif DATA in row:
        record[DATA] = _all_attributes(row[DATA], faults)
    return rejected(_shown(record), faults, number, file) if faults else msgspec.json.encode(record)


def _all_attributes(data: Any, faults: list[Fault]) -> Any:
    if not isinstance(data, str):
        return _json(data, "", faults)
    try:
        msgspec.json.decode(data, type=dict)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        faults.append(fault("data", data, f"the column is not a JSON object: {error}", "bad-json"))
    return msgspec.Raw(data.encode(errors="replace"))


def _shown(record: dict[str, Any]) -> bytes:
    return msgspec.json.encode({name: value for name, value in record.items() if value is not None})


class UnfitCell:
    """A value that Python cannot hold, such as a time in the year 12000."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def _json(value: Any, path: str, faults: list[Fault]) -> Any:
    """The value in terms of JSON. What JSON cannot say is left to its decoder, or is a fault here."""
    if isinstance(value, float) and not math.isfinite(value):
        return msgspec.Raw(b"NaN" if math.isnan(value) else b"Infinity" if value > 0 else b"-Infinity")
    if isinstance(value, dict):
        return {str(name): _json(item, f"{path}.{name}" if path else name, faults) for name, item in value.items()}
    if isinstance(value, list):
        return [_json(item, f"{path}[{at}]", faults) for at, item in enumerate(value)]
    if isinstance(value, datetime):
        return format_timestamp(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return msgspec.Raw(str(value).encode())
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    reason = value.reason if isinstance(value, UnfitCell) else f"a {type(value).__name__} has no form in an event"
    faults.append(Fault(path, "", reason, "out-of-range" if isinstance(value, UnfitCell) else "wrong-kind"))
    return None
