"""What was delivered before: the identities of notifications, so that none is delivered twice.

They are kept as digests in a small database beside the results. A batch that is done again first forgets what its
earlier attempt noted; notes count only when they are committed, which happens after the batch is published.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from comity.connect.durable import sync
from comity.connect.identity import key_digest
from comity.errors import Permanent, Place

FILE = ".delivered.db"

_SCHEMA = """
create table if not exists delivered (key blob primary key, day text not null, batch integer not null) without rowid;
create index if not exists by_batch on delivered (batch);
create index if not exists by_day on delivered (day);
create table if not exists noted (name text primary key, value text not null);
"""
EARLIER = -1
"""The batch of what was there before the stream."""


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
        try:
            # The batches of a stream come from a thread of the bridge to Java, one at a time.
            self._database = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("pragma synchronous = full")
            self._database.executescript(_SCHEMA)
            sync(out)
        except sqlite3.Error as error:
            raise _broken(self.path, error) from error

    @contextmanager
    def batch(self, number: int) -> Iterator[None]:
        """Notes that are made inside count when the block ends well; those of an earlier attempt are gone."""
        try:
            self._database.execute("begin immediate")
            self._database.execute("delete from delivered where batch = ?", (number,))
            yield
            self._database.execute("commit")
        except BaseException as error:
            if self._database.in_transaction:
                self._database.execute("rollback")
            if isinstance(error, sqlite3.Error):
                raise _broken(self.path, error) from error
            raise

    def is_new(self, key: str, day: str, batch: int) -> bool:
        """Whether the notification was not delivered yet; from now on it was."""
        row = (key_digest(key), day, batch)
        return self._database.execute("insert or ignore into delivered values (?, ?, ?)", row).rowcount == 1

    def take(self, keys: Iterable[tuple[str, str]]) -> None:
        """Note keys, each with its day, as delivered before the first batch."""
        rows = ((key_digest(key), day, EARLIER) for key, day in keys)
        self._database.executemany("insert or ignore into delivered values (?, ?, ?)", rows)

    def forget_before(self, day: str) -> None:
        """Drop the notes of events that are too old to be accepted again."""
        self._database.execute("delete from delivered where day < ?", (day,))

    def note(self, name: str, value: str) -> None:
        """Keep a fact beside the keys, committed with them."""
        self._database.execute("insert or replace into noted values (?, ?)", (name, value))

    def noted(self, name: str) -> str | None:
        """A fact that was kept."""
        row = self._database.execute("select value from noted where name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    @property
    def last_batch(self) -> int | None:
        """The number of the last batch that noted anything."""
        row = self._database.execute("select max(batch) from delivered where batch >= 0").fetchone()
        return None if row[0] is None else int(row[0])

    def __len__(self) -> int:
        return int(self._database.execute("select count(*) from delivered").fetchone()[0])

    def close(self) -> None:
        self._database.close()


def _broken(path: Path, error: sqlite3.Error) -> Permanent:
    hint = "is another stream running on this folder?" if "locked" in str(error) else None
    reason = f"what was delivered cannot be noted: {error}"
    return Permanent(reason, code="delivered-notes", place=Place(str(path)), hint=hint)
