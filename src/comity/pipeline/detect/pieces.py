"""Events in files for patterns: the workers read pieces of files themselves, so that nobody sees what nobody wants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from comity.event.files import read_events, unreadable
from comity.event.formats.parquet import trusted_footer
from comity.limits import Limits, limits
from comity.pipeline.detect.buckets import HasPatterns
from comity.pipeline.detect.parcels import PARCELS, nothing_seen, seen_parcels
from comity.pipeline.detect.taking import Extracting, Taking
from comity.pipeline.doubts import reading
from comity.pipeline.in_worker import in_worker
from comity.pipeline.line_numbers import newlines
from comity.pipeline.read import Inputs

_PIECE_BYTES = 32_000_000
"""Of a file of lines that one task reads at a time."""
_BLOCK_BYTES = 8_000_000
"""Of these, what is scanned at once: what the scanner writes stays near the processor then."""
_ROWS_AT_ONCE = 262_144
_FEW_VALUES = ("source", "type")
"""Columns that are read as numbers and the few texts that these stand for."""


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


def parcels_of(inputs: Inputs, shared: HasPatterns, how: Extracting, spark: SparkSession) -> DataFrame:
    """What files hold for patterns, for the buckets."""
    pieces = pieces_of(inputs)
    if not pieces:
        return nothing_seen(how.buckets, spark)
    tasks = min(len(pieces), max(spark.sparkContext.defaultParallelism, len(pieces) // 4))
    worker = PieceWorker(shared, tuple(pieces), how, limits())
    return spark.range(0, len(pieces), 1, tasks).mapInArrow(worker.batches, PARCELS)


@dataclass(frozen=True, slots=True)
class PieceWorker:
    """The worker's side."""

    shared: HasPatterns
    pieces: tuple[Piece, ...]
    how: Extracting
    bounds: Limits

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels of the pieces whose numbers come in."""
        with in_worker(self.bounds):
            taking = Taking(self.shared.value, self.how)
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    with reading(self.pieces[number].file):
                        _read(self.pieces[number], taking)
                    yield from taking.parcels()
            yield from seen_parcels(taking.seen, self.how.buckets)


def _read(piece: Piece, taking: Taking) -> None:
    match piece.form:
        case "lines":
            _read_lines(piece, taking)
        case "rows":
            _read_rows(piece, taking)
        case "records":
            types = None if taking.patterns.types is None else taking.type_of
            for record in read_events(piece.file, types, require_time=True, window=taking.how.window):
                taking.take(record)
        case _:
            taking.take(unreadable(piece.file, piece.reason))


def _read_rows(piece: Piece, taking: Taking) -> None:
    footer = parquet.read_metadata(piece.file)
    columns = (footer.schema.column(at) for at in range(footer.num_columns))
    few = [one.path for one in columns if one.path in _FEW_VALUES and one.physical_type == "BYTE_ARRAY"]
    with parquet.ParquetFile(piece.file, metadata=footer, read_dictionary=few) as file:
        first = 0
        for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=range(piece.begin, piece.end)):
            begin = first
            taking.rows(batch, piece.file, lambda at, begin=begin: _row_number(piece, begin + at))  # type: ignore[misc]
            first += batch.num_rows


def _row_number(piece: Piece, at: int) -> int:
    """The number from 1 of a row that has a number from 0 in its piece."""
    footer = parquet.read_metadata(piece.file)
    return at + 1 + sum(int(footer.row_group(group).num_rows) for group in range(piece.begin))


def _read_lines(piece: Piece, taking: Taking) -> None:
    first = 0
    for block in _blocks(piece):
        begin = first
        taking.lines(block, piece.file, lambda at, begin=begin: _line_number(piece, begin + at))  # type: ignore[misc]
        first += len(block)


def _line_number(piece: Piece, at: int) -> int:
    """The same for a line."""
    if not piece.begin:
        return at + 1
    with open(piece.file, "rb") as stream:
        stream.seek(piece.begin - 1)
        is_cut = stream.read(1) != b"\n"  # then the first line that begins in the piece comes after the one it cuts
    return newlines(piece.file, piece.begin) + is_cut + at + 1


def _blocks(piece: Piece) -> Iterator[pa.Array]:
    """The lines that begin in a piece, block by block."""
    with open(piece.file, "rb") as stream:
        at = piece.begin
        if at:
            stream.seek(at - 1)
            at += len(stream.readline()) - 1  # the line before belongs to the piece before
        stream.seek(at)
        while at < piece.end:
            block = stream.read(min(_BLOCK_BYTES, piece.end - at))
            if not block.endswith(b"\n"):
                block += stream.readline()
            at += len(block)
            yield lines_in(block)


def lines_in(block: bytes) -> pa.Array:
    """The lines of a block with their ends, without a copy.

    >>> lines_in(b"one\\ntwo\\n\\nthree").to_pylist()
    [b'one\\n', b'two\\n', b'\\n', b'three']
    """
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
    inner = ends if len(ends) and ends[-1] == len(block) else np.r_[ends, len(block)]
    offsets = np.r_[0, inner] if len(block) else np.zeros(1, np.int64)
    return pa.Array.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(block)]
    )
