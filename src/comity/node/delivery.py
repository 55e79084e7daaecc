"""What one connection of a subscriber is told: what waited, in order, then what comes, each once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from comity.limits import limits
from comity.node.feed import LogFeed, Wanted
from comity.node.log import LogPage, NodeLog
from comity.node.notifications import WaitingRules, newest_by_rule, notification
from comity.server.store.port import DurableCursor

Send = Callable[[bytes], Awaitable[None]]
"""Hands a message to a connection, and waits while it cannot take more."""
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class DeliveryStart:
    """Where a connection begins: behind the number `position`, with what came up to `came_at` counted as waiting."""

    position: int
    came_at: int
    lost: int
    """Events that waited too long, and are gone."""

    @classmethod
    def of(cls, cursor: DurableCursor | None, last: int, after: int | None) -> DeliveryStart:
        """Behind what is acknowledged, or what the subscriber says that it has; without a cursor, at the end.

        >>> DeliveryStart.of(None, 9, None), DeliveryStart.of(DurableCursor("ada", 3, 0), 9, 5).position
        (DeliveryStart(position=9, came_at=9, lost=0), 5)
        """
        if cursor is None:
            return cls(last, last, 0)
        return cls(max(cursor.position, min(after or 0, last)), last, cursor.lost)


class SubscriberDelivery:
    """Tells one connection, until it ends or is cancelled."""

    def __init__(self, name: str, log: NodeLog, feed: LogFeed, start: DeliveryStart, send: Send) -> None:
        self._name, self._log, self._feed, self._start, self._send = name, log, feed, start, send
        self._waiting = WaitingRules(start.came_at)
        self.position = start.position
        """Everything up to here was told, or waits to be."""
        self.told = start.position
        """The number of the last notification."""
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._is_live = False
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Tell what waits, then what comes."""
        start = self._start
        await self._say(
            {"kind": "welcome", "subscriber": self._name, "position": start.position, "live": start.came_at}
        )
        if start.lost:
            await self._say({"kind": "missed", "events": start.lost, "reason": "they waited too long"})
        self._waiting = WaitingRules(start.came_at, await self._newest())
        try:
            while True:
                await self._send_queued()
                if self._is_live:
                    self._woken.clear()
                    await self._woken.wait()
                else:
                    await self._read_on()
        finally:
            self._feed.leave(self._name, self)

    # From the feed

    def offer(self, wanted: Wanted, position: int) -> bool:
        """Take what is new; False if too much waits already, and the log is read again when there is room."""
        found = [
            (notification(rule, entry, self._waiting.mode(entry.sequence)), entry.sequence) for rule, entry in wanted
        ]
        size = sum(len(line) for line, _ in found)
        if self._queued_bytes and self._queued_bytes + size > limits().max_send_queue_bytes:
            self._is_live = False
            self._woken.set()
            return False
        for line, sequence in found:
            if sequence > self.position:
                self._queue.append(line)
                self._queued_bytes += len(line)
                self.told = sequence
        self.position = max(self.position, position)
        if self._queue:
            self._woken.set()
        return True

    # From the log

    async def _read_on(self) -> None:
        """Tell a page of the log, and follow the feed when its end is reached."""
        if self.position < self._log.last:
            page = await self._log.page(self.position)
            for rule, entry in self._own(page):
                if self._waiting.is_due(rule, entry.sequence):
                    await self._send(notification(rule, entry, self._waiting.mode(entry.sequence)))
                    self.told = entry.sequence
            self.position = page.position
        if self.position >= self._start.came_at and self._waiting.passed_over:
            why = "nobody was connected, and their rules store nothing"
            await self._say({"kind": "missed", "events": self._waiting.passed_over, "reason": why})
            self._waiting.passed_over = 0
        self._is_live = self._feed.join(self._name, self, self.position)

    async def _newest(self) -> dict[int, int]:
        """For rules that store the last, which entry that is; the log is read up to there a first time for it."""
        newest: dict[int, int] = {}
        if not any(rule.kept.rule.store == "last" for rule in self._log.book.of(self._name)):
            return newest
        position = self._start.position
        while position < self._start.came_at:
            page = await self._log.page(position)
            newest_by_rule([one for one in self._own(page) if one[1].sequence <= self._start.came_at], newest)
            position = page.position
        return newest

    def _own(self, page: LogPage) -> Wanted:
        book = self._log.book
        return [
            (rule, entry)
            for entry in page.entries
            for rule in book.wanting(entry)
            if rule.kept.subscriber == self._name
        ]

    async def _send_queued(self) -> None:
        while self._queue:
            line = self._queue.popleft()
            self._queued_bytes -= len(line)
            await self._send(line)

    async def _say(self, message: dict[str, Any]) -> None:
        await self._send(_encode(message))
