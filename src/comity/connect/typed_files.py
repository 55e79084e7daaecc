"""Results as files of Parquet in which an attribute is a column of its kind: files for each profile, and each day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from comity.connect.folder import LATE, PROFILES, REJECTED, Results, StagedFile
from comity.connect.staged import StagedResults
from comity.connect.tables.parts import TableLayout
from comity.connect.tables.rows import EventLine, event_lines

_ROWS_AT_ONCE = 200_000
"""Rows that wait to be written; then the largest file of them is."""


@dataclass(slots=True)
class TypedResults:
    """Takes lines, each for a subscriber, for the rejected set, or for late events; the latter two are as ever."""

    staging: Path
    layout: TableLayout
    name: str
    _others: StagedResults = field(init=False)
    _files: list[StagedFile] = field(default_factory=list, init=False)
    _waiting: dict[tuple[str, str, str], list[pa.Table]] = field(default_factory=dict, init=False)
    """By subscriber, profile and day."""
    _counts: Counter[tuple[str, str, str]] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self._others = StagedResults(self.staging, Results.PARQUET, self.name)

    @property
    def files(self) -> Sequence[StagedFile]:
        """Where it was put, when it is closed."""
        return [*self._files, *self._others.files]

    def put(self, to: str, line: bytes) -> None:
        """Take one line."""
        if to in (REJECTED, LATE):
            self._others.put(to, line)
        else:
            self._take(to, [line])

    def put_all(self, to: str, lines: pa.BinaryArray) -> None:
        """Take several lines for one target, at least one, as Arrow has them."""
        if to in (REJECTED, LATE):
            self._others.put_all(to, lines)
        else:
            self._take(to, lines.to_pylist())

    def close(self) -> None:
        """Write what is left."""
        self._others.close()
        for key in list(self._waiting):
            self._write(key)

    def _take(self, to: str, lines: Sequence[bytes]) -> None:
        parts: dict[tuple[str, str, str], list[EventLine]] = {}
        for event in event_lines(lines):
            parts.setdefault((to, event.profile or "", event.time[:10]), []).append(event)
        for key, events in parts.items():
            self._waiting.setdefault(key, []).append(self.layout.of_profile(key[1]).rows(to, events))
            self._counts[key] += len(events)
        while self._counts.total() > _ROWS_AT_ONCE:
            self._write(max(self._counts, key=self._counts.__getitem__))

    def _write(self, key: tuple[str, str, str]) -> None:
        from pyarrow import parquet

        to, profile, day = key
        folder = self.staging / PROFILES / profile / f"day={day}"
        folder.mkdir(parents=True, exist_ok=True)
        file = StagedFile(to, folder / f"{self.name}-{len(self._files):05d}.parquet", day, profile)
        parquet.write_table(pa.concat_tables(self._waiting.pop(key)), file.path, compression="zstd")
        del self._counts[key]
        self._files.append(file)
