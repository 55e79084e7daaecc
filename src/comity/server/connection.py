"""One connection of a node, whoever is at the other end: frames, credit, silence, and the end of it.

What comes in is worked on for some milliseconds at a time, so that nobody who sends very much keeps the others waiting.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

from comity.errors import ComityError
from comity.limits import limits
from comity.server.sending import SendQueue
from comity.wire import (
    Bye,
    Credit,
    Frame,
    FrameKind,
    FrameReader,
    Message,
    Ping,
    Pong,
    decode_message,
    encode_message,
)
from comity.wire.faults import ProtocolFault

_TURN_S = 0.005
"""Seconds of work on what one connection brought, until others have their turn."""
_LINGER_S = 1.0
_EVENTS = (FrameKind.EVENTS, FrameKind.DELIVER)


class Listener(Protocol):
    """Whoever a connection is for."""

    def hear(self, message: Message) -> None:
        """A message came; raises `ComityError` to end the connection."""

    def take(self, frames: list[Frame]) -> None:
        """Frames of events came, one behind the other; `Connection.done_with` is called for them some time."""

    def lost(self, why: ComityError | None) -> None:
        """The connection is gone; None: the other side went in good order."""


class NodeConnection(asyncio.Protocol):
    """A connection. It is silent until somebody listens."""

    def __init__(self, listener: Callable[[NodeConnection], Listener], *, is_dialed: bool = False) -> None:
        self._listener = listener(self)
        self.is_dialed = is_dialed
        self.queue = SendQueue(self._write, limits().max_send_queue_bytes)
        self.received_bytes = 0
        self._reader = FrameReader()
        if is_dialed:  # we chose who it is, and much may come right behind the welcome
            self._reader.trust()
        self._inbox: deque[Frame] = deque()
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._window = limits().max_window_bytes
        self._owed = 0
        """Bytes that the other side may be granted anew."""
        self._granted = self._window
        self._heard_at = self._sent_at = self._asked_at = self._loop.time()
        self._is_working = self._is_pumping = False
        self._end: ComityError | None = None
        self._is_over = False

    @property
    def window(self) -> int:
        """Bytes of frames of events that the other side may send until it is granted more."""
        return self._window

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._is_over

    def listened_by(self, listener: Listener) -> None:
        """From here on somebody else hears what comes; it is known who speaks."""
        self._reader.trust()
        self._listener = listener

    def certificate(self) -> dict[str, object]:
        """That of the other side; empty without TLS."""
        found = self._transport.get_extra_info("peercert") if self._transport is not None else None
        return found or {}

    # What asyncio says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        own = cast(asyncio.Transport, transport)  # those of uvloop are of no common class
        self._transport = own
        own.set_write_buffer_limits(high=1 << 20)

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        self.received_bytes += len(data)
        if self._is_over:
            return
        try:
            self._inbox.extend(self._reader.read(data))
        except ProtocolFault as fault:
            self._end = fault  # what came before it counts
        if not self._is_working:
            self._work()

    def eof_received(self) -> None:
        """The transport is closed behind it."""

    def pause_writing(self) -> None:
        self.queue.hold(True)

    def resume_writing(self) -> None:
        self.queue.hold(False)
        self.queue.pump()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._over()

    # Reading

    def _work(self) -> None:
        """Hear what came, for the length of a turn."""
        until = self._loop.time() + _TURN_S
        try:
            while self._inbox and not self._is_over:
                self._next()
                if self._loop.time() > until:
                    break
            if self._end is not None and not self._inbox:
                raise self._end
        except ComityError as error:
            self.close(error)
        self._rest()

    def _rest(self) -> None:
        """Read no more while there is work left."""
        was_working, self._is_working = self._is_working, bool(self._inbox) and not self._is_over
        if self._is_working:
            self._loop.call_soon(self._work)
        if was_working != self._is_working and self._transport is not None and not self._is_over:
            (self._transport.pause_reading if self._is_working else self._transport.resume_reading)()

    def _next(self) -> None:
        frame = self._inbox.popleft()
        if frame.kind in _EVENTS:
            self._take(frame)
            return
        message = decode_message(frame)
        if isinstance(message, Ping):
            self.send_at_once(Pong(message.number))
        elif isinstance(message, Credit):
            self.queue.grant(message.bytes)
            self._pump_soon()
        elif isinstance(message, Bye):
            self._hear_bye(message)
        elif not isinstance(message, Pong):
            self._listener.hear(message)

    def _take(self, frame: Frame) -> None:
        frames = [frame]
        while self._inbox and self._inbox[0].kind is frame.kind:
            frames.append(self._inbox.popleft())
        for one in frames:
            if self._granted <= 0:
                raise ProtocolFault("more events than were granted", code="no-credit", hint="wait for credit")
            self._granted -= len(one.whole)
        self._listener.take(frames)

    def _hear_bye(self, bye: Bye) -> None:
        self._end = PeerLeft(bye.message or "the other side ends it", code=bye.code or "hung-up", hint=bye.hint or None)
        self._over()
        if self._transport is not None:
            self._transport.close()

    def done_with(self, size: int) -> None:
        """So many bytes of frames of events are dealt with: they are granted anew, not each time."""
        self._owed += size
        if 4 * self._owed >= self._window and self.is_open:
            self._granted += self._owed
            self.send_at_once(Credit(self._owed))
            self._owed = 0

    # Writing

    def send(self, message: Message) -> None:
        """In order, behind whatever waits."""
        self.send_frame(encode_message(message))

    def send_frame(self, frame: bytes, *, is_charged: bool = False) -> None:
        """The same for a frame. One that is not of events ends the connection if too much waits."""
        if not is_charged and not self.queue.has_room(len(frame)):
            # Not at once: whoever sends is in the middle of something.
            why = ProtocolFault("the other side does not take in what it is told", code="too-slow")
            self._loop.call_soon(self.close, why)
            return
        self.queue.put(frame, is_charged=is_charged)
        self._pump_soon()

    def send_at_once(self, message: Message) -> None:
        """Ahead of whatever waits."""
        self._write(encode_message(message))

    def _pump_soon(self) -> None:
        """What is sent in one turn goes out together."""
        if not self._is_pumping:
            self._is_pumping = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._is_pumping = False
        if self.is_open:
            self.queue.pump()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._sent_at = self._loop.time()
            self._transport.write(data)

    # Silence, and the end

    def watch(self, silence_s: float) -> None:
        """Called often: asks whether anybody is there, and ends a connection on which nobody is."""
        now = self._loop.time()
        if now - self._heard_at > silence_s:
            self.close(PeerLeft(f"nothing was heard for {silence_s:g} s", code="silent"))
        elif now - max(self._asked_at, min(self._sent_at, self._heard_at)) > silence_s / 3:
            # Also of somebody who is sent much, and has no reason to say anything.
            self._asked_at = now
            self.send_at_once(Ping(int(now)))

    def close(self, why: ComityError | None = None) -> None:
        """Say goodbye, and why; what waits is not sent any more."""
        if self._is_over:
            return
        self._end = self._end or why
        self.send_at_once(Bye() if why is None else Bye(why.code, why.message, why.hint or ""))
        transport = self._transport
        self._over()
        if transport is not None:
            transport.close()
            self._loop.call_later(_LINGER_S, transport.abort)

    def _over(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._inbox.clear()
            self._listener.lost(self._end)


class PeerLeft(ComityError):
    """The other side said goodbye, with its code, or is not there any more."""
