"""Durable subscribers lose nothing and get nothing twice: while they are away, while links are down, over restarts."""

from __future__ import annotations

from pathlib import Path

from tests.server.peers import Guest, free_ports, line, network, numbers, until

from comity.limits import limited
from comity.route.messages import Topic
from comity.route.policy import Policy, Strategy
from comity.server.receivers import Flow
from comity.wire import Acknowledged, Credit, Deliver, Dropped, Granted, LogPosition, RefuseRequest

_CHAIN = [("a", "b"), ("b", "c")]


async def test_what_is_published_while_a_subscriber_is_away_comes_when_it_is_back(tmp_path: Path) -> None:
    async with network(_CHAIN, stores=tmp_path) as nodes:
        ada = await Guest.client(nodes["c"].address, "Ada")
        assert isinstance(await ada.subscribe("n > 2", durable=True, label="dear"), Granted)
        await until(lambda: [one.durable for one in nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)] == [True])
        await ada.close()
        publisher = await Guest.client(nodes["a"].address)
        for n in range(10):
            await publisher.publish([line(n)], position=n + 1)
        ada = await Guest.client(nodes["c"].address, "Ada")
        assert ada.welcome is not None
        assert [(one.number, one.filter, one.label) for one in ada.welcome.kept] == [(1, "n > 2", "dear")]
        assert numbers(await ada.receives(7, acknowledges=True)) == [*range(3, 10)]
        await publisher.publish([line(10), line(1), line(11)], position=11)
        assert numbers(await ada.receives(2, acknowledges=True)) == [10, 11]


async def test_what_was_not_acknowledged_comes_again_and_what_was_taken_does_not(tmp_path: Path) -> None:
    async with network([("a", "b")], stores=tmp_path) as nodes:
        ada, publisher = await Guest.client(nodes["a"].address, "Ada"), await Guest.client(nodes["a"].address)
        await ada.subscribe("n >= 0", durable=True)
        await publisher.publish([line(n) for n in range(6)], position=1)
        delivered = await ada.next(Deliver)
        assert len(delivered.places) == 6
        assert delivered.position == delivered.places[-1]
        ada.say(Acknowledged(delivered.places[1]))
        await until(lambda: nodes["a"].receivers["client:Ada"].acknowledged == delivered.places[1])
        await ada.close()
        ada = await Guest.client(nodes["a"].address, "Ada")
        assert numbers(await ada.receives(4)) == [2, 3, 4, 5]
        await ada.close()
        assert ada.welcome is not None
        taken = LogPosition(ada.welcome.log or "", delivered.places[3])
        ada = await Guest.client(nodes["a"].address, "Ada", taken=taken)
        assert numbers(await ada.receives(2)) == [4, 5]


async def test_a_subscriber_that_lags_gets_what_is_durable_from_the_log_in_order(tmp_path: Path) -> None:
    with limited(max_send_queue_bytes=100_000):
        async with network([("a", "b")], stores=tmp_path) as nodes:
            slow = await Guest.client(nodes["b"].address, "slow", window=40_000)
            publisher = await Guest.client(nodes["a"].address)
            await slow.subscribe("n >= 0", durable=True)
            await until(lambda: len(nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)) == 1)
            for first in range(0, 200, 5):
                lines = [line(n, blob="x" * 3_000) for n in range(first, first + 5)]
                await publisher.publish(lines, position=first + 1)
            await until(lambda: nodes["b"].receivers["client:slow"].flow is Flow.LAGGING)
            slow.say(Credit(1 << 30))
            assert numbers(await slow.receives(200, acknowledges=True)) == [*range(200)]
            await until(lambda: nodes["b"].receivers["client:slow"].flow is Flow.LIVE)
            await publisher.publish([line(200)], position=1_000)
            assert numbers(await slow.receives(1)) == [200]
            assert not any(isinstance(one, Dropped) for one in slow.heard)


async def test_a_link_that_comes_back_brings_what_waited_once(tmp_path: Path) -> None:
    ports = free_ports("a", "b", "c")
    async with network(_CHAIN[:1], stores=tmp_path, ports=ports) as nodes:
        publisher = await Guest.client(nodes["a"].address)
        async with network([("c",)], stores=tmp_path, ports=ports, peers={"c": nodes["b"].address}) as more:
            ada = await Guest.client(more["c"].address, "Ada")
            await ada.subscribe("n >= 0", durable=True)
            await until(lambda: len(nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)) == 1)
            await publisher.publish([line(n) for n in range(5)], position=1)
            assert numbers(await ada.receives(5, acknowledges=True)) == [*range(5)]
        await until(lambda: "c" not in nodes["b"].links.sessions)
        assert [one.durable for one in nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)] == [True], "it still waits"
        await publisher.publish([line(n) for n in range(5, 9)], position=2)
        async with network([("c",)], stores=tmp_path, ports=ports, peers={"c": nodes["b"].address}) as more:
            ada = await Guest.client(more["c"].address, "Ada")
            assert numbers(await ada.receives(4)) == [5, 6, 7, 8]
            await publisher.publish([line(n) for n in range(9, 12)], position=3)
            assert numbers(await ada.receives(3)) == [9, 10, 11]
            assert not ada.heard


async def test_a_broker_that_was_restarted_knows_who_waits_before_anybody_publishes(tmp_path: Path) -> None:
    ports = free_ports("a", "b")
    async with network([("a", "b")], stores=tmp_path, ports=ports) as nodes:
        ada = await Guest.client(nodes["b"].address, "Ada")
        await ada.subscribe("n >= 0", durable=True)
        await until(lambda: len(nodes["a"].receivers["link:b"].is_durable * [1]) == 1)
        await until(lambda: nodes["a"].ledger is not None and "link:b" in nodes["a"].ledger.kept)
    async with network([("a",)], stores=tmp_path, ports=ports) as nodes:  # its neighbour is away
        publisher = await Guest.client(nodes["a"].address)
        await publisher.publish([line(n) for n in range(5)], position=1)
    async with network([("a", "b")], stores=tmp_path, ports=ports) as nodes:
        ada = await Guest.client(nodes["b"].address, "Ada")
        assert numbers(await ada.receives(5)) == [*range(5)]


async def test_events_that_are_published_again_come_once(tmp_path: Path) -> None:
    async with network([("a", "b")], stores=tmp_path) as nodes:
        ada, publisher = await Guest.client(nodes["b"].address, "Ada"), await Guest.client(nodes["a"].address)
        await ada.subscribe("n >= 0", durable=True)
        await until(lambda: len(nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)) == 1)
        for position in (1, 2):
            await publisher.publish([line(n) for n in range(5)], position=position)
        await publisher.publish([line(n) for n in range(3, 8)], position=3)
        assert numbers(await ada.receives(8)) == [*range(8)]


async def test_events_do_not_go_back_to_where_they_came_from(tmp_path: Path) -> None:
    async with network([("a", "b")], stores=tmp_path) as nodes:
        ada, bob = await Guest.client(nodes["a"].address, "Ada"), await Guest.client(nodes["b"].address, "Bob")
        for one in (ada, bob):
            await one.subscribe("n >= 0", durable=True)
        await until(lambda: all(node.receivers[f"link:{other}"].is_durable for node, other in _pairs(nodes)))
        publisher = await Guest.client(nodes["a"].address)
        await publisher.publish([line(n) for n in range(5)], position=1)
        assert numbers(await ada.receives(5)) == numbers(await bob.receives(5)) == [*range(5)]
        session = nodes["b"].links.sessions["a"]
        session.connection.close()  # b has them, and a must not get them back when the link is there again
        await until(lambda: nodes["b"].links.sessions.get("a") not in (None, session))
        await publisher.publish([line(5)], position=2)
        assert numbers(await bob.receives(1)) == numbers(await ada.receives(1)) == [5]
        assert nodes["a"].links.sessions["b"].events_in == 0


def _pairs(nodes: dict) -> list[tuple]:  # type: ignore[type-arg]
    return [(nodes["a"], "b"), (nodes["b"], "a")]


async def test_when_nobody_is_durable_any_more_nothing_is_stored(tmp_path: Path) -> None:
    async with network(_CHAIN, stores=tmp_path) as nodes:
        ada = await Guest.client(nodes["c"].address, "Ada")
        await ada.subscribe("n >= 0", durable=True)
        await until(lambda: len(nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS)) == 1)
        await ada.unsubscribe()
        await until(lambda: not nodes["a"].routing.table("b", Topic.SUBSCRIPTIONS))
        publisher = await Guest.client(nodes["a"].address)
        await publisher.publish([line(1)], position=1)
        assert all(node.ledger is not None and node.ledger.store.last == 0 for node in nodes.values())
        await until(lambda: all(node.ledger is not None and not node.ledger.kept for node in nodes.values()))


async def test_flooding_keeps_everything_for_everybody(tmp_path: Path) -> None:
    async with network(_CHAIN, Policy(Strategy.FLOODING), stores=tmp_path) as nodes:
        ada = await Guest.client(nodes["c"].address, "Ada")
        await ada.subscribe("n > 2", durable=True)
        publisher = await Guest.client(nodes["a"].address)
        await publisher.publish([line(n) for n in range(6)], position=1)
        assert numbers(await ada.receives(3)) == [3, 4, 5]


async def test_a_client_without_a_name_cannot_subscribe_durably(tmp_path: Path) -> None:
    async with network([("a", "b")], stores=tmp_path) as nodes:
        client = await Guest.client(nodes["a"].address)
        answer = await client.subscribe("n > 2", durable=True)
        assert isinstance(answer, RefuseRequest)
        assert answer.code == "no-client-name"


async def test_a_second_client_of_a_name_takes_its_place(tmp_path: Path) -> None:
    async with network([("a", "b")], stores=tmp_path) as nodes:
        first = await Guest.client(nodes["a"].address, "Ada")
        await first.subscribe("n > 2", durable=True)
        second = await Guest.client(nodes["a"].address, "Ada")
        bye = await first.end()
        assert bye is not None
        assert bye.code == "taken-over"
        publisher = await Guest.client(nodes["a"].address)
        await publisher.publish([line(3)], position=1)
        assert numbers(await second.receives(1)) == [3]
