"""Receivers that do not take in as it comes, or were away: what is durable comes to them from the log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from comity.server.receivers import EventReceiver, Flow
from comity.wire import EventBatch, Marks

if TYPE_CHECKING:
    from comity.server.ledger import Ledger

_EVENTS, _BYTES = 512, 262_144
"""Of one frame."""
_NAP_S = 0.02
"""Seconds until we look again whether there is room."""
_Line = tuple[int, bytes, tuple[str, ...]]


class Followers:
    """The tasks that read the log, one for each receiver that lags and is there."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def lag(self, receiver: EventReceiver) -> None:
        """From here on the receiver gets what is durable from the log, until it is at its end."""
        receiver.flow = Flow.LAGGING
        task = self._tasks.get(receiver.key)
        if receiver.connection is not None and (task is None or task.done()):
            self._tasks[receiver.key] = asyncio.get_running_loop().create_task(self._follow(receiver))

    def leave(self, receiver: EventReceiver) -> None:
        """The receiver has gone."""
        task = self._tasks.pop(receiver.key, None)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def _follow(self, receiver: EventReceiver) -> None:
        store = self._ledger.store
        await self._tell_lost(receiver)
        while receiver.flow is Flow.LAGGING:
            wanted = self._ledger.wanted(receiver.key)
            page = await store.read(receiver.looked_at, wanted)
            for lines in _pieces(wanted.lines):
                await self._put(receiver, lines)
            receiver.looked_at = max(receiver.looked_at, page.position)
            # Between this and the next await nothing is committed: what is later finds the receiver live.
            if page.position >= store.last:
                receiver.flow = Flow.LIVE

    async def _tell_lost(self, receiver: EventReceiver) -> None:
        cursor = (await self._ledger.store.cursors()).get(receiver.key)
        if cursor is not None and cursor.lost:
            receiver.drop(cursor.lost)
            receiver.tell_dropped()
            await self._ledger.store.advance(receiver.key, cursor.position, told=cursor.lost)

    async def _put(self, receiver: EventReceiver, lines: list[_Line]) -> None:
        batch = EventBatch.of([line for _, line, _ in lines])
        marks = Marks.of([] if receiver.is_link else [tuple(map(int, keys)) for _, _, keys in lines])
        frame = receiver.frame(batch, marks, [number for number, _, _ in lines])
        while not receiver.offer(frame, len(batch), lines[-1][0]):
            await asyncio.sleep(_NAP_S)


def _pieces(lines: list[_Line]) -> Iterator[list[_Line]]:
    piece: list[_Line] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line[1])
        if len(piece) == _EVENTS or size >= _BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
