"""The webhook against clients that are slow, many, greedy or sly: raw sockets on loopback."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from comity.connect.connectors.webhook.source import WebhookSource
from comity.connect.http.door import Door, Guest
from comity.limits import limited

EVENT = b'{"id":"1","source":"/a","type":"T"}'
PATIENCE_S = 60
"""Nothing here takes as long; a test that would, fails."""


class Keeper:
    """Takes what comes to a source and says that it is kept, in a thread."""

    def __init__(self, source: WebhookSource) -> None:
        self.lines: list[bytes] = []
        self.origins: list[str | None] = []
        self._source, self._stopping = source, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stopping.wait(0.005):
            batch = self._source.next_batch(100)
            assert batch is not None
            self.lines += [record.line for record in batch.records]
            self.origins += [record.file for record in batch.records]
            self._source.acknowledge(batch.position)

    def __enter__(self) -> Keeper:
        self._source.open()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._source.close()


@contextmanager
def kept(source: WebhookSource) -> Iterator[Keeper]:
    with Keeper(source) as keeper:
        yield keeper


def connected(source: WebhookSource, address: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", source.port), PATIENCE_S, source_address=(address, 0))


def request(*headers: bytes, body: bytes = EVENT, length: bool = True, method: bytes = b"POST") -> bytes:
    lines = [method + b" /events HTTP/1.1", b"Host: x", b"Content-Type: application/json", *headers]
    if length:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def answer(raw: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the next answer; 0 if the connection was closed."""
    with raw.makefile("rb", buffering=0) as stream:
        first = stream.readline()
        if not first:
            return 0, {}, b""
        headers = {}
        while (line := stream.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = b""
        size = int(headers.get("content-length", "0"))
        while len(body) < size and (more := stream.read(size - len(body))):
            body += more
        return int(first.split()[1]), headers, body


def status(raw: socket.socket) -> int:
    try:
        return answer(raw)[0]
    except ConnectionError:
        return 0


def is_closed(raw: socket.socket) -> bool:
    """Whether the other side closes the connection without another word; waits for it."""
    try:
        return raw.recv(1) == b""
    except ConnectionError:
        return True


class Trickle:
    """Sends a byte of a header to every connection, again and again, until the block ends."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        self._sockets, self._stopping = sockets, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stopping.wait(0.02):
            for raw in self._sockets:
                try:
                    raw.sendall(b"x")
                except OSError:  # it was closed
                    continue

    def __enter__(self) -> Trickle:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()


def send_for_ever(raw: socket.socket, content: bytes) -> None:
    while True:
        raw.sendall(content)


def send_until_taken(source: WebhookSource, *headers: bytes) -> None:
    """What a sender does that is told to come again."""
    patience = threading.Event()
    for _ in range(PATIENCE_S * 5):
        with connected(source) as raw:
            raw.sendall(request(*headers))
            if status(raw) == 202:
                return
        patience.wait(0.2)
    pytest.fail("the good sender was never served")


@pytest.mark.parametrize("started", [b"POST /events HTTP/1.1\r\nX-Slow: ", b"", b"\x16\x03\x01"])
def test_slow_headers_on_many_connections_do_not_starve_others_even_of_their_address(started: bytes) -> None:
    """No deadline comes to help: connections that are waited for give way."""
    token = {"good": "secret"}
    with limited(max_request_s=600, max_idle_s=600), ExitStack() as stack:
        source = WebhookSource(tokens=token)
        stack.enter_context(kept(source))
        slow = [stack.enter_context(connected(source)) for _ in range(140)]
        for raw in slow:
            raw.sendall(started)
        with Trickle(slow if started else []):
            for _ in range(3):
                send_until_taken(source, b"Authorization: Bearer secret")


@pytest.mark.parametrize(
    "started",
    [
        b"POST /",
        b"POST /events HTTP/1.1\r\nX-Slow: ",
        b"POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
        b"POST /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Length: 100000\r\n\r\n",
        b"POST /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"fffff\r\n",
    ],
)
def test_a_request_has_a_deadline_however_steadily_its_bytes_come(started: bytes) -> None:
    source = WebhookSource(tokens={"good": "secret"})
    with limited(max_request_s=1), kept(source), connected(source) as raw, Trickle([raw]):
        raw.sendall(started)
        assert status(raw) in (408, 401)  # the second is for a body that nobody has a right to send
        assert is_closed(raw)


def test_a_guest_that_is_leaving_is_not_sent_away_again() -> None:
    """Its last words were said: to say more would be an error, and it would be that of the server's thread."""
    source = WebhookSource(tokens={"good": "secret"})
    failed: list[object] = []
    threads, threading.excepthook = threading.excepthook, lambda arguments: failed.append(arguments.exc_value)
    try:
        with limited(max_request_s=1), kept(source), connected(source) as raw:
            raw.sendall(b"POST /events HTTP/1.1\r\nX-Slow: ")
            assert status(raw) == 408  # and now the server closes, while the connection lingers
    finally:
        threading.excepthook = threads
    assert not failed


def test_an_idle_connection_is_closed() -> None:
    with limited(max_idle_s=1), kept(WebhookSource()) as keeper:
        with connected(keeper._source) as raw:
            assert is_closed(raw)
        with connected(keeper._source) as raw:
            raw.sendall(request())
            assert status(raw) == 202
            assert is_closed(raw)


def test_whoever_does_not_read_answers_is_cut_off() -> None:
    source = WebhookSource()
    asked = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    bounds = limited(max_request_s=1, max_idle_s=600)
    with bounds, kept(source), connected(source) as raw, pytest.raises(ConnectionError):
        send_for_ever(raw, asked * 1_000)


def test_one_address_has_its_share_of_connections() -> None:
    with limited(max_connections_per_address=2), ExitStack() as stack:
        source = WebhookSource()
        source.open()
        stack.callback(source.close)
        first = [stack.enter_context(connected(source)) for _ in range(2)]
        for raw in first:  # nobody takes them yet, so they are under way
            raw.sendall(request())
        while source.health()["waiting"] != 2:
            pass
        with connected(source) as third:
            code, headers, _ = answer(third)
            assert (code, headers["retry-after"]) == (503, "1")
        other = stack.enter_context(connected(source, "127.0.0.2"))
        other.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert status(other) == 200


def sent(raw: bytes) -> tuple[list[int], list[bytes]]:
    """The answers to some bytes, up to the end of the connection, and the records that were kept."""
    with limited(max_idle_s=1, max_request_s=1, max_request_bytes=1_000), kept(WebhookSource()) as keeper:
        with connected(keeper._source) as connection:
            connection.sendall(raw)
            found = []
            while code := status(connection):
                found.append(code)
        return found, keeper.lines


SMUGGLED = b"POST /events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    "headers",
    [
        (b"Content-Length: 35", b"Content-Length: 0"),
        (b"Content-Length: 0", b"Content-Length: 35"),
        (b"Content-Length: 35", b"Content-Length: 35"),
        (b"Content-Length: 35, 35",),
        (b"Content-Length: +35",),
        (b"Content-Length: 0x23",),
        (b"Content-Length: -1",),
        (b"Content-Length : 35",),
        (b"Content-Length: 35", b"Transfer-Encoding: chunked"),
        (b"Transfer-Encoding: chunked", b"Content-Length: 35"),
        (b"Transfer-Encoding: xchunked",),
        (b"Transfer-Encoding: chunked, identity",),
        (b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"),
        (b"Transfer-Encoding:\x0bchunked",),
        (b"X: 1\r\n Transfer-Encoding: chunked", b"Content-Length: 35"),
        (b"Bad\x00Name: 1", b"Content-Length: 35"),
        (b"X: a\rContent-Length: 0", b"Content-Length: 35"),
    ],
)
def test_a_request_whose_length_is_in_doubt_is_refused_and_nothing_behind_it_is_read(headers: tuple[bytes]) -> None:
    assert sent(request(*headers, length=False) + SMUGGLED) == ([400], [])


def test_pipelined_requests_are_answered_in_their_order() -> None:
    other = EVENT.replace(b'"1"', b'"2"')
    bad = request(body=b"{")
    assert sent(request() + b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + request(body=other) + bad + request()) == (
        [202, 200, 202, 400],
        [EVENT, other],
    )


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    content = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks)
    return request(b"Transfer-Encoding: chunked", length=False, body=content + end)


def test_a_body_in_chunks_is_taken_within_the_same_bound() -> None:
    assert sent(chunked(EVENT[:10], EVENT[10:])) == ([202], [EVENT])
    assert sent(chunked(*[b" " * 100] * 11)) == ([413], [])
    assert sent(chunked(EVENT, end=b"zz\r\n"))[1] == []
    assert sent(chunked(EVENT, end=b"0\r\n" + b"X: 1\r\n" * 1_000 + b"\r\n"))[1] == []


@pytest.mark.parametrize(
    ("raw", "statuses"),
    [
        (b"POST /events HTTP/1.1\r\nHost: x\r\n\r\n", [411]),
        (request(b"Content-Encoding: gzip"), [415]),
        (request(b"X: " + b"x" * 20_000), [431]),
        (request(*(b"X-%d: 1" % number for number in range(300))), [400]),
        (b"POST /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n", [431]),
        (request(b"Expect: wonders"), [417]),
        (request(body=b"x" * 2_000), [413]),
        (request(b"ce-id: 1", b"ce-id: 2"), [400]),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100, [400]),
        (b"SSH-2.0-OpenSSH_9.6\r\n", [400]),
        (b"POST http://other/events HTTP/1.1\r\nHost: x\r\n\r\n", [411]),
    ],
)
def test_what_is_refused(raw: bytes, statuses: list[int]) -> None:
    assert sent(raw) == (statuses, [])


def test_refusals_say_why_as_json() -> None:
    with kept(WebhookSource()) as keeper, connected(keeper._source) as raw:
        raw.sendall(request(b"Content-Length: 1"))
        code, headers, body = answer(raw)
    assert (code, headers["content-type"], headers["server"]) == (400, "application/json", "comity")
    assert json.loads(body)["reason"].startswith("this is no HTTP request: ")


def test_a_client_that_asks_before_it_sends_is_answered_at_once() -> None:
    with kept(WebhookSource()) as keeper, connected(keeper._source) as raw:
        raw.sendall(request(b"Expect: 100-continue", b"Content-Length: %d" % len(EVENT), length=False, body=b""))
        assert raw.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        raw.sendall(EVENT)
        assert status(raw) == 202


def test_one_without_a_right_to_send_is_not_asked_for_its_body() -> None:
    with kept(WebhookSource(tokens={None: "secret"})) as keeper, connected(keeper._source) as raw:
        raw.sendall(request(b"Expect: 100-continue", b"Content-Length: 35", length=False, body=b""))
        code, headers, _ = answer(raw)
        assert (code, headers["www-authenticate"], headers["connection"]) == (401, "Bearer", "close")


def test_nothing_of_it_reaches_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert sent(b"\x00\x1b[2J\r\n\r\n")[0] == [400]
    assert capfd.readouterr().err == ""


class TestDoor:
    def guest(self, group: str, since_s: float) -> tuple[Guest, list[str]]:
        gone: list[str] = []
        return Guest(group, lambda: gone.append(group), since_s), gone

    def test_admit_sends_away_the_one_that_was_waited_for_longest(self) -> None:
        door = Door(most=2, most_of_an_address=2)
        first, first_gone = self.guest("a", 0)
        second, second_gone = self.guest("a", 1)
        assert door.admit(first)
        assert door.admit(second)
        assert not door.admit(self.guest("b", 0.5)[0])  # both came just now
        first.since_s = 1.5  # it has sent a request meanwhile, and was answered
        assert door.admit(self.guest("b", 2.5)[0])
        assert (first_gone, second_gone, door.count) == ([], ["a"], 2)

    def test_admit_leaves_those_alone_that_are_not_waited_for(self) -> None:
        door = Door(most=1, most_of_an_address=1)
        first, gone = self.guest("a", 0)
        first.is_waited_for = False
        assert door.admit(first)
        assert not door.admit(self.guest("b", 100)[0])
        door.leave(first)
        assert door.admit(self.guest("b", 101)[0])
        assert gone == []

    def test_admit_makes_the_address_with_the_most_pay(self) -> None:
        door = Door(most=3, most_of_an_address=2)
        quiet, quiet_gone = self.guest("a", 0)
        assert door.admit(quiet)
        greedy = [self.guest("b", at) for at in (1, 2)]
        assert all(door.admit(one) for one, _ in greedy)
        assert door.admit(self.guest("c", 10)[0])
        assert (quiet_gone, [gone for _, gone in greedy]) == ([], [["b"], []])

    def test_admit_after_close(self) -> None:
        door = Door(most=3, most_of_an_address=2)
        first, gone = self.guest("a", 0)
        assert door.admit(first)
        working, working_gone = self.guest("a", 0)
        working.is_waited_for = False
        assert door.admit(working)
        door.close()
        assert not door.admit(self.guest("b", 10)[0])
        assert (gone, working_gone) == (["a"], [])
        door.clear()
        assert (working_gone, door.count) == (["a"], 0)
