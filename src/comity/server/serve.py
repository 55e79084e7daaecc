"""A node as a program: sockets, TLS, signals, and a clean stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, cast

from comity.connect.http.door import Door, Guest, address_group
from comity.errors import ComityError, Misuse, Permanent, Retryable
from comity.limits import limits
from comity.logs import log
from comity.route.filters import FilterPool
from comity.server.connection import NodeConnection
from comity.server.greeting import AcceptGreeting, DialGreeting
from comity.server.links import DialedLink
from comity.server.node import BrokerNode, Observe
from comity.server.settings import Address, NodeSettings
from comity.server.tls import TlsContexts
from comity.wire import Hello, PeerRole

_BACKLOG = 256
_STANDARD_INPUT = 0
_TICK_S = 0.25
_LAST_S = 0.3
"""Seconds for the last words to go out."""


async def serve(
    settings: NodeSettings,
    ready: Callable[[BrokerNode], None],
    observe: Observe | None = None,
    *,
    ends_with_input: bool = False,
) -> None:
    """Run a node until SIGTERM or SIGINT asks it to stop, or standard input ends, if it `ends_with_input`.

    `observe` is told of it every other second.
    """
    with asked_to_stop(ends_with_input=ends_with_input) as stopping:
        async with running_node(settings) as node:
            ready(node)
            node.observe = observe
            await stopping.wait()


@contextmanager
def asked_to_stop(*, ends_with_input: bool = False) -> Iterator[asyncio.Event]:
    """What SIGTERM and SIGINT set during the block, in place of what they do otherwise; and the end of the input."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    if ends_with_input:
        _watch_input(loop, stopping)
    try:
        yield stopping
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _watch_input(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    """Stop when standard input ends. A thread reads it: an event loop cannot wait for everything that it may be."""

    def read() -> None:
        with suppress(OSError):
            while os.read(_STANDARD_INPUT, 4096):
                pass
        with suppress(RuntimeError):  # the loop may be over by then
            loop.call_soon_threadsafe(stopping.set)

    threading.Thread(target=read, name="comity-watch-input", daemon=True).start()


@asynccontextmanager
async def running_node(settings: NodeSettings) -> AsyncIterator[BrokerNode]:
    """A node that listens and keeps its links, for the length of a block."""
    pool = FilterPool()
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(_listener(settings.listen))
        tls = TlsContexts(settings.tls) if settings.tls is not None else None
        node = BrokerNode(settings, pool, await _ledger(stack, settings, pool))
        node.address = str(Address(settings.listen.host, listener.getsockname()[1]))
        sockets = _Sockets(node, tls)
        tasks = [asyncio.create_task(sockets.accept(listener)), asyncio.create_task(_tick(node))]
        node.links.keep_dialing(settings.peers, sockets.dial, node.chance)
        log("node started", name=node.name, address=node.address, strategy=settings.policy.strategy.value)
        try:
            yield node
        finally:
            await _end(tasks)
            await node.close()
            await asyncio.sleep(_LAST_S)
            await sockets.close()
            log("node stopped", name=node.name)


async def _ledger(stack: AsyncExitStack, settings: NodeSettings, pool: FilterPool) -> Any:
    if settings.store is None:
        return None
    from comity.server.ledger import Ledger

    return await stack.enter_async_context(Ledger.opened(settings.store, pool))


async def _tick(node: BrokerNode) -> None:
    while True:
        node.tick()
        await asyncio.sleep(_TICK_S)


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Sockets:
    """Connections that come, and those that are dialed."""

    def __init__(self, node: BrokerNode, tls: TlsContexts | None) -> None:
        self._node, self._tls = node, tls
        bounds = limits()
        self._door = Door(bounds.max_node_connections, bounds.max_node_connections)
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()

    # Those that come

    async def accept(self, listener: socket.socket) -> None:
        """Let in who connects, until this is cancelled."""
        while True:
            try:
                found, address = await self._loop.sock_accept(listener)
            except OSError as error:  # too many open files: others may go
                log("connection not accepted", level=logging.WARNING, reason=str(error.strerror))
                await asyncio.sleep(_TICK_S)
                continue
            self._start(self._welcome(found, str(address[0])))

    async def _welcome(self, found: socket.socket, address: str) -> None:
        guest = Guest(address_group(address), found.close, self._loop.time())
        if not self._door.admit(guest):
            self._node.figures.turned_away(Retryable("there are too many connections", code="busy"), address)
            found.close()
            return
        secured = self._tls.accepting() if self._tls is not None else None
        try:
            await self._loop.connect_accepted_socket(
                lambda: _Guarded(lambda connection: AcceptGreeting(self._node, connection), self._door, guest),
                found,
                ssl=secured,
                ssl_handshake_timeout=limits().max_request_s if secured is not None else None,
            )
        except (OSError, ssl.SSLError) as error:  # it hung up, was too slow, or has no certificate of ours
            self._door.leave(guest)
            self._node.figures.turned_away(_no_tls(error), address)

    # Those that are dialed

    async def dial(self, peer: Address) -> DialedLink:
        """A connection to a peer, which is told hello."""
        link = DialedLink()
        secured = self._tls.dialing() if self._tls is not None else None
        try:
            async with asyncio.timeout(limits().max_request_s):
                _, connection = await self._loop.create_connection(
                    lambda: NodeConnection(lambda own: DialGreeting(self._node, own, link), is_dialed=True),
                    peer.host,
                    peer.port,
                    ssl=secured,
                    server_hostname="" if secured is not None else None,
                )
        except (OSError, ssl.SSLError, TimeoutError) as error:
            link.ended_with(_not_reached(error), came_up=False)
        else:
            connection.send_at_once(self._hello(connection))
        return link

    def _hello(self, connection: NodeConnection) -> Hello:
        node, policy = self._node, self._node.settings.policy
        return Hello(
            role=PeerRole.BROKER,
            name=node.name,
            instance=node.instance,
            window=connection.window,
            listens=node.address,
            strategy=policy.strategy.value,
            advertisements=policy.advertisements,
            log=node.ledger.store.log if node.ledger is not None else None,
            options=node.topology.options,
        )

    # The end

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Close what is still open."""
        self._door.close()
        self._door.clear()
        await _end(list(self._tasks))


class _Guarded(NodeConnection):
    """A connection that has a place at the door until it is over."""

    def __init__(self, listener: Callable[[NodeConnection], Any], door: Door, guest: Guest) -> None:
        super().__init__(listener)
        self._door, self._guest = door, guest

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._guest.send_away = cast(asyncio.Transport, transport).abort

    def listened_by(self, listener: Any) -> None:
        self._guest.is_waited_for = False
        super().listened_by(listener)

    def connection_lost(self, error: Exception | None) -> None:
        self._door.leave(self._guest)
        super().connection_lost(error)


def _no_tls(error: OSError) -> ComityError:
    reason = getattr(error, "reason", None) or error.strerror or type(error).__name__
    return Permanent(f"no TLS was agreed on: {reason}", code="no-tls")


def _not_reached(error: BaseException) -> ComityError:
    if isinstance(error, ssl.SSLError):
        return Permanent(f"no TLS was agreed on: {error.reason}", code="no-tls")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return Retryable(f"not reached: {reason}", code="not-reached")


def _listener(listen: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        listener = socket.create_server((listen.host, listen.port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        hint = "choose another --listen, or port 0 for a free one"
        reason = f"{listen} cannot be served: {getattr(error, 'strerror', None) or error}"
        raise Misuse(reason, code="port-not-free", hint=hint) from error
    listener.setblocking(False)
    return listener


def run_node(
    settings: NodeSettings,
    ready: Callable[[BrokerNode], None],
    observe: Observe | None = None,
    *,
    ends_with_input: bool = False,
) -> None:
    """The same in this thread, on the quickest event loop that is there."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner, suppress(asyncio.CancelledError):
        runner.run(serve(settings, ready, observe, ends_with_input=ends_with_input))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """That of uvloop, if it is installed; None: that of Python."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
