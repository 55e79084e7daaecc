"""A connection to a broker, from the first byte to the welcome."""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import NamedTuple

from comity.client.settings import ClientSettings
from comity.errors import ComityError, Permanent, Retryable
from comity.server.connection import Listener, NodeConnection
from comity.wire import Frame, Hello, LogPosition, Message, PeerRole, Welcome


class Greeted(NamedTuple):
    """A connection, and what the broker said."""

    connection: NodeConnection
    welcome: Welcome


class _Greeting:
    """Listens for the welcome."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[Welcome] = asyncio.get_running_loop().create_future()

    def hear(self, message: Message) -> None:
        if isinstance(message, Welcome) and not self.answer.done():
            self.answer.set_result(message)
            return
        raise Permanent("this is no broker that speaks to clients", code="malformed-frame")

    def take(self, frames: list[Frame]) -> None:
        raise Permanent("events came before the welcome", code="malformed-frame")

    def lost(self, why: ComityError | None) -> None:
        if not self.answer.done():
            self.answer.set_exception(why or Retryable("it closed the connection", code="no-broker"))


async def dial(settings: ClientSettings, taken: LogPosition | None, listener: Listener) -> Greeted:
    """Connect, say hello, and wait for the welcome; from there on the listener hears what comes."""
    try:
        async with asyncio.timeout(settings.timeout_s):
            connection, greeting = await _connected(settings)
            try:
                connection.send_at_once(_hello(settings, taken, connection.window))
                welcome = await greeting.answer
            except BaseException:
                connection.close()
                raise
    except TimeoutError:
        raise _unreachable(settings, f"no answer within {settings.timeout_s:g} s") from None
    connection.listened_by(listener)
    connection.queue.grant(welcome.window)
    return Greeted(connection, welcome)


async def _connected(settings: ClientSettings) -> tuple[NodeConnection, _Greeting]:
    url, context = settings.url, settings.secured()
    greeting = _Greeting()
    name = (settings.broker or url.host) if context is not None else None
    try:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: NodeConnection(lambda _: greeting, is_dialed=True),
            url.host,
            url.port,
            ssl=context,
            server_hostname=name,
        )
    except ssl.SSLCertVerificationError as error:
        hint = "name the authority with --ca, and the broker with --broker if its certificate is not for the host"
        reason = f"the certificate of {url} is not accepted: {error.verify_message}"
        raise Permanent(reason, code="wrong-certificate", hint=hint) from error
    except OSError as error:
        raise _unreachable(settings, os.strerror(error.errno) if error.errno else str(error)) from error
    return connection, greeting


def _hello(settings: ClientSettings, taken: LogPosition | None, window: int) -> Hello:
    return Hello(role=PeerRole.CLIENT, name=settings.name or "", window=window, token=settings.token, taken=taken)


def _unreachable(settings: ClientSettings, reason: str) -> Retryable:
    hint = "is it running there? `comity serve --broker NAME --listen HOST:PORT` starts one"
    return Retryable(f"no broker at {settings.url}: {reason}", code="no-broker", hint=hint)
