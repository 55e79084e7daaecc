"""Which line of its file a line is, when Spark hands out files in parts.

Spark tells of each line only at which byte its part of the file begins. The lines of a part come in their order, so a
line is known by how many of its part came before it, and by how many lines the file has before the part. The latter is
counted when somebody asks, which is for rejected lines only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from comity.pipeline.stores import plain_name

FILE, BEGIN = "file", "begin"
NumberOf = Callable[[int], int | None]
"""From the place of a line in a batch to its number in the file, from 1; None where that cannot be known."""
_CHUNK_BYTES = 1_048_576
_MOST_FILES = 256


class _Part(NamedTuple):
    """Lines of a batch that are of one part of a file: where in the batch they begin, and how many came before."""

    row: int
    file: str | None
    begin: int
    passed: int


class LineNumbers:
    """Takes the batches of a partition in their order."""

    def __init__(self) -> None:
        self._last: _Part | None = None
        self._count = 0
        """Lines of the last part that came so far."""

    def of(self, batch: pa.RecordBatch) -> NumberOf:
        """The numbers of the lines in a batch, which has columns `file` and `begin`; without these nobody knows."""
        names = batch.schema.names
        if BEGIN not in names or not batch.num_rows or batch.column(names.index(BEGIN)).null_count:
            return unknown
        begins = batch.column(names.index(BEGIN))
        if pc.min(begins).as_py() < 0:
            return lambda at: told_by_source(begins[at].as_py())
        parts = self._parts(batch)

        def number(at: int) -> int | None:
            part = next(one for one in reversed(parts) if one.row <= at)
            before = lines_before(part.file, part.begin)
            return None if before is None else before + part.passed + at - part.row + 1

        return number

    def _parts(self, batch: pa.RecordBatch) -> list[_Part]:
        files, begins = batch.column(batch.schema.names.index(FILE)), batch.column(batch.schema.names.index(BEGIN))
        parts: list[_Part] = []
        for row in _beginnings(files, begins):
            file, begin = files[row].as_py(), begins[row].as_py()
            goes_on = not parts and self._last is not None and (self._last.file, self._last.begin) == (file, begin)
            parts.append(_Part(row, file, begin, self._count if goes_on else 0))
        self._last = parts[-1]
        self._count = self._last.passed + batch.num_rows - self._last.row
        return parts


def told_by_source(begin: int) -> int | None:
    """The number that a source gives a line itself, which stands as a negative place; None for a place in a file.

    >>> told_by_source(-1), told_by_source(-43), told_by_source(7)
    (0, 42, None)
    """
    return -1 - begin if begin < 0 else None


def unknown(at: int) -> int | None:
    """The number of a line of which nothing is known."""
    return None


def _beginnings(files: pa.Array, begins: pa.Array) -> list[int]:
    """The rows where another part begins; a part comes in one piece, so two ends of one part are all of one."""
    if files[0] == files[-1] and begins[0] == begins[-1]:
        return [0]
    differs = pc.or_(pc.not_equal(files[1:], files[:-1]), pc.not_equal(begins[1:], begins[:-1]))
    return [0, *(np.flatnonzero(differs.to_numpy(zero_copy_only=False)) + 1).tolist()]


def lines_before(file: str | None, begin: int) -> int | None:
    """The lines of a file before the first one of the part that begins at a byte; None if it cannot be read here.

    That first one is not the line at the byte, which the part before has, even when it begins there.
    """
    if begin == 0:
        return 0
    try:
        return newlines(plain_name(file) or "", begin) + 1
    except OSError:
        return None


_counted: dict[tuple[str, int, int], tuple[int, int]] = {}
"""By file, size and time of change: up to which byte line ends were counted last, and how many there are."""


def newlines(file: str, end: int) -> int:
    """How many line ends a file has before a byte; counted on from where this process was asked last."""
    with open(file, "rb") as stream:
        status = os.fstat(stream.fileno())
        key = (file, status.st_size, status.st_mtime_ns)
        at, count = _counted.get(key, (0, 0))
        if at > end:
            at, count = 0, 0
        stream.seek(at)
        while at < end and (chunk := stream.read(min(_CHUNK_BYTES, end - at))):
            count += chunk.count(b"\n")
            at += len(chunk)
    if len(_counted) >= _MOST_FILES:
        _counted.clear()
    _counted[key] = (at, count)
    return count
