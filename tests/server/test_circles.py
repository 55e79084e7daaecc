"""Networks whose links form circles, over real connections: events come once, and other ways are found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from tests.server.peers import Guest, line, network, numbers, until

from comity.errors import Misuse
from comity.server.node import BrokerNode
from comity.server.serve import running_node
from comity.server.settings import Address, NodeSettings

_RING = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("b", "d")]


@asynccontextmanager
async def _ring() -> AsyncIterator[dict[str, BrokerNode]]:
    nodes: dict[str, BrokerNode] = {}
    async with AsyncExitStack() as stack:
        for name in "abcd":
            peers = tuple(Address.read(nodes[one].address) for one, other in _RING if other == name)
            settings = NodeSettings(name, Address("127.0.0.1", 0), peers, is_generic=True)
            nodes[name] = await stack.enter_async_context(running_node(settings))
        await until(lambda: sum(len(node.links.sessions) for node in nodes.values()) == 2 * len(_RING))
        await until(lambda: _tree_links(nodes) == 3)
        yield nodes


def _tree_links(nodes: dict[str, BrokerNode]) -> float:
    return sum(len(node.routing.neighbours) for node in nodes.values()) / 2


def _holders(node: BrokerNode) -> int:
    """How many want the one filter that there is: the clients here, and neighbours."""
    wanted = node.routing.wanted(node.routing.filters()[0])
    return 0 if wanted is None else len({holder.origin for holder in wanted.holders})


async def test_events_come_once_though_there_are_several_ways() -> None:
    async with _ring() as nodes:
        clients = [await Guest.client(node.address) for node in nodes.values()]
        for client in clients:
            await client.subscribe("n >= 0")
        await until(lambda: all(len(node.routing.filters()) == 1 for node in nodes.values()))
        await until(lambda: all(_holders(node) == len(node.routing.neighbours) + 1 for node in nodes.values()))
        for n in range(0, 20, 2):
            await clients[n % 4].publish([line(n), line(n + 1)])
        for client in clients:
            assert sorted(numbers(await client.receives(20))) == [*range(20)]
            assert not client.heard


async def test_when_a_link_is_lost_another_way_is_taken() -> None:
    async with _ring() as nodes:
        far, publisher = await Guest.client(nodes["d"].address), await Guest.client(nodes["a"].address)
        await far.subscribe("n >= 0")
        await until(lambda: all(node.routing.filters() for node in nodes.values()))
        await publisher.publish([line(1)])
        assert numbers(await far.receives(1)) == [1]
        used = list(nodes["d"].routing.neighbours)
        for name in used:
            nodes["d"].links.stop_dialing()
            nodes["d"].links.sessions[name].connection.close()
        await until(lambda: nodes["d"].routing.neighbours not in ((), tuple(used)))
        got = list[int]()
        for n in range(2, 200):  # until the tables are filled again nothing is promised
            await publisher.publish([line(n)])
            await until(lambda n=n: nodes["a"].figures.events_in >= n)
            if far.heard:
                got += numbers(await far.receives(1))
                break
        assert got
        assert len(set(got)) == len(got)


async def test_brokers_with_and_without_circles_are_not_linked() -> None:
    async with network([("a", "b")]) as nodes:
        settings = NodeSettings("g", Address("127.0.0.1", 0), (Address.read(nodes["a"].address),), is_generic=True)
        async with running_node(settings):
            await until(lambda: nodes["a"].figures.refused["other-strategy"] > 0)
            assert "g" not in nodes["a"].links.sessions


def test_circles_and_a_store_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="--generic"):
        NodeSettings("a", Address("127.0.0.1", 0), store=tmp_path, is_generic=True)
