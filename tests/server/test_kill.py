"""Brokers as processes that are killed under load: durable subscribers lose nothing and get nothing twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.conftest import PROFILE
from tests.server.peers import BrokerProcess, Guest, free_ports, line, numbers, until

from comity.wire import Acknowledged, Deliver, LinkStatus, LogPosition, Welcome

pytestmark = pytest.mark.slow
_EVENTS, _KILLS = (3_000, 12) if PROFILE == "nightly" else (400, 2)
_STRATEGIES = ("flooding", "simple", "identity", "covering", "merging") if PROFILE == "nightly" else ("covering",)


@pytest.fixture
def chain(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[list[BrokerProcess]]:
    """Three brokers in a row, each with a store."""
    ports = free_ports("a", "b", "c")
    peers = {"a": [], "b": ["a"], "c": ["b"]}
    brokers = [
        BrokerProcess(
            name,
            [
                *(word for peer in peers[name] for word in ("--peer", f"127.0.0.1:{ports[peer]}")),
                *("--store", str(tmp_path / name), "--silence", "2", "--strategy", request.param),
            ],
            address=f"127.0.0.1:{ports[name]}",
        )
        for name in "abc"
    ]
    try:
        for broker in brokers:
            broker.start()
        yield brokers
    finally:
        for broker in brokers:
            broker.end()


class _Subscriber:
    """One that comes again as often as its broker does, and remembers how far it is."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.got: list[int] = []
        self._taken: LogPosition | None = None

    async def run(self, count: int) -> None:
        while len(self.got) < count:
            with suppress(OSError, AssertionError, TimeoutError):
                await self._receive(count)
            await asyncio.sleep(0.05)

    async def _receive(self, count: int) -> None:
        guest = await Guest.client(self._address, "Ada", taken=self._taken)
        welcome = guest.welcome
        assert isinstance(welcome, Welcome)
        try:
            if not welcome.kept:
                await guest.subscribe("n >= 0", durable=True)
            while len(self.got) < count:
                delivered = await guest.next(Deliver)
                self.got += numbers(delivered.batch.lines())
                self._taken = LogPosition(welcome.log or "", delivered.position)
                guest.say(Acknowledged(delivered.position))
        finally:
            await guest.close()


async def _publish(address: str, count: int) -> None:
    """Publish all, each again until it is acknowledged."""
    done = 0
    while done < count:
        with suppress(OSError, AssertionError, TimeoutError):
            guest = await Guest.client(address, "publisher")
            try:
                while done < count:
                    await guest.publish([line(done), line(done + 1)], position=done + 2)
                    done += 2
            finally:
                await guest.close()
        await asyncio.sleep(0.05)


async def _linked(brokers: list[BrokerProcess]) -> list[LinkStatus]:
    """The links of all, once all are up and say the same on both sides."""
    while True:
        links = []
        for broker in brokers:
            guest = await Guest.client(broker.address)
            links += (await guest.status()).links
            await guest.close()
        if len(links) == 4 and all(link.is_up and link.subscriptions + link.subscriptions_told == 1 for link in links):
            return links
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("chain", _STRATEGIES, indirect=True)
async def test_a_durable_subscriber_gets_each_event_once_whoever_is_killed(chain: list[BrokerProcess]) -> None:
    seed = random.randrange(1 << 32) if PROFILE == "nightly" else 5
    chance = random.Random(seed)
    ada = _Subscriber(chain[2].address)
    receiving = asyncio.create_task(ada.run(_EVENTS))
    if "flooding" not in chain[0].options:
        await _linked(chain)
    publishing = asyncio.create_task(_publish(chain[0].address, _EVENTS))
    for number in range(_KILLS):
        await asyncio.sleep(chance.uniform(0.05, 0.4))
        victim = chance.choice(chain) if number else chain[1]
        await asyncio.to_thread(victim.kill)
        await asyncio.sleep(chance.uniform(0, 0.3))
        await asyncio.to_thread(victim.start)
    await publishing
    await receiving
    assert sorted(ada.got) == [*range(_EVENTS)], f"seed {seed}"
    assert ada.got == sorted(ada.got), "in the order of their publisher"
    if "flooding" not in chain[0].options:
        await _linked(chain)


async def test_a_broker_ends_in_good_order_when_it_is_asked_to(tmp_path: Path) -> None:
    broker = BrokerProcess("a", ["--store", str(tmp_path / "a"), "--log", str(tmp_path / "log")]).start()
    try:
        guest = await Guest.client(broker.address)
        await guest.subscribe("n > 1")
        assert await asyncio.to_thread(broker.stop) == 0
        bye = await guest.end()
        assert bye is not None
        assert bye.code == "stopping"
        assert "node stopped" in (tmp_path / "log").read_text()
    finally:
        broker.end()


async def test_metrics_of_a_node_are_in_a_file_and_on_a_port(tmp_path: Path) -> None:
    broker = BrokerProcess("a", ["--metrics", str(tmp_path / "metrics"), "--metrics-port", "0"]).start()
    try:
        guest = await Guest.client(broker.address)
        await guest.subscribe("n > 1")
        await guest.publish([line(1), line(2), b"{}"])
        await guest.receives(1)

        def is_told() -> bool:
            text = (tmp_path / "metrics").read_text() if (tmp_path / "metrics").exists() else ""
            return "comity_events_in_total 3.0" in text and 'comity_refused_total{code="missing"} 1.0' in text

        await until(is_told)
    finally:
        broker.end()
