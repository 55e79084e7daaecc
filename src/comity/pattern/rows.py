"""Candidates and reports as columns, for many patterns at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from comity.event.kinds import Value
from comity.pattern.bound import BoundPattern
from comity.pattern.report import Happening, moment_text, report_id

CANDIDATES = pa.schema(
    [
        pa.field("pattern", pa.int32()),
        pa.field("operand", pa.int32()),
        pa.field("key", pa.string()),
        pa.field("time", pa.int64()),
        pa.field("tie", pa.int64()),
        pa.field("source", pa.string()),
        pa.field("id", pa.string()),
        pa.field("line", pa.string()),
    ]
)
"""An event that fulfils what an operand asks: the numbers of the pattern and the operand, the text of the correlation
key, microseconds, the tie-break (0 where the profile has none), the identity; and the event as JSON, if that is needed.
"""

CandidateRow = tuple[int, int, str, int, int, str, str, str | None]
"""The same as a row."""

STATE = pa.schema([*(field for field in CANDIDATES if field.name != "operand"), pa.field("mask", pa.int64())])
"""What is kept of flat patterns: candidates, with the operands of each event as the bits of a mask."""

REPORTS = pa.schema(
    [
        pa.field("pattern", pa.int32()),
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        pa.field("operand", pa.list_(pa.int32())),
        pa.field("source", pa.list_(pa.string())),
        pa.field("id", pa.list_(pa.string())),
        pa.field("line", pa.list_(pa.string())),
    ]
)
"""A report: its interval, and for each event the number of the operand and the identity."""

Decode = Callable[[str], Happening]
"""From the JSON of an event to the event."""


_encoder = msgspec.json.Encoder()


def no_candidates() -> pa.Table:
    """A table of candidates without rows."""
    return CANDIDATES.empty_table()


@dataclass(slots=True)
class LineEvent:
    """An event as a line, which is decoded when something asks for its attributes."""

    source: str
    id: str
    line: str | None
    decode: Decode
    _decoded: Happening | None = field(default=None, init=False)

    @property
    def identity(self) -> tuple[str, str]:
        return self.source, self.id

    def get(self, path: tuple[str, ...]) -> Value | None:
        if self._decoded is None:
            assert self.line is not None, "the line is there where attributes are needed"
            self._decoded = self.decode(self.line)
        return self._decoded.get(path)


class ReportRow(msgspec.Struct, frozen=True):
    """A report, ready to be written."""

    profile: str
    id: str
    start: int
    end: int
    events: Mapping[str, str | list[str]]
    """By operand, the id of its event, or the ids that it collected."""
    lines: Mapping[str, str | list[str]]
    """The same with the JSON of the events, where that was carried along."""

    def as_json(self) -> bytes:
        """The report as a line."""
        return _encoder.encode(
            {
                "profile": self.profile,
                "id": self.id,
                "start": moment_text(self.start),
                "end": moment_text(self.end),
                "events": self.events,
            }
        )


def found_reports(
    reports: pa.Table, patterns: Sequence[BoundPattern], told: set[str] | None = None
) -> Iterator[ReportRow]:
    """The reports of a table, one by one, each once; `told` are the ids of those that were told before."""
    told = set() if told is None else told
    layouts: dict[tuple[int, tuple[int, ...]], list[tuple[str, int, bool]]] = {}
    numbers, starts, ends = (reports.column(name).to_pylist() for name in REPORTS.names[:3])
    # Lists are taken apart by their ends, which is many times as fast as turning them into lists one by one.
    bounds = np.concatenate([[0], np.cumsum(pc.list_value_length(reports.column("operand")).to_numpy())]).tolist()
    members = [_flat(reports.column(name)) for name in REPORTS.names[3:]]
    for at, (number, start, end) in enumerate(zip(numbers, starts, ends, strict=True)):
        operands, sources, ids, lines = (own[bounds[at] : bounds[at + 1]] for own in members)
        bound = patterns[number]
        shape = (number, tuple(operands))
        layout = layouts.get(shape)
        if layout is None:
            layout = layouts[shape] = _layout(bound, operands)
        identity = report_id(bound.name, bound.parameters.version, start, end, zip(sources, ids, strict=True))
        if identity in told:  # of other points of one time, or of another trace, with repeats that differ
            continue
        told.add(identity)
        carried = _by_operand(layout, lines) if lines and lines[0] is not None else {}
        yield ReportRow(bound.name, identity, start, end, _by_operand(layout, ids), carried)


def _flat(column: pa.ChunkedArray) -> list[Any]:
    """The elements of all lists, one behind the other."""
    found = pc.list_flatten(column)
    return [None] * len(found) if found.null_count == len(found) else found.to_pylist()


def _layout(bound: BoundPattern, operands: Sequence[int]) -> list[tuple[str, int, bool]]:
    """For each event of a report, in the order of the names: its operand, its position, and whether it is collected."""
    names = [bound.operand_names[number] for number in operands]
    order = sorted(range(len(names)), key=lambda at: names[at])
    return [(names[at], at, bound.parameters.of(names[at]).collect) for at in order]


def _by_operand(layout: Sequence[tuple[str, int, bool]], values: Sequence[str]) -> dict[str, str | list[str]]:
    found: dict[str, str | list[str]] = {}
    for name, at, is_collected in layout:
        if not is_collected:
            found[name] = values[at]
        else:
            known = found.setdefault(name, [])
            assert isinstance(known, list)
            known.append(values[at])
    return found
