"""Events as rows of CSV, one row in a line.

The columns `id`, `source`, `type`, `time`, `subject`, `sequence`, `mode` and `typeversion` are the envelope. Every
other column is an attribute by its dotted path; `data.` may stand before it, and must before one that is named like a
part of the envelope. A column `data` holds all attributes as one JSON object.

An empty cell is missing; `""` is the empty text where the type asks for a text. Other cells are read by the kind that
the type declares, structs, lists and points as JSON. Without types a number, `true`, `false`, a struct and a list are
read as JSON, and everything else is text. A row must be in one line: line breaks inside quotes are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, TypeLookup, decode, encode, rejected, too_long
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.event.validate import Fault, fault
from comity.limits import limits

if TYPE_CHECKING:
    from comity.event.window import Window

ENVELOPE_COLUMNS = ("id", "source", "type", "time", "subject", "sequence", "mode", "typeversion")
"""The columns that are no attributes."""

_DATA = "data"
_BOM = "\ufeff"
_CELL = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",]*))(,|$)')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = {
    "nan": b"NaN",
    "inf": b"Infinity",
    "infinity": b"Infinity",
    "-inf": b"-Infinity",
    "-infinity": b"-Infinity",
}
_encoder = msgspec.json.Encoder()
_WORDS = {"true": True, "false": False}

Cell = str | None
"""The text of a cell; None for an empty one without quotes."""
Path = tuple[str, ...]
_Convert = Callable[[str, list[Fault], str], Any]
_Plan = tuple[tuple[int, Path, str, _Convert], ...]


@dataclass(frozen=True, eq=False)
class Header:
    """What the columns of a file are: for each the path in the CloudEvents record, `("data", …)` for attributes.

    A header with faults is kept, so that every row below it can be rejected with them.
    """

    columns: tuple[Path, ...]
    faults: tuple[Fault, ...] = ()
    _plans: dict[EventType | None, _Plan] = field(default_factory=dict, repr=False)

    def plan(self, declared: EventType | None) -> _Plan:
        """How the cells are read in an event of this type, without those that are dropped."""
        plan = self._plans.get(declared)
        if plan is None:
            plan = self._plans[declared] = tuple(_planned(self.columns, declared))
        return plan

    @cached_property
    def type_column(self) -> int | None:
        """Where the type of an event stands."""
        return self.columns.index(("type",)) if ("type",) in self.columns else None


def read_header(line: bytes) -> Header:
    """The header in the first line of a file.

    >>> read_header(b"id,source,type,time,device.serial,data.time").columns[-2:]
    (('data', 'device', 'serial'), ('data', 'time'))
    >>> read_header(b"id,id").faults[0].reason
    'the header has two columns `id`'
    """
    faults: list[Fault] = []
    cells = _cells(line, faults)
    if faults:
        return Header(
            (), tuple(Fault(one.path, one.value, f"the header: {one.reason}", "bad-header") for one in faults)
        )
    names = [(cell or "").removeprefix(_BOM if at == 0 else "").strip() for at, cell in enumerate(cells)]
    columns = tuple(_path(name) for name in names)
    return Header(columns, tuple(_header_faults(names, columns)))


def decode_row(
    line: bytes,
    header: Header,
    types: Taxonomy | TypeLookup | None = None,
    *,
    require_time: bool = False,
    line_number: int | None = None,
    source_file: str | None = None,
    window: Window | None = None,
) -> Event | Rejected:
    """The event in a row, or why it is none, with the faults that the same event in JSON Lines would have.

    >>> decode_row(b'1,/a,house.Fire,40', read_header(b"id,source,type,heat")).data
    {'heat': 40}
    """
    record = row_as_json(line, header, types, line_number=line_number, source_file=source_file)
    if isinstance(record, Rejected):
        return record
    found = decode(record, types, require_time=require_time, window=window)
    if isinstance(found, Event):
        return found
    faults = [
        Fault(one.path, one.value, one.reason, one.code) for one in found.faults
    ]  # columns were those of the JSON
    return rejected(line, faults, line_number, source_file)


def row_as_json(
    line: bytes,
    header: Header,
    types: Taxonomy | TypeLookup | None = None,
    *,
    line_number: int | None = None,
    source_file: str | None = None,
) -> bytes | Rejected:
    """The line of CloudEvents JSON that a row stands for, not yet checked against its type, or why there is none.

    >>> row_as_json(b'1,/a,T,"[1,2]"', read_header(b"id,source,type,heats"))
    b'{"id":"1","source":"/a","type":"T","data":{"heats":[1,2]}}'
    """
    faults = list(header.faults)
    cells = [] if faults else _cells(line, faults)
    if not faults and len(cells) != len(header.columns):
        reason = f"the row has {len(cells)} cells, the header has {len(header.columns)}"
        faults.append(Fault("", "", reason, "bad-csv"))
    if faults:
        return rejected(line, faults, line_number, source_file)
    record = _record(cells, header, types, faults)
    return rejected(line, faults, line_number, source_file) if faults else _encoder.encode(record)


def encode_header(columns: Iterable[str]) -> bytes:
    """The header line for columns, without the line end.

    >>> encode_header(["id", "source", "type", "data.time"])
    b'id,source,type,data.time'
    """
    return ",".join(_quoted(name) for name in columns).encode()


def encode_row(event: Event, header: Header) -> bytes:
    """The row of an event, without the line end; raises `Misuse` when a text has a line break.

    Attributes that no column holds are left out.

    >>> encode_row(Event("1", "/a", "T", data={"tags": ["x"]}), read_header(b"id,source,type,tags,heat"))
    b'1,/a,T,"[""x""]",'
    """
    record = msgspec.json.decode(encode(event))
    row = ",".join(_encoded(_at(record, path)) for path in header.columns)
    if "\n" in row or "\r" in row:
        raise Misuse(f"event {event.id!r} has a line break in a text, which no row can hold", code="not-encodable")
    return row.encode()


def _cells(line: bytes, faults: list[Fault]) -> list[Cell]:
    if len(line) > limits().max_record_bytes:
        faults.append(too_long(f"{len(line)} bytes"))
        return []
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        reason = f"the line is not UTF-8 from byte {error.start + 1} on"
        faults.append(Fault("", f"0x{line[error.start]:02x}", reason, "not-utf-8", error.start + 1))
        return []
    if "\r" in text:
        faults.append(Fault("", "", "the row has a line break in it", "bad-csv", text.index("\r") + 1))
        return []
    return _quoted_cells(text, faults) if '"' in text else [cell or None for cell in text.split(",")]


def _quoted_cells(text: str, faults: list[Fault]) -> list[Cell]:
    cells: list[Cell] = []
    at = 0
    while True:
        found = _CELL.match(text, at)
        if found is None:
            faults.append(_broken_quotes(text, at))
            return []
        quoted, plain, end = found.groups()
        cells.append(quoted.replace('""', '"') if quoted is not None else plain or None)
        if not end:
            return cells
        at = found.end()


def _broken_quotes(text: str, at: int) -> Fault:
    if text.startswith('"', at) and text.count('"', at) % 2 == 1:
        reason = "a quoted cell does not end in its line; line breaks inside quotes are not read"
    else:
        reason = 'a cell holds a " that is not doubled inside quotes'
    return fault("", text[at : at + 40], reason, "bad-csv", at + 1)


def _path(name: str) -> Path:
    if name in ENVELOPE_COLUMNS or name == _DATA:
        return (name,)
    return (_DATA, *name.removeprefix(_DATA + ".").split("."))


def _header_faults(names: list[str], columns: tuple[Path, ...]) -> Iterable[Fault]:
    taken: dict[Path, str] = {}
    for name, path in zip(names, columns):
        if not all(path):
            yield fault("", name, "the header has a column without a name", "bad-header")
        elif path in taken:
            yield fault("", name, f"the header has two columns `{taken[path]}`", "bad-header")
        taken[path] = name
    for name, path in zip(names, columns):
        outer = next((taken[path[:size]] for size in range(1, len(path)) if path[:size] in taken), None)
        if outer is not None:
            yield fault("", name, f"column `{name}` of the header is inside column `{outer}`", "bad-header")


def _record(
    cells: list[Cell], header: Header, types: Taxonomy | TypeLookup | None, faults: list[Fault]
) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for at, path, shown, convert in header.plan(_declared(cells, header, types)):
        cell = cells[at]
        value = convert(cell, faults, shown) if cell is not None else None
        if value is not None:
            _put(record, path, value)
    return record


def _declared(cells: list[Cell], header: Header, types: Taxonomy | TypeLookup | None) -> EventType | None:
    if types is None or header.type_column is None:
        return None
    name = cells[header.type_column]
    lookup = types.find if isinstance(types, Taxonomy) else types
    return lookup(name) if name else None


def _put(record: dict[str, Any], path: Path, value: Any) -> None:
    for name in path[:-1]:
        record = record.setdefault(name, {})
    record[path[-1]] = value


def _planned(columns: tuple[Path, ...], declared: EventType | None) -> Iterable[tuple[int, Path, str, _Convert]]:
    for at, path in enumerate(columns):
        convert = _converter(path, declared)
        if convert is not None:
            yield at, path, ".".join(path[1:]), convert


def _converter(path: Path, declared: EventType | None) -> _Convert | None:
    if path == (_DATA,):
        return _json
    if path[0] != _DATA:
        return _envelope
    if declared is None:
        return _open
    attribute = declared.attribute_at(path[1:]) if path[1] != "event" else None
    return _CONVERTERS.get(attribute.kind, _text) if attribute is not None else None


def _envelope(cell: str, faults: list[Fault], path: str) -> str | None:
    return cell or None


def _text(cell: str, faults: list[Fault], path: str) -> str:
    return cell


def _written(cell: str, faults: list[Fault], path: str) -> str | None:
    return cell or None


def _number(cell: str, faults: list[Fault], path: str) -> Any:
    """The digits as they are, so that the decoder of JSON Lines judges their range; what is no number stays text."""
    text = cell.strip()
    if _NUMBER.fullmatch(text):
        return msgspec.Raw(text.encode())
    word = _NOT_FINITE.get(text.lower())
    return msgspec.Raw(word) if word is not None else cell or None


def _bool(cell: str, faults: list[Fault], path: str) -> Any:
    return _WORDS.get(cell.strip().lower(), cell or None)


def _json(cell: str, faults: list[Fault], path: str) -> Any:
    if not cell:
        return None
    content = cell.encode()
    try:
        json.loads(cell)  # not msgspec, because this one goes on at NaN, whose place the decoder then tells
    except (ValueError, RecursionError):
        faults.append(fault(path, cell, "the cell is not JSON", "bad-json"))
        return None
    return msgspec.Raw(content)


def _open(cell: str, faults: list[Fault], path: str) -> Any:
    if cell in _WORDS:
        return _WORDS[cell]
    if _NUMBER.fullmatch(cell):
        return msgspec.Raw(cell.encode())
    if cell[:1] in ("{", "["):
        try:
            json.loads(cell)
        except (ValueError, RecursionError):
            return cell
        return msgspec.Raw(cell.encode())
    return cell


_CONVERTERS: dict[Kind, _Convert] = {
    Kind.BOOL: _bool,
    Kind.INT: _number,
    Kind.FLOAT: _number,
    Kind.TIMESTAMP: _written,
    Kind.DURATION: _written,
    Kind.STRUCT: _json,
    Kind.LIST: _json,
    Kind.POINT: _json,
}


def _at(record: Any, path: Path) -> Any:
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return record


def _encoded(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _quoted(value)
    return _quoted(msgspec.json.encode(value).decode())


def _quoted(text: str) -> str:
    if text and not any(sign in text for sign in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'
