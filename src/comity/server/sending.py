"""What waits to be sent to one receiver: in order, bounded, and only as fast as the receiver grants."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

_CHUNK_BYTES = 262_144
"""Bytes that are given to the transport at once."""


class SendQueue:
    """Frames on their way to one receiver. Those of events cost credit, and wait for it; the others wait behind them.

    While there is any credit a frame may be sent, also one that costs more.

    >>> sent = []
    >>> queue = SendQueue(sent.append, most_bytes=100)
    >>> queue.put(b"events", is_charged=True)
    >>> queue.put(b"control")
    >>> queue.pump(); sent
    []
    >>> queue.grant(6); queue.pump(); sent
    [b'eventscontrol']
    """

    def __init__(self, write: Callable[[bytes], None], most_bytes: int) -> None:
        self._write, self._most_bytes = write, most_bytes
        self._waiting: deque[tuple[bytes, bool]] = deque()
        self._credit = 0
        self._is_held = False
        self.size_bytes = 0
        """Bytes that wait."""
        self.sent_bytes = 0

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more would be within the bound; what is longer than that has room if nothing waits."""
        return not self._waiting or self.size_bytes + size <= self._most_bytes

    @property
    def is_low(self) -> bool:
        """Whether there is so much room that it is time to bring more."""
        return 4 * self.size_bytes <= self._most_bytes

    def put(self, frame: bytes, *, is_charged: bool = False) -> None:
        """Let a frame wait; whoever puts it asks for room before, or ends the connection."""
        self._waiting.append((frame, is_charged))
        self.size_bytes += len(frame)

    def grant(self, size: int) -> None:
        """The receiver takes so many bytes more."""
        self._credit += size

    def hold(self, is_held: bool) -> None:
        """Whether the transport has enough for now."""
        self._is_held = is_held

    def pump(self) -> None:
        """Send what may be sent."""
        while self._waiting and not self._is_held and (chunk := self._chunk()):
            self.sent_bytes += len(chunk)
            self._write(chunk)

    def _chunk(self) -> bytes:
        frames: list[bytes] = []
        size, waiting = 0, self._waiting
        while waiting and size < _CHUNK_BYTES:
            frame, is_charged = waiting[0]
            if is_charged and self._credit <= 0:
                break
            waiting.popleft()
            frames.append(frame)
            size += len(frame)
            self._credit -= len(frame) if is_charged else 0
        self.size_bytes -= size
        return frames[0] if len(frames) == 1 else b"".join(frames)
