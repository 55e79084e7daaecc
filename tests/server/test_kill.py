"""Brokers as processes that are killed under load: durable subscribers lose nothing and get nothing twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.conftest import PROFILE, ROOT
from tests.server.peers import BrokerProcess, Guest, free_ports, line, numbers, until

from comity.route.policy import Strategy
from comity.wire import Acknowledged, Deliver, LogPosition, Welcome

pytestmark = pytest.mark.slow
Tables = dict[tuple[str, str], tuple[int, int]]
"""By broker and neighbour: the filters that it knows of it, and those that it told it."""
_EVENTS, _KILLS = (3_000, 12) if PROFILE == "nightly" else (300, 1)
_FILTERS = ("n >= 0 and n < 100", "n >= 100", "n >= 20 and n < 50", "n >= 20 and n < 50")
"""One is covered by another one, one is there twice, and two make one together."""


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
        self.has_subscribed = False
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
            for number, filter in enumerate(_FILTERS):
                if number not in {one.number for one in welcome.kept}:
                    await guest.subscribe(filter, number, durable=True)
            self.has_subscribed = True
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


async def _tables(brokers: list[BrokerProcess]) -> Tables:
    """How many filters each knows of the others and told them, once all links are up and both ends say the same."""
    while True:
        links = {}
        for broker in brokers:
            guest = await Guest.client(broker.address)
            links |= {(broker.name, link.name): link for link in (await guest.status()).links if link.is_up}
            await guest.close()
        told = {way: (link.subscriptions, link.subscriptions_told) for way, link in links.items()}
        agree = len(told) == 4 and all(told[one, other] == told[other, one][::-1] for one, other in told)
        if agree and told["a", "b"][0]:  # the subscriptions at c have come as far as a
            return told
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("chain", [strategy.value for strategy in Strategy], indirect=True)
async def test_a_durable_subscriber_gets_each_event_once_whoever_is_killed(chain: list[BrokerProcess]) -> None:
    seed = random.randrange(1 << 32) if PROFILE == "nightly" else 5
    chance = random.Random(seed)
    ada = _Subscriber(chain[2].address)
    receiving = asyncio.create_task(ada.run(_EVENTS))
    await until(lambda: ada.has_subscribed)
    before = await _tables(chain)
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
    while await _tables(chain) != before:  # as they were before anything failed
        await asyncio.sleep(0.05)


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


_STARTS_A_BROKER = """
import sys, time
from tests.server.peers import BrokerProcess
print(BrokerProcess("a", []).start().process.pid, flush=True)
time.sleep(600)
"""


async def test_a_broker_ends_when_whoever_started_it_is_killed() -> None:
    command, paths = [sys.executable, "-c", _STARTS_A_BROKER], {**os.environ, "PYTHONPATH": "src:."}
    starter = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd=ROOT, env=paths)
    assert starter.stdout is not None
    broker = int(await starter.stdout.readline())
    starter.kill()
    await starter.wait()
    try:
        await until(lambda: not _is_running(broker))
    finally:
        with suppress(ProcessLookupError):
            os.kill(broker, signal.SIGKILL)


def _is_running(pid: int) -> bool:
    """Whether it is there, and no mere remainder that nobody has asked for."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # a system that has no such files
        return True


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
