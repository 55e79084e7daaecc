"""One Delta table: files become part of it by commits, each under a number that is taken once.

A commit carries the number of its batch as an application transaction, and beside it the number of the attempt, which
is drawn by lot. Of two who commit the same batch the store lets one win, and the table says which. So a commit whose
answer was lost is looked up, and not guessed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from comity.connect.tables.parts import TableFile
from comity.errors import Misuse, Place, Retryable
from comity.limits import limits
from comity.storage.durable import sync_all
from comity.storage.place import LocalStorage, RemoteStorage, Storage

if TYPE_CHECKING:
    from deltalake import DeltaTable

BATCH, END = "comity.batch", "comity.end"
_ATTEMPT = ".attempt"
_TRIES = 3
_LOG = "_delta_log"
_DRAWN = re.compile(r"\s*(?:\x1b\[[0-9;]*m|↳|\s)+")
"""What Delta draws its messages with: lines, colours and arrows."""


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """The last batch of a table, and the attempt at it that won."""

    number: int
    attempt: int


@dataclass(slots=True)
class BatchTable:
    """A Delta table to which batches are added in order, each once."""

    place: Storage
    _table: DeltaTable | None = field(default=None, init=False)

    def last(self) -> CommittedBatch | None:
        """The last batch in it; None if there is no table, or none in it."""
        try:
            return self._last(BATCH)
        except _failures() as error:
            self._table = None
            hint = "look whether the store can be reached, and try again"
            raise self._told(error, hint, code="storage-failed") from None

    def _last(self, kind: str) -> CommittedBatch | None:
        table = self._look()
        return None if table is None else _last_in(table, kind)

    def add(self, batch: CommittedBatch, files: Sequence[TableFile], schema: pa.Schema) -> CommittedBatch:
        """Let files count as a batch, if it or a later one is not in the table; gives the last batch in it then."""
        return self._add(BATCH, batch, files, schema, lambda known: known.number >= batch.number)

    def add_end(self, end: CommittedBatch, files: Sequence[TableFile], schema: pa.Schema) -> None:
        """Let files count as what was reported at an end, if the last end in the table is not the same."""
        self._add(END, end, files, schema, lambda known: known == end)

    def _add(
        self,
        kind: str,
        batch: CommittedBatch,
        files: Sequence[TableFile],
        schema: pa.Schema,
        is_there: Callable[[CommittedBatch], bool],
    ) -> CommittedBatch:
        failure: Exception | None = None
        deadline = time.monotonic() + limits().max_storage_s
        for tries_left in reversed(range(_TRIES + 1)):  # after the last one there is one more look
            try:
                known = self._last(kind)
                if tries_left and (known is None or not is_there(known)):
                    table = self._with_columns(schema)
                    # Once more, in what the commit is based on: the store refuses it only for what came after that.
                    known = _last_in(table, kind)
                    if known is None or not is_there(known):
                        self._commit(table, kind, batch, files)
                        continue
                if known is not None and is_there(known):
                    return known
            except _failures() as error:  # it may be there all the same: the table knows
                failure, self._table = error, None
                if time.monotonic() > deadline:  # the store is away; whoever starts next looks
                    break
        hint = "the same command goes on; what was committed is not committed again"
        raise self._told(failure, hint, code="not-committed")

    def _look(self) -> DeltaTable | None:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        if self._table is not None:
            self._table.update_incremental()
            return self._table
        try:
            self._table = DeltaTable(self.address, storage_options=self.place.delta_options())
        except TableNotFoundError:
            return None
        return self._table

    @property
    def address(self) -> str:
        """What Delta calls the place."""
        return str(self.place.folder.absolute()) if isinstance(self.place, LocalStorage) else self.place.address

    def _commit(self, table: DeltaTable, kind: str, batch: CommittedBatch, files: Sequence[TableFile]) -> None:
        from deltalake import CommitProperties, Transaction
        from deltalake.transaction import AddAction, RemoveAction

        now = int(time.time() * 1000)
        actions: list[AddAction | RemoveAction] = [
            AddAction(one.name, one.size, {}, now, True, _statistics(one)) for one in files
        ]
        marks = [Transaction(kind, batch.number, now), Transaction(kind + _ATTEMPT, batch.attempt, now)]
        table.create_write_transaction(
            actions, "append", table.schema(), commit_properties=CommitProperties(app_transactions=marks)
        )
        self._sync()

    def _with_columns(self, schema: pa.Schema) -> DeltaTable:
        """The table, which has these columns then; more of them are added, and others than before refused."""
        from deltalake import DeltaTable, Schema

        table = self._look()
        if table is None:
            options = self.place.delta_options()
            self._table = DeltaTable.create(self.address, schema, storage_options=options)
            return self._table
        known = {one.name: one.type for one in table.schema().fields}
        wanted = Schema.from_arrow(schema).fields
        for one in wanted:
            if one.name in known and known[one.name] != one.type:
                hint = "give the profile another name, or begin anew with --overwrite or in another place"
                reason = (
                    f"the column {one.name!r} is {_type_name(known[one.name])} there, and {_type_name(one.type)} now"
                )
                raise Misuse(reason, code="other-columns", place=Place(self.place.address), hint=hint)
        if new := [one for one in wanted if one.name not in known]:
            table.alter.add_columns(new)
            table.update_incremental()
        return table

    def _sync(self) -> None:
        """Make the commit last: Delta itself writes it, and leaves the rest to the system."""
        if isinstance(self.place, LocalStorage):
            log = self.place.folder / _LOG
            newest = max(log.glob("*.json"))
            rest = [one for one in (*log.glob("*.parquet"), log / "_last_checkpoint") if _is_newer(one, newest)]
            sync_all([newest, *rest, log, self.place.folder, self.place.folder.parent])

    def _told(self, error: Exception | None, hint: str, *, code: str) -> Retryable:
        text = self.place.access.hidden(str(error)) if isinstance(self.place, RemoteStorage) else str(error)
        return Retryable(_DRAWN.sub(" ", text).strip(), code=code, place=Place(self.place.address), hint=hint)


def _last_in(table: DeltaTable, kind: str) -> CommittedBatch | None:
    number, attempt = table.transaction_version(kind), table.transaction_version(kind + _ATTEMPT)
    return None if number is None or attempt is None else CommittedBatch(number, attempt)


def _failures() -> tuple[type[Exception], ...]:
    from deltalake.exceptions import DeltaError

    return DeltaError, OSError


def _is_newer(path: Path, than: Path) -> bool:
    return path.exists() and path.stat().st_mtime_ns >= than.stat().st_mtime_ns


def _statistics(file: TableFile) -> str:
    """What readers may pass over a file by."""
    found: dict[str, Any] = {"numRecords": file.rows}
    if file.times is not None:
        least, most = (count // 1000 for count in file.times)
        # Delta has times in them to the millisecond, so the last one is rounded up.
        found |= {"minValues": {"time": _moment(least)}, "maxValues": {"time": _moment(most + 1)}}
    return msgspec.json.encode(found).decode()


def _moment(milliseconds: int) -> str:
    moment = pa.scalar(milliseconds, pa.timestamp("ms")).cast(pa.string()).as_py()
    return f"{moment.replace(' ', 'T')}Z"


def _type_name(type: Any) -> str:
    return str(getattr(type, "type", type))
