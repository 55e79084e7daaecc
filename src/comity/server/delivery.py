"""Batches on their way through a node: stored if they must be, then given to everybody who wants some of them.

Batches of one origin go on in the order in which they came, however long it takes to store one of them. Others do not
wait for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from comity.errors import ComityError
from comity.logs import log
from comity.server.receivers import EventReceiver, Flow
from comity.server.sharing import BatchSharing, Share
from comity.wire import EventBatch, FrameKind, LogPosition, framed

if TYPE_CHECKING:
    from comity.server.ledger import Ledger
    from comity.server.store import Committed

_POSITION_BYTES = 8


class Origin(Protocol):
    """Whoever a batch came from."""

    @property
    def key(self) -> str:
        """`link:` or `client:`, and its name; empty for the node itself."""

    def finished(self, passing: Passing) -> None:
        """The batch is where it has to be."""

    def failed(self, passing: Passing, error: ComityError) -> None:
        """The batch was not stored, and goes nowhere."""

    def taken_with(self, position: int) -> Iterable[tuple[str, LogPosition]]:
        """Of a neighbour: its name, and how far we are in its log when we have a batch with this position."""


@dataclass(slots=True)
class Passing:
    """A batch that passes through: what came, and what becomes of it."""

    batch: EventBatch
    sharing: BatchSharing
    position: int = 0
    """That of its origin."""
    size: int = 0
    """Bytes of the frames that it came in."""
    is_ready: bool = True
    numbers: dict[int, int] = field(default_factory=dict)
    """Of the rows that were stored now, their numbers in the log."""


class BatchDelivery:
    """Gives batches to receivers."""

    def __init__(
        self, receivers: Mapping[str, EventReceiver], ledger: Ledger | None, lag: Callable[[EventReceiver], None]
    ) -> None:
        self._receivers, self._ledger, self._lag = receivers, ledger, lag
        self._under_way: dict[Origin, deque[Passing]] = {}
        self._to_store: list[tuple[Origin, Passing]] = []
        self._storing: asyncio.Task[None] | None = None
        self.through = 0
        """The number in the log up to which everything was given to those who take it as it comes."""
        self.repeats = 0

    def take(self, origin: Origin, passing: Passing) -> None:
        """Pass on a batch."""
        if self._ledger is not None and passing.sharing.durable:
            passing.is_ready = False
            self._to_store.append((origin, passing))
            if self._storing is None:
                self._storing = asyncio.get_running_loop().create_task(self._store(self._ledger))
        elif origin not in self._under_way:
            self._give(origin, passing)
            return
        self._under_way.setdefault(origin, deque()).append(passing)

    async def settle(self) -> None:
        """Wait until what is being stored is stored."""
        while self._storing is not None:
            await asyncio.wait([self._storing])

    async def _store(self, ledger: Ledger) -> None:
        """Store what waits, all of it at once, until nothing waits.

        One call at a time: so events are given to receivers in the order of their numbers in the log.
        """
        while self._to_store:
            group, self._to_store = self._to_store, []
            rows = [(origin, passing, row) for origin, passing in group for row in passing.sharing.durable]
            events = [(origin.key, passing.batch[row]) for origin, passing, row in rows]
            taken = {name: at for origin, passing in group for name, at in origin.taken_with(passing.position)}
            try:
                answers = await ledger.append(events, taken)
            except ComityError as error:
                log("events not stored", level=logging.ERROR, code=error.code, error=error.message)
                self._fail(group, error)
            else:
                self._stored(group, rows, answers)
        self._storing = None

    def _stored(
        self,
        group: list[tuple[Origin, Passing]],
        rows: list[tuple[Origin, Passing, int]],
        answers: list[Committed],
    ) -> None:
        for (_, passing, row), answer in zip(rows, answers, strict=True):
            if answer.is_new:
                passing.numbers[row] = answer.sequence
        self.repeats += sum(not answer.is_new for answer in answers)
        for origin, passing in group:
            passing.is_ready = True
            self._go_on(origin)

    def _fail(self, group: list[tuple[Origin, Passing]], error: ComityError) -> None:
        for origin, passing in group:
            self._under_way[origin].remove(passing)
            origin.failed(passing, error)
            self._go_on(origin)

    def _go_on(self, origin: Origin) -> None:
        waiting = self._under_way.get(origin, deque())
        while waiting and waiting[0].is_ready:
            self._give(origin, waiting.popleft())
        if not waiting:
            self._under_way.pop(origin, None)

    def _give(self, origin: Origin, passing: Passing) -> None:
        for key, share in passing.sharing.shares.items():
            receiver = self._receivers.get(key)
            if receiver is not None:
                self._give_share(receiver, share, passing)
        self.through = max(self.through, *passing.numbers.values()) if passing.numbers else self.through
        origin.finished(passing)

    def _give_share(self, receiver: EventReceiver, share: Share, passing: Passing) -> None:
        if not share.durable or self._ledger is None:
            if not self._offer(receiver, share, passing, 0):
                receiver.drop(len(share.rows))
            return
        position = max((passing.numbers.get(row, 0) for row in share.durable), default=0)
        is_live = receiver.flow is Flow.LIVE and position > receiver.looked_at
        own = _only(share, lambda row: row not in share.durable or (is_live and row in passing.numbers))
        if own.rows and not self._offer(receiver, own, passing, position if is_live else 0):
            receiver.drop(sum(row not in share.durable for row in own.rows))
            if is_live:
                receiver.looked_at = max(receiver.looked_at, self.through)
                self._lag(receiver)

    def _offer(self, receiver: EventReceiver, share: Share, passing: Passing, position: int) -> bool:
        batch, count = passing.batch, len(share.rows)
        is_whole = count == len(batch)
        if receiver.is_link and is_whole:
            # The same bytes, behind another position.
            head = position.to_bytes(_POSITION_BYTES, "little")
            frame = framed(FrameKind.EVENTS, head, batch.written)
        else:
            places = _places(share, passing) if position else ()
            frame = receiver.frame(batch if is_whole else batch.take(share.rows), share.marks, places)
        is_taken = receiver.offer(frame, count, position)
        receiver.passed_through += count if is_taken and is_whole else 0
        return is_taken


def _places(share: Share, passing: Passing) -> list[int]:
    return [passing.numbers.get(row, 0) if row in share.durable else 0 for row in share.rows]


def _only(share: Share, is_wanted: Callable[[int], bool]) -> Share:
    """The rows of a share for which it is so."""
    places = [at for at, row in enumerate(share.rows) if is_wanted(row)]
    if len(places) == len(share.rows):
        return share
    marks = share.marks.take(places) if share.marks.count else share.marks
    return Share([share.rows[at] for at in places], marks, share.durable)
