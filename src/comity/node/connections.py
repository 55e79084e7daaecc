"""Who is connected. A subscriber is in one place at a time: a second connection takes over from the first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from comity.node.delivery import DeliveryStart, Send, SubscriberDelivery
from comity.node.feed import LogFeed
from comity.node.log import NodeLog
from comity.server.store.port import DurableCursor

TakenOver = Callable[[], Awaitable[None]]
"""Ends a connection because its subscriber is elsewhere now, or is no more."""


@dataclass(eq=False)
class SubscriberConnection:
    """One connection: what it is told, and what it acknowledges."""

    name: str
    delivery: SubscriberDelivery
    taken_over: TakenOver
    _log: NodeLog
    _lost: int
    _acknowledged: int
    _noted: int = field(init=False)
    _noting: asyncio.Task[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._noted = self._acknowledged

    def acknowledge(self, position: int) -> None:
        """All notifications up to a number are done with. What nobody was told of needs no acknowledging."""
        told = self.delivery.told
        upto = max(told, self.delivery.position) if position >= told else position
        if upto > self._acknowledged:
            self._acknowledged = upto
            if self._noting is None or self._noting.done():
                self._noting = asyncio.create_task(self._note())

    async def settle(self) -> None:
        """Wait until what was acknowledged is on the disk; nothing that nobody was told of stays open."""
        if self.delivery.told <= self._acknowledged:
            self.acknowledge(self.delivery.told)
        if self._noting is not None:
            await self._noting

    async def _note(self) -> None:
        while self._noted < self._acknowledged:
            upto, lost, self._lost = self._acknowledged, self._lost, 0
            await self._log.store.advance(self.name, upto, told=lost)
            self._noted = upto


class Connections:
    """All connections, by subscriber."""

    def __init__(self, log: NodeLog, feed: LogFeed) -> None:
        self._log, self._feed = log, feed
        self._by_name: dict[str, SubscriberConnection] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    @asynccontextmanager
    async def of(
        self, name: str, after: int | None, send: Send, taken_over: TakenOver
    ) -> AsyncIterator[SubscriberConnection]:
        """A connection of a subscriber, for the length of a block, in which its `delivery` is run."""
        cursor = await self._freed(name)
        start = DeliveryStart.of(cursor, self._log.last, after)
        delivery = SubscriberDelivery(name, self._log, self._feed, start, send)
        noted = start.position if cursor is None else cursor.position
        connection = SubscriberConnection(name, delivery, taken_over, self._log, start.lost, noted)
        connection.acknowledge(start.position)  # whoever asks to go on behind a notification is done with it
        self._by_name[name] = connection
        try:
            yield connection
        finally:
            await connection.settle()  # whoever connects next begins behind what was acknowledged
            if self._by_name.get(name) is connection:
                del self._by_name[name]

    async def _freed(self, name: str) -> DurableCursor | None:
        """The cursor of a subscriber who is not connected any more, whoever else tries to connect meanwhile."""
        while True:
            await self.end(name)
            cursors = await self._log.store.cursors()
            if name not in self._by_name:
                return cursors.get(name)

    def find(self, name: str) -> SubscriberConnection | None:
        """The connection of a subscriber, if there is one."""
        return self._by_name.get(name)

    async def end_all(self) -> None:
        """End all connections."""
        for name in list(self._by_name):
            await self.end(name)

    async def end(self, name: str) -> None:
        """End the connection of a subscriber."""
        connection = self._by_name.pop(name, None)
        if connection is not None:
            self._feed.leave(name, connection.delivery)
            await connection.taken_over()
            await connection.settle()
