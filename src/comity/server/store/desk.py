"""What is done inside of a transaction. One thread does it, and begins and ends the transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from zlib import crc32

from comity.limits import limits
from comity.server.store.identities import DIGEST_BYTES, Identities, event_digest
from comity.server.store.port import Committed, NewEvent, StoredSubscription

_MICROSECONDS = 1_000_000
_SUBSCRIPTION = "client, key, filter, durable, lease_s, since, renewed_s, label"

Clock = Callable[[], float]
"""Seconds since 1970."""


class Desk:
    """The writing side of a store: its database, and the numbers that the next event goes on from."""

    def __init__(self, database: sqlite3.Connection, clock: Clock) -> None:
        self.database, self._clock = database, clock
        self.last = self.floor = self.through = self.at_us = 0
        (self.log,) = database.execute("select log from state").fetchone()
        self._most_known = limits().max_remembered_identities
        self._identities = Identities(self._most_known)
        self._digests: list[bytes] = []
        self._read_state()
        for digest, sequence in self._known():
            self._identities.add(digest, sequence)

    # The transaction

    def begin(self) -> None:
        """What follows is done as a whole or not at all."""
        self.database.execute("begin immediate")
        self.at_us = max(self.at_us, int(self._clock() * _MICROSECONDS))

    def commit(self) -> None:
        """On the disk when this returns."""
        if self._digests:
            first = self.last - len(self._digests) + 1
            self.database.execute("insert into known values (?, ?)", (first, b"".join(self._digests)))
        state = (self.last, self.floor, self.at_us, self.through)
        self.database.execute("update state set (last, floor, at_us, through) = (?, ?, ?, ?)", state)
        self.database.execute("commit")
        self._digests.clear()
        self._identities.settle()

    def rollback(self) -> None:
        """As if nothing had been done since `begin`."""
        if self.database.in_transaction:
            self.database.execute("rollback")
        self._digests.clear()
        self._identities.undo()
        self._read_state()

    # Events

    def append(self, events: Sequence[NewEvent], notes: Mapping[str, str]) -> list[Committed]:
        """Store those that are not known, and the notes."""
        rows: list[tuple[int, int, int, int, bytes]] = []
        answers = [self._answer(event, rows) for event in events]
        self.database.executemany("insert into event values (?, ?, ?, ?, ?)", rows)
        self.database.executemany("insert or replace into note values (?, ?)", notes.items())
        return answers

    def _answer(self, event: NewEvent, rows: list[tuple[int, int, int, int, bytes]]) -> Committed:
        digest = event_digest(event.source, event.id)
        known = self._identities.find(digest)
        if known is not None:
            return Committed(known, False)
        self.last += 1
        self.through += len(event.line)
        self._identities.try_out(digest, self.last)
        self._digests.append(digest)
        rows.append((self.last, self.at_us, self.through, crc32(event.line), event.line))
        return Committed(self.last, True)

    # Subscriptions and cursors

    def keep(self, subscription: StoredSubscription) -> StoredSubscription:
        """Write it, with the number that it begins behind; a renewed one keeps its own."""
        asked = (subscription.client, subscription.key, subscription.filter)
        find = "select since from subscription where (client, key, filter) = (?, ?, ?)"
        row = self.database.execute(find, asked).fetchone()
        since = self.last if row is None else row[0]
        kept = replace(subscription, since=since, renewed_s=self.at_us / _MICROSECONDS)
        values = (*asked, kept.durable, kept.lease_s, kept.since, kept.renewed_s, kept.label)
        self.database.execute("insert or replace into subscription values (?, ?, ?, ?, ?, ?, ?, ?)", values)
        if kept.durable:
            self.database.execute("insert or ignore into cursor values (?, ?, 0)", (kept.client, self.last))
        else:
            self._close_idle_cursor(kept.client)
        return kept

    def drop(self, client: str, key: str) -> None:
        self.database.execute("delete from subscription where (client, key) = (?, ?)", (client, key))
        self._close_idle_cursor(client)

    def forget(self, client: str) -> None:
        self.database.execute("delete from subscription where client = ?", (client,))
        self._close_idle_cursor(client)

    def _close_idle_cursor(self, client: str) -> None:
        waiting = "select 1 from subscription where client = ? and durable"
        self.database.execute(f"delete from cursor where client = ? and not exists ({waiting})", (client, client))

    def advance(self, client: str, position: int, told: int) -> None:
        change = "update cursor set position = max(position, ?), lost = max(lost - ?, 0) where client = ?"
        self.database.execute(change, (min(position, self.last), told, client))

    # What is kept

    def _read_state(self) -> None:
        row = self.database.execute("select last, floor, at_us, through from state").fetchone()
        self.last, self.floor, self.at_us, self.through = row

    def _known(self) -> Iterator[tuple[bytes, int]]:
        rows = self.database.execute("select first, digests from known order by first")
        for first, digests in rows:
            for number in range(len(digests) // DIGEST_BYTES):
                yield digests[DIGEST_BYTES * number : DIGEST_BYTES * (number + 1)], first + number

    def forget_old_identities(self) -> None:
        """Leave out digests that are too old to be known after a restart."""
        self.database.execute("delete from known where first <= ?", (self.last - self._most_known,))


def read_subscriptions(database: sqlite3.Connection, client: str | None = None) -> list[StoredSubscription]:
    """Those of a client, or all that are kept."""
    select = f"select {_SUBSCRIPTION} from subscription where client = ifnull(?, client) order by client, key"
    rows = database.execute(select, (client,))
    return [StoredSubscription(client, key, text, bool(durable), *rest) for client, key, text, durable, *rest in rows]
