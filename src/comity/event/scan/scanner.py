"""The fast path from lines of CloudEvents JSON to columns of Arrow, a batch at a time.

The scanner vouches for a line only when it is sure of what `jsonlines.decode` makes of it; all other lines are
doubtful, and the caller decodes them. So the decoder alone says what is an event, and why something is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from comity.event.scan.kernels.words import Bytes, Longs, Of, ScanTables
from comity.event.scan.plan import ScanLayout, layout_of
from comity.event.types import EventType
from comity.limits import limits

if TYPE_CHECKING:
    from comity.event.scan.kernels.lines import ScanBuffers

_LEAST, _MOST = -(2**63), 2**63 - 1


class Group(NamedTuple):
    """The events of one type: the numbers of their lines, ascending, and their columns, named by dotted paths.

    Structs and points are columns of structs; a null is a missing value.
    """

    type: EventType
    rows: Longs
    batch: pa.RecordBatch


class Scanned(NamedTuple):
    """What came of some lines. Lines in neither are blank."""

    doubtful: Longs
    """The numbers of the lines, ascending, that the scanner does not vouch for."""
    groups: list[Group]
    """One for each type that occurs."""


class LineScanner:
    """Reads events of known types from lines; it can be pickled, and used by several threads.

    A type is found by its qualified name; types of one namespace also by their simple names, unless these are not
    wanted. An event whose time is
    not in the range is doubtful, and so is any line that has a duration, bytes or a list in an attribute of its type.

    >>> from comity.event.types import AttributeType
    >>> from comity.event.kinds import Kind
    >>> scanner = LineScanner([EventType("Fire", "house", own={"heat": AttributeType(Kind.FLOAT)})], require_time=False)
    >>> fire = b'{"id": "1", "source": "/a", "type": "house.Fire", "data": {"heat": 40}}'
    >>> doubtful, groups = scanner.scan(pa.array([b"{}", fire, b" "]))
    >>> doubtful.tolist(), [(group.rows.tolist(), group.batch["heat"].to_pylist()) for group in groups]
    ([0], [([1], [40.0])])
    """

    def __init__(
        self,
        types: Sequence[EventType],
        *,
        require_time: bool,
        earliest_us: int | None = None,
        latest_us: int | None = None,
        simple_names: bool = True,
        envelope: frozenset[str] | None = None,
    ) -> None:
        """Of the envelope there are columns of what is asked for, and of the type; None: of all."""
        self.types = tuple(types)
        self.envelope = envelope
        self.simple_names = simple_names
        self.require_time = require_time
        self.earliest_us, self.latest_us = earliest_us, latest_us
        self._layout: ScanLayout | None = None

    def scan(self, lines: pa.Array, asked_for: Callable[[EventType], bool] = lambda type: True) -> Scanned:
        """The events in an array of binaries or strings, large or not; a null in it counts as a blank line.

        Of types that are not asked for there are only times, as columns.
        """
        from comity.event.scan.kernels import lines as kernels  # numba takes its time, and the driver never scans

        layout = self.prepared()
        data, offsets = _lines(lines)
        work = new_work(layout, len(lines), len(data))
        found = kernels.LineVerdicts(*(np.empty(len(lines), np.int64) for _ in kernels.LineVerdicts._fields))
        bounds = kernels.Bounds(limits().max_record_bytes, *self.range_us())
        count, doubts = kernels.scan_lines(layout.plan, work, bounds, data, offsets, found)
        columns = [asked_for(type) for type in layout.types]
        groups = self._groups(layout, work, data, found.lines[:count], found.types[:count], columns)
        return _of_their_versions(Scanned(found.doubtful[:doubts].copy(), groups))

    def range_us(self) -> tuple[int, int]:
        """The times between which events are vouched for."""
        earliest = _LEAST if self.earliest_us is None else max(_LEAST, self.earliest_us)
        latest = _MOST if self.latest_us is None else min(_MOST, self.latest_us)
        return int(earliest), int(latest)

    def prepared(self) -> ScanLayout:
        """What the kernels know of the types."""
        if self._layout is None:
            from comity.event.scan.kernels.lines import fill_table

            layout = layout_of(self.types, self.require_time, self.simple_names)
            fill_table(layout.plan)
            self._layout = layout
        return self._layout

    def _groups(
        self, layout: ScanLayout, work: ScanBuffers, data: Bytes, lines: Longs, types: Longs, asked_for: Sequence[bool]
    ) -> list[Group]:
        counts = np.bincount(types, minlength=1)
        groups = []
        for number in np.flatnonzero(counts).tolist():
            rows = None if counts[number] == len(lines) else np.flatnonzero(types == number)
            batch = self.batch(layout, number, work, data, len(lines), rows, is_whole=asked_for[number])
            groups.append(Group(layout.types[number], lines.copy() if rows is None else lines[rows], batch))
        return groups

    def batch(
        self,
        layout: ScanLayout,
        number: int,
        work: ScanBuffers,
        data: Bytes,
        count: int,
        rows: Longs | None,
        *,
        is_whole: bool = True,
    ) -> pa.RecordBatch:
        """The columns of the events of a type, of which the rows among the first `count` are told, or all are."""
        from comity.event.scan.columns import Lanes

        lanes = Lanes(work, data, count, rows)
        if not is_whole:
            times = lanes.times(self.require_time)
            return pa.RecordBatch.from_arrays(list(times.values()), names=list(times))
        columns = lanes.envelope(layout.types[number].qualified_name, self.require_time, self.envelope)
        columns |= {column.name: lanes.column(column) for column in layout.columns[number]}
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_layout": None}


def _of_their_versions(scanned: Scanned) -> Scanned:
    """Without the events that say another version than their type has: they are doubtful."""
    doubtful, groups = [scanned.doubtful], list[Group]()
    for group in scanned.groups:
        if group.type.version is None:
            groups.append(group)
            continue
        other = pc.fill_null(pc.not_equal(group.batch.column("event.version"), group.type.version), False)
        is_other = other.to_numpy(zero_copy_only=False)
        doubtful.append(group.rows[is_other])
        if not is_other.all():
            groups.append(Group(group.type, group.rows[~is_other], group.batch.filter(pc.invert(other))))
    return Scanned(np.sort(np.concatenate(doubtful)) if len(doubtful) > 1 else scanned.doubtful, groups)


def _lines(lines: pa.Array) -> tuple[Bytes, Longs]:
    """The bytes of the lines, and where each begins and the last one ends."""
    is_large = pa.types.is_large_binary(lines.type) or pa.types.is_large_string(lines.type)
    if lines.null_count:
        lines = lines.fill_null(pa.scalar(b"", lines.type))
    _, places, content = lines.buffers()
    element: Any = np.int64 if is_large else np.int32
    offsets = np.zeros(1, np.int64)
    if len(lines):
        offsets = np.frombuffer(places, element)[lines.offset : lines.offset + len(lines) + 1].astype(np.int64)
    data = np.frombuffer(b"\0" if content is None or content.size == 0 else content, np.uint8)
    data.setflags(write=False)  # one kind of array, so that kernels are compiled once
    return data[offsets[0] : offsets[-1]], offsets - offsets[0]


def new_work(layout: ScanLayout, lines: int, size: int) -> ScanBuffers:
    """Buffers for so many lines of so many bytes."""
    from comity.event.scan.kernels.lines import LEVEL, ScanBuffers

    ints = np.empty((layout.lanes, lines), np.int64)
    return ScanBuffers(
        np.concatenate([_next_slots(layout.plan), layout.plan.first]),
        np.zeros(len(layout.plan.slots), np.int64),
        np.zeros((layout.depth + 1) * LEVEL, np.int64),
        ints,
        ints.view(np.float64),
        np.zeros((layout.lanes, lines + 1), np.uint8),
        np.empty(size + 32, np.uint8),
    )


def _next_slots(plan: ScanTables) -> Longs:
    """Of each slot the one that its node has next, as keys often come in the order of the type."""
    node = plan.slots[:, Of.NODE]
    following = np.roll(np.arange(len(node)), -1)
    return np.where(node[following] == node, following, plan.first[node])
