"""The rule base of a node in the database of its events, so that what belongs together is committed together.

`rule` has the rules as they were written, `rule_type` the types of each, `numbered` how far the numbers of a publisher
have come, `logged` what each event in the log is, and `detection` what the detector of composite rules goes on from; it
has a row while there is a composite rule. How far subscribers are stands in the `cursor` table of the store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from comity.errors import Misuse
from comity.server.store.desk import Desk

_VERSION = "1"
_SCHEMA = """
create table if not exists node (one integer primary key check (one = 1), rule_changes integer not null);
insert or ignore into node values (1, 0);
create table if not exists subscriber (name text primary key, hash text not null, made_us integer not null)
    without rowid;
create table if not exists token (digest blob primary key, name text not null, expires_us integer not null)
    without rowid;
create index if not exists token_of on token (name);
create table if not exists type_version (
    name text not null, version integer not null, declaration text not null, made_us integer not null,
    primary key (name, version)
) without rowid;
create table if not exists rule (
    number integer primary key autoincrement, subscriber text not null, name text not null, kind text not null,
    text text not null, language text, store text not null, since integer not null, made_us integer not null,
    unique (subscriber, name)
);
create table if not exists rule_type (rule integer not null, type text not null, primary key (rule, type))
    without rowid;
create index if not exists rules_of_type on rule_type (type);
create table if not exists numbered (
    publisher text not null, source text not null, type text not null, highest integer not null, gaps text not null,
    primary key (publisher, source, type)
) without rowid;
create table if not exists logged (
    sequence integer primary key, type text not null, time_us integer not null
);
create index if not exists logged_by_type on logged (type, time_us, sequence);
create table if not exists detection (
    one integer primary key check (one = 1), position integer not null, state blob
);
"""


def make_tables(desk: Desk, namespace: str) -> None:
    """Make what is not there yet; refuses a base of another domain, or of a newer program."""
    for statement in _SCHEMA.split(";\n"):
        desk.database.execute(statement)
    notes = dict(desk.database.execute("select name, value from note where name in ('base', 'domain')"))
    if notes.get("base", _VERSION) != _VERSION:
        hint = "start the program that wrote it, or a newer one"
        raise Misuse("another version of Comity wrote this base", code="newer-state", hint=hint)
    if notes.get("domain", namespace) != namespace:
        hint = "give each node a --store of its own"
        raise Misuse(f"this is the base of the domain {notes['domain']!r}", code="wrong-namespace", hint=hint)
    added = [("base", _VERSION), ("domain", namespace)]
    desk.database.executemany("insert or ignore into note values (?, ?)", added)


@contextmanager
def one_view(database: sqlite3.Connection) -> Iterator[None]:
    """All that is read in the block is of one moment."""
    database.execute("begin")
    try:
        yield
    finally:
        database.execute("commit")


def rules_changed(desk: Desk) -> None:
    """Count a change of the rules, so that whoever reads the log knows which rules there are by then."""
    desk.database.execute("update node set rule_changes = rule_changes + 1")


def rule_changes(database: sqlite3.Connection) -> int:
    """How often the rules have changed."""
    (count,) = database.execute("select rule_changes from node").fetchone()
    return int(count)


InTransaction = Callable[[Desk], None]
"""More that is done in the same transaction."""
