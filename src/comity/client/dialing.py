"""A connection to a broker, from the first byte to the welcome."""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import Protocol

from comity.client.settings import ClientSettings
from comity.errors import ComityError, Permanent, Retryable
from comity.server.connection import Listener, NodeConnection
from comity.wire import Frame, Hello, LogPosition, Message, PeerRole, Welcome

PASSING = ("", "hung-up", "silent", "stopping", "store-full", "busy")
"""Codes of goodbyes after which it is worth to come again."""


class Dialer(Listener, Protocol):
    """Whoever a connection is for."""

    def welcomed(self, connection: NodeConnection, welcome: Welcome) -> None:
        """The broker has welcomed us; what comes behind that is heard by the listener."""


class _Greeting:
    """Listens for the welcome. Events may come right behind it, so whoever they are for listens at once from there."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        self.connection: NodeConnection | None = None
        self.is_over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def hear(self, message: Message) -> None:
        if not isinstance(message, Welcome):
            raise Permanent("this is no broker that speaks to clients", code="malformed-frame")
        assert self.connection is not None
        self.connection.listened_by(self._dialer)
        self.connection.queue.grant(message.window)
        self._dialer.welcomed(self.connection, message)
        if not self.is_over.done():
            self.is_over.set_result(None)

    def take(self, frames: list[Frame]) -> None:
        raise Permanent("events came before the welcome", code="malformed-frame")

    def lost(self, why: ComityError | None) -> None:
        if self.is_over.done():
            return
        if why is None or why.code in PASSING:
            told = "it closed the connection" if why is None else why.message
            why = Retryable(f"the broker does not take us now: {told}", code="no-broker")
        self.is_over.set_exception(why)


async def dial(settings: ClientSettings, taken: LogPosition | None, dialer: Dialer) -> None:
    """Connect, say hello, and wait for the welcome; from there on the dialer hears what comes."""
    greeting = _Greeting(dialer)
    try:
        async with asyncio.timeout(settings.timeout_s):
            connection = await _connected(settings, greeting)
            try:
                connection.send_at_once(_hello(settings, taken, connection.window))
                await greeting.is_over
            except BaseException:
                connection.close()
                raise
    except TimeoutError:
        raise _unreachable(settings, f"no answer within {settings.timeout_s:g} s") from None


async def _connected(settings: ClientSettings, greeting: _Greeting) -> NodeConnection:
    url, context = settings.url, settings.secured()
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
        hint = "name the authority with --tls-ca, and the broker with --broker if its certificate is not for the host"
        reason = f"the certificate of {url} is not accepted: {error.verify_message}"
        raise Permanent(reason, code="wrong-certificate", hint=hint) from error
    except OSError as error:
        raise _unreachable(settings, os.strerror(error.errno) if error.errno else str(error)) from error
    greeting.connection = connection
    return connection


def _hello(settings: ClientSettings, taken: LogPosition | None, window: int) -> Hello:
    return Hello(role=PeerRole.CLIENT, name=settings.name or "", window=window, token=settings.token, taken=taken)


def _unreachable(settings: ClientSettings, reason: str) -> Retryable:
    hint = "is it running there? `comity serve --broker NAME --listen HOST:PORT` starts one"
    return Retryable(f"no broker at {settings.url}: {reason}", code="no-broker", hint=hint)
