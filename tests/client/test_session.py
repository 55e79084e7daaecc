"""A client of real brokers: what it publishes reaches others, what it asks for comes, and errors are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import comity
from comity.client import Connecting, EventsLost, EventsRefused, EventSubscription
from comity.errors import ComityError, Misuse, Retryable
from comity.limits import limited
from comity.route.policy import Policy, Strategy
from comity.server.node import BrokerNode
from comity.server.serve import running_node
from comity.server.settings import Address, ClientToken, NodeSettings
from comity.wire import Deliver, EventBatch, Granted, KeptSubscription, Marks, Welcome, encode_message
from tests.server.peers import line, network, until


def door(node: BrokerNode, **more: Any) -> Connecting:
    """A connection to a broker."""
    return comity.connect(f"comity://{node.address}", **more)


@asynccontextmanager
async def broker(store: Path | None = None, **more: Any) -> AsyncIterator[BrokerNode]:
    settings = NodeSettings("north", Address("127.0.0.1", 0), store=store, **more)
    async with running_node(settings) as node:
        yield node


async def take(subscription: EventSubscription, count: int) -> list[int]:
    """The numbers of the next events."""
    found: list[int] = []
    async with asyncio.timeout(30):
        async for event in subscription:
            found.append(event.data["n"])  # type: ignore[arg-type]
            if len(found) == count:
                return found
    return found


def lines(*many: int) -> list[bytes]:
    return [line(number) for number in many]


async def test_events_come_over_two_brokers_to_whom_they_fit() -> None:
    async with network([("a", "b")]) as nodes, door(nodes["a"]) as publisher, door(nodes["b"]) as reader:
        assert (publisher.broker, reader.broker) == ("a", "b")
        subscription = await reader.subscribe("n > 2")
        await until(lambda: nodes["a"].status(0).links[0].subscriptions == 1)
        assert await publisher.publish(lines(1, 2, 3, 4)) == 4
        assert await take(subscription, 2) == [3, 4]


async def test_client_gets_what_it_publishes_itself() -> None:
    async with broker() as node, door(node) as client:
        subscription = await client.subscribe("n > 2")
        await client.publish(line(3))
        assert await take(subscription, 1) == [3]


async def test_events_are_published_in_every_form() -> None:
    async with broker() as node, door(node) as client:
        subscription = await client.subscribe()
        dict_event = {"id": "1", "source": "/a", "type": "Quote", "data": {"n": 1}}
        assert await client.publish(dict_event) == 1
        assert await client.publish(comity.Event("2", "/a", "Quote", data={"n": 2})) == 1
        assert await client.publish('{"id": "3", "source": "/a",\n "type": "Quote", "data": {"n": 3}}') == 1
        assert await client.publish(line(number) for number in range(4, 3_000)) == 2_996
        assert await take(subscription, 2_999) == [*range(1, 3_000)]


async def test_lines_come_as_they_were_published() -> None:
    async with broker() as node, door(node) as client:
        subscription = await client.subscribe()
        await client.publish(line(1))
        async for found in subscription.lines():
            assert found == line(1)
            break


async def test_event_goes_to_each_subscription_that_it_fits() -> None:
    async with broker() as node, door(node) as client:
        low, high = await client.subscribe("n < 5"), await client.subscribe("n > 2")
        await client.publish(lines(*range(10)))
        assert await take(low, 5) == [0, 1, 2, 3, 4]
        assert await take(high, 7) == [3, 4, 5, 6, 7, 8, 9]


async def test_cancelled_subscription_ends_and_the_broker_forgets_it() -> None:
    async with broker() as node, door(node) as client:
        async with client.subscribe("n < 5") as subscription:
            await client.publish(line(1))
            assert await take(subscription, 1) == [1]
            assert (await client.status()).clients[0].subscriptions == 1
        assert (await client.status()).clients[0].subscriptions == 0
        assert await take(subscription, 1) == []


@pytest.mark.parametrize(
    ("filter", "code"), [("n >", "syntax"), ("n > 5 m", "unit-without-type")], ids=["syntax", "unit"]
)
async def test_filter_that_is_wrong_is_refused_and_the_session_goes_on(filter: str, code: str) -> None:
    async with broker() as node, door(node) as client:
        with pytest.raises(Misuse) as told:
            await client.subscribe(filter)
        assert told.value.code == code
        subscription = await client.subscribe("n > 5")
        await client.publish(line(6))
        assert await take(subscription, 1) == [6]


async def test_refused_events_are_told_with_their_places() -> None:
    async with broker() as node, door(node) as client:
        with pytest.raises(EventsRefused) as told:
            await client.publish([line(1), b'{"id": "2"}', line(3), b"[]"])
        assert told.value.count == 2
        assert [row for row, _, _ in told.value.refused] == [1, 3]
        raws = [record["raw"] for record in told.value.records([line(1), b'{"id": "2"}', line(3), b"[]"])]
        assert raws == ['{"id": "2"}', "[]"]
        assert (await client.status()).refused


async def test_places_of_refused_events_count_over_all_batches() -> None:
    async with broker() as node, door(node) as client:
        with pytest.raises(EventsRefused) as told:
            await client.publish([*lines(*range(2_500)), b"[]"])
        assert [row for row, _, _ in told.value.refused] == [2_500]


async def test_too_long_event_is_refused_before_it_is_sent() -> None:
    async with broker() as node, door(node) as client:
        with limited(max_record_bytes=100), pytest.raises(Misuse, match="record-too-long"):
            await client.publish(b'{"id": "' + b"x" * 100 + b'"}')


async def test_in_a_network_with_advertisements_events_must_be_advertised() -> None:
    policy = Policy(Strategy.COVERING, advertisements=True)
    async with broker(policy=policy) as node, door(node) as client:
        subscription = await client.subscribe("n > 2")
        with pytest.raises(EventsRefused, match="not-advertised"):
            await client.publish(line(3))
        advertisement = await client.advertise("n > 0")
        await client.publish(line(4))
        assert await take(subscription, 1) == [4]
        await advertisement.cancel()
        with pytest.raises(EventsRefused):
            await client.publish(line(5))


async def test_token_is_asked_for() -> None:
    async with broker(client_token=ClientToken("open sesame")) as node:
        with pytest.raises(ComityError) as told:
            async with door(node, token="open barley"):
                pass
        assert "sesame" not in str(told.value)
        async with door(node, token="open sesame") as client:
            assert client.broker == "north"


async def test_no_broker_is_told_at_once() -> None:
    async with broker() as node:
        address = node.address
    with pytest.raises(Retryable, match="Connection refused"):
        async with comity.connect(f"comity://{address}"):
            pass


async def test_one_that_says_nothing_is_told_in_time() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(Retryable, match=r"no answer within 0\.2 s"):
        async with comity.connect(f"comity://127.0.0.1:{port}", timeout_s=0.2):
            pass
    server.close()


async def test_one_that_speaks_otherwise_is_told() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ComityError, match="malformed-frame"):
        async with comity.connect(f"comity://127.0.0.1:{port}"):
            pass
    server.close()


async def test_second_client_of_a_name_takes_over() -> None:
    async with broker() as node, door(node, name="ann") as first:
        subscription = await first.subscribe()
        async with door(node, name="ann"):
            with pytest.raises(ComityError, match="taken-over"):
                await take(subscription, 1)
            with pytest.raises(ComityError, match="taken-over"):
                await first.publish(line(1))


async def test_closed_session_ends_its_subscriptions() -> None:
    async with broker() as node:
        async with door(node) as client:
            subscription = await client.subscribe()
            waiting = asyncio.create_task(take(subscription, 1))
            await asyncio.sleep(0)
        assert await waiting == []
        with pytest.raises(ComityError, match="closed-session"):
            await client.publish(line(1))


async def test_slow_reader_is_told_what_it_lost() -> None:
    notices: list[object] = []
    with limited(max_window_bytes=50_000, max_send_queue_bytes=50_000):
        async with broker() as node, door(node, told=notices.append) as reader, door(node) as publisher:
            subscription = await reader.subscribe()
            for first in range(0, 5_000, 100):
                await publisher.publish(lines(*range(first, first + 100)))
            found = await take(subscription, 500)
            await publisher.publish(line(5_000))
            found += await take(subscription, 1)
            while found[-1] < 5_000:
                found += await take(subscription, 1)
    assert found == sorted(found)
    assert reader.lost == 5_001 - len(found)
    assert sum(one.events for one in notices if isinstance(one, EventsLost)) == reader.lost


async def test_whoever_is_told_may_fail_and_the_session_goes_on() -> None:
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context["exception"]))

    def fail(notice: object) -> None:
        raise ZeroDivisionError(notice)

    async with broker() as node, door(node, name="ann", told=fail) as client:
        subscription = await client.subscribe("n > 2")
        node.clients["ann"].connection.close()
        await client.publish(line(3))
        assert await take(subscription, 1) == [3]
    assert [type(one) for one in failures] == [ZeroDivisionError] * 2


async def test_advertisements_stand_again_on_a_new_connection() -> None:
    async with broker(policy=Policy(Strategy.COVERING, advertisements=True)) as node, door(node, name="ann") as client:
        subscription = await client.subscribe("n > 2")
        await client.advertise("n > 0")
        node.clients["ann"].connection.close()
        await client.publish(line(3))
        assert await take(subscription, 1) == [3]


async def test_much_may_come_in_one_piece_with_the_welcome() -> None:
    """Events of a durable subscription that was kept, more than a stranger may send at once."""
    kept = (KeptSubscription(1, "true", "all"),)
    welcome = Welcome(name="north", you="ann", instance="1", window=1_000_000, log="log", kept=kept)
    events = EventBatch.of([line(number, pad="x" * 300) for number in range(200)])
    places = tuple(range(1, 201))

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)
        writer.write(encode_message(welcome) + encode_message(Deliver(200, Marks.alike((1,), 200), events, places)))
        await reader.read(65_536)
        writer.write(encode_message(Granted(1)))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with comity.connect(f"comity://127.0.0.1:{port}", name="ann") as client:
        assert await take(client.subscribe(durable="all"), 200) == [*range(200)]
    server.close()


async def test_broker_is_told_much_right_behind_a_welcome() -> None:
    async with broker() as north, door(north) as client:
        for number in range(300):
            await client.subscribe(f"n = {number} and text = '{'x' * 100}'")
        settings = NodeSettings("south", Address("127.0.0.1", 0), (Address.read(north.address),))
        async with running_node(settings) as south:
            await until(lambda: any(link.subscriptions == 300 for link in south.status(0).links))


async def test_wrong_scheme_is_refused() -> None:
    with pytest.raises(Misuse, match="bad-address"):
        comity.connect("http://127.0.0.1:7470")
