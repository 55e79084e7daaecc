"""Brokers in this process or in processes of their own, and somebody who speaks the protocol to them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext
from typing import Any, TypeVar

from tests.conftest import ROOT

from comity.route.policy import Policy
from comity.server.node import BrokerNode
from comity.server.serve import running_node
from comity.server.settings import Address, NodeSettings
from comity.wire import (
    Acknowledged,
    Advertise,
    Bye,
    Credit,
    Deliver,
    EventBatch,
    Events,
    FrameReader,
    Granted,
    Hello,
    Message,
    NodeStatus,
    PeerRole,
    Ping,
    Pong,
    RefuseRequest,
    StatusRequest,
    Subscribe,
    Unsubscribe,
    Welcome,
    decode_message,
    encode_message,
)

M = TypeVar("M")
WAIT_S = 30.0
"""That something may take on a machine with much else to do; it is waited for, not slept."""
_BIG = 1 << 30


def line(number: int, *, source: str = "/test", **data: Any) -> bytes:
    """An event."""
    return json.dumps({"id": str(number), "source": source, "type": "Quote", "data": {"n": number, **data}}).encode()


def numbers(lines: Iterable[bytes]) -> list[int]:
    return [json.loads(one)["data"]["n"] for one in lines]


async def until(condition: Callable[[], bool], what: str = "") -> None:
    """Wait until something is so."""
    async with asyncio.timeout(WAIT_S):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def network(
    links: Iterable[tuple[str, ...]],
    policy: Policy | None = None,
    *,
    silence_s: float = 15.0,
    stores: Path | None = None,
    ports: dict[str, int] | None = None,
    peers: dict[str, str] | None = None,
) -> AsyncIterator[dict[str, BrokerNode]]:
    """Brokers in this process, linked over TCP; the second of each pair dials the first, and others the `peers`."""
    nodes: dict[str, BrokerNode] = {}
    pairs = list(links)
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    async with AsyncExitStack() as stack:
        for name in names:
            dialed = [nodes[pair[0]].address for pair in pairs if pair[1:] == (name,)]
            dialed += [peers[name]] if peers is not None and name in peers else []
            listen = Address("127.0.0.1", (ports or {}).get(name, 0))
            store = stores / name if stores is not None else None
            settings = NodeSettings(
                name, listen, tuple(map(Address.read, dialed)), policy or Policy(), store=store, silence_s=silence_s
            )
            nodes[name] = await stack.enter_async_context(running_node(settings))
        await until(lambda: all(len(node.links.reach_without("")) >= len(names) for node in nodes.values()))
        yield nodes


def free_ports(*names: str) -> dict[str, int]:
    """A port for each, which it can have again after a restart."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in names]
    found = {name: one.getsockname()[1] for name, one in zip(names, sockets, strict=True)}
    for one in sockets:
        one.close()
    return found


@dataclass
class Guest:
    """Somebody at the other end of a connection, who says what a test wants."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    welcome: Welcome | None = None
    heard: list[Message] = field(default_factory=list)
    """What came and was not waited for, but pings and credits."""
    granted: int = 0
    is_over: bool = False
    answers_pings: bool = True
    requests: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, address: str, tls: SSLContext | None = None) -> Guest:
        at = Address.read(address)
        reader, writer = await asyncio.open_connection(at.host, at.port, ssl=tls, server_hostname="" if tls else None)
        guest = cls(reader, writer)
        guest._task = asyncio.create_task(guest._listen())
        return guest

    async def _listen(self) -> None:
        frames = FrameReader()
        frames.trust()
        with suppress(OSError, asyncio.IncompleteReadError):
            while data := await self.reader.read(1 << 18):
                for frame in frames.read(data):
                    self._hear(decode_message(frame))
                self._changed.set()
        self.is_over = True
        self._changed.set()

    def _hear(self, message: Message) -> None:
        if isinstance(message, Credit):
            self.granted += message.bytes
        elif isinstance(message, Ping):
            if self.answers_pings:
                self.say(Pong(message.number))
        else:
            self.heard.append(message)

    def say(self, *messages: Message) -> None:
        self.write(b"".join(map(encode_message, messages)))

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def next(self, kind: type[M]) -> M:
        """The next message of a kind; those before it are left where they are."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for at, message in enumerate(self.heard):
                    if isinstance(message, kind):
                        del self.heard[at]
                        return message
                assert not self.is_over, f"hung up on before a {kind.__name__}: {self.heard}"
                self._changed.clear()
                await self._changed.wait()

    async def end(self) -> Bye | None:
        """Wait until we are hung up on; gives the last word."""
        async with asyncio.timeout(WAIT_S):
            while not self.is_over:
                self._changed.clear()
                await self._changed.wait()
        return next((message for message in self.heard if isinstance(message, Bye)), None)

    async def close(self) -> None:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()
        if self._task is not None:
            await self._task

    # As a client

    @classmethod
    async def client(cls, address: str | None, name: str = "", *, tls: SSLContext | None = None, **more: Any) -> Guest:
        """A client that was welcomed."""
        guest = await cls.connect(address or "", tls)
        guest.say(Hello(role=PeerRole.CLIENT, name=name, **{"window": _BIG, **more}))
        guest.welcome = await guest.next(Welcome)
        return guest

    async def asks(self, message: Message) -> Granted | RefuseRequest:
        """The answer to a request."""
        self.say(message)
        return await self.next((Granted, RefuseRequest))  # type: ignore[arg-type]

    async def subscribe(self, filter: str, number: int = 1, **more: Any) -> Granted | RefuseRequest:
        self.requests += 1
        return await self.asks(Subscribe(request=self.requests, number=number, filter=filter, **more))

    async def advertise(self, filter: str, number: int = 1) -> Granted | RefuseRequest:
        self.requests += 1
        return await self.asks(Advertise(request=self.requests, number=number, filter=filter))

    async def unsubscribe(self, number: int = 1) -> Granted | RefuseRequest:
        self.requests += 1
        return await self.asks(Unsubscribe(self.requests, number))

    async def status(self) -> NodeStatus:
        self.say(StatusRequest(1))
        return await self.next(NodeStatus)

    async def publish(self, lines: list[bytes], position: int = 0) -> None:
        """Publish, and with a position wait until it is acknowledged."""
        self.say(Events(position, EventBatch.of(lines)))
        while position and (await self.next(Acknowledged)).position < position:
            pass

    async def receives(self, count: int, *, acknowledges: bool = False) -> list[bytes]:
        """The next events, at least so many."""
        found: list[bytes] = []
        while len(found) < count:
            delivered = await self.next(Deliver)
            found += delivered.batch.lines()
            if acknowledges and delivered.position:
                self.say(Acknowledged(delivered.position))
        return found


@dataclass
class BrokerProcess:
    """`comity serve` in a process of its own."""

    name: str
    options: list[str]
    process: subprocess.Popen[str] | None = None
    address: str = ""

    def start(self) -> BrokerProcess:
        """Start it, on the port that it had if it had one, and wait until it listens."""
        listen = self.address or "127.0.0.1:0"
        command = [sys.executable, "-m", "comity", "serve", "--broker", self.name, "--listen", listen, *self.options]
        self.process = subprocess.Popen(
            [*command, "--format", "json", "--end-with-input"],
            stdin=subprocess.PIPE,  # which ends with us, however that is
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        assert self.process.stdout is not None
        self.address = json.loads(self.process.stdout.readline())["address"]
        return self

    def kill(self) -> None:
        """As by a power cut of the process."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to stop; gives the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_S)

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
