"""What a node keeps for those who must miss nothing: their subscriptions, their place in the log, and events for them.

An event is stored with the one that it came from in front of it, so that it is not sent back to a neighbour when it is
read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from comity.connect.claim import lock_folder
from comity.errors import ComityError
from comity.event.event import Event
from comity.event.formats.jsonlines import decode
from comity.logs import log
from comity.route.filters import FilterPool, RouteFilter
from comity.server.receivers import LINK
from comity.server.store import NewEvent, StoredSubscription, open_store
from comity.server.store.sqlite import Keeping
from comity.wire import LogPosition

if TYPE_CHECKING:
    from comity.server.store import Committed, DurableCursor, EventStore, StoredEvent

_END = b"\n"
_TAKEN = "taken "


@dataclass(frozen=True, slots=True)
class KeptFilter:
    """A durable subscription: its key in the store, its filter, and the number in the log that it begins behind."""

    key: str
    filter: RouteFilter
    since: int
    label: str = ""


class WantedEvents:
    """Those stored events that a receiver wants; remembers for which of its subscriptions. A thread calls it."""

    def __init__(self, receiver: str, kept: Iterable[KeptFilter]) -> None:
        self._not_from = receiver.encode() if receiver.startswith(LINK) else None
        """A neighbour does not get back what it sent; a client does, as without a log."""
        self._kept = list(kept)
        self.lines: list[tuple[int, bytes, tuple[str, ...]]] = []
        """Number in the log, line, and the keys of the subscriptions."""

    def __call__(self, events: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
        return [event for event in events if self._is_wanted(event)]

    def _is_wanted(self, stored: StoredEvent) -> bool:
        origin, _, line = stored.line.partition(_END)
        event = decode(line)
        if origin == self._not_from or not isinstance(event, Event):
            return False
        keys = tuple(k.key for k in self._kept if k.since < stored.sequence and k.filter.matches(event))
        if keys:
            self.lines.append((stored.sequence, line, keys))
        return bool(keys)


class Ledger:
    """The store of a node, as the node sees it."""

    def __init__(self, store: EventStore) -> None:
        self.store = store
        self.kept: dict[str, dict[str, KeptFilter]] = {}
        """Durable subscriptions, by receiver and key."""
        self.cursors: dict[str, DurableCursor] = {}
        """Where everybody was when the node started."""
        self.taken: dict[str, LogPosition] = {}
        """How far we were in the logs of neighbours then, by name."""
        self._noted: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def opened(cls, folder: Path, pool: FilterPool) -> AsyncIterator[Ledger]:
        """That of a folder, which no other node has meanwhile; what was kept in it is there again."""
        folder.mkdir(parents=True, exist_ok=True)
        with closing(lock_folder(folder)):
            async with open_store(folder, Keeping(wanted=_Counting())) as store:
                ledger = cls(store)
                await ledger._remember(pool)
                try:
                    yield ledger
                finally:
                    await ledger._settle()

    async def _remember(self, pool: FilterPool) -> None:
        self.cursors = await self.store.cursors()
        for one in await self.store.subscriptions():
            own = self.kept.setdefault(one.client, {})
            own[one.key] = KeptFilter(one.key, pool.read(one.filter), one.since, one.label)
        for name, text in (await self.store.notes()).items():
            if name.startswith(_TAKEN):
                number, _, which = text.partition(" ")
                self.taken[name.removeprefix(_TAKEN)] = LogPosition(which, int(number))

    # Events

    async def append(self, events: Iterable[tuple[str, bytes]], taken: Mapping[str, LogPosition]) -> list[Committed]:
        """Store events, each with its origin and its line, and how far we are in the logs of neighbours."""
        stored = [_new(origin, line) for origin, line in events]
        notes = {_TAKEN + name: f"{one.position} {one.log}" for name, one in taken.items()}
        return await self.store.append(stored, notes)

    def wanted(self, receiver: str) -> WantedEvents:
        """What finds the events for a receiver."""
        return WantedEvents(receiver, self.kept.get(receiver, {}).values())

    # Subscriptions and places

    async def keep(self, receiver: str, key: str, filter: RouteFilter, label: str = "") -> None:
        """Keep a subscription, or another filter in place of it."""
        own = self.kept.setdefault(receiver, {})
        before = own.get(key)
        is_same = before is not None and before.filter is filter
        own[key] = KeptFilter(key, filter, before.since if before is not None and is_same else self.store.last, label)
        found = await self.store.keep(StoredSubscription(receiver, key, filter.text, label=label))
        now = self.kept.get(receiver, {}).get(key)
        if now is not None and now.filter is filter:
            own[key] = KeptFilter(key, filter, found.since, label)

    async def drop(self, receiver: str, key: str) -> None:
        """Keep a subscription no longer."""
        own = self.kept.get(receiver, {})
        known = own.pop(key, None)
        if not own:
            self.kept.pop(receiver, None)
        if known is not None:
            await self.store.drop(receiver, key)

    def note(self, receiver: str, position: int) -> None:
        """Note how far a receiver is; some time later it is on the disk."""
        if position > self._noted.get(receiver, -1) and receiver in self.kept:
            self._noted[receiver] = position
            self.start(self.store.advance(receiver, position))

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside; an error of the store is logged, and shows again with the next events."""
        task = asyncio.get_running_loop().create_task(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)


class _Identity(msgspec.Struct):
    source: str
    id: str


_identity_of = msgspec.json.Decoder(_Identity).decode


def _new(origin: str, line: bytes) -> NewEvent:
    identity = _identity_of(line)
    return NewEvent(identity.source, identity.id, origin.encode() + _END + line)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except ComityError as error:
        log("store failed", level=logging.ERROR, code=error.code, error=error.message)


class _Counting:
    """Counts for the store how many events subscriptions want that it takes away too early."""

    def __init__(self) -> None:
        self._pool = FilterPool()  # the store asks in a thread of its own

    def __call__(self, subscriptions: Sequence[StoredSubscription], events: Sequence[StoredEvent]) -> int:
        if not subscriptions:
            return 0
        kept = [KeptFilter(one.key, self._pool.read(one.filter), one.since) for one in subscriptions if one.durable]
        return len(WantedEvents(subscriptions[0].client, kept)(events))
