"""Frames: pieces of a stream of bytes, each with its length and its kind.

A frame is a header of eight bytes and a body. The header is the length of the body (four bytes, little-endian), the
kind, flags, and two bytes of zero, by which what is no frame shows soon.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from comity.limits import limits
from comity.wire.faults import ProtocolFault, malformed

HEADER = struct.Struct("<IBBH")
FIRST_FRAME_BYTES = 16_384
"""Bytes of the body of the first frame of a connection, whose sender nobody knows yet."""


class FrameKind(IntEnum):
    """What a frame holds."""

    HELLO = 1
    WELCOME = 2
    BYE = 3
    PING = 4
    PONG = 5
    CREDIT = 6
    ACKNOWLEDGED = 7
    EVENTS = 8
    DELIVER = 9
    DROPPED = 10
    REFUSE_EVENTS = 11
    REACH = 12
    INFORM = 13
    RENEW = 14
    SEND_ALL = 15
    SUBSCRIBE = 16
    UNSUBSCRIBE = 17
    ADVERTISE = 18
    UNADVERTISE = 19
    GRANTED = 20
    REFUSE_REQUEST = 21
    STATUS_REQUEST = 22
    STATUS = 23
    SAID_LINKS = 24
    IN_TREE = 25
    ATTACH = 26
    SAID_TYPE = 27
    HANDED_ON = 28
    TYPE_GONE = 29


class Frame(NamedTuple):
    """One frame: its kind and flags, and its bytes, header and all."""

    kind: FrameKind
    flags: int
    whole: bytes

    @property
    def body(self) -> memoryview:
        return memoryview(self.whole)[HEADER.size :]


def framed(kind: FrameKind, *parts: bytes | memoryview, flags: int = 0) -> bytes:
    """The bytes of a frame whose body is these parts.

    >>> framed(FrameKind.BYE, b"{}").hex(" ")
    '02 00 00 00 03 00 00 00 7b 7d'
    """
    return b"".join((HEADER.pack(sum(map(len, parts)), kind, flags, 0), *parts))


_KINDS = {kind.value: kind for kind in FrameKind}


class FrameReader:
    """Cuts a stream of bytes into frames, however the bytes come; what it keeps is less than one frame.

    >>> reader = FrameReader()
    >>> hello = framed(FrameKind.HELLO, b"{}")
    >>> [len(list(reader.read(part))) for part in (hello[:3], hello[3:] + hello)]
    [0, 2]
    """

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._wanted_bytes = HEADER.size
        """Bytes that there must be until it is worth to look again."""
        self._most_bytes = FIRST_FRAME_BYTES
        self._is_over = False

    def trust(self) -> None:
        """From here on frames may be as long as `max_frame_bytes`: it is known who sends them."""
        self._most_bytes = limits().max_frame_bytes

    def read(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete now; all of them are to be taken before the next call.

        Raises `ProtocolFault` behind the last good frame, and from then on at once.
        """
        if self._is_over:
            raise malformed("nothing is read behind what is no frame")
        self._kept.append(data)
        self._kept_bytes += len(data)
        if self._kept_bytes < self._wanted_bytes:
            return
        data = self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
        begin = 0
        try:
            while (end := self._end(data, begin)) <= len(data):
                whole = data[begin:end]
                begin = end
                yield Frame(_KINDS[whole[4]], whole[5], whole)
        except ProtocolFault:
            self._is_over = True
            begin = len(data)
            raise
        finally:
            self._kept = [data[begin:]]
            self._kept_bytes = len(data) - begin

    def _end(self, data: bytes, begin: int) -> int:
        """Where the frame that begins there ends, which may be behind the data."""
        if len(data) - begin < HEADER.size:
            self._wanted_bytes = HEADER.size
            return begin + HEADER.size
        length, kind, _, zero = HEADER.unpack_from(data, begin)
        if zero or kind not in _KINDS:
            raise malformed("what came is no frame")
        if length > self._most_bytes:
            reason = f"a frame of {length:,} bytes, and {self._most_bytes:,} is the most"
            raise ProtocolFault(reason, code="frame-too-long", hint="send fewer events, or changes, in one frame")
        self._wanted_bytes = HEADER.size + int(length)
        return begin + self._wanted_bytes
