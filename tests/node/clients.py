"""Nodes in processes of their own, and somebody who speaks HTTP to them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp

from tests.conftest import ROOT

WAIT_S = 50.0
"""That something may take on a machine with much else to do; it is waited for, not slept."""
PASSWORD = "correct horse"
TYPES = """\
domain: house
types:
  HeatEvent: {attributes: {loc: int, value: float}}
  StockExchangeEvent: {attributes: {price: float}}
  Temperature: {attributes: {value: float}}
  Humidity: {attributes: {value: float}}
  LightEvent: {attributes: {lightvalue: float}}
"""


@dataclass
class NodeProcess:
    """`comity serve DIR` in a process of its own."""

    folder: Path
    settings: str = "lateness: 100 ms\n"
    url: str = ""
    process: subprocess.Popen[str] | None = None

    def start(self) -> NodeProcess:
        """Start it, on the port that it had if it had one, and wait until it listens."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "house.yaml").write_text(TYPES)
        (self.folder / "node.yaml").write_text(self.settings)
        listen = self.url.removeprefix("http://") or "127.0.0.1:0"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "comity", "serve", str(self.folder), "--listen", listen, "--format", "json"],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]
        return self

    def kill(self) -> None:
        """As by a power cut of the process."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()


@contextmanager
def running(folder: Path, settings: str = "lateness: 100 ms\n") -> Iterator[NodeProcess]:
    node = NodeProcess(folder, settings)
    try:
        yield node.start()
    finally:
        node.end()


@dataclass
class Answer:
    status: int
    body: Any

    @property
    def codes(self) -> list[str]:
        return [one["code"] for one in self.body["errors"]]


@dataclass
class Person:
    """A client with a name and a password."""

    session: aiohttp.ClientSession
    url: str
    name: str = "ada"
    password: str = PASSWORD
    headers: dict[str, str] = field(default_factory=dict)
    source: str = "/sensor"
    published: int = 0

    async def call(self, method: str, path: str, **given: Any) -> Answer:
        headers = {**self.headers, **given.pop("headers", {})}
        async with self.session.request(method, self.url + path, headers=headers, **given) as answer:
            text = await answer.text()
            is_json = answer.content_type.endswith("json")
            return Answer(answer.status, json.loads(text) if is_json else text)

    async def register(self) -> Person:
        found = await self.call("POST", "/v1/register", json={"name": self.name, "password": self.password})
        assert found.status in (200, 201), found.body
        self.headers = {"Authorization": f"Bearer {found.body['token']}"}
        return self

    async def rule(self, text: str, store: str = "all") -> Answer:
        return await self.call("POST", "/v1/rules", json={"text": text, "store": store})

    async def publish(self, type: str, at: datetime | None = None, **data: Any) -> dict[str, Any]:
        self.published += 1
        event = {"specversion": "1.0", "id": str(self.published), "source": self.source, "type": type, "data": data}
        (found,) = await self.publish_all([{**event, **({"time": moment(at)} if at is not None else {})}])
        return found

    async def publish_all(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        headers = {"Content-Type": "application/cloudevents-batch+json"}
        found = await self.call("POST", "/v1/events", data=json.dumps(events), headers=headers)
        assert found.status in (200, 422), found.body
        return list(found.body["outcomes"])

    @asynccontextmanager
    async def listening(self, after: int | None = None) -> AsyncIterator[Listener]:
        query = "" if after is None else f"?after={after}"
        async with self.session.ws_connect(f"{self.url}/v1/notifications{query}", headers=self.headers) as socket:
            listener = Listener(socket)
            assert (await listener.next())["kind"] == "welcome"
            yield listener


@dataclass
class Listener:
    socket: aiohttp.ClientWebSocketResponse

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(WAIT_S):
            message = await self.socket.receive()
        assert message.type is aiohttp.WSMsgType.TEXT, message
        return dict(json.loads(message.data))

    async def notifications(self, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while len(found) < count:
            message = await self.next()
            if message["kind"] == "notification":
                found.append(message)
        return found

    async def acknowledge(self, position: int) -> None:
        await self.socket.send_json({"acknowledge": position})


@asynccontextmanager
async def people(url: str, *names: str) -> AsyncIterator[list[Person]]:
    # Each request has a connection of its own: those that are kept would be gone with a node that is killed.
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        yield [await Person(session, url, name, source=f"/{name}").register() for name in names]


def moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def now(seconds: float = 0.0) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def values(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """By notification the rule, and the values of its events."""
    return [(one["rule"], *(next(reversed(event["data"].values())) for event in one["events"])) for one in found]
