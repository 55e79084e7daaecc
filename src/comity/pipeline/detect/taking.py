"""From events in whatever form to candidates of patterns, as columns wherever that can be.

Lines are scanned, rows are taken as they are; what is in doubt goes through the decoder. Events without types are all
decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode, encode
from comity.event.formats.parquet import batch_lines
from comity.event.types import EventType
from comity.event.window import Window
from comity.match.line_candidates import LineCandidates
from comity.match.match import INDEXED, BoundProfile, Matcher
from comity.match.operands import OperandMatcher
from comity.match.row_candidates import CandidateRows, RowReader
from comity.pattern.bank import Bank
from comity.pattern.extract import Extraction, Fulfilled, one_by_one
from comity.pattern.occurrence import microseconds
from comity.pipeline.detect.buckets import PatternWork, bucket_of, salts_of
from comity.pipeline.detect.parcels import Parcel, line_parcels, table_parcels
from comity.pipeline.detect.seen import Extracted
from comity.pipeline.wrap import placed, rejected_fields

ALL_TIMES = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
NumberAt = Callable[[int], int | None]
"""From the position of a line or row among those that are taken to its number in its file, if that is known."""


@dataclass(frozen=True, slots=True)
class Extracting:
    """How candidates are made of records."""

    buckets: int
    window: Window = ALL_TIMES
    """The times that are believed."""
    late_before: int | None = None
    """Where the time begins that is not complete yet."""

    @property
    def range_us(self) -> tuple[int, int]:
        """From when to when events need no further look: they are believed, and not late."""
        earliest, latest = microseconds(self.window.earliest), microseconds(self.window.latest)
        return earliest if self.late_before is None else max(earliest, self.late_before), latest


@dataclass(slots=True)
class Taking:
    """Takes the events of a task; what was found of them is handed on by `parcels`, again and again."""

    patterns: PatternWork
    how: Extracting
    events: int = field(default=0, init=False)
    rejected: int = field(default=0, init=False)
    types: tuple[EventType, ...] = field(init=False)
    singly: Extraction = field(init=False)
    """Takes the events that are decoded one by one, and knows the first and the last time of all."""
    _tables: list[pa.Table] = field(default_factory=list, init=False)
    _refused: list[bytes] = field(default_factory=list, init=False)
    _late: list[bytes] = field(default_factory=list, init=False)
    _lines: LineCandidates | None = field(default=None, init=False)
    _matchers: dict[str, OperandMatcher] = field(default_factory=dict, init=False)
    _rows: RowReader | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.types = tuple(one for one in (self.patterns.types or {}).values() if not one.abstract)
        self.singly = Extraction(self.bank, operands_fulfilled(self.bank))

    @property
    def bank(self) -> Bank:
        return self.patterns.bank

    @property
    def seen(self) -> Extracted:
        """What passed by so far."""
        return Extracted(self.events, self.rejected, self.singly.earliest, self.singly.latest)

    def parcels(self) -> Iterator[pa.RecordBatch]:
        """What was found since the last call, for the buckets."""
        found = pa.concat_tables([*self._tables, self.singly.table()])
        yield from table_parcels(Parcel.CANDIDATES, found, self._buckets(found))
        yield from line_parcels(Parcel.REFUSED, self._refused, self.how.buckets)
        yield from line_parcels(Parcel.LATE, self._late, self.how.buckets)
        self._tables, self._refused, self._late = [], [], []

    def lines(self, lines: pa.Array, file: str | None, number_at: NumberAt) -> None:
        """Take lines of JSON, with or without their ends."""
        if self.patterns.types is None:
            for at, line in enumerate(lines.to_pylist()):
                self._decode(line, file, number_at, at)
            return
        scan = self._scanned()
        before = scan.events
        table = scan.take(lines, lambda at: self._decode(lines[at].as_py(), file, number_at, at))
        self._tables.append(table)
        self.events += scan.events - before

    def rows(self, batch: pa.RecordBatch, file: str | None, number_at: NumberAt) -> None:
        """Take rows with a column for each part of the envelope, and for each attribute or for all of them."""
        if self.patterns.types is None or self.bank.needs_lines:  # which rows do not have
            self._decode_rows(_with_texts(batch), range(batch.num_rows), file, number_at)
            return
        found = self._row_reader().read(batch)
        self._take_rows(found)
        if len(found.doubtful):
            doubtful = _with_texts(batch.take(pa.array(found.doubtful)))
            self._decode_rows(doubtful, found.doubtful.tolist(), file, number_at)

    def take(self, record: Event | Rejected) -> None:
        """Take a record that was decoded."""
        if isinstance(record, Rejected):
            self.rejected += 1
            self._refused.append(rejected_line(record))
            return
        self.events += 1
        if self.how.late_before is None or self.singly.time_of(record) >= self.how.late_before:
            self.singly.take(record)
        elif any(True for _ in self.singly.fulfilled(record)):
            self._late.append(encode(record))

    def type_of(self, name: str) -> EventType | None:
        """A type by its qualified name."""
        return (self.patterns.types or {}).get(name)

    def _decode(self, line: bytes, file: str | None, number_at: NumberAt, at: int) -> None:
        if line and not line.isspace():
            self._take_line(line, file, number_at, at)

    def _take_line(self, line: bytes, file: str | None, number_at: NumberAt, at: int) -> None:
        types = None if self.patterns.types is None else self.type_of
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        found = decode(text, types, require_time=True, source_file=file, window=self.how.window)
        self.take(placed(found, number_at(at)) if isinstance(found, Rejected) else found)

    def _decode_rows(self, batch: pa.RecordBatch, places: Sequence[int], file: str | None, number_at: NumberAt) -> None:
        for at, line in zip(places, batch_lines(batch, 1, file or ""), strict=True):
            if isinstance(line, Rejected):
                self.take(placed(line, number_at(at)))
            else:
                self._take_line(line, file, number_at, at)

    def _take_rows(self, rows: CandidateRows) -> None:
        self.events += rows.count
        for time in rows.times:
            self.singly.see_time(time)
        self._tables += [self._matcher(type).candidates(events) for type, events in rows.events]

    def _scanned(self) -> LineCandidates:
        if self._lines is None:
            from comity.event.scan.scanner import LineScanner  # its kernels take a second to load

            first, last = self.how.range_us
            scanner = LineScanner(self.types, require_time=True, earliest_us=first, latest_us=last, simple_names=False)
            self._lines = LineCandidates(self.bank, self.types, scanner, self.singly)
        return self._lines

    def _row_reader(self) -> RowReader:
        if self._rows is None:
            self._rows = RowReader(self.types, *self.how.range_us, lambda one: self._matcher(one).asks)
        return self._rows

    def _matcher(self, type: EventType) -> OperandMatcher:
        found = self._matchers.get(type.qualified_name)
        if found is None:
            found = self._matchers[type.qualified_name] = OperandMatcher(self.bank, type)
        return found

    def _buckets(self, found: pa.Table) -> npt.NDArray[np.int64]:
        salts = salts_of(self.bank)
        keys = found.column("key").combine_chunks().dictionary_encode()
        keys = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
        texts = keys.dictionary.to_pylist()
        numbers = found.column("pattern").to_numpy()
        codes: Any = keys.indices.to_numpy(zero_copy_only=False)
        buckets = np.zeros(found.num_rows, np.int64)
        for salt in set(salts):
            own = np.array([salts[number] == salt for number in range(len(salts))])[numbers]
            by_key = np.array([bucket_of(salt, text, self.how.buckets) for text in texts] or [0])
            buckets[own] = by_key[codes[own]]
        return buckets


def _with_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows without dictionaries."""
    columns = [one.cast(one.type.value_type) if pa.types.is_dictionary(one.type) else one for one in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def operands_fulfilled(bank: Bank) -> Fulfilled:
    """Which operands an event fulfils, by an index where there are many."""
    asked = list(bank.sharing.users)
    if len(asked) < INDEXED:
        return one_by_one(bank)
    patterns = bank.patterns
    filters = [patterns[number].filters[patterns[number].operand_names[at]] for number, at in asked]
    matcher = Matcher.of([BoundProfile(str(at), condition, None) for at, condition in enumerate(filters)])
    return lambda event: [asked[int(name)] for name in matcher.match(event)]


def rejected_line(record: Rejected) -> bytes:
    """A rejected record as it is kept: its file, its line, its text and the faults."""
    fields = rejected_fields(record)
    told = {name: fields[name] for name in ("file", "line", "raw")}
    return msgspec.json.encode({**told, "faults": msgspec.Raw(fields["reason"].encode())})
