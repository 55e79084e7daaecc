"""Many lines at once: scanned as columns and matched by the index, so that only what is wanted becomes an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comity.engine.steps import PlannedStep, TypeTests
from comity.event.types import EventType
from comity.event.window import Window
from comity.pattern.occurrence import microseconds

if TYPE_CHECKING:
    from comity.event.scan.scanner import LineScanner

SCANNED = 2_048
"""Lines from which on columns pay for the second that their kernels take to load."""


class ScannedLines(NamedTuple):
    """What is to be done for lines."""

    times: npt.NDArray[np.int64]
    """Those of the events that the scanner vouches for, in microseconds."""
    steps: list[tuple[int, list[PlannedStep] | None]]
    """The numbers of lines that somebody wants, ascending, with the steps; with None for a line to be decoded first."""


class LineTests:
    """The tests of a plan, over lines of JSON."""

    def __init__(self, types: Sequence[EventType], tests: Mapping[str, TypeTests]) -> None:
        self._types, self._tests = types, tests
        self._scanner: LineScanner | None = None
        self._window: Window | None = None

    def is_of(self, types: Sequence[EventType]) -> bool:
        """Whether it is about these types."""
        return [one.key for one in self._types] == [one.key for one in types]

    def scan(self, lines: Sequence[bytes], window: Window) -> ScannedLines:
        """What comes of the lines, as far as the scanner is sure of them."""
        scanned = self._scanner_for(window).scan(pa.array(lines, pa.binary()))
        is_scanned = np.zeros(len(lines), bool)
        found: list[tuple[int, list[PlannedStep] | None]] = []
        times = [np.zeros(0, np.int64)]
        for type, rows, batch in scanned.groups:
            is_scanned[rows] = True
            times.append(batch.column("event.time").cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy())
            found += self._wanted(type, rows, batch)
        found += [(number, None) for number in np.flatnonzero(~is_scanned).tolist()]
        found.sort(key=lambda one: one[0])
        return ScannedLines(np.concatenate(times), found)

    def _wanted(
        self, type: EventType, rows: npt.NDArray[np.int64], batch: pa.RecordBatch
    ) -> Iterator[tuple[int, list[PlannedStep]]]:
        tests = self._tests.get(type.qualified_name)
        for row, steps in tests.match_batch(batch) if tests is not None else ():
            yield int(rows[row]), steps

    def _scanner_for(self, window: Window) -> LineScanner:
        if self._scanner is None or self._window != window:
            from comity.event.scan.scanner import LineScanner  # its kernels take a second to load

            earliest, latest = microseconds(window.earliest), microseconds(window.latest)
            self._scanner = LineScanner(
                self._types, require_time=True, earliest_us=earliest, latest_us=latest, simple_names=False
            )
            self._window = window
        return self._scanner
