"""Events as records of Avro object container files, whose schema is in the file.

The fields `id`, `source`, `type`, `time`, `subject`, `sequence`, `mode` and `typeversion` are the envelope. The
attributes are in a field `data` (a record, a map, or JSON text), or else they are all the other fields. Without a field
`type` the name of the record is the type. Null is missing.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Sequence
from datetime import time, timedelta
from pathlib import Path
from typing import IO, Any
from uuid import UUID

import fastavro
import fastavro.read
import fastavro.write
from fastavro.schema import SchemaParseException, UnknownType

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, TypeLookup, rejected
from comity.event.formats.rows import DATA, UnfitCell, row_line
from comity.event.kinds import MICROSECOND, Point, Value
from comity.event.schemas.avro import DURATION, record_schemas
from comity.event.schemas.names import known_type
from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.event.validate import Fault

_BROKEN = (
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    struct.error,
    SchemaParseException,
    UnknownType,
)
"""What the library raises for a broken file. Memory is not among them: it is nobody's to catch here."""

_ENVELOPE_FIELDS: list[dict[str, Any]] = [
    *({"name": name, "type": "string"} for name in ("id", "source", "type")),
    {"name": "time", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}], "default": None},
    {"name": "subject", "type": ["null", "string"], "default": None},
    {"name": "sequence", "type": ["null", "long"], "default": None},
    *({"name": name, "type": ["null", "string"], "default": None} for name in ("mode", "typeversion")),
]


def read_avro_lines(
    path: str | Path, types: Taxonomy | TypeLookup | None = None, *, name: str | None = None, after: int = 0
) -> Iterator[tuple[int, bytes | Rejected]]:
    """The number of each record and the line of CloudEvents JSON that it stands for, or why it stands for none.

    What a hostile file does to this is not bounded: see `comity.event.isolation`.
    """
    lookup = types.find if isinstance(types, Taxonomy) else types
    file = name or str(path)
    number = 0
    with Path(path).open("rb") as stream:
        try:
            for record, schema in _records(stream):
                number += 1
                if number > after:
                    yield number, _line(record, schema, lookup, number, file)
        except _BROKEN as error:
            yield number + 1, _broken(error, file, number + 1)
        except OSError as error:
            if error.errno is not None:  # the system's, not that of a broken file
                raise
            yield number + 1, _broken(error, file, number + 1)


def _records(stream: IO[bytes]) -> Iterator[tuple[Any, Any]]:
    """Each record with the schema of the file."""
    reader = fastavro.block_reader(stream, return_record_name=True, return_record_name_override=True)
    for block in reader:
        size = _size(block.bytes_)  # type: ignore[attr-defined]
        if not 0 <= block.num_records <= size:  # no event is empty, and nothing else ends such a block
            raise ValueError(f"{block.num_records} records in {size} bytes")
        for record in block:
            yield record, reader.writer_schema
        if left := size - block.bytes_.tell():  # type: ignore[attr-defined]
            raise ValueError(f"{left} bytes behind the last of {block.num_records} records of a block")


def _size(content: IO[bytes]) -> int:
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    return size


def write_avro_events(events: Iterable[Event], types: Sequence[EventType], stream: IO[bytes]) -> int:
    """Write a file with events of some types; gives how many. Raises `Misuse` for an event of another type."""
    names = {one.qualified_name for one in types}
    count = 0

    def records() -> Iterator[dict[str, Any]]:
        nonlocal count
        for event in events:
            if event.type not in names:
                message = f"event {event.id!r} is of the type {event.type!r}, which is not known"
                raise Misuse(message, code="not-encodable", hint="give its types with --types FILE")
            count += 1
            yield _record(event)

    schema = fastavro.parse_schema(event_schema(types))
    try:
        fastavro.writer(stream, schema, records(), codec="deflate", strict_allow_default=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise Misuse(f"an event cannot be written as Avro: {error}", code="not-encodable") from error
    return count


def event_schema(types: Sequence[EventType]) -> dict[str, Any]:
    """The schema of a file with events of some types: the envelope, and a record for each type in `data`."""
    concrete = record_schemas([one for one in types if not one.abstract])
    return {
        "type": "record",
        "name": "Event",
        "namespace": "comity",
        "fields": [*_ENVELOPE_FIELDS, {"name": DATA, "type": concrete}],
    }


def _record(event: Event) -> dict[str, Any]:
    names = {name: name for name in ("id", "source", "type", "time", "subject", "sequence", "mode")}
    record = {field: getattr(event, name) for field, name in {**names, "typeversion": "version"}.items()}
    return record | {DATA: (event.type, _plain(event.data))}


def _plain(value: Value) -> Any:
    if type(value) is dict:
        return {name: _plain(inner) for name, inner in value.items()}
    if type(value) is list:
        return [_plain(inner) for inner in value]
    return {"x": value.x, "y": value.y} if type(value) is Point else value


def _line(record: Any, schema: Any, lookup: TypeLookup | None, number: int, file: str) -> bytes | Rejected:
    name = schema.get("name", "") if isinstance(schema, dict) else ""
    if isinstance(record, tuple):
        name, record = record
    if not isinstance(record, dict):
        return rejected(b"", [Fault("", "", "is no record", "not-an-object")], number, file)
    row = {key: _readable(value) for key, value in record.items() if value is not None}
    if "type" not in record:
        space, _, local = name.rpartition(".")
        row["type"] = known_type(space, local, lookup)[0]
    return row_line(row, DATA in record, number, file)


def _readable(value: Any) -> Any:
    """The value without the names of records, and with texts for what only Avro has."""
    if isinstance(value, tuple):
        return _readable(value[1])
    if isinstance(value, dict):
        return {name: _readable(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_readable(inner) for inner in value]
    if isinstance(value, time):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _broken(error: Exception, file: str, number: int) -> Rejected:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    fault = Fault("", "", f"the Avro file is broken from here on: {reason[:200]}", "broken-avro")
    return rejected(b"", [fault], number, file)


def _read_duration(data: int, *_: Any) -> timedelta:
    return data * MICROSECOND


def _write_duration(data: Any, *_: Any) -> Any:
    return data // MICROSECOND if isinstance(data, timedelta) else data


def _read_own_duration(data: bytes, *_: Any) -> timedelta | UnfitCell:
    months, days, milliseconds = struct.unpack("<III", data)
    if months:
        return UnfitCell("a month has no fixed length")
    return timedelta(days=days, milliseconds=milliseconds)


# This is how the library takes logical types that it does not know itself.
fastavro.read.LOGICAL_READERS[f"long-{DURATION}"] = _read_duration
fastavro.read.LOGICAL_READERS["fixed-duration"] = _read_own_duration
fastavro.write.LOGICAL_WRITERS[f"long-{DURATION}"] = _write_duration
