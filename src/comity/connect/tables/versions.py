"""What the versions of a Delta table hold: the files of one, and those that later ones add.

A table of which a file does not say by itself which of its rows count, or what its columns are called (deletion
vectors, column mapping), is refused: whoever reads the files would read something else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from comity.errors import ComityError, Misuse, Permanent, Place
from comity.storage.place import LocalStorage, RemoteStorage, Storage

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MAPPING = "delta.columnMapping.mode"
_LOG = "_delta_log"


@dataclass(frozen=True, slots=True)
class VersionFile:
    """A file of a table, by its path below it, and the values of columns that are not in it."""

    path: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableVersions:
    """A Delta table at a place."""

    place: Storage

    def newest(self) -> int:
        """The number of the newest version."""
        return int(self.table().version())

    def schema(self) -> pa.Schema:
        """The columns."""
        return pa.schema(self.table().schema().to_arrow())

    @property
    def address(self) -> str:
        """What Delta calls the place."""
        return str(self.place.folder.absolute()) if isinstance(self.place, LocalStorage) else self.place.address

    def table(self, version: int | None = None) -> DeltaTable:
        """The table at a version, the newest if none is given; raises if its files cannot be read by themselves."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            found = DeltaTable(self.address, version, storage_options=self.place.delta_options())
        except TableNotFoundError:
            raise Misuse("there is no Delta table", code="unreadable-source", place=self._shown) from None
        except DeltaError as error:
            raise Permanent(f"the table cannot be read: {error}", code="unreadable-source", place=self._shown) from None
        if found.metadata().configuration.get(_MAPPING, "none") != "none":
            raise self._unreadable("the names of columns in its files are others (column mapping)")
        if any(batch.num_rows for batch in found.deletion_vectors()):
            raise self._unreadable("some rows of its files are deleted (deletion vectors)")
        return found

    def files(self, version: int | None = None) -> list[VersionFile]:
        """The files that a version consists of."""
        rows = pa.table(self.table(version).get_add_actions(flatten=True)).to_pylist()
        prefix = "partition."
        return [
            VersionFile(
                unquote(row["path"]),
                {name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)},
            )
            for row in rows
        ]

    def added(self, version: int) -> list[VersionFile]:
        """The files with rows that a version adds; raises if it also takes some away."""
        name = f"{version:020d}.json"
        try:
            content = self.place.below(_LOG).read(name)
        except FileNotFoundError:
            hint = "keep the log of the table for longer; begin anew in another folder to take it as it is"
            reason = f"version {version} of the table is gone before it was read"
            raise Permanent(reason, code="source-gap", place=self._shown, hint=hint) from None
        return list(self._added(version, (json.loads(line) for line in content.splitlines() if line.strip())))

    @contextmanager
    def opened(self, file: VersionFile) -> Iterator[Any]:
        """A file of which parts can be read, by pyarrow."""
        if isinstance(self.place, RemoteStorage):
            with self.place.opened(file.path) as stream:
                yield stream
        elif isinstance(self.place, LocalStorage):
            with (self.place.folder / file.path).open("rb") as stream:
                yield stream

    def _added(self, version: int, actions: Iterator[dict[str, Any]]) -> Iterator[VersionFile]:
        for action in actions:
            if action.get("remove", {}).get("dataChange"):
                hint = "a stream reads tables that only grow; begin anew in another folder to take it as it is"
                reason = f"version {version} of the table changes or deletes rows"
                raise Permanent(reason, code="source-changed", place=self._shown, hint=hint)
            add = action.get("add", {})
            if add.get("deletionVector"):
                raise self._unreadable("some rows of its files are deleted (deletion vectors)")
            if add.get("dataChange"):
                yield VersionFile(unquote(add["path"]), add.get("partitionValues") or {})

    def _unreadable(self, reason: str) -> ComityError:
        hint = "rewrite it without, as by PURGE and OPTIMIZE"
        message = f"the files of this table do not stand for themselves: {reason}"
        return Misuse(message, code="delta-feature", place=self._shown, hint=hint)

    @property
    def _shown(self) -> Place:
        return Place(self.place.address)
