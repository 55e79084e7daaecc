"""Notifications as they come: over a WebSocket, or as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

import msgspec
from aiohttp import WSCloseCode, WSMsgType, web

from comity.errors import Misuse
from comity.node.api.routes import ApiRequest
from comity.node.connections import SubscriberConnection

_HEARTBEAT_S = 20.0
_MOST_SAID_BYTES = 4_096
"""Of a message of a subscriber, who has nothing to say but what is acknowledged."""
_TAKEN_OVER = 4_001


class SaidByClient(msgspec.Struct, forbid_unknown_fields=True):
    """What a subscriber says over a WebSocket: all notifications up to a position are done with."""

    acknowledge: int


async def notifications(asked: ApiRequest) -> web.StreamResponse:
    """What waited for whoever asks, then what comes: a WebSocket if one is asked for, else server-sent events."""
    if "websocket" in asked.web.headers.get("Upgrade", "").lower():
        return await _over_websocket(asked)
    if "text/event-stream" not in asked.web.headers.get("Accept", ""):
        hint = "ask for a WebSocket, or accept text/event-stream"
        raise Misuse("notifications come as a stream", code="not-acceptable", hint=hint)
    return await _as_events(asked)


async def _over_websocket(asked: ApiRequest) -> web.StreamResponse:
    after = asked.number("after")
    socket = web.WebSocketResponse(heartbeat=_HEARTBEAT_S, max_msg_size=_MOST_SAID_BYTES, compress=False)
    if not socket.can_prepare(asked.web):
        raise Misuse("this is no handshake of a WebSocket", code="bad-handshake")
    await socket.prepare(asked.web)

    async def send(line: bytes) -> None:
        await socket.send_str(line.decode())

    async def taken_over() -> None:
        await socket.close(code=_TAKEN_OVER, message=b"connected elsewhere")

    async with asked.server.connections.of(asked.who, after, send, taken_over) as connection:
        await _first_of(connection.delivery.run(), _listen(socket, connection))
    if not socket.closed:
        await socket.close(code=WSCloseCode.GOING_AWAY)
    return socket


async def _listen(socket: web.WebSocketResponse, connection: SubscriberConnection) -> None:
    """Take what a subscriber says until the connection ends."""
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            break
        try:
            said = msgspec.json.decode(message.data, type=SaidByClient)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            await socket.close(code=WSCloseCode.POLICY_VIOLATION, message=b'say {"acknowledge": POSITION}')
            break
        connection.acknowledge(said.acknowledge)


async def _as_events(asked: ApiRequest) -> web.StreamResponse:
    """Each message as an event, whose `id` is what a browser asks to go on behind when it connects again."""
    last = asked.web.headers.get("Last-Event-ID", "")
    after = int(last) if last.isdecimal() and last.isascii() and len(last) < 19 else asked.number("after")
    stream = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await stream.prepare(asked.web)
    over = asyncio.Event()

    async def send(line: bytes) -> None:
        await stream.write(_event(line))

    async def taken_over() -> None:
        over.set()

    async with asked.server.connections.of(asked.who, after, send, taken_over) as connection:
        await _first_of(connection.delivery.run(), _beat(stream), over.wait())
    return stream


class _Position(msgspec.Struct):
    kind: str
    position: int | None = None


def _event(line: bytes) -> bytes:
    """A message as a server-sent event.

    >>> _event(b'{"kind":"notification","position":7}')
    b'event: notification\\nid: 7\\ndata: {"kind":"notification","position":7}\\n\\n'
    """
    said = msgspec.json.decode(line, type=_Position)
    id = f"id: {said.position}\n" if said.kind == "notification" else ""
    return f"event: {said.kind}\n{id}data: ".encode() + line + b"\n\n"


async def _beat(stream: web.StreamResponse) -> None:
    """Say something now and then, so that a connection that is gone is noticed."""
    while True:
        await asyncio.sleep(_HEARTBEAT_S)
        await stream.write(b": still here\n\n")


async def _first_of(*works: Awaitable[object]) -> None:
    """Go on until one of these ends, and end the others. A connection that is lost is an end like others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            with suppress(ConnectionError):
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
