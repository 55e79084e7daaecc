"""What a worker writes of tables: whole Parquet files under names that occur once, which count when committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from comity.connect.folder import LATE, PROFILES, REJECTED, StagedFile
from comity.connect.tables.rows import (
    LATE_SCHEMA,
    NOTIFICATION_SCHEMA,
    NOTIFICATIONS,
    REJECTED_SCHEMA,
    EventLine,
    TypedRows,
    event_lines,
    late_rows,
    notification_rows,
    rejected_rows,
)
from comity.connect.tables.typed import TypedAttributes
from comity.event.types import AttributeType
from comity.storage.place import LocalStorage, Storage

_ROWS_AT_ONCE = 200_000
"""Rows that wait to be written; then the largest table of them is."""
_NOT_TYPED = TypedRows(None)


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table, as it is noted."""

    table: str
    name: str
    size: int
    rows: int
    times: tuple[int, int] | None = None
    """Those of the first and the last event in it, in microseconds."""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Which tables there are: one of all notifications, or one for each profile with its types."""

    profiles: Mapping[str, TypedRows] | None = None

    @classmethod
    def of(cls, profiles: Mapping[str, Mapping[str, AttributeType]]) -> TableLayout:
        """A table for each profile, whose notifications have these attributes."""
        taken = TypedRows(None).schema.names
        return cls({name: TypedRows(TypedAttributes.of(own, taken)) for name, own in profiles.items()})

    @property
    def is_typed(self) -> bool:
        return self.profiles is not None

    @property
    def first(self) -> str:
        """The table whose commits say which batches count; each batch is in it, be it without rows."""
        return REJECTED if self.is_typed else NOTIFICATIONS

    def of_profile(self, profile: str) -> TypedRows:
        """How the rows of a profile are made; what patterns report stays JSON."""
        return (self.profiles or {}).get(profile, _NOT_TYPED)

    def schema(self, table: str) -> pa.Schema:
        """The columns of a table that has a file in a batch of now."""
        fixed = {REJECTED: REJECTED_SCHEMA, LATE: LATE_SCHEMA, NOTIFICATIONS: NOTIFICATION_SCHEMA}
        return fixed[table] if table in fixed else self.of_profile(table.removeprefix(f"{PROFILES}/")).schema


@dataclass(frozen=True, slots=True)
class TableParts:
    """Writes parts of tables below a place; sent to workers."""

    place: Storage
    layout: TableLayout
    batch: int

    def open(self, bucket: int = 0, step: int = 0) -> OpenTables:
        """A part of a batch."""
        return OpenTables(self)

    def path(self, file: StagedFile | TableFile) -> Path | None:
        """Where a file must be found on this machine; None if it is in a store."""
        if isinstance(file, TableFile) and isinstance(self.place, LocalStorage):
            return self.place.folder / file.table / file.name
        return None


@dataclass(slots=True)
class OpenTables:
    """Takes lines, each for a subscriber, for the rejected set, or for late events."""

    parts: TableParts
    files: list[TableFile] = field(default_factory=list)
    """Where it was put, when it is closed."""
    _waiting: dict[str, list[pa.Table]] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)
    """The rows that wait, by table."""
    _count: int = 0

    def put(self, to: str, line: bytes) -> None:
        """Take one line."""
        self._take(to, [line])

    def put_all(self, to: str, lines: pa.BinaryArray) -> None:
        """Take several lines for one target, at least one, as Arrow has them."""
        self._take(to, lines.to_pylist())

    def _take(self, to: str, lines: Sequence[bytes]) -> None:
        if to in _FIXED:
            self._add(to, _FIXED[to](lines))
        elif not self.parts.layout.is_typed:
            self._add(NOTIFICATIONS, notification_rows(to, event_lines(lines)))
        else:
            self._add_typed(to, lines)
        while self._count > _ROWS_AT_ONCE:
            self._write(max(self._counts, key=self._counts.__getitem__))

    def close(self) -> None:
        """Write what is left."""
        for table in list(self._waiting):
            self._write(table)

    def _add_typed(self, to: str, lines: Sequence[bytes]) -> None:
        by_profile: dict[str, list[EventLine]] = {}
        for event in event_lines(lines):
            by_profile.setdefault(event.profile or "", []).append(event)
        for profile, events in by_profile.items():
            rows = self.parts.layout.of_profile(profile).rows(to, events)
            self._add(f"{PROFILES}/{profile}", rows)

    def _add(self, table: str, rows: pa.Table) -> None:
        self._waiting.setdefault(table, []).append(rows)
        self._counts[table] += rows.num_rows
        self._count += rows.num_rows

    def _write(self, table: str) -> None:
        from pyarrow import parquet

        rows = pa.concat_tables(self._waiting.pop(table))
        self._count -= self._counts.pop(table)
        content = pa.BufferOutputStream()
        parquet.write_table(rows, content, compression="zstd")
        whole = content.getvalue()
        name = f"part-{max(self.parts.batch, 0):08d}-{uuid4().hex}.parquet"
        with self.parts.place.below(table).writing(name) as stream:
            stream.write(whole)
        self.files.append(TableFile(table, name, whole.size, rows.num_rows, _times(rows)))


_FIXED: Mapping[str, Callable[[Sequence[bytes]], pa.Table]] = {REJECTED: rejected_rows, LATE: late_rows}


def _times(rows: pa.Table) -> tuple[int, int] | None:
    if "time" not in rows.column_names:
        return None
    ends = pc.min_max(rows.column("time").cast(pa.int64()))
    return ends["min"].as_py(), ends["max"].as_py()
