"""The webhook, by real requests on loopback."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from comity.connect.connectors.webhook.source import WebhookSource
from comity.connect.port import Record
from comity.errors import Misuse
from comity.event import Event, decode
from comity.limits import limited

EVENT = b'{"id": "1",\n "source": "/a", "type": "T"}'
STRUCTURED = {"Content-Type": "application/cloudevents+json; charset=utf-8"}


class Sender:
    """Sends requests in the background, and takes what arrives."""

    def __init__(self, source: WebhookSource) -> None:
        self.source = source
        self.threads = ThreadPoolExecutor(8)

    def post(self, body: bytes, headers: dict[str, str], url: str | None = None) -> Future[tuple[int, str, str | None]]:
        return self.threads.submit(self._send, urllib.request.Request(url or self.source.url, body, headers))

    def _send(self, request: urllib.request.Request) -> tuple[int, str, str | None]:
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read())["reason"], None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())["reason"], error.headers.get("Retry-After")

    def receive(self, count: int) -> list[Record]:
        """Take so many records, and say that they are kept."""
        records: list[Record] = []
        give_up_at = time.monotonic() + 10
        while len(records) < count and time.monotonic() < give_up_at:
            batch = self.source.next_batch(100)
            assert batch is not None
            records += batch.records
            self.source.acknowledge(batch.position)
            time.sleep(0.005)
        return records

    def wait_for_records(self, count: int) -> None:
        give_up_at = time.monotonic() + 10
        while self.source.health()["waiting"] != count and time.monotonic() < give_up_at:
            time.sleep(0.005)
        assert self.source.health()["waiting"] == count


@pytest.fixture
def sender() -> Iterator[Sender]:
    source = WebhookSource(answer_within_s=10)
    source.open()
    sender = Sender(source)
    yield sender
    source.close()
    sender.threads.shutdown()


def test_structured_mode_becomes_one_line(sender: Sender) -> None:
    answer = sender.post(EVENT, STRUCTURED)
    assert [one.line for one in sender.receive(1)] == [b'{"id":"1","source":"/a","type":"T"}']
    assert answer.result()[0] == 202


def test_binary_mode(sender: Sender) -> None:
    headers = {
        "Content-Type": "application/json",
        "ce-specversion": "1.0",
        "ce-id": "1",
        "ce-source": "/caf%C3%A9",
        "ce-type": "T",
        "ce-time": "2024-05-01T12:00:00Z",
        "ce-sequence": "7",
        "ce-mode": "live",
        "ce-typeversion": "2",
    }
    answer = sender.post(b'{"heat": 4}', headers)
    found = decode(sender.receive(1)[0].line)
    assert isinstance(found, Event)
    assert (found.source, found.sequence, found.mode, found.version) == ("/café", 7, "live", "2")
    assert found.data == {"heat": 4}
    assert answer.result()[0] == 202


def test_batch_mode_and_json_lines(sender: Sender) -> None:
    first = sender.post(b"[" + EVENT + b"," + EVENT + b"]", {"Content-Type": "application/cloudevents-batch+json"})
    assert len(sender.receive(2)) == 2
    line = EVENT.replace(b"\n", b"")
    second = sender.post(line + b"\r\n\n" + line, {"Content-Type": "application/x-ndjson"})
    assert len(sender.receive(2)) == 2
    assert first.result()[0] == second.result()[0] == 202


def test_what_is_json_but_no_event_is_taken(sender: Sender) -> None:
    answer = sender.post(b"[5]", {"Content-Type": "application/cloudevents-batch+json"})
    assert [one.line for one in sender.receive(1)] == [b"5"]
    assert answer.result()[0] == 202


def test_an_empty_batch_is_taken_at_once(sender: Sender) -> None:
    assert sender.post(b"[]", {"Content-Type": "application/cloudevents-batch+json"}).result()[0] == 202


@pytest.mark.parametrize(
    ("body", "content_type", "status", "reason"),
    [
        (b'{"id": ', "application/cloudevents+json", 400, "not JSON"),
        (b'{"id": "\xff"}', "application/cloudevents+json", 400, "not JSON"),
        (b"[" * 100_000, "application/cloudevents+json", 400, "not JSON"),
        (b'{"x": NaN}', "application/json", 400, "not JSON"),
        (b"{}", "application/cloudevents-batch+json", 400, "array"),
        (b"{}\nx\n", "application/x-ndjson", 400, "line 2"),
        (b"<event/>", "text/xml", 415, "text/xml"),
        (b"x" * 2_001, "application/json", 413, "2000 bytes"),
    ],
)
def test_what_is_refused(body: bytes, content_type: str, status: int, reason: str) -> None:
    with limited(max_request_bytes=2_000 if status == 413 else 200_000):
        source = WebhookSource()
        source.open()
        found = Sender(source).post(body, {"Content-Type": content_type}).result()
        source.close()
    assert found[0] == status
    assert reason in found[1]


def test_a_request_is_not_answered_before_its_records_are_kept(sender: Sender) -> None:
    answer = sender.post(EVENT, STRUCTURED)
    sender.wait_for_records(1)
    batch = sender.source.next_batch(10)
    assert batch is not None
    assert len(batch.records) == 1
    time.sleep(0.1)
    assert not answer.done()
    sender.source.acknowledge(batch.position)
    assert answer.result()[0] == 202


def test_a_request_in_two_batches_is_answered_after_the_second(sender: Sender) -> None:
    answer = sender.post(b"[1,2,3]", {"Content-Type": "application/cloudevents-batch+json"})
    sender.wait_for_records(3)
    first, second = sender.source.next_batch(2), sender.source.next_batch(2)
    assert first is not None
    assert second is not None
    sender.source.acknowledge(first.position)
    time.sleep(0.05)
    assert not answer.done()
    sender.source.acknowledge(second.position)
    assert answer.result()[0] == 202


def test_a_full_queue_is_told_to_come_again() -> None:
    with limited(max_waiting_records=2):
        source = WebhookSource()
        source.open()
        sender = Sender(source)
        batch = {"Content-Type": "application/cloudevents-batch+json"}
        first = sender.post(b"[1,2]", batch)
        sender.wait_for_records(2)
        assert sender.post(b"[3]", batch).result() == (429, "too many records are waiting", "1")
        assert sender.post(b"[3,4,5]", batch).result()[0] == 413
        assert len(sender.receive(2)) == 2
        assert first.result()[0] == 202
        third = sender.post(b"[3]", batch)
        assert len(sender.receive(1)) == 1
        assert third.result()[0] == 202
        source.close()


def test_a_request_that_nobody_takes_in_time_leaves_nothing_behind() -> None:
    source = WebhookSource(answer_within_s=0.05)
    source.open()
    status, _, retry_after = Sender(source).post(EVENT, STRUCTURED).result()
    assert (status, retry_after) == (503, "1")
    batch = source.next_batch(10)
    assert batch is not None
    assert batch.records == ()
    source.close()


def test_close_answers_those_who_wait(sender: Sender) -> None:
    answer = sender.post(EVENT, STRUCTURED)
    sender.wait_for_records(1)
    sender.source.close()
    assert answer.result()[0] == 503


def test_close_leaves_no_client_waiting() -> None:
    """Also not one whose connection is being accepted just then."""
    for _ in range(50):
        source = WebhookSource()
        source.open()
        with socket.create_connection(("127.0.0.1", source.port), timeout=10) as raw:
            source.close()
            try:
                assert raw.recv(1000).startswith((b"", b"HTTP/1.1 503"))
            except ConnectionError:
                continue


def test_a_bearer_token_is_asked_for() -> None:
    source = WebhookSource(tokens={None: "secret"})
    source.open()
    sender = Sender(source)
    for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
        assert sender.post(EVENT, STRUCTURED | header).result()[0] == 401
    answer = sender.post(EVENT, STRUCTURED | {"Authorization": "Bearer secret"})
    assert len(sender.receive(1)) == 1
    assert answer.result()[0] == 202
    source.close()


def test_other_paths_and_methods(sender: Sender) -> None:
    root = sender.source.url.removesuffix("/events")
    assert sender.post(EVENT, STRUCTURED, f"{root}/nowhere").result()[0] == 404
    with urllib.request.urlopen(f"{root}/healthz", timeout=5) as answer:
        assert json.loads(answer.read()) == {"status": "ok", "waiting": 0}
    for path, status in (("/events", 405), ("/x", 404)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{root}{path}", timeout=5)
        assert caught.value.code == status


def test_a_request_without_a_length_is_refused(sender: Sender) -> None:
    with socket.create_connection(("127.0.0.1", sender.source.port), timeout=5) as raw:
        raw.sendall(b"POST /events HTTP/1.1\r\nHost: x\r\n\r\n")
        assert raw.recv(1000).startswith(b"HTTP/1.1 411")


def test_whoever_hangs_up_disturbs_nobody(sender: Sender) -> None:
    with socket.create_connection(("127.0.0.1", sender.source.port), timeout=5) as raw:
        raw.sendall(b"POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
    answer = sender.post(EVENT, STRUCTURED)
    assert len(sender.receive(1)) == 1
    assert answer.result()[0] == 202


def test_too_many_connections_are_turned_away() -> None:
    with limited(max_connections=1):
        source = WebhookSource()
        source.open()
        sender = Sender(source)
        first = sender.post(EVENT, STRUCTURED)  # it is worked on, so it is not closed for the second one
        sender.wait_for_records(1)
        with socket.create_connection(("127.0.0.1", source.port), timeout=5) as second:
            assert second.recv(1000).startswith(b"HTTP/1.1 503")
        assert len(sender.receive(1)) == 1
        assert first.result()[0] == 202
        source.close()


def test_open_on_a_taken_port(sender: Sender) -> None:
    with pytest.raises(Misuse) as caught:
        WebhookSource(sender.source.port).open()
    assert caught.value.code == "port-not-free"


def test_open_again_on_the_same_port(sender: Sender) -> None:
    port = sender.source.port
    sender.source.close()
    sender.source.open(41)
    assert sender.source.port == port
    answer = sender.post(EVENT, STRUCTURED)
    assert [one.number for one in sender.receive(1)] == [42]
    assert answer.result()[0] == 202


def test_requests_at_the_same_time_are_all_answered(sender: Sender) -> None:
    answers = [sender.post(b'{"id": "%d", "source": "/a", "type": "T"}' % at, STRUCTURED) for at in range(40)]
    found = {decode(one.line) for one in sender.receive(40)}
    assert len(found) == 40
    assert {one.result()[0] for one in answers} == {202}
    assert threading.active_count() < 40
