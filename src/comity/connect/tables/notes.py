"""What counts of a stream whose results are tables: one note for each attempt at a batch, and the table that chooses.

Everything of an attempt is written first: files of rows, files of keys, then a note that names all of them. The attempt
counts when it is committed in the first table, under the number of its batch. So keys count if and only if their batch
is in the table. The other tables follow; what a crash kept from them is in the note, and is made up for by whoever
comes next, before anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from uuid import uuid4

import pyarrow as pa

from comity.connect.commits import Commit
from comity.connect.delivered import EARLIER, DeliveredSize
from comity.connect.folder import LATE, PROFILES, REJECTED
from comity.connect.key_files import KEYS, check_content, check_size
from comity.connect.sealed import note_in, sealed_note
from comity.connect.tables.delta import BatchTable, CommittedBatch
from comity.connect.tables.parts import TableFile, TableLayout
from comity.connect.tables.rows import NOTIFICATIONS
from comity.errors import Misuse, Place
from comity.limits import limited, limits
from comity.storage.place import Storage

FOLDER = ".tables"
"""Where keys and notes are, beside the tables."""
_BEFORE_ALL = -1
_FIRST_ANSWER_S = 5
"""How long a store is asked again at a start, when it may be that its address is wrong."""
_NOTE = ".json"


@dataclass(frozen=True, slots=True)
class TableNote:
    """What an attempt at a batch wrote."""

    commit: Commit
    files: tuple[TableFile, ...] = ()
    stream: str | None = None
    """Whose batch it is; None for a run over stored events."""
    plan: str | None = None
    """What tells the input of the batch from any other that the same stream might have given this number."""


NOTHING = TableNote(Commit())


@dataclass(slots=True)
class TableCommits:
    """The commits of tables below a place.

    Batches are numbered from 1 here, and 0 is what a run over stored events wrote: Delta counts from there.
    """

    place: Storage
    layout: TableLayout
    _tables: dict[str, BatchTable] = field(default_factory=dict, init=False)
    _last: tuple[CommittedBatch, TableNote] | None = field(default=None, init=False)

    @property
    def notes(self) -> Storage:
        """Where keys and notes are."""
        return self.place.below(FOLDER)

    def last_batch(self) -> int | None:
        """The last batch of a stream that counts."""
        known = self._table(self.layout.first).last()
        return None if known is None or known.number == 0 else known.number - 1

    def has_results(self) -> bool:
        """Whether there are tables of ours."""
        with self._starting():
            return any(self._table(name).last() is not None for name in (NOTIFICATIONS, REJECTED))

    def check(self, stream: str | None, most_bytes: int | None = None) -> int | None:
        """The last batch that counts, which is in all of its tables then; raises if this stream cannot go on here."""
        with self._starting():
            self._check_layout()
            note = self.last_note()
            self._check_stream(note, stream)
            for file in note.commit.keys:
                check_size(self.notes, file)
                if most_bytes is None or file.size <= most_bytes:
                    check_content(self.notes, file)
            self._follow(note, self._schema_in)
            self._tidy()
            return self.last_batch()

    def last_note(self) -> TableNote:
        """What counts now."""
        known = self._table(self.layout.first).last()
        if known is None:
            return NOTHING
        if self._last is None or self._last[0] != known:
            self._last = known, self._read(known)
        return self._last[1]

    def is_counted(self, number: int, stream: str | None, plan: str | None = None) -> bool:
        """Whether a batch counts already; then it is in all of its tables. Refused if it is not that of this plan."""
        note, last = self.last_note(), self.last_batch()
        self._check_stream(note, stream)
        if last is None or number > last:
            return False
        if number < last:
            reason = f"batch {number:,} was done long ago; the checkpoint of the stream is older than its results"
            raise KEYS.broken(self.notes.address, reason)
        self._check_plan(note, plan)
        self._follow(note, self._schema_in)
        return True

    def before(self) -> Commit:
        """What counts, as it is known since the last look."""
        return (self.last_note() if self._last is None else self._last[1]).commit

    def commit(self, number: int, ours: TableNote) -> None:
        """Let an attempt at a batch count; refused if another stream, or this one from elsewhere, took the number."""
        before, note = self.before(), ours
        batch = CommittedBatch(number + 1, uuid4().int >> 65)
        self.notes.write(_name_of(batch), sealed_note(note))
        own = _by_table(note.files).get(self.layout.first, [])
        won = self._table(self.layout.first).add(batch, own, self.layout.schema(self.layout.first))
        if won != batch:  # another driver of this stream, or an attempt of ours whose commit came late
            if won.number != batch.number or note.stream is None:
                raise self._other_stream()
            counted = self._read(won)
            self._check_stream(counted, note.stream)
            self._check_plan(counted, note.plan)
            note, batch = counted, won
        self._last = batch, note
        self._follow(note, self._schema_of if note is ours else self._schema_in)
        self._forget(before, note)

    def commit_end(self, number: int, digest: int, files: Sequence[TableFile]) -> None:
        """Let what was reported at the end after a batch count, if the same does not count yet."""
        end = CommittedBatch(number + 1, digest)
        for table, own in _by_table(files).items():
            self._table(table).add_end(end, own, self._schema_of(own[0]))

    def remove(self) -> None:
        """Remove the tables, if they are ours."""
        if not self.has_results():
            return
        for name in (NOTIFICATIONS, PROFILES, REJECTED, LATE, FOLDER):
            self.place.below(name).delete_all()
        self._tables.clear()
        self._last = None

    def remembered(self) -> DeliveredSize:
        """How much is remembered."""
        files = self.before().keys
        oldest = min((file.day for file in files), default=None)
        return DeliveredSize(sum(file.count for file in files), sum(file.size for file in files), oldest)

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """Let a store that does not answer be told soon; what is open is opened anew with patience."""
        try:
            with limited(max_storage_s=min(_FIRST_ANSWER_S, limits().max_storage_s)):
                yield
        finally:
            self._tables.clear()

    def _follow(self, note: TableNote, schema: Callable[[TableFile], pa.Schema]) -> None:
        """Let the files of a batch that counts count in the tables beside the first one, too."""
        for table, files in _by_table(note.files).items():
            assert self._last is not None, "a note with files is that of a batch"
            if table != self.layout.first:
                self._table(table).add(self._last[0], files, schema(files[0]))

    def _schema_of(self, file: TableFile) -> pa.Schema:
        """What the federation says now, for which the file was written."""
        return self.layout.schema(file.table)

    def _schema_in(self, file: TableFile) -> pa.Schema:
        """What is in the file, whatever the federation says now."""
        from pyarrow import parquet

        path = self.place.below(file.table).on_disk(file.name, file.size)
        return parquet.read_schema(path).remove_metadata()

    def _table(self, name: str) -> BatchTable:
        if name not in self._tables:
            self._tables[name] = BatchTable(self.place.below(name))
        return self._tables[name]

    def _check_layout(self) -> None:
        is_there = {name: self._table(name).last() is not None for name in (NOTIFICATIONS, REJECTED)}
        # Where tables are not typed, each batch is in that of notifications, and in that table only there.
        was_typed = is_there[REJECTED] and not is_there[NOTIFICATIONS]
        if any(is_there.values()) and was_typed != self.layout.is_typed:
            reason = f"the tables here are {'' if was_typed else 'not '}typed"
            hint = "say --typed as before, or begin anew with --overwrite or in another place"
            raise Misuse(reason, code="other-layout", place=Place(self.place.address), hint=hint)

    def _check_stream(self, note: TableNote, stream: str | None) -> None:
        if note.stream not in (None, stream):
            raise self._other_stream()

    def _check_plan(self, note: TableNote, plan: str | None) -> None:
        """With a copy of its state a stream can run twice. Of two inputs for one number only one is in the tables, so
        whoever has the other one must not go on from there.
        """
        if None not in (note.plan, plan) and note.plan != plan:
            raise self._other_stream()

    def _other_stream(self) -> Misuse:
        hint = "go on with the state of that stream, or begin anew with --overwrite or in another place"
        reason = "another stream writes into these tables"
        return Misuse(reason, code="other-stream", place=Place(self.place.address), hint=hint)

    def _read(self, batch: CommittedBatch) -> TableNote:
        name = _name_of(batch)
        where = f"{self.notes.address}/{name}"
        try:
            return note_in(self.notes.read(name), where, TableNote, KEYS)
        except FileNotFoundError:
            raise KEYS.broken(where, "the file is missing") from None

    # Only what no later attempt can ask for is removed: another driver may be at the next batch.

    def _forget(self, before: Commit, after: TableNote) -> None:
        """Remove files of keys that this batch took the place of."""
        kept = {file.name for file in after.commit.keys}
        for file in before.keys:
            if file.name not in kept:
                self.notes.delete(file.name)

    def _tidy(self) -> None:
        """Remove notes and keys of attempts that came to nothing, and of batches long done."""
        known = self._table(self.layout.first).last()
        if known is None:
            return
        kept = {_name_of(known), *(file.name for file in self.last_note().commit.keys)}
        for name in self.notes.names():
            if name not in kept and _number_of(name) <= known.number:
                self.notes.delete(name)


def _by_table(files: Sequence[TableFile]) -> dict[str, list[TableFile]]:
    found: dict[str, list[TableFile]] = {}
    for file in files:
        found.setdefault(file.table, []).append(file)
    return found


def _name_of(batch: CommittedBatch) -> str:
    return f"{batch.number:08d}-{batch.attempt:016x}{_NOTE}"


def _number_of(name: str) -> int:
    """The batch of a note or of keys, counted as the table does."""
    with suppress(ValueError):
        number = int(name.partition("-")[0]) if not name.startswith("-") else EARLIER
        return number if name.endswith(_NOTE) else number + 1
    return _BEFORE_ALL
