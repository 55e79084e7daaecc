"""A subscription: an `async for` over the events that fit a filter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from types import TracebackType
from typing import TYPE_CHECKING

from comity.client.inbox import HeldLine, Shelf
from comity.errors import ComityError
from comity.event.event import Event
from comity.event.formats.jsonlines import decode

if TYPE_CHECKING:
    from comity.client.session import NetworkSession


class EventSubscription:
    """Events that fit a filter, as they come, from `async for`; the broker is asked for them when it begins.

    To be asked for events before the first one is wanted, write `subscription = await node.subscribe(…)`. With
    `async with node.subscribe(…) as subscription` it ends behind the block; else it does with the session. Of a durable
    one, an event is acknowledged when the next one is asked for, or the session ends without an error; the broker keeps
    it until `cancel`, also while nobody is there.
    """

    def __init__(self, session: NetworkSession, filter: str, label: str | None) -> None:
        self.filter = filter
        self.label = label
        """The name of a durable one."""
        self.number: int | None = None
        """By which the broker knows it."""
        self._session = session
        self._shelf: Shelf | None = None
        self._in_hand: HeldLine | None = None
        self._beginning: asyncio.Lock = asyncio.Lock()
        self._woken: asyncio.Future[None] | None = None
        self._failure: ComityError | None = None
        self._is_over = False

    @property
    def is_durable(self) -> bool:
        return self.label is not None

    @property
    def has_begun(self) -> bool:
        """Whether the broker has granted it."""
        return self._shelf is not None

    # Reading

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while True:
            event = decode(await self.next_line())
            if isinstance(event, Event):  # what brokers pass on is
                return event

    async def lines(self) -> AsyncIterator[bytes]:
        """The same events as the lines that they came in."""
        while True:
            try:
                yield await self.next_line()
            except StopAsyncIteration:
                return

    async def next_line(self) -> bytes:
        """The next event; raises `StopAsyncIteration` when the subscription has ended."""
        await self.begin()
        self.finish()
        assert self._shelf is not None
        while not self._shelf.lines:
            if self._failure is not None:
                raise self._failure
            if self._is_over:
                raise StopAsyncIteration
            await self._wait()
        self._in_hand = self._session.inbox.pop(self._shelf)
        return self._in_hand.line

    def finish(self) -> None:
        """The event that was given last is done with."""
        held, self._in_hand = self._in_hand, None
        if held is not None:
            self._session.inbox.finish(held)

    async def _wait(self) -> None:
        self._woken = asyncio.get_running_loop().create_future()
        try:
            await self._woken
        finally:
            self._woken = None

    def wake(self) -> None:
        """There is something to read, or the end."""
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    # Beginning and end

    def __await__(self) -> Generator[None, None, EventSubscription]:
        yield from self.begin().__await__()
        return self

    async def __aenter__(self) -> EventSubscription:
        await self.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()
        if not self.is_durable:
            await self.cancel()

    async def begin(self) -> None:
        """Ask the broker for events, unless that was done."""
        if self._shelf is not None:
            return
        async with self._beginning:
            if self._shelf is None:
                shelf = await self._session.begin(self)
                shelf.wake = self.wake
                self._shelf = shelf

    async def cancel(self) -> None:
        """Want no more events; of a durable one, what waits for it is given up."""
        if self._is_over:
            return
        self.end(None)
        self.finish()
        if self.number is not None:
            await self._session.cancel(self.number)

    def end(self, error: ComityError | None) -> None:
        """Nothing more comes; readers get what is there, and then the error, or the end."""
        self._failure, self._is_over = error, True
        self.wake()
