"""The connection to the broker, which is made anew when it is lost, with growing pauses, until patience ends."""

from __future__ import annotations

import asyncio
import random
from typing import Protocol

from comity.client.dialing import PASSING, dial
from comity.client.notices import LinkDown, LinkUp
from comity.client.settings import ClientSettings
from comity.errors import ComityError, Permanent, Retryable
from comity.server.connection import NodeConnection
from comity.wire import Frame, LogPosition, Message, Welcome, encode_message

_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.1, 5.0


class Heard(Protocol):
    """Whoever uses the connection."""

    def taken(self) -> LogPosition | None:
        """How far the log of the broker was taken."""

    def welcomed(self, welcome: Welcome) -> None:
        """There is a connection, perhaps again: what stands is to be said."""

    def hear(self, message: Message) -> None:
        """A message came."""

    def take(self, frames: list[Frame], connection: NodeConnection) -> None:
        """Frames of events came."""

    def failed(self, error: ComityError) -> None:
        """There will be no connection any more."""


class _Ear:
    """What one connection says goes to whoever uses them."""

    def __init__(self, uplink: Uplink, heard: Heard) -> None:
        self._uplink, self._heard = uplink, heard
        self.connection: NodeConnection | None = None
        self.end: asyncio.Future[ComityError | None] = asyncio.get_running_loop().create_future()

    def welcomed(self, connection: NodeConnection, welcome: Welcome) -> None:
        self.connection = connection
        self._uplink.came_up(self, welcome)

    def hear(self, message: Message) -> None:
        self._heard.hear(message)

    def take(self, frames: list[Frame]) -> None:
        assert self.connection is not None
        self._heard.take(frames, self.connection)

    def lost(self, why: ComityError | None) -> None:
        if not self.end.done():
            self.end.set_result(why)


class Uplink:
    """A connection that lasts. What is sent while there is none is lost: it is said anew when there is one."""

    def __init__(self, settings: ClientSettings, heard: Heard) -> None:
        self._settings, self._heard = settings, heard
        self._ear: _Ear | None = None
        self._silence_s = 0.0
        self._keeper: asyncio.Task[None] | None = None
        self.times_up = 0
        """How often there was a connection."""

    @property
    def is_up(self) -> bool:
        return self._connection is not None and self._connection.is_open

    @property
    def _connection(self) -> NodeConnection | None:
        return None if self._ear is None else self._ear.connection

    async def open(self) -> None:
        """Connect for the first time."""
        ear = await self._connect()
        self._keeper = asyncio.create_task(self._keep(ear))

    async def close(self) -> None:
        """Send what waits, and say goodbye."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        if self._connection is not None:
            self._connection.queue.pump()
            self._connection.close()

    def send(self, message: Message) -> None:
        """In order, behind whatever waits."""
        self.send_frame(encode_message(message))

    def send_frame(self, frame: bytes, *, is_charged: bool = False) -> None:
        """The same for a frame; one of events waits for credit."""
        if self._connection is not None and self._connection.is_open:
            self._connection.send_frame(frame, is_charged=is_charged)

    def send_at_once(self, message: Message) -> None:
        """Ahead of whatever waits."""
        if self._connection is not None and self._connection.is_open:
            self._connection.send_at_once(message)

    def came_up(self, ear: _Ear, welcome: Welcome) -> None:
        """There is a connection, perhaps again."""
        self._ear = ear
        self._silence_s = welcome.silence_s
        self.times_up += 1
        self._heard.welcomed(welcome)

    async def _connect(self) -> _Ear:
        ear = _Ear(self, self._heard)
        await dial(self._settings, self._heard.taken(), ear)
        return ear

    async def _keep(self, ear: _Ear) -> None:
        """Watch the connection, and connect anew when it is lost, until that is in vain."""
        try:
            while True:
                why = await self._watched(ear)
                if why is not None and why.code not in PASSING:
                    raise why
                self._settings.tell(LinkDown(why.message if why is not None else "the broker ended it"))
                ear = await self._connected_again()
        except ComityError as error:
            self._heard.failed(error)
        except Exception as error:  # nobody waits for this task, so whoever waits for answers is told
            self._heard.failed(Permanent(f"unexpected {type(error).__name__}: {error}", code="internal-error"))
            raise

    async def _watched(self, ear: _Ear) -> ComityError | None:
        while not ear.end.done():
            await asyncio.wait([ear.end], timeout=self._silence_s / 6)
            if ear.connection is not None and not ear.end.done():
                ear.connection.watch(self._silence_s)
        return ear.end.result()

    async def _connected_again(self) -> _Ear:
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + self._settings.patience_s, _FIRST_PAUSE_S
        while True:
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            try:
                ear = await self._connect()
            except Retryable:
                if loop.time() > until:
                    raise
            else:
                self._settings.tell(LinkUp(str(self._settings.url)))
                return ear
            pause = min(2 * pause, _LAST_PAUSE_S)
