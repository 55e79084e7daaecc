"""Durable subscriptions: what comes while nobody is there waits, and each event is handled once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import comity
from comity.client import Connecting, EventSubscription, LinkDown, LinkUp, NetworkSession
from comity.errors import Misuse
from tests.client.test_session import broker, door, lines, take
from tests.server.peers import BrokerProcess, line


async def test_goes_on_behind_the_last_event_that_was_handled(tmp_path: Path) -> None:
    async with broker(tmp_path) as node, door(node) as publisher:
        async with door(node, name="ann") as reader:
            subscription = await reader.subscribe("n > 0", durable="orders")
            await publisher.publish(lines(*range(6)))
            assert await take(subscription, 2) == [1, 2]
        await publisher.publish(lines(6, 7))
        async with door(node, name="ann") as reader:
            assert await take(reader.subscribe("n > 0", durable="orders"), 5) == [3, 4, 5, 6, 7]


async def test_event_whose_handling_failed_comes_again(tmp_path: Path) -> None:
    async with broker(tmp_path) as node, door(node) as publisher:
        with pytest.raises(ZeroDivisionError):
            await fail_at_the_second(door(node, name="ann"), publisher)
        async with door(node, name="ann") as reader:
            assert await take(reader.subscribe(durable="orders"), 2) == [2, 3]


async def fail_at_the_second(reading: Connecting, publisher: NetworkSession) -> None:
    async with reading as reader:
        subscription = await reader.subscribe(durable="orders")
        await publisher.publish(lines(1, 2, 3))
        async for event in subscription:
            if event.id == "2":
                raise ZeroDivisionError


async def test_two_of_one_client_each_go_on_where_they_were(tmp_path: Path) -> None:
    async with broker(tmp_path) as node, door(node) as publisher:
        async with door(node, name="ann") as reader:
            low, high = await reader.subscribe("n < 5", durable="low"), await reader.subscribe("n > 3", durable="high")
            await publisher.publish(lines(*range(10)))
            assert await take(low, 5) == [0, 1, 2, 3, 4]
            assert await take(high, 2) == [4, 5]
        async with door(node, name="ann") as reader:
            high = await reader.subscribe("n > 3", durable="high")
            low = await reader.subscribe("n < 5", durable="low")
            assert await take(high, 4) == [6, 7, 8, 9]
            await publisher.publish(line(2, source="/other"))
            assert await take(low, 1) == [2]


async def test_cancelled_one_is_forgotten_with_what_waits_for_it(tmp_path: Path) -> None:
    async with broker(tmp_path) as node, door(node) as publisher:
        async with door(node, name="ann") as reader:
            subscription = await reader.subscribe(durable="orders")
            await publisher.publish(lines(1, 2))
            assert await take(subscription, 1) == [1]
            await subscription.cancel()
        await publisher.publish(line(3))
        async with door(node, name="ann") as reader:
            subscription = await reader.subscribe(durable="orders")
            await publisher.publish(line(4))
            assert await take(subscription, 1) == [4]


async def test_needs_names_and_a_store(tmp_path: Path) -> None:
    async with broker() as node:
        async with door(node) as nameless:
            with pytest.raises(Misuse, match="no-client-name"):
                nameless.subscribe(durable="orders")
        async with door(node, name="ann") as client:
            with pytest.raises(Misuse) as told:
                await client.subscribe(durable="orders")
            assert told.value.code == "no-store"


async def test_one_name_is_one_subscription(tmp_path: Path) -> None:
    async with broker(tmp_path) as node, door(node, name="ann") as client:
        await client.subscribe(durable="orders")
        with pytest.raises(Misuse, match="duplicate-subscription"):
            await client.subscribe(durable="orders")


async def test_slow_reader_loses_nothing(tmp_path: Path) -> None:
    async with broker(tmp_path) as node, door(node, name="ann") as reader, door(node) as publisher:
        subscription = await reader.subscribe(durable="orders")
        for first in range(0, 20_000, 2_000):
            await publisher.publish(lines(*range(first, first + 2_000)))
        assert await take(subscription, 20_000) == [*range(20_000)]
        assert reader.lost == 0


async def test_broker_that_is_killed_again_and_again_loses_nothing_that_was_published(tmp_path: Path) -> None:
    process = BrokerProcess("north", ["--store", str(tmp_path / "store")]).start()
    notices: list[object] = []
    url = f"comity://{process.address}"
    try:
        async with (
            comity.connect(url, name="ann", told=notices.append) as reader,
            comity.connect(url) as publisher,
        ):
            subscription = await reader.subscribe(durable="orders")
            reading = asyncio.create_task(read_until(subscription, 399))
            for number in range(400):
                if number % 150 == 100:
                    process.kill()
                    restart = asyncio.create_task(asyncio.to_thread(process.start))
                await publisher.publish(line(number))
            await restart
            assert await reading == [*range(400)]
    finally:
        process.end()
    kinds = [type(one) for one in notices]
    assert kinds == [LinkDown, LinkUp] * (len(kinds) // 2)
    assert kinds


async def read_until(subscription: EventSubscription, last: int) -> list[int]:
    found: list[int] = []
    async with asyncio.timeout(50):
        async for event in subscription:
            found.append(int(event.id))
            if event.id == str(last):
                break
    return found


async def test_client_goes_on_by_itself_when_the_broker_stops_and_starts(tmp_path: Path) -> None:
    process = BrokerProcess("north", ["--store", str(tmp_path / "store")]).start()
    try:
        async with comity.connect(f"comity://{process.address}", name="ann") as client:
            best_effort = await client.subscribe("n > 0")
            durable = await client.subscribe("n > 1", durable="orders")
            await client.publish(lines(1, 2))
            assert (await take(best_effort, 2), await take(durable, 1)) == ([1, 2], [2])
            assert process.stop() == 0
            await asyncio.to_thread(process.start)
            await client.publish(lines(3, 4))
            assert (await take(best_effort, 2), await take(durable, 2)) == ([3, 4], [3, 4])
            assert (await client.status()).clients[0].subscriptions == 2
    finally:
        process.end()
