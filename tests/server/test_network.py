"""Events reach those who want them, and nobody else, over real connections between brokers."""

from __future__ import annotations

import asyncio

import pytest
from tests.server.peers import Guest, line, network, numbers, until

from comity.route.messages import Topic
from comity.route.policy import Policy, Strategy
from comity.wire import Deliver, Dropped, Granted, RefuseEvents, RefuseRequest

_CHAIN = [("a", "b"), ("b", "c")]


@pytest.mark.parametrize("strategy", Strategy)
async def test_events_reach_who_wants_them_over_three_brokers(strategy: Strategy) -> None:
    async with network(_CHAIN, Policy(strategy)) as nodes:
        near, far = await Guest.client(nodes["a"].address), await Guest.client(nodes["c"].address)
        publisher = await Guest.client(nodes["a"].address)
        await near.subscribe("n > 2")
        await far.subscribe("n between 1 and 3", number=7)
        if strategy is not Strategy.FLOODING:
            await until(lambda: len(nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)) == 1)
        await publisher.publish([line(n) for n in range(6)])
        assert numbers(await near.receives(3)) == [3, 4, 5]
        delivered = await far.next(Deliver)
        assert numbers(delivered.batch.lines()) == [1, 2, 3]
        assert [*delivered.marks] == [(7,)] * 3


async def test_a_client_that_leaves_wants_nothing_any_more() -> None:
    async with network(_CHAIN) as nodes:
        far = await Guest.client(nodes["c"].address)
        await far.subscribe("n > 2")
        await until(lambda: len(nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)) == 1)
        await far.close()
        await until(lambda: not nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS))


async def test_an_event_comes_once_and_names_all_subscriptions_that_want_it() -> None:
    async with network(_CHAIN) as nodes:
        client = await Guest.client(nodes["c"].address)
        await client.subscribe("n > 2", number=1)
        await client.subscribe("n < 4", number=2)
        await client.publish([line(n) for n in range(6)])
        delivered = await client.next(Deliver)
        assert numbers(delivered.batch.lines()) == [0, 1, 2, 3, 4, 5]
        assert [*map(sorted, delivered.marks)] == [[2], [2], [2], [1, 2], [1], [1]]


async def test_the_order_of_a_publisher_is_kept_and_a_repeated_number_replaces_the_filter() -> None:
    async with network(_CHAIN) as nodes:
        far, publisher = await Guest.client(nodes["c"].address), await Guest.client(nodes["a"].address)
        await far.subscribe("n >= 0")
        await far.subscribe("n > 99")
        await until(lambda: [e.filter.text for e in nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)] == ["n > 99"])
        for first in range(0, 1_000, 10):
            await publisher.publish([line(n) for n in range(first, first + 10)])
        assert numbers(await far.receives(900)) == [*range(100, 1_000)]


async def test_requests_that_are_wrong_are_refused_and_the_client_goes_on() -> None:
    async with network(_CHAIN) as nodes:
        client = await Guest.client(nodes["a"].address)
        for text, code in [("n >", "syntax"), ("n > 5 m", "unit-without-type")]:
            answer = await client.subscribe(text)
            assert isinstance(answer, RefuseRequest), text
            assert answer.code == code
        assert isinstance(await client.unsubscribe(9), RefuseRequest)
        assert (await client.subscribe("n > 1", durable=True)).code == "no-store"  # type: ignore[union-attr]
        assert isinstance(await client.subscribe("n > 1"), Granted)


async def test_what_is_no_event_is_refused_and_the_others_go_on() -> None:
    async with network(_CHAIN) as nodes:
        client = await Guest.client(nodes["a"].address)
        await client.subscribe("n >= 0")
        reserved = b'{"id": "1", "source": "/a", "type": "comity.network.Subscribed"}'
        await client.publish([line(0), b"{}", reserved, b"nonsense", line(4)])
        refused = await client.next(RefuseEvents)
        assert refused.count == 3
        assert [row for row, _, _ in refused.rows] == [1, 2, 3]
        assert numbers(await client.receives(2)) == [0, 4]


async def test_with_advertisements_only_what_is_advertised_may_be_published() -> None:
    async with network(_CHAIN, Policy(advertisements=True)) as nodes:
        far, publisher = await Guest.client(nodes["c"].address), await Guest.client(nodes["a"].address)
        await far.subscribe("n > 2")
        await publisher.advertise("n < 5")
        await until(lambda: len(nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)) == 1)
        await publisher.publish([line(n) for n in range(8)])
        assert (await publisher.next(RefuseEvents)).count == 3
        assert numbers(await far.receives(2)) == [3, 4]


async def test_a_subscription_ends_with_its_lease() -> None:
    async with network([("a", "b")]) as nodes:
        client = await Guest.client(nodes["b"].address)
        await client.subscribe("n > 2", lease_s=0.4)
        await until(lambda: len(nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)) == 1)
        await until(lambda: not nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS))
        assert isinstance(await client.unsubscribe(), RefuseRequest)


async def test_who_subscribes_is_an_event() -> None:
    async with network([("a", "b")], Policy(notices=True)) as nodes:
        watcher, other = await Guest.client(nodes["a"].address), await Guest.client(nodes["a"].address)
        await watcher.subscribe("event.type = 'comity.network.Subscribed' and exists filter and filter = 'n > 2'")
        await other.subscribe("n > 2")
        (told,) = await watcher.receives(1)
        assert b'"filter":"n > 2"' in told


async def test_a_slow_client_slows_nobody_and_is_told_what_it_missed() -> None:
    async with network([("a", "b")]) as nodes:
        slow = await Guest.client(nodes["b"].address, window=3_000)
        quick, publisher = await Guest.client(nodes["b"].address), await Guest.client(nodes["a"].address)
        await slow.subscribe("n >= 0")
        await quick.subscribe("n >= 0")
        await until(lambda: len(nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)) == 1)
        blob = "x" * 60_000
        for first in range(0, 400, 10):
            await publisher.publish([line(n, blob=blob) for n in range(first, first + 10)])
            assert len(await quick.receives(10)) == 10
        receiver = next(one for one in nodes["b"].receivers.values() if one.dropped)
        assert receiver.connection is not None
        assert receiver.connection.queue.size_bytes <= 17_000_000
        slow.say(*[_credit()])
        got = numbers(await slow.receives(400 - receiver.dropped))
        assert got == [*range(len(got))], "what it got is the beginning, in order"
        dropped = await slow.next(Dropped)
        assert dropped.total == receiver.dropped == 400 - len(got)


def _credit() -> object:
    from comity.wire import Credit

    return Credit(1 << 30)


async def test_status_tells_links_clients_and_tables() -> None:
    async with network(_CHAIN) as nodes:
        far, publisher = await Guest.client(nodes["c"].address, "Ada"), await Guest.client(nodes["a"].address)
        await far.subscribe("n > 2")
        await until(lambda: len(nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)) == 1)
        await publisher.publish([line(n) for n in range(6)])
        await far.receives(3)
        status = await far.status()
        (link,) = status.links
        (client,) = status.clients
        assert (link.name, link.is_up, link.events_in, link.subscriptions_told) == ("b", True, 3, 1)
        assert (client.name, client.delivered, client.subscriptions) == ("Ada", 3, 1)
        assert link.address == nodes["b"].address
        here = await publisher.status()
        assert here.links[0].subscriptions == 1
        assert here.clients[0].published == 6


async def test_a_storm_of_subscriptions_keeps_nobody_waiting() -> None:
    async with network([("a", "b")]) as nodes:
        storm, other = await Guest.client(nodes["a"].address), await Guest.client(nodes["a"].address)
        await other.subscribe("n >= 0")
        from comity.wire import Subscribe

        storm.say(*[Subscribe(request=n, number=n, filter=f"m = {n} and k > {n % 7}") for n in range(1_000)])
        for n in range(20):
            await other.publish([line(n)])
            assert numbers(await other.receives(1)) == [n]
        granted = 0
        while granted < 1_000:
            await storm.next(Granted)
            granted += 1
        await until(lambda: len(nodes["b"].routing.table("a", Topic.SUBSCRIPTIONS)) == 1_001)
        await asyncio.sleep(0)
