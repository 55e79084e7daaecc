"""What a broker is measured against: processes that forward frames and do less with them.

`pass bytes` gives on what comes. `decode and forward` also decodes the JSON of each event to what routing looks at.
Both are an `asyncio.Protocol` in a process of their own, on the event loop that the broker has.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from comity.server.serve import loop_factory
from comity.wire import EventBatch, FrameKind, FrameReader

_HEAD = 16
"""Bytes in front of the batch: the header of the frame, and the position."""


class _Decoded(msgspec.Struct):
    """What routing looks at."""

    id: str
    source: str
    type: str
    data: dict[str, Any]


class _Floor(asyncio.Protocol):
    """Whoever connects first gets what the others send."""

    receiver: asyncio.Transport | None = None

    def __init__(self, decodes: bool) -> None:
        self._decode = msgspec.json.Decoder(_Decoded).decode if decodes else None
        self._reader = FrameReader()
        self._reader.trust()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if _Floor.receiver is None:
            _Floor.receiver = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        receiver = _Floor.receiver
        assert receiver is not None
        if self._decode is None:
            receiver.write(data)
            return
        out: list[bytes] = []
        for frame in self._reader.read(data):
            if frame.kind is FrameKind.EVENTS:
                for line in EventBatch.read(memoryview(frame.whole)[_HEAD:]).lines():
                    self._decode(line)
                out.append(frame.whole)
        receiver.write(b"".join(out))

    def connection_lost(self, error: Exception | None) -> None:
        asyncio.get_running_loop().stop()


async def _listen(decodes: bool) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Floor(decodes), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


@dataclass
class Forwarder:
    """A process that forwards, and its port."""

    process: subprocess.Popen[str]
    port: int


@contextmanager
def floor(kind: str) -> Iterator[Forwarder]:
    """A process that passes bytes, or decodes and forwards."""
    command = [sys.executable, __file__, kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Forwarder(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_listen(sys.argv[1] == "decode"))
