"""A node as a program: its socket, signals, and a clean stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from comity.connect.http.door import Door
from comity.connect.http.server import http_served, listening_socket
from comity.errors import Misuse
from comity.limits import limits
from comity.logs import log
from comity.node.api.handler import NodeApi
from comity.node.api.routes import Router
from comity.node.api.table import ROUTES
from comity.node.event_server import EventServer, open_event_server
from comity.node.settings import EventServerSettings
from comity.server.serve import asked_to_stop, loop_factory
from comity.server.settings import Address


@dataclass(frozen=True, slots=True)
class ServedNode:
    """A node that listens."""

    server: EventServer
    url: str


@asynccontextmanager
async def served_node(settings: EventServerSettings) -> AsyncIterator[ServedNode]:
    """A node that listens, for the length of a block."""
    try:
        listener = listening_socket(*settings.listen)
    except (OSError, OverflowError) as error:
        hint = "choose another --listen, or port 0 for a free one"
        reason = f"{settings.listen} cannot be served: {getattr(error, 'strerror', None) or error}"
        raise Misuse(reason, code="port-not-free", hint=hint) from error
    with listener:
        async with open_event_server(settings) as server:
            api = NodeApi(server, Router(ROUTES))
            door = Door(limits().max_node_connections, limits().max_node_connections)
            async with http_served(api, listener, certificate=settings.certificate, door=door):
                scheme = "https" if settings.certificate is not None else "http"
                address = Address(settings.listen.host, listener.getsockname()[1])
                node = ServedNode(server, f"{scheme}://{address}")
                log("node started", domain=settings.taxonomy.namespace, url=node.url)
                try:
                    yield node
                finally:
                    await server.connections.end_all()
                    log("node stopped", domain=settings.taxonomy.namespace)


async def serve_node(settings: EventServerSettings, ready: Callable[[ServedNode], None]) -> None:
    """Serve until SIGTERM or SIGINT asks to stop, or the node fails, which is raised."""
    with asked_to_stop() as stopping:
        async with served_node(settings) as node:
            ready(node)
            asked = asyncio.ensure_future(stopping.wait())
            done, _ = await asyncio.wait([asked, node.server.task], return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            if node.server.task in done:
                node.server.task.result()


def run_event_server(settings: EventServerSettings, ready: Callable[[ServedNode], None]) -> None:
    """The same in this thread, on the quickest event loop that is there."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner, suppress(asyncio.CancelledError):
        runner.run(serve_node(settings, ready))
