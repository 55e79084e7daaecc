"""A rendezvous overlay over real connections: events go along the tree of their type, whatever comes and goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.server.peers import BrokerProcess, Guest, free_ports, network, until

from comity.errors import Misuse
from comity.limits import limited
from comity.route.messages import Topic
from comity.route.policy import Policy, Strategy
from comity.route.rendezvous.ring import nearest
from comity.server.node import BrokerNode
from comity.server.serve import running_node
from comity.server.settings import Address, NodeSettings, Overlay
from comity.wire import (
    AttachTree,
    Deliver,
    Granted,
    Hello,
    Inform,
    NodeStatus,
    PeerRole,
    Reach,
    RefuseRequest,
    ToldTopic,
    Welcome,
)

_MESH = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "e")]
_POLICY = Policy(Strategy.COVERING, advertisements=True)


def event(type: str, number: int, **data: object) -> bytes:
    return json.dumps({"id": str(number), "source": "/test", "type": type, "data": {"n": number, **data}}).encode()


@asynccontextmanager
async def overlay(links: Iterable[tuple[str, str]] = _MESH) -> AsyncIterator[dict[str, BrokerNode]]:
    """Nodes in this process."""
    nodes: dict[str, BrokerNode] = {}
    pairs = list(links)
    names = sorted({name for pair in pairs for name in pair})
    async with AsyncExitStack() as stack:
        for name in names:
            peers = tuple(Address.read(nodes[one].address) for one, other in pairs if other == name)
            settings = NodeSettings(name, Address("127.0.0.1", 0), peers, _POLICY, overlay=Overlay.RENDEZVOUS)
            nodes[name] = await stack.enter_async_context(running_node(settings))
        await until(lambda: all(node.routing.lives() == names for node in nodes.values()))
        yield nodes


async def test_events_of_a_type_go_to_those_who_want_it_and_over_no_other_link() -> None:
    async with overlay() as nodes:
        publisher = await Guest.client(nodes["e"].address)
        wanting, other = await Guest.client(nodes["b"].address), await Guest.client(nodes["c"].address)
        assert isinstance(await publisher.advertise("event.type in ('house.Fire', 'house.Water')"), Granted)
        assert isinstance(await wanting.subscribe("event.type = 'house.Fire' and n > 4"), Granted)
        assert isinstance(await other.subscribe("event.type = 'house.Water'"), Granted)
        await until(lambda: _is_wanted(nodes["e"], "house.Fire") and _is_wanted(nodes["e"], "house.Water"))
        mixed = [event("house.Fire" if n % 2 else "house.Water", n) for n in range(10)]
        await publisher.publish(mixed, position=10)
        assert [json.loads(one)["data"]["n"] for one in await wanting.receives(3)] == [5, 7, 9]
        assert [json.loads(one)["data"]["n"] for one in await other.receives(5)] == [0, 2, 4, 6, 8]
        assert sum(node.figures.unwanted for node in nodes.values()) == 2, "1 and 3, which ended at their own broker"


def _is_wanted(node: BrokerNode, type: str) -> bool:
    tree = node.routing.tree(type)
    return tree is not None and any(tree.table(one, Topic.SUBSCRIPTIONS) for one in tree.neighbours)


async def test_what_names_no_type_or_too_many_is_refused_and_the_client_goes_on() -> None:
    with limited(max_overlay_types=2):
        async with overlay([("a", "b")]) as nodes:
            guest = await Guest.client(nodes["a"].address)
            for asks in (guest.subscribe, guest.advertise):
                answer = await asks("n > 4 or event.type starts with 'house.'")
                assert isinstance(answer, RefuseRequest)
                assert answer.code == "no-event-type"
                assert "event.type" in answer.hint
            answer = await guest.subscribe("event.type in ('a', 'b', 'c')")
            assert isinstance(answer, RefuseRequest)
            assert answer.code == "too-many-types"
            assert isinstance(await guest.subscribe("event.type in ('a', 'b')"), Granted)
            assert nodes["a"].routing.types() == ["a", "b"]


async def test_brokers_of_an_overlay_and_of_a_tree_are_not_linked() -> None:
    async with network([("a", "b")], _POLICY) as nodes:
        peers = (Address.read(nodes["a"].address),)
        settings = NodeSettings("g", Address("127.0.0.1", 0), peers, _POLICY, overlay=Overlay.RENDEZVOUS)
        async with running_node(settings):
            await until(lambda: nodes["a"].figures.refused["other-strategy"] > 0)
            assert "g" not in nodes["a"].links.sessions


@pytest.mark.parametrize(
    ("message", "is_at"),
    [
        (Inform(ToldTopic.SUBSCRIPTIONS, whole=True), "overlay"),
        (AttachTree("house.Fire", True), "tree"),
        (Inform(ToldTopic.SUBSCRIPTIONS, whole=True, type="house.Fire"), "tree"),
    ],
)
async def test_a_neighbour_that_says_what_has_no_place_in_the_network_is_hung_up_on(message: Any, is_at: str) -> None:
    settings = NodeSettings(
        "a", Address("127.0.0.1", 0), (), _POLICY, overlay=Overlay.RENDEZVOUS if is_at == "overlay" else None
    )
    async with running_node(settings) as node:
        liar = await Guest.connect(node.address)
        options = node.topology.options
        liar.say(
            Hello(
                role=PeerRole.BROKER,
                name="z",
                window=1 << 20,
                strategy="covering",
                advertisements=True,
                options=options,
            )
        )
        await liar.next(Welcome)
        liar.say(Reach(("z",)), message)
        bye = await liar.end()
        assert bye is not None
        assert bye.code == "out-of-turn"


async def test_a_neighbour_that_takes_part_in_too_many_trees_is_hung_up_on() -> None:
    with limited(max_overlay_types=3):
        async with running_node(
            NodeSettings("a", Address("127.0.0.1", 0), (), _POLICY, overlay=Overlay.RENDEZVOUS)
        ) as node:
            liar = await Guest.connect(node.address)
            liar.say(
                Hello(
                    role=PeerRole.BROKER,
                    name="z",
                    window=1 << 20,
                    strategy="covering",
                    advertisements=True,
                    options=("rendezvous",),
                )
            )
            await liar.next(Welcome)
            liar.say(Reach(("z",)), *(AttachTree(f"type{n}", True) for n in range(5)))
            bye = await liar.end()
            assert bye is not None
            assert bye.code == "too-many-types"
            await until(lambda: not node.routing.types())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"is_generic": True}, "--generic"),
        ({"store": Path("store")}, "--store"),
        ({"policy": Policy(Strategy.FLOODING, True)}, "flooding"),
        ({"policy": Policy(Strategy.COVERING, True, notices=True)}, "--notices"),
    ],
)
def test_options_that_do_not_go_together_are_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(Misuse, match=said) as caught:
        NodeSettings("a", Address("127.0.0.1", 0), **{"policy": _POLICY, "overlay": Overlay.RENDEZVOUS, **more})
    assert caught.value.code == "bad-usage"
    assert caught.value.hint


# Processes


@dataclass
class _Wanting:
    """A subscriber that stays, and all that it got."""

    guest: Guest
    type: str
    least: int
    got: list[int] = field(default_factory=list)
    probes: list[int] = field(default_factory=list)

    async def run(self) -> None:
        while True:
            for one in (await self.guest.next(Deliver)).batch.lines():
                read = json.loads(one)
                assert read["type"] == self.type
                assert read["data"]["n"] >= self.least, "nothing is delivered that was not asked for"
                (self.probes if "probe" in read["data"] else self.got).append(int(read["id"]))


class _Processes:
    """Brokers as processes, in a ring with one link across: it stays in one piece whoever goes."""

    def __init__(self, names: str) -> None:
        self.names = names
        self.ports = free_ports(*names, "joined")
        around = [(names[at - 1], names[at]) for at in range(len(names))]
        self.links = [*around, (names[0], names[2])]
        self.brokers = {name: self._broker(name, self._peers(name)) for name in names}

    def _peers(self, name: str) -> list[str]:
        return [one for one, other in self.links if other == name] + [other for one, other in self.links if one == name]

    def _broker(self, name: str, peers: Iterable[str]) -> BrokerProcess:
        options = [word for peer in peers for word in ("--peer", f"127.0.0.1:{self.ports[peer]}")]
        options += ["--overlay", "rendezvous"]
        return BrokerProcess(name, options, address=f"127.0.0.1:{self.ports.get(name, self.ports['joined'])}")

    def join(self, name: str, *peers: str) -> None:
        self.brokers[name] = self._broker(name, peers).start()

    async def status(self, name: str) -> NodeStatus:
        guest = await Guest.client(self.brokers[name].address)
        try:
            return await guest.status()
        finally:
            await guest.close()

    async def know(self, names: Iterable[str]) -> None:
        """Wait until all of these know each other, and nobody else."""
        wanted = tuple(sorted(names))
        async with asyncio.timeout(30):
            while True:
                said = [(await self.status(name)).overlay for name in wanted]
                if all(one is not None and one.nodes == wanted for one in said):
                    return
                await asyncio.sleep(0.02)


@pytest.fixture
def processes() -> Iterator[_Processes]:
    found = _Processes("abcde")
    try:
        for broker in found.brokers.values():
            broker.start()
        yield found
    finally:
        for broker in found.brokers.values():
            broker.end()


_TYPES = ("house.Fire", "house.Water")


@pytest.mark.slow
async def test_nothing_is_lost_or_doubled_after_a_rendezvous_died_and_another_node_joined(
    processes: _Processes,
) -> None:
    (dying,) = nearest("abcde", "house.Fire", 1)
    staying = [name for name in "abcde" if name != dying]
    joining = next(name for name in map("j{}".format, count()) if nearest([*staying, name], "house.Fire", 1) == [name])
    await processes.know("abcde")
    publisher = await Guest.client(processes.brokers[staying[0]].address)
    for number, type in enumerate(_TYPES):
        await publisher.advertise(f"event.type = '{type}'", number)
    wanting: list[_Wanting] = []
    for at, type in zip(staying[1:], ("house.Fire", "house.Water", "house.Fire")):
        wanting.append(_Wanting(await Guest.client(processes.brokers[at].address), type, least=10 * len(wanting)))
        await wanting[-1].guest.subscribe(f"event.type = '{type}' and n >= {wanting[-1].least}")
    running = [asyncio.create_task(one.run()) for one in wanting]
    run = _Run(publisher, wanting)
    await run.repaired()
    await run.check("as long as nothing happens")

    await asyncio.to_thread(processes.brokers[dying].kill)
    await run.publish()  # some of it may be lost, nothing comes twice
    await processes.know(staying)
    await run.repaired()
    await run.check("without the rendezvous")

    await asyncio.to_thread(processes.join, joining, staying[0], staying[2])
    await processes.know([*staying, joining])
    await run.repaired()
    await run.check("with another rendezvous")
    said = {name: (await processes.status(name)).overlay for name in (*staying, joining)}
    types = {name: {one.name: one for one in status.types} for name, status in said.items() if status is not None}
    assert types[joining]["house.Fire"].role == "primary", "it was handed over"
    assert {types[name]["house.Fire"].rendezvous for name in (*staying, joining) if "house.Fire" in types[name]} == {
        joining
    }

    await asyncio.to_thread(processes.brokers[dying].start)
    await processes.know([*staying, joining, dying])
    await run.repaired()
    await run.check("when it is there again")
    for task in running:
        assert not task.done(), task.exception()
        task.cancel()
    for one in wanting:
        assert len(set(one.got)) == len(one.got), "nothing comes twice, whatever happens"


class _Run:
    """Publishes numbers, and knows who has to get them."""

    def __init__(self, publisher: Guest, wanting: list[_Wanting]) -> None:
        self._publisher, self._wanting = publisher, wanting
        self._number = 0
        self._position = 0

    async def repaired(self) -> None:
        """Publish something for everybody until it reaches all: from there on all is promised."""
        reached: set[int] = set()
        async with asyncio.timeout(30):
            while not all(reached & set(one.probes) for one in self._wanting):
                first = self._next(len(_TYPES))
                reached = {*range(first, first + len(_TYPES))}
                await self._send([event(type, first + at, n=1_000, probe=True) for at, type in enumerate(_TYPES)])
                await asyncio.sleep(0.05)

    async def publish(self) -> dict[int, tuple[str, int]]:
        """Fifty events of each type, in small batches; gives what they were, by identity."""
        found: dict[int, tuple[str, int]] = {}
        for n in range(50):
            first = self._next(len(_TYPES))
            found |= {first + at: (type, n) for at, type in enumerate(_TYPES)}
            await self._send([event(type, first + at, n=n) for at, type in enumerate(_TYPES)])
        return found

    async def check(self, when: str) -> None:
        """Publish, and see that everybody gets what he wants, once."""
        published = await self.publish()
        for one in self._wanting:
            due = [id for id, (type, n) in published.items() if type == one.type and n >= one.least]
            await until(lambda one=one, due=due: set(due) <= set(one.got))
            assert [id for id in one.got if id in published] == due, when

    def _next(self, count: int) -> int:
        self._number += count
        return self._number - count

    async def _send(self, lines: list[bytes]) -> None:
        self._position += len(lines)
        await self._publisher.publish(lines, position=self._position)
