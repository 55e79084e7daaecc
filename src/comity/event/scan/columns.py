"""From the lanes that the scanner's kernels filled to columns of Arrow."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from comity.event.arrow_types import ARROW_TYPES, TIMESTAMP, arrow_type
from comity.event.kinds import Kind
from comity.event.scan.kernels.copy import copy_texts, measure_texts
from comity.event.scan.kernels.lines import ScanBuffers
from comity.event.scan.kernels.words import Bytes, Longs
from comity.event.scan.plan import Lane, ScanColumn
from comity.event.types import ENVELOPE_NAME, MODES

_MODES = pa.array(MODES)
_SLACK = 32


class Lanes:
    """The lanes of some events of one type, as columns."""

    def __init__(self, work: ScanBuffers, data: Bytes, count: int, rows: Longs | None) -> None:
        """`rows` are the events of the type among the first `count`, or None when all are."""
        self.work, self.data, self.rows = work, data, slice(count) if rows is None else rows
        self.count = count if rows is None else len(rows)

    def times(self, require_time: bool) -> dict[str, pa.Array]:
        """The columns of the times and versions."""
        time, version = self._longs(TIMESTAMP, Lane.TIME, not require_time), self._texts(Lane.VERSION, True)
        return {f"{ENVELOPE_NAME}.time": time, f"{ENVELOPE_NAME}.version": version}

    def envelope(self, type_name: str, require_time: bool, wanted: frozenset[str] | None = None) -> dict[str, pa.Array]:
        """The columns of the envelope by their dotted paths: those that are wanted, and the type."""
        made: dict[str, Callable[[], pa.Array]] = {
            "id": lambda: self._texts(Lane.ID, False),
            "source": lambda: self._texts(Lane.SOURCE, False),
            "type": lambda: _repeated(type_name, self.count),
            "time": lambda: self._longs(TIMESTAMP, Lane.TIME, not require_time),
            "subject": lambda: self._texts(Lane.SUBJECT, True),
            "sequence": lambda: self._longs(pa.int64(), Lane.SEQUENCE, True),
            "mode": self._modes,
            "version": lambda: self._texts(Lane.VERSION, True),
        }
        is_wanted = made.keys() if wanted is None else wanted | {"type"}
        return {f"{ENVELOPE_NAME}.{name}": make() for name, make in made.items() if name in is_wanted}

    def column(self, column: ScanColumn) -> pa.Array:
        """The column of an attribute."""
        kind, lane, is_nullable = column.attribute.kind, column.lane, column.is_nullable
        if kind in (Kind.STRUCT, Kind.POINT):
            return self._struct(column)
        if kind is Kind.STRING:
            return self._texts(lane, is_nullable)
        if kind is Kind.BOOL:
            return self._bools(lane, is_nullable)
        if kind in (Kind.INT, Kind.FLOAT, Kind.TIMESTAMP):
            return self._longs(ARROW_TYPES[kind], lane, is_nullable)
        return pa.nulls(self.count, arrow_type(column.attribute))  # its lines are doubtful where it has a value

    def _validity(self, lane: int, is_nullable: bool) -> tuple[Bytes | None, int]:
        """Which values are there, or None when all are; and how many are not."""
        if not is_nullable:
            return None, 0
        valid: Bytes = self.work.valid[lane, self.rows]
        missing = self.count - int(np.count_nonzero(valid))
        return (valid, missing) if missing else (None, 0)

    def _struct(self, column: ScanColumn) -> pa.Array:
        valid, missing = self._validity(column.lane, column.is_nullable)
        inside = [self.column(part) for part in column.parts]
        kind = arrow_type(column.attribute)
        return pa.Array.from_buffers(kind, self.count, [_bitmap(valid)], missing, children=inside)

    def _longs(self, kind: pa.DataType, lane: int, is_nullable: bool) -> pa.Array:
        valid, missing = self._validity(lane, is_nullable)
        if missing == self.count:
            return pa.nulls(self.count, kind)
        values = pa.py_buffer(self.work.ints[lane, self.rows])
        return pa.Array.from_buffers(kind, self.count, [_bitmap(valid), values], missing)

    def _bools(self, lane: int, is_nullable: bool) -> pa.Array:
        valid, missing = self._validity(lane, is_nullable)
        if missing == self.count:
            return pa.nulls(self.count, pa.bool_())
        values = _bitmap(self.work.ints[lane, self.rows] == 1)
        return pa.Array.from_buffers(pa.bool_(), self.count, [_bitmap(valid), values], missing)

    def _modes(self) -> pa.Array:
        valid, missing = self._validity(Lane.MODE, True)
        if missing == self.count:
            return pa.nulls(self.count, pa.string())
        mask = None if valid is None else valid == 0
        return _MODES.take(pa.array(self.work.ints[Lane.MODE, self.rows], mask=mask))

    def _texts(self, lane: int, is_nullable: bool) -> pa.Array:
        valid, missing = self._validity(lane, is_nullable)
        if missing == self.count:
            return pa.nulls(self.count, pa.string())
        spans = self.work.ints[lane, self.rows]
        offsets = np.empty(self.count + 1, np.int32)
        size = measure_texts(spans, _NOTHING if valid is None else valid, valid is not None, offsets)
        out = np.empty(size + _SLACK, np.uint8)
        copy_texts(spans, offsets, self.data, self.work.arena, out)
        buffers = [_bitmap(valid), pa.py_buffer(offsets), pa.py_buffer(out[:size])]
        return pa.Array.from_buffers(pa.string(), self.count, buffers, missing)


@lru_cache(maxsize=16)
def _repeated(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text), count)


_NOTHING = np.zeros(1, np.uint8)


def _bitmap(bits: Any) -> pa.Buffer | None:
    return None if bits is None else pa.py_buffer(np.packbits(bits, bitorder="little"))
