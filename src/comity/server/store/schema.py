"""The database of a store: its tables, and how it is opened and found whole.

`event` holds the lines, `known` the digests of identities, a row for each commit, and `state` the one row of numbers
that outlive the events. `at_us` is the time of the commit and never falls, `through` the bytes of all lines up to here
since the store was made, so that the bounds of age and bytes are found by bisection over the numbers.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from comity.connect.private import open_private
from comity.errors import Misuse, Place
from comity.limits import limits
from comity.server.store.failure import EVENT_STATE
from comity.storage.durable import make_folder, sync

FILE = "events.db"
_VERSION = 1
_CACHE_KIB = 16_384
_CHECKPOINT_PAGES = 4_000
"""Pages of the log after which SQLite copies them into the database: rarer than by default, as commits are large."""

_SCHEMA = """
begin;
create table event (
    sequence integer primary key, at_us integer not null, through integer not null, crc integer not null,
    line blob not null
);
create table known (first integer primary key, digests blob not null);
create table state (
    one integer primary key check (one = 1), last integer not null, floor integer not null, at_us integer not null,
    through integer not null, log text not null
);
insert into state values (1, 0, 0, 0, 0, lower(hex(randomblob(8))));
create table note (name text primary key, value text not null) without rowid;
create table subscription (
    client text not null, key text not null, filter text not null, durable integer not null, lease_s real,
    since integer not null, renewed_s real not null, label text not null, primary key (client, key)
) without rowid;
create table cursor (client text primary key, position integer not null, lost integer not null) without rowid;
pragma user_version = 1;
commit;
"""


def opened(folder: Path) -> sqlite3.Connection:
    """The database of a folder to write, made if it is not there; refused when it is damaged."""
    make_folder(folder)
    path = folder / FILE
    is_new = not path.exists()
    open_private(path, "ab").close()
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        _prepare(database, path)
    except BaseException:
        database.close()
        raise
    if is_new:
        sync(folder)
    return database


def opened_to_read(folder: Path) -> sqlite3.Connection:
    """A second connection, which sees what was committed and changes nothing."""
    address = f"{(folder / FILE).resolve().as_uri()}?mode=ro"
    return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = full")
    database.execute(f"pragma cache_size = -{_CACHE_KIB}")
    database.execute(f"pragma wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    (version,) = database.execute("pragma user_version").fetchone()
    if version == 0:
        database.executescript(_SCHEMA)
    elif version > _VERSION:
        hint = "start the program that wrote it, or a newer one"
        raise Misuse(
            "a newer version of Comity wrote this store", code="newer-state", place=Place(str(path)), hint=hint
        )
    elif path.stat().st_size <= limits().max_checked_notes_bytes:
        (found,) = database.execute("pragma quick_check(1)").fetchone()
        if found != "ok":
            raise EVENT_STATE.broken(path, str(found).replace("\n", " "))
