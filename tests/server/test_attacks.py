"""Whoever breaks the protocol is refused, counted and logged, and the broker goes on serving the others."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme
from tests.server.peers import Guest, line, network, numbers, until

from comity.limits import limited
from comity.logs import FIELDS
from comity.route.messages import Topic
from comity.route.policy import Policy
from comity.server.node import BrokerNode
from comity.server.serve import running_node
from comity.server.settings import Address, ClientToken, NodeSettings, TlsFiles
from comity.wire import (
    Acknowledged,
    Deliver,
    EventBatch,
    Events,
    FrameKind,
    Granted,
    Hello,
    Inform,
    Message,
    PeerRole,
    Reach,
    RefuseRequest,
    ToldFilter,
    ToldTopic,
    Welcome,
    encode_message,
    framed,
)

_HELLO = Hello(role=PeerRole.CLIENT, window=1 << 20)


@asynccontextmanager
async def _node(**more: object) -> AsyncIterator[BrokerNode]:
    settings = NodeSettings("a", Address("127.0.0.1", 0), **more)  # type: ignore[arg-type]
    async with running_node(settings) as node:
        yield node


async def _still_serves(node: BrokerNode, **more: object) -> None:
    """Somebody else subscribes and publishes."""
    guest = await Guest.client(node.address, **more)  # type: ignore[arg-type]
    assert isinstance(await guest.subscribe("n > 1"), Granted)
    await guest.publish([line(1), line(2)])
    assert numbers(await guest.receives(1)) == [2]
    await guest.close()


async def _broker(node: BrokerNode, name: str = "z", **more: object) -> Guest:
    """A neighbour that was welcomed, and is silent."""
    guest = await Guest.connect(node.address)
    told = {"window": 1 << 20, "strategy": "covering", "instance": name, **more}
    guest.say(Hello(role=PeerRole.BROKER, name=name, **told))  # type: ignore[arg-type]
    guest.welcome = await guest.next(Welcome)
    return guest


async def _linked(node: BrokerNode, name: str = "z") -> Guest:
    guest = await _broker(node, name)
    guest.say(Reach((name,)))
    await guest.next(Inform)
    return guest


_LONG_FILTER = ToldFilter(1, "n = 1 " * 20_000)
_LONG = (9_000_000).to_bytes(4, "little") + bytes([FrameKind.EVENTS, 0, 0, 0])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "malformed-frame"),
        (bytes(100), "malformed-frame"),
        (framed(FrameKind.HELLO, b"{"), "malformed-frame"),
        (framed(FrameKind.HELLO, b'{"role": "king", "window": 1}'), "malformed-frame"),
        (framed(FrameKind.HELLO, b" " * 20_000), "frame-too-long"),
        (encode_message(Events(0, EventBatch.of([b"{}"]))), "out-of-turn"),
        (encode_message(Acknowledged(1)), "out-of-turn"),
        (encode_message(Hello(comity=9, role=PeerRole.CLIENT, window=1)), "other-protocol"),
        (encode_message(Hello(role=PeerRole.BROKER, name="a", window=1, strategy="covering")), "own-name"),
        (encode_message(Hello(role=PeerRole.BROKER, name="z", window=1, strategy="simple")), "other-strategy"),
    ],
)
async def test_a_first_message_that_is_wrong_is_refused(data: bytes, code: str) -> None:
    async with _node() as node:
        guest = await Guest.connect(node.address)
        guest.write(data)
        bye = await guest.end()
        assert bye is not None
        assert bye.code == code
        await until(lambda: node.figures.refused[code] == 1)
        await _still_serves(node)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff" * 64, "malformed-frame"),
        (_LONG, "frame-too-long"),
        (framed(FrameKind.EVENTS, bytes(8), b"\x05\0\0\0"), "malformed-frame"),
        (framed(FrameKind.EVENTS, b"\xff" * 8, EventBatch.of([b"{}"]).written), "malformed-frame"),
        (encode_message(_HELLO), "out-of-turn"),
        (encode_message(Reach(("a",))), "out-of-turn"),
        (encode_message(Inform(ToldTopic.SUBSCRIPTIONS, (ToldFilter(1, "n > 1"),))), "out-of-turn"),
        (framed(FrameKind.DELIVER, bytes(12)), "malformed-frame"),
        (framed(FrameKind.SUBSCRIBE, b'{"request": -1, "number": 1, "filter": "x"}'), "malformed-frame"),
    ],
)
async def test_a_client_that_breaks_the_protocol_is_hung_up_on(data: bytes, code: str) -> None:
    async with _node() as node:
        guest = await Guest.client(node.address)
        guest.write(data)
        bye = await guest.end()
        assert bye is not None
        assert bye.code == code
        await until(lambda: node.figures.refused[code] == 1 and not node.clients)
        await _still_serves(node)


async def test_half_a_frame_keeps_nobody_waiting_and_goes_with_its_sender() -> None:
    async with _node() as node:
        guest = await Guest.client(node.address)
        whole = encode_message(Events(0, EventBatch.of([line(1)])))
        guest.write(whole[:-5])
        await _still_serves(node)
        await guest.close()
        await until(lambda: not node.clients)
        assert node.figures.events_in == 2


@pytest.mark.parametrize(
    ("say", "code"),
    [
        (lambda: [Reach(("b", "z"))], "cycle"),
        (lambda: [Reach(("y",))], "cycle"),
        (lambda: [Events(0, EventBatch.of([b"{}"]))], "out-of-turn"),
        (lambda: [Inform(ToldTopic.SUBSCRIPTIONS)], "out-of-turn"),
        (lambda: [Reach(("z",)), Inform(ToldTopic.SUBSCRIPTIONS, (ToldFilter(1, "n >"),))], "syntax"),
        (
            lambda: [Reach(("z",)), Inform(ToldTopic.SUBSCRIPTIONS, (ToldFilter(1, "n = 1 " * 20_000),))],
            "filter-too-long",
        ),
    ],
)
async def test_a_neighbour_that_lies_is_hung_up_on(say: Callable[[], list[Message]], code: str) -> None:
    async with network([("a", "b")]) as nodes:
        node = nodes["a"]
        guest = await _broker(node)
        guest.say(*say())
        bye = await guest.end()
        assert bye is not None
        assert bye.code == code
        await until(lambda: node.routing.neighbours == ("b",))
        await _still_serves(node)


async def test_a_neighbour_that_says_it_has_more_than_it_was_sent_gets_what_it_has_not(tmp_path: Path) -> None:
    async with _node(store=tmp_path) as node:
        liar, publisher = await _linked(node), await Guest.client(node.address)
        liar.say(Inform(ToldTopic.SUBSCRIPTIONS, (ToldFilter(1, "n >= 0", durable=True),), whole=True))
        await until(lambda: node.receivers["link:z"].is_durable)
        liar.say(Acknowledged(1 << 40))
        await publisher.publish([line(n) for n in range(3)], position=1)
        assert numbers((await liar.next(Events)).batch.lines()) == [0, 1, 2]
        await liar.close()
        again = await _linked(node)
        again.say(Inform(ToldTopic.SUBSCRIPTIONS, (ToldFilter(1, "n >= 0", durable=True),), whole=True))
        assert numbers((await again.next(Events)).batch.lines()) == [0, 1, 2]
        await _still_serves(node)


async def test_frames_that_are_replayed_count_once(tmp_path: Path) -> None:
    async with _node(store=tmp_path) as node:
        client = await Guest.client(node.address, "Ada")
        await client.subscribe("n >= 0", durable=True)
        neighbour = await _broker(node, log="elsewhere")
        neighbour.say(Reach(("z",)))
        first = encode_message(Events(5, EventBatch.of([line(1), line(2)])))
        second = encode_message(Events(8, EventBatch.of([line(3)])))
        neighbour.write(first + second + first + second + first)
        await until(lambda: node.links.sessions["z"].repeats == 5)
        assert numbers(await client.receives(3)) == [1, 2, 3]
        assert not [one for one in client.heard if isinstance(one, Deliver)]
        assert node.ledger is not None
        assert node.ledger.store.last == 3


async def test_who_sends_more_than_it_was_granted_is_hung_up_on() -> None:
    with limited(max_window_bytes=10_000):
        async with _node() as node:
            guest = await Guest.client(node.address)
            frame = encode_message(Events(0, EventBatch.of([line(1, blob="x" * 6_000)])))
            guest.write(frame * 50)
            bye = await guest.end()
            assert bye is not None
            assert bye.code == "no-credit"
            await _still_serves(node)


async def test_credit_comes_back_as_events_are_dealt_with() -> None:
    with limited(max_window_bytes=10_000):
        async with _node() as node:
            guest = await Guest.client(node.address)
            frame = encode_message(Events(0, EventBatch.of([line(1, blob="x" * 6_000)])))
            for sent in range(1, 20):
                guest.write(frame)
                await until(lambda sent=sent: guest.granted >= (sent - 1) * len(frame))


async def test_a_filter_that_would_explode_is_refused() -> None:
    async with _node() as node:
        guest = await Guest.client(node.address)
        dear = " or ".join(f"s matches '.*a{n}.*b.*'" for n in range(60))
        deep = "not (" * 400 + "n > 1" + ")" * 400
        for text in (dear, deep, "n in (" + "1, " * 30_000 + "1)"):
            answer = await guest.subscribe(text)
            assert isinstance(answer, RefuseRequest), text[:50]
            assert node.figures.refused[answer.code]
        assert not node.routing.filters()
        await _still_serves(node)


async def test_a_client_has_a_bounded_number_of_subscriptions() -> None:
    with limited(max_client_subscriptions=5):
        async with _node() as node:
            guest = await Guest.client(node.address)
            answers = [await guest.subscribe(f"n = {n}", number=n) for n in range(7)]
            assert [isinstance(one, Granted) for one in answers] == [True] * 5 + [False] * 2
            assert isinstance(await guest.subscribe("n = 99", number=3), Granted), "in place of another one"


async def test_connections_that_say_nothing_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.connect.http.door._SAFE_S", 0.0)
    with limited(max_node_connections=20):
        async with _node() as node:
            silent = [await Guest.connect(node.address) for _ in range(40)]
            await until(lambda: sum(one.is_over for one in silent) >= 20)
            await _still_serves(node)
            assert node.figures.refused.total() >= 20


async def test_a_neighbour_that_falls_silent_is_taken_for_gone() -> None:
    async with _node(silence_s=0.6) as node:
        guest = await _linked(node)
        guest.say(Inform(ToldTopic.SUBSCRIPTIONS, (ToldFilter(1, "n > 1"),), whole=True))
        await until(lambda: len(node.routing.table("z", Topic.SUBSCRIPTIONS)) == 1)
        guest.answers_pings = False
        bye = await guest.end()
        assert bye is not None
        assert bye.code == "silent"
        await until(lambda: not node.routing.neighbours and not node.routing.filters())


async def test_who_only_listens_is_asked_whether_it_is_there() -> None:
    async with _node(silence_s=0.9) as node:
        listener, publisher = await Guest.client(node.address), await Guest.client(node.address)
        await listener.subscribe("n >= 0")
        began = node.now
        number = 0
        while node.now < began + 2.5:
            await publisher.publish([line(number)], position=number + 1)
            number += 1
        assert numbers(await listener.receives(number)) == [*range(number)]


async def test_a_link_that_would_close_a_circle_is_refused() -> None:
    async with network([("a", "b"), ("b", "c")]) as nodes:
        settings = NodeSettings("d", Address("127.0.0.1", 0), tuple(Address.read(nodes[n].address) for n in "ac"))
        async with running_node(settings) as fourth:
            await until(lambda: sum(node.figures.refused["cycle"] for node in [*nodes.values(), fourth]) > 0)
            await until(lambda: len(fourth.links.reach_without("")) == 4)
            publisher, far = await Guest.client(fourth.address), await Guest.client(nodes["b"].address)
            await far.subscribe("n >= 0")
            await until(lambda: len(fourth.routing.filters()) == 1)
            await publisher.publish([line(n) for n in range(5)])
            assert numbers(await far.receives(5)) == [*range(5)]
            assert not far.heard


async def test_a_client_needs_the_token_and_it_is_logged_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "comity")
    async with _node(client_token=ClientToken("open sesame")) as node:
        for token in (None, "open barley"):
            guest = await Guest.connect(node.address)
            guest.say(Hello(role=PeerRole.CLIENT, window=1, token=token))
            bye = await guest.end()
            assert bye is not None
            assert bye.code == "wrong-token"
        await _still_serves(node, token="open sesame")
    logged = " ".join(f"{record.getMessage()} {getattr(record, FIELDS, '')}" for record in caplog.records)
    assert "wrong-token" in logged
    assert "sesame" not in logged
    assert "barley" not in logged


# TLS


class _Authority:
    """One that makes certificates."""

    def __init__(self, folder: Path) -> None:
        self._authority, self._folder = trustme.CA(), folder
        folder.mkdir(exist_ok=True)
        self._authority.cert_pem.write_to_path(folder / "ca.pem")

    def files(self, name: str, authorities: Path | None = None) -> TlsFiles:
        found = self._authority.issue_cert(name)
        found.cert_chain_pems[0].write_to_path(self._folder / f"{name}.pem")
        found.private_key_pem.write_to_path(self._folder / f"{name}.key")
        ca = authorities or self._folder / "ca.pem"
        return TlsFiles(self._folder / f"{name}.pem", self._folder / f"{name}.key", ca)

    def client(self, name: str | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self._folder / "ca.pem"))
        context.check_hostname = False
        if name is not None:
            files = self.files(name)
            context.load_cert_chain(files.certificate, files.key)
        return context


async def test_brokers_and_clients_with_certificates_of_one_authority_form_a_network(tmp_path: Path) -> None:
    authority = _Authority(tmp_path)
    async with (
        running_node(NodeSettings("a", Address("127.0.0.1", 0), tls=authority.files("a"))) as a,
        running_node(
            NodeSettings("b", Address("127.0.0.1", 0), (Address.read(a.address),), tls=authority.files("b"))
        ) as b,
    ):
        await until(lambda: len(a.links.reach_without("")) == 2)
        far = await Guest.client(b.address, tls=authority.client("Ada"))
        await far.subscribe("n > 1")
        await until(lambda: len(a.routing.filters()) == 1)
        publisher = await Guest.client(a.address, tls=authority.client("Bob"))
        await publisher.publish([line(1), line(2)])
        assert numbers(await far.receives(1)) == [2]


async def test_a_wrong_certificate_is_refused_counted_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "comity")
    ours, others = _Authority(tmp_path / "ours"), _Authority(tmp_path / "others")
    async with _node(tls=ours.files("a")) as node:
        to_a = (Address.read(node.address),)
        stranger = NodeSettings("z", Address("127.0.0.1", 0), to_a, tls=others.files("z", tmp_path / "ours" / "ca.pem"))
        misnamed = NodeSettings("y", Address("127.0.0.1", 0), to_a, tls=ours.files("x"))
        plain = NodeSettings("p", Address("127.0.0.1", 0), to_a, Policy())
        async with running_node(stranger), running_node(misnamed), running_node(plain) as without:
            await until(lambda: node.figures.refused["no-tls"] >= 2 and node.figures.refused["wrong-certificate"] >= 1)
            assert not without.links.sessions
        with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
            await Guest.client(node.address, tls=ours.client(None))
        assert not node.links.sessions
        guest = await Guest.client(node.address, tls=ours.client("Ada"))
        await guest.subscribe("n > 1")
        await guest.publish([line(2)])
        assert numbers(await guest.receives(1)) == [2]
    logged = " ".join(f"{record.getMessage()} {getattr(record, FIELDS, '')}" for record in caplog.records)
    assert "wrong-certificate" in logged
    assert "PRIVATE KEY" not in logged
