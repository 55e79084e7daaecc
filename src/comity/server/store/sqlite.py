"""The store in a folder, in SQLite: one thread writes, one reads, and an event loop awaits both."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from comity.limits import limits
from comity.server.store.committer import Committer
from comity.server.store.desk import Clock, Desk, read_subscriptions
from comity.server.store.failure import told
from comity.server.store.port import (
    Choose,
    Committed,
    DurableCursor,
    EventPage,
    NewEvent,
    StoredSubscription,
    StoreFigures,
    Wanted,
    any_is_wanted,
)
from comity.server.store.reading import read_cursors, read_figures, read_notes, read_page
from comity.server.store.retention import Retention, tidy
from comity.server.store.schema import FILE, opened, opened_to_read

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How a store keeps: events that everybody has acknowledged for `history_s` seconds, and who knows filters."""

    history_s: float = 0.0
    wanted: Wanted = any_is_wanted
    clock: Clock = time.time


AS_USUAL = Keeping()
"""Nothing is kept that everybody has acknowledged."""


@asynccontextmanager
async def open_store(folder: Path, keeping: Keeping = AS_USUAL) -> AsyncIterator[SqliteStore]:
    """The store of a folder, which the caller has for itself (`connect.claim`), for the length of a block."""
    store = await SqliteStore.opened(folder, keeping)
    try:
        yield store
    finally:
        await store.close()


class SqliteStore:
    """An `EventStore`. See there for what its methods promise."""

    def __init__(self, folder: Path, desk: Desk, reading: sqlite3.Connection, keeping: Keeping) -> None:
        self.log, self.last = desk.log, desk.last
        self.path = folder / FILE
        self._writing, self._reading = desk.database, reading
        self._readers = ThreadPoolExecutor(1, "comity-store-reader")
        self._room, self._growth = _Room(limits().max_uncommitted_bytes), _Growth()
        retention = Retention.of_limits(keeping.history_s)
        self._committer = Committer(
            desk, self.path, lambda desk: tidy(desk, retention, keeping.clock(), keeping.wanted), self._committed
        )

    @classmethod
    async def opened(cls, folder: Path, keeping: Keeping = AS_USUAL) -> SqliteStore:
        """The store of a folder, made if it is not there. Close it."""
        desk, reading = await asyncio.to_thread(_opened, folder, keeping.clock)
        return cls(folder, desk, reading, keeping)

    async def append(self, events: Sequence[NewEvent], notes: Mapping[str, str] | None = None) -> list[Committed]:
        size = sum(len(event.line) for event in events)
        await self._room.take(size)
        try:
            answers: list[Committed] = await self._committer.do(lambda desk: desk.append(events, notes or {}))
        finally:
            self._room.give_back(size)
        return answers

    async def read(self, after: int, choose: Choose | None = None) -> EventPage:
        return await self._read(lambda database: read_page(database, self.path, after, choose))

    async def grown(self, beyond: int) -> int:
        while self.last <= beyond:
            await self._growth.next()
        return self.last

    async def keep(self, subscription: StoredSubscription) -> StoredSubscription:
        kept: StoredSubscription = await self._committer.do(lambda desk: desk.keep(subscription))
        return kept

    async def drop(self, client: str, key: str) -> None:
        await self._committer.do(lambda desk: desk.drop(client, key))

    async def forget(self, client: str) -> None:
        await self._committer.do(lambda desk: desk.forget(client))

    async def advance(self, client: str, position: int, *, told: int = 0) -> None:
        await self._committer.do(lambda desk: desk.advance(client, position, told))

    async def within(self, work: Callable[[Desk], T]) -> T:
        """What some work gives that is done inside of the next transaction, once that is on the disk.

        For whoever keeps tables of its own beside the events, and wants them committed together.
        """
        done: T = await self._committer.do(work)
        return done

    async def look(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What some work finds that reads what was committed, and changes nothing."""
        return await self._read(work)

    async def subscriptions(self) -> list[StoredSubscription]:
        return await self._read(read_subscriptions)

    async def notes(self) -> dict[str, str]:
        return await self._read(read_notes)

    async def cursors(self) -> dict[str, DurableCursor]:
        return await self._read(read_cursors)

    async def figures(self) -> StoreFigures:
        return await self._read(read_figures)

    async def close(self) -> None:
        await self._committer.close()
        await asyncio.to_thread(self._readers.shutdown)
        self._reading.close()
        self._writing.close()

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with told(self.path):
            return await asyncio.get_running_loop().run_in_executor(self._readers, partial(work, self._reading))

    def _committed(self, last: int) -> None:
        if last > self.last:
            self.last = last
            self._growth.happened()


def _opened(folder: Path, clock: Clock) -> tuple[Desk, sqlite3.Connection]:
    with told(folder / FILE):
        database = opened(folder)
        try:
            return Desk(database, clock), opened_to_read(folder)
        except BaseException:
            database.close()
            raise


class _Room:
    """Bytes that may wait for their commit; whoever finds too many waits until some are on the disk."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._taken = most_bytes, 0
        self._freed = _Growth()

    async def take(self, size: int) -> None:
        while self._taken and self._taken + size > self._most:
            await self._freed.next()
        self._taken += size

    def give_back(self, size: int) -> None:
        self._taken -= size
        self._freed.happened()


class _Growth:
    """Something that happens again and again, and that many wait for."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    async def next(self) -> None:
        happens = asyncio.get_running_loop().create_future()
        self._waiting.append(happens)
        await happens

    def happened(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)
