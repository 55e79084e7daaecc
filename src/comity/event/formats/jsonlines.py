"""CloudEvents 1.0 in structured mode, one JSON object in a line.

`id`, `source`, `type`, `time` and `subject` are those of CloudEvents. `sequence` is its extension of that name, written
as text, as it is defined there; an integer is read too. `mode` and `typeversion` (the `version` of our envelope) are
extensions of our own. Other extension attributes are dropped.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.kinds import INT_MAX, INT_MIN, Point, Value
from comity.event.owners import OwnTypes, unknown_type
from comity.event.taxonomy import Taxonomy
from comity.event.times import format_duration, format_timestamp, parse_timestamp
from comity.event.types import MODES, EventType
from comity.event.validate import Checked, Fault, check_open, conform, fault, is_text, shorten
from comity.limits import limits

if TYPE_CHECKING:
    from comity.event.window import Window

TypeLookup = Callable[[str], EventType | None]
"""From the `type` of an event to the type it must fit; None for an unknown one."""

MAX_FAULTS = 100
"""Faults of one record that are kept; one more says how many there were."""

_DIGITS = re.compile(r"-?[0-9]{1,19}")
_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that was refused: where it stood, its text, cut to `max_rejected_chars`, and every fault.

    The number of its line is that of its row in Parquet, and of the record in Avro.
    """

    line_number: int | None
    source_file: str | None
    raw: str
    faults: tuple[Fault, ...]
    contract: str | None = None
    """Whose mapping refused it, if one did; the paths of the faults are then those of what the mapping gives."""

    def as_dict(self) -> dict[str, object]:
        """The JSON shape of a rejected record."""
        return {
            "file": self.source_file,
            "line": self.line_number,
            **({} if self.contract is None else {"contract": self.contract}),
            "raw": self.raw,
            "faults": [one.as_dict() for one in self.faults],
        }


def decode(
    line: bytes,
    types: Taxonomy | TypeLookup | None = None,
    *,
    require_time: bool = False,
    line_number: int | None = None,
    source_file: str | None = None,
    window: Window | None = None,
) -> Event | Rejected:
    """The event in a line, or why it is none.

    With types, `data` holds typed values and the event's type is known and not abstract; without, `data` is JSON as it
    came. A null is missing. An event with a time outside of the window is none, if there is a window.

    >>> decode(b'{"id": "1", "source": "/a", "type": "house.Fire", "data": {"heat": 40}}').data
    {'heat': 40}
    >>> decode(b'{"id": "1", "source": "", "type": "house.Fire"}').faults[0].path
    'event.source'
    """
    faults: list[Fault] = []
    record = _record(line, faults)
    event = _event(record, _lookup(types), require_time, faults) if record is not None else None
    if event is not None and window is not None and (unbelieved := window.fault(event)) is not None:
        faults.append(unbelieved)
    if event is not None and not faults:
        return event
    return rejected(line, faults, line_number, source_file)


def fitting(event: object, types: Taxonomy | TypeLookup, *, require_time: bool = False) -> Event | Rejected:
    """An event that somebody made, with typed values, or why it is none: the same reasons that `decode` has.

    It may also be a record with the members of CloudEvents. Anything else is none.

    One whose attributes were checked against its type before is taken at its word.

    >>> from comity.event.kinds import Kind
    >>> from comity.event.types import AttributeType
    >>> fire = EventType("Fire", "house", own={"heat": AttributeType(Kind.FLOAT)})
    >>> fitting(Event("1", "/a", "house.Fire", data={"heat": 40}), {"house.Fire": fire}.get).data
    {'heat': 40.0}
    >>> fitting(Event("1", "/a", "house.Fire", data={"heat": "hot"}), {"house.Fire": fire}.get).faults[0].code
    'wrong-kind'
    """
    lookup = types.find if isinstance(types, Taxonomy) else types
    if isinstance(event, Event):
        data, time = event.data, event.time
        is_marked = type(data) is Checked and data.type is not None and data.type is lookup(event.type)
        if is_marked and time is not None and time.tzinfo is UTC:
            return event
    faults: list[Fault] = []
    if not isinstance(event, Event | AbstractMapping):
        faults.append(fault("", event, "is no event, and no record of one", "not-an-object"))
        return rejected(shorten(event).encode(errors="replace"), faults, None, None)
    record = _members(event)
    found = _event(record, lookup, require_time, faults)
    return found if found is not None else rejected(_shown(record), faults, None, None)


def line_of(event: object) -> bytes:
    """The line of an event or record that somebody made; of what `fitting` rejects, one that `decode` rejects.

    >>> line_of({"id": "1", "time": datetime(2026, 1, 31, tzinfo=UTC), "data": {"heat": 40}})
    b'{"id":"1","time":"2026-01-31T00:00:00Z","data":{"heat":40}}'
    """
    if not isinstance(event, Event | AbstractMapping):
        return _ascii(shorten(event))
    record = _members(event)
    try:
        return _encoder.encode(_json(record))
    except (TypeError, ValueError, OverflowError):
        return _ascii(record)


def _members(event: Event | AbstractMapping[str, Any]) -> dict[str, Any]:
    """The event as a record of CloudEvents, with its values as they are."""
    if not isinstance(event, Event):
        return dict(event)
    names = ("id", "source", "type", "time", "data", "subject", "sequence", "mode")
    return {**{name: getattr(event, name) for name in names}, "typeversion": event.version}


def _shown(record: dict[str, Any]) -> bytes:
    """The text of a record that may hold anything."""
    try:
        return json.dumps(record, default=str, skipkeys=True, ensure_ascii=False).encode(errors="replace")
    except (TypeError, ValueError, RecursionError):
        return shorten(record.get("data")).encode(errors="replace")


def _ascii(record: object) -> bytes:
    """A record that may hold anything, in JSON or what looks like it: halves of characters and NaN are still there."""
    try:
        return json.dumps(record, default=_of_no_kind, skipkeys=True).encode()
    except (TypeError, ValueError, RecursionError):
        return b"{"


def _of_no_kind(value: object) -> Any:
    """What JSON has not, in a form that no kind of attribute has, so that it is refused where it is of no kind."""
    return value.isoformat() if isinstance(value, datetime) else [[shorten(value)]]


def encode(event: Event) -> bytes:
    """One line of CloudEvents JSON, without the line end; raises `Misuse` for a value that no event may carry.

    >>> encode(Event("1", "/a", "house.Fire", data={"at": Point(1.0, 2.0)}))
    b'{"specversion":"1.0","id":"1","source":"/a","type":"house.Fire","data":{"at":{"x":1.0,"y":2.0}}}'
    """
    record: dict[str, Any] = {"specversion": "1.0", "id": event.id, "source": event.source, "type": event.type}
    if event.time is not None:
        record["time"] = format_timestamp(event.time)
    if event.subject is not None:
        record["subject"] = event.subject
    if event.sequence is not None:
        record["sequence"] = str(event.sequence)
    if event.mode is not None:
        record["mode"] = event.mode
    if event.version is not None:
        record["typeversion"] = event.version
    try:
        record["data"] = _json(event.data)
        return _encoder.encode(record)
    except (TypeError, ValueError, OverflowError) as error:
        message = f"event {event.id!r} cannot be written: {error}"
        raise Misuse(message.encode(errors="backslashreplace").decode(), code="not-encodable") from error


def write_events(events: Iterable[Event], stream: BinaryIO) -> int:
    """Write events as lines; gives how many."""
    count = 0
    for event in events:
        stream.write(encode(event) + b"\n")
        count += 1
    return count


def rejected(line: bytes, faults: list[Fault], line_number: int | None, source_file: str | None) -> Rejected:
    """The rejected record for a line, with a bounded text and a bounded number of faults."""
    bound = limits().max_rejected_chars
    raw = line[: 4 * bound].decode("utf-8", "backslashreplace")[:bound]
    kept = tuple(faults[:MAX_FAULTS])
    if len(faults) > MAX_FAULTS:
        kept += (Fault("", "", f"{len(faults) - MAX_FAULTS} more faults", "more-faults"),)
    return Rejected(line_number, source_file, raw, kept)


def too_long(size: str) -> Fault:
    """The fault of a line beyond `max_record_bytes`."""
    return Fault("", size, f"the line is longer than {limits().max_record_bytes} bytes", "too-long")


def _lookup(types: Taxonomy | TypeLookup | None) -> TypeLookup | None:
    return types.find if isinstance(types, Taxonomy) else types


def _record(line: bytes, faults: list[Fault]) -> dict[str, Any] | None:
    if len(line) > limits().max_record_bytes:
        faults.append(too_long(f"{len(line)} bytes"))
        return None
    try:
        record = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        faults += _diagnose(line, str(error))
        return None
    if type(record) is not dict:
        faults.append(fault("", record, "the line is not a JSON object", "not-an-object"))
        return None
    return record


def _diagnose(line: bytes, reason: str) -> list[Fault]:
    """Why a line is not JSON, from a slower decoder that tells the column and goes on after NaN and lone surrogates."""
    try:
        text = line.decode()
        record = json.loads(text, parse_int=_parse_int)
    except UnicodeDecodeError as error:
        byte = f"0x{line[error.start]:02x}"
        return [Fault("", byte, f"the line is not UTF-8 from byte {error.start + 1} on", "not-utf-8", error.start + 1)]
    except json.JSONDecodeError as error:
        whole = error.pos >= len(text.rstrip()) or "Unterminated string" in error.msg
        message = "the line ends too early" if whole else f"not JSON: {error.msg}"
        return [fault("", text[error.pos :][:20], message, "truncated-json" if whole else "bad-json", error.colno)]
    except RecursionError:
        return [Fault("", "", "the line is nested too deep", "too-deep")]
    faults: list[Fault] = []
    if isinstance(record, dict):
        check_open(record.pop("data", None), "", faults)
    check_open(record, "event", faults)
    return faults or [Fault("", "", reason, "bad-json")]


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) < 1000 else math.inf


def _event(record: dict[str, Any], lookup: TypeLookup | None, require_time: bool, faults: list[Fault]) -> Event | None:
    if record.get("specversion", "1.0") != "1.0":
        reason = "only version 1.0 of CloudEvents is supported"
        faults.append(fault("specversion", record["specversion"], reason, "bad-specversion"))
    id, source, name = (_mandatory_text(record, key, faults) for key in ("id", "source", "type"))
    declared = _type(name, lookup, faults)
    data = _data(record, declared, faults)
    time = _time(record.get("time"), require_time, faults)
    subject, version = (_optional_text(record, key, faults) for key in ("subject", "typeversion"))
    sequence, mode = _sequence(record.get("sequence"), faults), _mode(record.get("mode"), faults)
    if declared is not None and declared.version is not None and version not in (None, declared.version):
        reason = f"is not the version of the type, which is {declared.version}"
        faults.append(fault("event.typeversion", version, reason, "wrong-version"))
    qualified = declared.qualified_name if declared is not None else name
    return Event(id, source, qualified, time, data, subject, sequence, mode, version) if not faults else None


def _mandatory_text(record: dict[str, Any], key: str, faults: list[Fault]) -> str:
    value = record.get(key)
    if type(value) is str and value and is_text(value):
        return value
    if value is None:
        faults.append(Fault(f"event.{key}", "null", "is missing", "missing"))
    else:
        faults.append(fault(f"event.{key}", value, "must be a text that is not empty", "wrong-kind"))
    return ""


def _optional_text(record: dict[str, Any], key: str, faults: list[Fault]) -> str | None:
    return _mandatory_text(record, key, faults) if record.get(key) is not None else None


def _type(name: str, lookup: TypeLookup | None, faults: list[Fault]) -> EventType | None:
    if lookup is None or not name:
        return None
    found = lookup(name)
    if found is None:
        faults.append(lookup.fault(name) if isinstance(lookup, OwnTypes) else unknown_type(name))
    elif found.abstract:
        faults.append(fault("event.type", name, "is an abstract type, which has no events of its own", "abstract-type"))
    return found


def _data(record: dict[str, Any], declared: EventType | None, faults: list[Fault]) -> dict[str, Value]:
    data = record.get("data")
    if "data_base64" in record:
        faults.append(fault("data_base64", record["data_base64"], "binary data is not supported", "binary-data"))
        return {}
    if data is None:
        data = {}
    if not isinstance(data, dict):
        faults.append(fault("data", data, "must be an object", "wrong-kind"))
        return {}
    if declared is None:
        check_open(data, "", faults)
        return data
    values, found = conform(data, declared)
    faults += found
    return values


def _time(value: Any, required: bool, faults: list[Fault]) -> datetime | None:
    if value is None:
        if required:
            faults.append(Fault("event.time", "null", "is missing", "missing"))
        return None
    time = parse_timestamp(value) if type(value) is str else _moment(value)
    if time is None:
        reason = "is not an RFC 3339 timestamp with an offset, such as 2024-05-01T12:00:00Z"
        faults.append(fault("event.time", value, reason, "bad-timestamp"))
    return time


def _moment(value: Any) -> datetime | None:
    """A time that needs no reading; one without an offset is none."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        return None
    try:
        return value.astimezone(UTC)
    except OverflowError:
        return None


def _sequence(value: Any, faults: list[Fault]) -> int | None:
    number = int(value) if type(value) is str and _DIGITS.fullmatch(value) else value
    if value is None or (type(number) is int and INT_MIN <= number <= INT_MAX):
        return number
    faults.append(fault("event.sequence", value, "must be an integer of 64 bits", "bad-sequence"))
    return None


def _mode(value: Any, faults: list[Fault]) -> str | None:
    if value is not None and value not in MODES:
        faults.append(fault("event.mode", value, f"must be one of {', '.join(MODES)}", "bad-mode"))
        return None
    return value  # type: ignore[no-any-return]


def _json(value: Value) -> Any:
    """The value in terms of JSON; bytes are left to the encoder, which writes base64."""
    kind = type(value)
    if kind is dict or kind is Checked:
        return {name: _json(item) for name, item in value.items() if item is not None}
    if kind is list:
        return [_json(item) for item in value]
    if kind is float and not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    if kind is int and not INT_MIN <= value <= INT_MAX:
        raise ValueError("an int does not fit in 64 bits")
    if kind is Point:
        return {"x": _json(value.x), "y": _json(value.y)}
    if isinstance(value, datetime):
        return format_timestamp(value)
    return format_duration(value) if isinstance(value, timedelta) else value
