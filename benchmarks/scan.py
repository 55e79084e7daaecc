"""How long it takes to turn lines of CloudEvents JSON into columns of Arrow, an event.

`python benchmarks/scan.py [--lines 65536] [--batch 16384] [--quick] [--out FILE]`

All ways read the same lines in the same run: *decode* is `jsonlines.decode` line by line and a column at a time, *typed
msgspec* decodes into structs that the type's attributes spell out, without the checks of the border, *pyarrow.json*
reads with a schema, *scanner* is ours, with every check. What *decode* and *scanner* give is compared. Times are
processor time, the best of several runs. `mixed` are two types whose keys come in any order, with nulls and escapes.
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from time import process_time
from typing import Any, Union

import msgspec
import pyarrow as pa
import pyarrow.json

from comity.event.arrow_types import arrow_type
from comity.event.event import Event
from comity.event.formats.jsonlines import decode
from comity.event.kinds import Kind
from comity.event.scan.scanner import LineScanner, Scanned
from comity.event.types import ENVELOPE, AttributeType, EventType

READING = EventType(
    "Reading",
    "plant",
    own={
        "machine": AttributeType(Kind.STRING),
        "temperature": AttributeType(Kind.FLOAT),
        "load": AttributeType(Kind.INT, optional=True),
        "pressure": AttributeType(Kind.FLOAT),
        "status": AttributeType(Kind.STRING),
        "test": AttributeType(Kind.BOOL),
        "vibration": AttributeType(Kind.FLOAT, optional=True),
        "shift": AttributeType(Kind.INT),
    },
)
ALARM = EventType(
    "Alarm",
    "plant",
    own={"message": AttributeType(Kind.STRING), "since": AttributeType(Kind.TIMESTAMP, optional=True)},
)
TYPES = (READING, ALARM)
_KINDS: dict[Kind, type] = {
    Kind.STRING: str,
    Kind.FLOAT: float,
    Kind.INT: int,
    Kind.BOOL: bool,
    Kind.TIMESTAMP: datetime,
}


@dataclass(frozen=True)
class Result:
    """One way on one workload."""

    workload: str
    way: str
    us_per_event: float
    bytes_per_event: float
    doubtful: int = 0


def reading(number: int, chance: random.Random) -> dict[str, Any]:
    """The record of an event of 250 bytes with 8 attributes."""
    data = {
        "machine": f"m-{chance.randrange(400)}",
        "temperature": round(chance.uniform(15, 95), 2),
        "load": chance.randrange(1000),
        "pressure": round(chance.uniform(1, 10), 3),
        "status": chance.choice(["ok", "warn", "off"]),
        "test": chance.random() < 0.1,
        "vibration": round(chance.uniform(0, 1000), 1),
        "shift": chance.randrange(100),
    }
    return envelope("Reading", number, chance) | {"data": data}


def envelope(name: str, number: int, chance: random.Random) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": f"e-{number}",
        "source": f"plant/line-{chance.randrange(50)}",
        "type": f"plant.{name}",
        "time": f"2025-11-15T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.{number % 100:02}0000Z",
    }


def mixed(number: int, chance: random.Random) -> dict[str, Any]:
    """The record of an event of one of two types, its keys in any order."""
    if number % 3 == 0:
        data = {"message": 'Größe "über" Maß\n', "since": "2025-11-15T12:00:00+01:00", "more": [1, {"a": None}]}
        return shuffled(envelope("Alarm", number, chance) | {"data": data}, chance)
    record = reading(number, chance)
    record["data"] = shuffled(record["data"] | {"load": chance.choice([None, 5])}, chance)
    return shuffled(record, chance)


def shuffled(record: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    return dict(chance.sample(list(record.items()), len(record)))


def best(work: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """The least time of several runs, and the result."""
    times = []
    for _ in range(runs):
        start = process_time()
        result = work()
        times.append(process_time() - start)
    return min(times), result


def names_of(one: EventType) -> dict[str, AttributeType]:
    """The columns of a type."""
    return {f"event.{name}": attribute for name, attribute in ENVELOPE.items()} | dict(one.attributes)


def decode_lines(lines: Sequence[bytes]) -> dict[str, pa.RecordBatch]:
    """Line by line, and a value at a time into its column, by type."""
    by_name = {one.qualified_name: one for one in TYPES}
    found: dict[str, dict[str, list[Any]]] = {name: {key: [] for key in names_of(by_name[name])} for name in by_name}
    for line in lines:
        event = decode(line, by_name.get, require_time=True)
        assert isinstance(event, Event)
        columns = found[event.type]
        for name in ENVELOPE:
            columns[f"event.{name}"].append(getattr(event, name))
        for name in by_name[event.type].attributes:
            columns[name].append(event.data.get(name))
    return {name: batch_of(by_name[name], columns) for name, columns in found.items() if columns["event.id"]}


def batch_of(one: EventType, columns: dict[str, list[Any]]) -> pa.RecordBatch:
    kinds = names_of(one)
    arrays = [pa.array(values, arrow_type(kinds[name])) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def typed_decoder() -> msgspec.json.Decoder[Any]:
    """Structs for each type, told apart by `type`."""
    return msgspec.json.Decoder(Union[tuple(envelope_struct(one) for one in TYPES)])  # noqa: UP007 - known at run time


def envelope_struct(one: EventType) -> type[msgspec.Struct]:
    fields = [struct_field(name, attribute) for name, attribute in one.attributes.items()]
    data = msgspec.defstruct(f"{one.name}Data", fields, kw_only=True)
    texts = [(name, str) for name in ("id", "source")]
    rest: list[Any] = [("subject", str | None, None), ("sequence", str | None, None), ("mode", str | None, None)]
    fixed: list[Any] = [*texts, ("time", datetime), ("data", data), *rest]
    return msgspec.defstruct(one.name, fixed, tag_field="type", tag=one.qualified_name, kw_only=True)


def struct_field(name: str, attribute: AttributeType) -> Any:
    kind = _KINDS[attribute.kind]
    return (name, kind | None, None) if attribute.optional else (name, kind)


def arrow_options() -> pyarrow.json.ParseOptions:
    """The schema of all types together, as pyarrow.json knows no others."""
    data = {name: arrow_type(attribute) for one in TYPES for name, attribute in one.attributes.items()}
    texts = {name: pa.string() for name in ("id", "source", "type", "time", "subject", "sequence", "mode")}
    schema = pa.schema({**texts, "data": pa.struct({**data, "since": pa.string()})})
    return pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")


def measure(workload: str, lines: Sequence[bytes], batch: int, runs: int) -> list[Result]:
    """All ways on the same lines."""
    parts = [lines[at : at + batch] for at in range(0, len(lines), batch)]
    arrays = [pa.array(part, pa.binary()) for part in parts]
    texts = [b"\n".join(part) for part in parts]
    scanner, decoder = LineScanner(TYPES, require_time=True), typed_decoder()
    parsing, reading = arrow_options(), pyarrow.json.ReadOptions(use_threads=False, block_size=1 << 26)
    scanner.scan(arrays[0])  # compiled, or fetched from the disk
    ways: dict[str, Callable[[], Any]] = {
        "decode": lambda: [decode_lines(part) for part in parts],
        "typed msgspec": lambda: [decoder.decode_lines(text) for text in texts],
        "pyarrow.json": lambda: [pyarrow.json.read_json(io.BytesIO(text), reading, parsing) for text in texts],
        "scanner": lambda: [scanner.scan(array) for array in arrays],
    }
    took = {way: best(work, 2 if way == "decode" else runs) for way, work in ways.items()}
    doubtful = compare(took["decode"][1], took["scanner"][1])
    size = sum(map(len, lines)) / len(lines)
    return [
        Result(workload, way, seconds / len(lines) * 1e6, size, doubtful if way == "scanner" else 0)
        for way, (seconds, _) in took.items()
    ]


def compare(decoded: Sequence[dict[str, pa.RecordBatch]], scanned: Sequence[Scanned]) -> int:
    """Checks that both gave the same columns; gives the number of doubtful lines, which must be none."""
    for expected, found in zip(decoded, scanned, strict=True):
        assert not len(found.doubtful)
        assert {group.type.qualified_name for group in found.groups} == set(expected)
        for group in found.groups:
            assert group.batch.equals(expected[group.type.qualified_name]), group.type.name
    return sum(len(found.doubtful) for found in scanned)


def main() -> None:
    """Measures, prints, and writes JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lines", type=int, default=65_536)
    parser.add_argument("--batch", type=int, default=16_384)
    parser.add_argument("--quick", action="store_true", help="fewer lines and runs")
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    options = parser.parse_args()
    count, runs = (16_384, 3) if options.quick else (options.lines, 9)
    results = []
    for workload, record in (("readings", reading), ("mixed", mixed)):
        chance = random.Random(7)
        lines = [json.dumps(record(number, chance), separators=(",", ":")).encode() for number in range(count)]
        results += measure(workload, lines, options.batch, runs)
    for one in results:
        print(f"{one.workload:10} {one.way:14} {one.us_per_event:8.3f} µs/event  {one.bytes_per_event:.0f} bytes")
    if options.out:
        machine = {"python": platform.python_version(), "machine": platform.machine()}
        found = {
            "lines": count,
            "batch": options.batch,
            "machine": machine,
            "results": [asdict(one) for one in results],
        }
        options.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
