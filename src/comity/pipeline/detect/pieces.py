"""Candidates of patterns over typed events in files: the workers read, scan and match pieces of files as columns.

Lines are scanned, rows are taken as they are; what is in doubt goes through the decoder. Each task writes what it found
by bucket, so that nothing is shuffled, and says only what passed by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.connect.durable import write_whole
from comity.event.event import Event
from comity.event.files import read_events, unreadable
from comity.event.formats.jsonlines import Rejected, decode, encode
from comity.event.formats.parquet import batch_lines, trusted_footer
from comity.event.types import EventType
from comity.event.window import Window
from comity.limits import Limits, limited, limits
from comity.match.line_candidates import LineCandidates
from comity.match.operands import OperandMatcher
from comity.match.row_candidates import CandidateRows, RowReader
from comity.pattern.bank import Bank
from comity.pattern.extract import Extraction
from comity.pattern.occurrence import microseconds
from comity.pattern.rows import CANDIDATES
from comity.pipeline.detect.buckets import HasPatterns, bucket_of, salts_of
from comity.pipeline.detect.extract import (
    LATE,
    REFUSED,
    Extracted,
    operands_fulfilled,
    rejected_text,
)
from comity.pipeline.doubts import reading
from comity.pipeline.line_numbers import newlines
from comity.pipeline.read import Inputs
from comity.pipeline.wrap import placed

_PIECE_BYTES = 32_000_000
"""Of a file of lines that one task reads at a time."""
_ROWS_AT_ONCE = 262_144
_ALL_TIMES = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
_FIGURES = "events long, rejected long, late long, earliest long, latest long"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file: bytes of lines, groups of rows, or all of it."""

    file: str
    form: str
    begin: int = 0
    end: int = 0
    reason: str = ""
    """Why nobody can read it, if it is `unreadable`."""


def pieces_of(inputs: Inputs) -> list[Piece]:
    """The files in parts that can be read each by itself."""
    found = [Piece(file, "unreadable", reason=reason) for file, reason in inputs.unreadable]
    for file in inputs.lines:
        size = Path(file).stat().st_size
        found += [
            Piece(file, "lines", begin, min(begin + _PIECE_BYTES, size)) for begin in range(0, size, _PIECE_BYTES)
        ]
    for file in inputs.parquet:
        found += _row_groups(file)
    return found + [Piece(file, "records") for file in inputs.others]


def _row_groups(file: str) -> list[Piece]:
    footer = trusted_footer(file)
    if footer is None:
        return [Piece(file, "records")]  # the reader of whole files says what is wrong with it
    return [Piece(file, "rows", number, number + 1) for number in range(footer.num_row_groups)]


@dataclass(frozen=True, slots=True)
class PieceCandidates:
    """Stages the candidates of patterns over typed events."""

    shared: HasPatterns
    spark: SparkSession

    def stage(
        self, inputs: Inputs, folder: str, buckets: int, window: Window | None, late_before: int | None
    ) -> Extracted:
        """Stage the candidates in files."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        pieces = pieces_of(inputs)
        if not pieces:
            return Extracted()
        worker = PieceWorker(self.shared, tuple(pieces), folder, buckets, window or _ALL_TIMES, late_before, limits())
        tasks = min(len(pieces), max(self.spark.sparkContext.defaultParallelism, len(pieces) // 4))
        rows = self.spark.range(0, len(pieces), 1, tasks).mapInArrow(worker.batches, _FIGURES).collect()
        return reduce(_together, (Extracted(**row.asDict()) for row in rows), Extracted())


def _together(one: Extracted, other: Extracted) -> Extracted:
    both = Extracted(one.events + other.events, one.rejected + other.rejected, one.late + other.late)
    times = [time for each in (one, other) for time in (each.earliest, each.latest) if time is not None]
    return both.with_times(*times)


@dataclass(frozen=True, slots=True)
class PieceWorker:
    """The worker's side."""

    shared: HasPatterns
    pieces: tuple[Piece, ...]
    folder: str
    buckets: int
    window: Window
    late_before: int | None
    bounds: Limits

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What passed by in each piece, whose number comes in."""
        with limited(**asdict(self.bounds)):
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    seen = _PieceReader(self, self.pieces[number]).stage(number)
                    yield pa.RecordBatch.from_pylist([asdict(seen)], schema=_SCHEMA)


_SCHEMA = pa.schema([(name, pa.int64()) for name in ("events", "rejected", "late", "earliest", "latest")])


@dataclass(slots=True)
class _PieceReader:
    """One piece."""

    work: PieceWorker
    piece: Piece
    bank: Bank = field(init=False)
    types: tuple[EventType, ...] = field(init=False)
    singly: Extraction = field(init=False)
    tables: list[pa.Table] = field(default_factory=list, init=False)
    rejected: list[str] = field(default_factory=list, init=False)
    late: list[str] = field(default_factory=list, init=False)
    events: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        shared = self.work.shared.value
        self.bank = shared.bank
        self.types = tuple(one for one in (shared.types or {}).values() if not one.abstract)
        self.singly = Extraction(self.bank, operands_fulfilled(self.bank))

    def stage(self, number: int) -> Extracted:
        """Read it, and write what was found."""
        forms = {"lines": self._lines, "rows": self._rows, "records": self._records, "unreadable": self._nothing}
        with reading(self.piece.file):
            forms[self.piece.form]()
        found = pa.concat_tables([*self.tables, self.singly.table()]).combine_chunks()
        self._write(found, number)
        for bucket, lines in ((REFUSED, self.rejected), (LATE, self.late)):
            if lines:
                self._write_bucket(bucket, number, _lines_only(lines))
        counts = (self.events, len(self.rejected), len(self.late))
        return Extracted(*counts, self.singly.earliest, self.singly.latest)

    # Reading

    def _lines(self) -> None:
        from comity.event.scan.scanner import LineScanner  # its kernels take a second to load

        lines = _lines_between(self.piece)
        earliest, latest = self._range()
        scanner = LineScanner(self.types, require_time=True, earliest_us=earliest, latest_us=latest, simple_names=False)
        candidates = LineCandidates(self.bank, self.types, scanner, self.singly)
        array = pa.array(lines, pa.binary())
        self.tables.append(candidates.take(array, lambda at: self._take(self._decoded(lines[at], at))))
        self.events += candidates.events

    def _range(self) -> tuple[int, int]:
        """From when to when events need no further look: they are believed, and not late."""
        earliest, latest = microseconds(self.work.window.earliest), microseconds(self.work.window.latest)
        return earliest if self.work.late_before is None else max(earliest, self.work.late_before), latest

    def _rows(self) -> None:
        matchers = {one.qualified_name: OperandMatcher(self.bank, one) for one in self.types}
        reader = RowReader(self.types, *self._range(), lambda one: matchers[one.qualified_name].asks)
        with parquet.ParquetFile(self.piece.file) as file:
            first = 0
            for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=range(self.piece.begin, self.piece.end)):
                if self.bank.needs_lines:  # which rows do not have
                    self._decode_rows(batch, range(first, first + batch.num_rows))
                else:
                    self._take_rows(batch, reader.read(batch), matchers, first)
                first += batch.num_rows

    def _take_rows(
        self, batch: pa.RecordBatch, rows: CandidateRows, matchers: Mapping[str, OperandMatcher], first: int
    ) -> None:
        self.events += rows.count
        for time in rows.times:
            self.singly.see_time(time)
        self.tables += [matchers[type.qualified_name].candidates(events) for type, events in rows.events]
        if len(rows.doubtful):
            places = [first + int(at) for at in rows.doubtful]
            self._decode_rows(batch.take(pa.array(rows.doubtful)), places)

    def _decode_rows(self, batch: pa.RecordBatch, places: Sequence[int]) -> None:
        for at, line in zip(places, batch_lines(batch, 1, self.piece.file), strict=True):
            if isinstance(line, Rejected):
                self._take(placed(line, _number_in_file(self.piece, at)))
            else:
                self._take(self._decoded(line, at))

    def _records(self) -> None:
        for record in read_events(self.piece.file, self._type, require_time=True, window=self.work.window):
            self._take(record)

    def _nothing(self) -> None:
        self._reject(unreadable(self.piece.file, self.piece.reason))

    def _decoded(self, line: bytes, at: int) -> Event | Rejected:
        """The event in the line or row with a number from 0 in this piece, or why it is none."""
        file, window = self.piece.file, self.work.window
        found = decode(line, self._type, require_time=True, source_file=file, window=window)
        return placed(found, _number_in_file(self.piece, at)) if isinstance(found, Rejected) else found

    def _type(self, name: str) -> EventType | None:
        return (self.work.shared.value.types or {}).get(name)

    def _take(self, record: Event | Rejected) -> None:
        if isinstance(record, Rejected):
            self._reject(record)
            return
        self.events += 1
        if self.work.late_before is None or self.singly.time_of(record) >= self.work.late_before:
            self.singly.take(record)
        elif any(True for _ in self.singly.fulfilled(record)):
            self.late.append(encode(record).decode())

    def _reject(self, record: Rejected) -> None:
        self.rejected.append(rejected_text(record))

    # Writing

    def _write(self, found: pa.Table, number: int) -> None:
        """Write candidates by bucket."""
        buckets = self._buckets(found)
        order = np.argsort(buckets, kind="stable")
        begins = np.flatnonzero(np.r_[True, np.diff(buckets[order]) != 0]).tolist() if len(order) else []
        for begin, end in pairwise([*begins, len(order)]):
            rows = order[begin:end]
            self._write_bucket(int(buckets[rows[0]]), number, found.take(pa.array(rows)))

    def _buckets(self, found: pa.Table) -> np.ndarray[Any, Any]:
        salts = salts_of(self.bank)
        keys = found.column("key").combine_chunks().dictionary_encode()
        texts = keys.dictionary.to_pylist()
        numbers = found.column("pattern").to_numpy()
        buckets = np.zeros(found.num_rows, np.int64)
        for salt in set(salts):
            own = np.array([salts[number] == salt for number in range(len(salts))])[numbers]
            by_key = np.array([bucket_of(salt, text, self.work.buckets) for text in texts] or [0])
            codes = keys.indices.to_numpy(zero_copy_only=False)
            buckets[own] = by_key[codes[own]]
        return buckets

    def _write_bucket(self, bucket: int, number: int, table: pa.Table) -> None:
        path = Path(self.work.folder) / f"bucket={bucket}" / f"{number:08d}.parquet"
        write_whole(path, lambda stream: parquet.write_table(table, stream, compression="lz4", use_dictionary=["key"]))


def _lines_only(lines: Sequence[str]) -> pa.Table:
    count = len(lines)
    columns = [pa.array(lines) if one.name == "line" else pa.nulls(count, one.type) for one in CANDIDATES]
    return pa.table(columns, schema=CANDIDATES)


def _number_in_file(piece: Piece, at: int) -> int:
    """The number from 1 of a line or row that has a number from 0 in its piece."""
    if piece.form == "rows":
        footer = parquet.read_metadata(piece.file)
        return at + 1 + sum(int(footer.row_group(group).num_rows) for group in range(piece.begin))
    if not piece.begin:
        return at + 1
    with open(piece.file, "rb") as stream:
        stream.seek(piece.begin - 1)
        is_cut = stream.read(1) != b"\n"  # then the first line that begins in the piece comes after the one it cuts
    return newlines(piece.file, piece.begin) + is_cut + at + 1


def _lines_between(piece: Piece) -> list[bytes]:
    """The lines that begin in a piece."""
    with open(piece.file, "rb") as stream:
        begin = piece.begin
        if begin:
            stream.seek(begin - 1)
            begin += len(stream.readline()) - 1  # the line before belongs to the piece before
        stream.seek(begin)
        if begin >= piece.end:
            return []
        block = stream.read(piece.end - begin)
        if not block.endswith(b"\n"):
            block += stream.readline()
    return block.split(b"\n")
