"""`comity.connect`: the door to a network, for coroutines and for scripts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from comity.client.address import BrokerUrl
from comity.client.blocking import BlockingSession
from comity.client.notices import NetworkNotice
from comity.client.session import NetworkSession
from comity.client.settings import ClientSettings


class Connecting:
    """What `connect` gives: `async with` makes the connection for coroutines, `with` for scripts."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self._session: NetworkSession | None = None
        self._blocking: BlockingSession | None = None

    async def __aenter__(self) -> NetworkSession:
        self._session = NetworkSession(self.settings)
        await self._session.open()
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close(is_well=error is None)

    def __enter__(self) -> BlockingSession:
        self._blocking = BlockingSession.opened(self.settings)
        return self._blocking

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._blocking is not None
        self._blocking.close(is_well=error is None)


def connect(
    url: str,
    *,
    name: str | None = None,
    token: str | None = None,
    authorities: str | Path | None = None,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
    broker: str | None = None,
    timeout_s: float = 10.0,
    patience_s: float = 60.0,
    told: Callable[[NetworkNotice], Any] | None = None,
) -> Connecting:
    """A place in a network, at the broker `comity://HOST:PORT`, or `comitys://HOST:PORT` over TLS.

        async with comity.connect("comity://127.0.0.1:7470") as node:
            async for event in node.subscribe("price > 45"):
                print(event.data)

    In a script that is no coroutine, leave out each `async` and `await`. By its name a client is known when it comes
    again, which durable subscriptions need. `token` is what the broker asks its clients for. For TLS, `certificate` and
    `key` are files in PEM that say who you are, `authorities` one with those whom you trust, and `broker` is the name
    in the broker's certificate if that is not the host.

    Answers are waited for `timeout_s` seconds. A connection that is lost is tried again for `patience_s` seconds; what
    was subscribed stands again then. `told` is called with what happens meanwhile: `EventsLost`, `LinkDown`, `LinkUp`.

    >>> connect("http://127.0.0.1")
    Traceback (most recent call last):
    comity.errors.Misuse: 'http://127.0.0.1' is no address of a broker [bad-address]
    hint: write comity://HOST:PORT, or comitys://HOST:PORT for TLS
    """
    authorities, certificate, key = (None if one is None else Path(one) for one in (authorities, certificate, key))
    settings = ClientSettings(
        url=BrokerUrl.read(url),
        name=name,
        token=token,
        authorities=authorities,
        certificate=certificate,
        key=key,
        broker=broker,
        timeout_s=timeout_s,
        patience_s=patience_s,
    )
    return Connecting(settings if told is None else replace(settings, told=told))
