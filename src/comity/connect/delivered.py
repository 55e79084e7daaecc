"""What was delivered before: the identities of notifications, so that none is delivered twice.

They are kept as digests in a small database beside the results of a stream in one process. A batch that is done again
first forgets what its earlier attempt noted; notes count only when they are committed, after the batch is published.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from comity.connect.identity import key_digest
from comity.errors import Permanent, Place
from comity.limits import limits
from comity.storage.durable import sync

FILE = ".delivered.db"

_SCHEMA = """
create table if not exists delivered (key blob primary key, day text not null, batch integer not null) without rowid;
create index if not exists by_batch on delivered (batch);
create index if not exists by_day on delivered (day);
create table if not exists noted (name text primary key, value text not null);
"""
EARLIER = -1
"""The batch of what was there before the stream."""


@dataclass(frozen=True, slots=True)
class DeliveredSize:
    """How much is remembered: notifications, bytes on the disk, and the day of the oldest one."""

    count: int
    size_bytes: int
    oldest_day: str | None


class Delivered:
    """The notes of a results folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     delivered = Delivered(Path(folder))
    ...     with delivered.batch(0):
    ...         [delivered.is_new(key, "2026-01-01", 0) for key in ("a", "b", "a")]
    [True, True, False]
    """

    def __init__(self, out: Path) -> None:
        self.path = out / FILE
        self._count: int | None = None
        """Kept up to date, because counting takes as long as there are notes; None when it has to be counted."""
        with _told(self.path):
            # The batches of a stream come from a thread of the bridge to Java, one at a time.
            self._database = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise
        sync(out)

    @contextmanager
    def batch(self, number: int) -> Iterator[None]:
        """Notes that are made inside count when the block ends well; those of an earlier attempt are gone."""
        with _told(self.path):
            try:
                self._database.execute("begin immediate")
                self._forget("batch = ?", number)
                yield
                self._database.execute("commit")
            except BaseException:
                self._count = None
                if self._database.in_transaction:
                    self._database.execute("rollback")
                raise

    def is_new(self, key: str, day: str, batch: int) -> bool:
        """Whether the notification was not delivered yet; from now on it was."""
        row = (key_digest(key), day, batch)
        found = self._database.execute("insert or ignore into delivered values (?, ?, ?)", row).rowcount == 1
        if found and self._count is not None:
            self._count += 1
        return found

    def date_all(self, day: str) -> None:
        """Let everything that is noted be of a day."""
        with _told(self.path):
            self._database.execute("update delivered set day = ?", (day,))

    def take(self, keys: Iterable[tuple[str, str]]) -> None:
        """Note keys, each with its day, as delivered before the first batch."""
        rows = ((key_digest(key), day, EARLIER) for key, day in keys)
        self._count = None
        with _told(self.path):
            self._database.executemany("insert or ignore into delivered values (?, ?, ?)", rows)

    def forget_before(self, day: str) -> None:
        """Drop the notes that were made before a day."""
        with _told(self.path):
            self._forget("day < ?", day)

    def note(self, name: str, value: str) -> None:
        """Keep a fact beside the keys, committed with them."""
        with _told(self.path):
            self._database.execute("insert or replace into noted values (?, ?)", (name, value))

    def noted(self, name: str) -> str | None:
        """A fact that was kept."""
        with _told(self.path):
            row = self._database.execute("select value from noted where name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def notes(self, prefix: str) -> dict[str, str]:
        """The facts that were kept under names with a prefix, by the rest of their names."""
        with _told(self.path):
            rows = self._database.execute("select name, value from noted where name glob ?", (f"{prefix}*",))
            return {str(name).removeprefix(prefix): str(value) for name, value in rows}

    def unnote(self, name: str) -> None:
        """Keep a fact no longer."""
        with _told(self.path):
            self._database.execute("delete from noted where name = ?", (name,))

    @property
    def last_batch(self) -> int | None:
        """The number of the last batch that noted anything."""
        with _told(self.path):
            row = self._database.execute("select max(batch) from delivered where batch >= 0").fetchone()
        return None if row[0] is None else int(row[0])

    def remembered(self) -> DeliveredSize:
        """How much it is."""
        if self._count is None:
            self._count = len(self)
        return _remembered(self._database, self.path, self._count)

    def __len__(self) -> int:
        with _told(self.path):
            return int(self._database.execute("select count(*) from delivered").fetchone()[0])

    def close(self) -> None:
        self._database.close()

    def _prepare(self) -> None:
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = full")
        if self.path.stat().st_size <= limits().max_checked_notes_bytes:
            _check(self._database, "quick_check")
        self._database.executescript(_SCHEMA)

    def _forget(self, which: str, value: object) -> None:
        gone = self._database.execute(f"delete from delivered where {which}", (value,)).rowcount
        if self._count is not None:
            self._count -= gone


def look_at_delivered(out: Path) -> DeliveredSize | None:
    """How much a results folder remembers, None if nothing; raises `Permanent` if the file is damaged. Changes nothing,
    and may be done while a stream runs.
    """
    path = out / FILE
    if not path.exists():
        return None
    with reading(path) as database:
        _check(database, "integrity_check")
        count = int(database.execute("select count(*) from delivered").fetchone()[0])
        return _remembered(database, path, count)


def noted_in(out: Path, name: str) -> str | None:
    """A fact that a stream kept in a results folder; None if it kept none, or there was no stream."""
    if not (out / FILE).exists():
        return None
    with reading(out / FILE) as database:
        row = database.execute("select value from noted where name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The notes of a stream, of which nothing is changed."""
    with _told(path):
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            yield database
        finally:
            database.close()


def _remembered(database: sqlite3.Connection, path: Path, count: int) -> DeliveredSize:
    with _told(path):
        oldest = database.execute("select min(day) from delivered").fetchone()[0]
    files = (path, path.with_name(f"{path.name}-wal"))
    return DeliveredSize(count, sum(one.stat().st_size for one in files if one.exists()), oldest)


def _check(database: sqlite3.Connection, how: str) -> None:
    """SQLite has no checksums; what it can tell is whether all pages fit together."""
    (found,) = database.execute(f"pragma {how}(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(str(found).replace("\n", " "))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        reason = f"what was delivered is noted here, and that cannot be read or written: {error}"
        raise Permanent(reason, code="delivered-notes", place=Place(str(path)), hint=_hint(str(error))) from error


def _hint(reason: str) -> str:
    if "locked" in reason:
        return "is another stream running on this folder?"
    if "full" in reason or "disk I/O" in reason or "readonly" in reason or "unable to open" in reason:
        return "look at the disk and its permissions; `comity doctor --out DIR` does"
    return (
        "put back a copy of the file, or remove it with its -wal and -shm: the stream then goes on, and events that "
        "come once more are delivered once more; or begin anew with --overwrite"
    )
