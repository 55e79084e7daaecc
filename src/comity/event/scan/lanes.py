"""The scanner of one thread, which keeps its buffers from batch to batch, and makes columns only if somebody asks.

What takes the lanes as the kernels filled them need not wait for columns of Arrow, which cost as much for thirty events
as for a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from comity.event.kinds import Kind
from comity.event.scan.kernels import lines as kernels
from comity.event.scan.kernels.beyond import has_beyond
from comity.event.scan.kernels.words import Bytes, Longs
from comity.event.scan.plan import ScanColumn, ScanLayout
from comity.event.scan.scanner import LineScanner, new_work
from comity.limits import limits

Path = tuple[str, ...]
_SLACK = 32
"""Bytes of the arena that are never used."""


class KnownLanes(NamedTuple):
    """Where the attributes of a type are: by path, those inside of structs, too; and all lanes of floats."""

    columns: dict[Path, ScanColumn]
    floats: Longs

    @classmethod
    def of(cls, columns: tuple[ScanColumn, ...]) -> KnownLanes:
        """Those of the columns of a type."""
        found = dict(_below(columns, ()))
        floats = [one.lane for one in found.values() if one.attribute.kind is Kind.FLOAT]
        return cls(found, np.array(floats, np.int64))


def _below(columns: tuple[ScanColumn, ...], inside: Path) -> Iterator[tuple[Path, ScanColumn]]:
    for column in columns:
        path = (*inside, column.name)
        yield path, column
        yield from _below(column.parts, path)


@dataclass(slots=True)
class LaneGroup:
    """The events of one type in a batch; good until the next one is scanned."""

    type_name: str
    rows: Longs
    """The numbers of their lines, ascending."""
    known: KnownLanes
    _scanner: LaneScanner
    _number: int
    _among: Longs | None
    """Their rows among those of all types; None: there are no others."""
    _batch: pa.RecordBatch | None = None

    def floats(self, column: ScanColumn) -> tuple[Longs, Bytes]:
        """The values of an attribute that is a number, and which of them are there."""
        work, place = self._scanner.work, self._place
        return work.floats[column.lane, place], work.valid[column.lane, place]

    def spans(self, column: ScanColumn) -> tuple[Longs, Bytes]:
        """The same for texts: where each is."""
        work, place = self._scanner.work, self._place
        return work.ints[column.lane, place], work.valid[column.lane, place]

    @property
    def texts(self) -> tuple[Bytes, Bytes]:
        """What the places of texts are in: the lines, and what stands there with escapes, without these."""
        return self._scanner.data, self._scanner.work.arena

    @property
    def _place(self) -> slice | Longs:
        return slice(len(self.rows)) if self._among is None else self._among

    def has_beyond(self, bound: float) -> bool:
        """Whether any number lies beyond a bound, in this group or in another one."""
        return self._scanner.has_beyond(self.known.floats, bound)

    def batch(self) -> pa.RecordBatch:
        """All columns."""
        if self._batch is None:
            self._batch = self._scanner.batch(self._number, self._among)
        return self._batch


class LaneScanner:
    """Scans for one thread. Of its types none has a version."""

    def __init__(self, scanner: LineScanner) -> None:
        self._scanner = scanner
        self._layout: ScanLayout = scanner.prepared()
        self._known = [KnownLanes.of(columns) for columns in self._layout.columns]
        self.work = new_work(self._layout, 0, 0)
        self._verdicts = _verdicts(0)
        self.data: Bytes = np.zeros(1, np.uint8)
        self._count = 0

    def scan(self, data: Bytes, offsets: Longs) -> tuple[list[LaneGroup], Longs]:
        """The events of some lines by type, and the numbers of lines that the scanner does not vouch for."""
        self._make_room(len(offsets) - 1, len(data))
        self.data = data
        bounds = kernels.Bounds(limits().max_record_bytes, *self._scanner.range_us())
        count, doubts = kernels.scan_lines(self._layout.plan, self.work, bounds, data, offsets, self._verdicts)
        self._count = count
        lines, types = self._verdicts.lines[:count], self._verdicts.types[:count]
        return list(self._groups(lines, types)), self._verdicts.doubtful[:doubts]

    def _groups(self, lines: Longs, types: Longs) -> Iterator[LaneGroup]:
        if not len(types):
            return
        first = int(types[0])
        if (types == first).all():
            yield self._group(first, lines.copy(), None)
            return
        for number in np.flatnonzero(np.bincount(types)).tolist():
            among = np.flatnonzero(types == number)
            yield self._group(number, lines[among], among)

    def _group(self, number: int, rows: Longs, among: Longs | None) -> LaneGroup:
        return LaneGroup(self._layout.types[number].qualified_name, rows, self._known[number], self, number, among)

    def _make_room(self, lines: int, size: int) -> None:
        work = self.work
        room_lines, room_bytes = work.ints.shape[1], len(work.arena)
        if lines > room_lines or size > room_bytes - _SLACK:
            more = new_work(self._layout, _grown(lines, room_lines), _grown(size, room_bytes))
            self.work = more._replace(follow=work.follow)
            self._verdicts = _verdicts(more.ints.shape[1])
        else:
            work.valid[:, : lines + 1] = 0
            work.seen[:] = 0

    # What is asked for of the last batch

    def has_beyond(self, lanes: Longs, bound: float) -> bool:
        """Whether a value in lanes of floats lies beyond a bound."""
        return bool(has_beyond(self.work.floats, self.work.valid, lanes, self._count, bound))

    def batch(self, number: int, among: Longs | None) -> pa.RecordBatch:
        """The columns of the events of a type."""
        return self._scanner.batch(self._layout, number, self.work, self.data, self._count, among)


def _grown(needed: int, room: int) -> int:
    """Room for what is needed, and for some more if there has to be more room."""
    return room if needed <= room else needed + needed // 2


def _verdicts(lines: int) -> kernels.LineVerdicts:
    return kernels.LineVerdicts(*(np.empty(lines, np.int64) for _ in kernels.LineVerdicts._fields))
