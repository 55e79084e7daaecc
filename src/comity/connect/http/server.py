"""A server in a thread with an event loop of its own, and the gate that every connection comes through."""

from __future__ import annotations

import asyncio
import contextvars
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from functools import partial
from ssl import SSLContext, SSLError
from typing import cast

from aiohttp import web

from comity.connect.http.answers import Refusal, json_answer, raw_answer
from comity.connect.http.certificate import Certificate
from comity.connect.http.connection import Connection
from comity.connect.http.door import Door, Guest, address_group
from comity.limits import limits

Handler = Callable[[web.BaseRequest, Connection], Awaitable[web.StreamResponse]]
"""Makes the answer to a request; `connection` is told when the sender is known and when the request is read."""

_BACKLOG = 128
_GRACE_S = 1.0
"""Seconds that requests under way have to end when the server stops."""


class HttpServer:
    """Listens from `start` to `stop`. With a certificate it speaks HTTPS only."""

    def __init__(self, handler: Handler, host: str, port: int, *, certificate: Certificate | None = None) -> None:
        self._handler, self._host, self._port, self._certificate = handler, host, port, certificate
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> int:
        """Listen; gives the port. Raises `OSError` when it cannot listen."""
        listener = listening_socket(self._host, self._port)
        port: int = listener.getsockname()[1]
        started: Future[None] = Future()
        context = contextvars.copy_context()  # so that requests have the limits that are in force here
        arguments = (asyncio.run, self._serve(listener, started))
        self._thread = threading.Thread(target=context.run, args=arguments, name=f"http:{port}", daemon=True)
        self._thread.start()
        started.result()
        return port

    def stop(self) -> None:
        """Take no more connections, let requests under way end, and close; a second time does nothing."""
        if self._thread is None or self._loop is None or self._stopping is None:
            return
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._thread = None

    async def _serve(self, listener: socket.socket, started: Future[None]) -> None:
        try:
            self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
            serving = http_served(self._handler, listener, certificate=self._certificate)
            async with serving:
                started.set_result(None)
                await self._stopping.wait()
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)


@asynccontextmanager
async def http_served(
    handler: Handler, listener: socket.socket, *, certificate: Certificate | None = None, door: Door | None = None
) -> AsyncIterator[None]:
    """The same in the event loop that is there already, for the length of a block; the socket listens, and is closed.

    What else runs in that loop should have ended, or been asked to, before the block does.
    """
    loop = asyncio.get_running_loop()
    http = web.Server(partial(_answer, handler))
    door, handshakes = Door() if door is None else door, set[asyncio.Task[None]]()
    listening = await loop.create_server(
        lambda: _Gate(http, door, certificate, handshakes), sock=listener, backlog=_BACKLOG
    )
    try:
        yield
    finally:
        # First no more are accepted. Closing at once would leave a connection that is just being accepted open for ever
        # (CPython, gh-109564), and its client waiting.
        loop.remove_reader(listener)
        door.close()
        await http.shutdown(_GRACE_S)
        door.clear()
        await _end_of_others()
        listening.close()


async def _answer(handler: Handler, request: web.BaseRequest) -> web.StreamResponse:
    connection = request.protocol
    assert isinstance(connection, Connection)
    connection.request_begins()
    try:
        return await handler(request, connection)
    except Refusal as refusal:
        answer = json_answer(refusal.status, refusal.reason, retry_after_s=refusal.retry_after_s)
        answer.force_close()  # its body is not read
        return answer


async def _end_of_others() -> None:
    """Wait until everything else on this loop has ended, for a while."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=_GRACE_S)


class _Gate(asyncio.Protocol):
    """A connection before HTTP: it is let in or not, and agrees on TLS if that is spoken. Then HTTP takes over."""

    def __init__(
        self, http: web.Server, door: Door, certificate: Certificate | None, handshakes: set[asyncio.Task[None]]
    ) -> None:
        self._http, self._door, self._certificate, self._handshakes = http, door, certificate, handshakes
        self._guest: Guest | None = None

    def connection_made(self, made: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, made)  # that of another event loop is not one of its class
        loop = asyncio.get_running_loop()
        peer = transport.get_extra_info("peername")
        guest = Guest(address_group(peer[0]) if peer else "", transport.abort, loop.time())
        if not self._door.admit(guest):
            self._turn_away(transport)
            return
        self._guest = guest
        connection = Connection(self._http, self._door, guest, loop)
        if self._certificate is None:
            transport.set_protocol(connection)
            connection.connection_made(transport)
            return
        transport.pause_reading()  # the first bytes are for TLS
        handshake = loop.create_task(self._agree(transport, connection, self._certificate.context()))
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)

    def connection_lost(self, error: Exception | None) -> None:
        if self._guest is not None:
            self._door.leave(self._guest)

    async def _agree(self, transport: asyncio.Transport, connection: Connection, context: SSLContext) -> None:
        loop = asyncio.get_running_loop()
        within_s = limits().max_request_s
        try:
            secured = await loop.start_tls(
                transport, connection, context, server_side=True, ssl_handshake_timeout=within_s
            )
        except (OSError, SSLError):  # it hung up, was too slow, or spoke something else
            secured = None
        if secured is None or secured.is_closing():
            transport.abort()
            self.connection_lost(None)
            return
        connection.connection_made(secured)

    def _turn_away(self, transport: asyncio.Transport) -> None:
        if self._certificate is None:
            transport.write(raw_answer(503, "Busy", retry_after_s=1))
        transport.close()


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket at an address, on which nobody is served yet; raises `OSError` when there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)
