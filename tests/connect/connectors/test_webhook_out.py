"""Sending webhooks to a real server on loopback."""

import socket
import threading
import time
from email.utils import formatdate

import pytest

from comity.connect.connectors.webhook.sink import WebhookOutOptions, WebhookSink, _retry_after_s
from comity.connect.identity import key_digest
from comity.connect.port import NotTaken, Refused
from comity.connect.registry import open_sink, read_options
from comity.connect.secret_url import SecretUrl
from comity.connect.specs import SinkSpec
from comity.errors import Faults, Misuse
from comity.testing.receiver import PlannedReply, WebhookReceiver
from comity.testing.sink_conformance import message, notification

MESSAGES = [message(notification(number)) for number in range(10)]


@pytest.fixture
def receiver():
    with WebhookReceiver() as found:
        yield found


@pytest.fixture
def open_webhook(receiver):
    opened = []

    def open_webhook(**options):
        opened.append(WebhookSink(WebhookOutOptions(url=receiver.url, **{"timeout_s": 5, **options})))
        return opened[-1]

    yield open_webhook
    for sink in opened:
        sink.close()


def test_deliver_structured_events_over_one_connection(receiver, open_webhook):
    open_webhook().deliver(MESSAGES)
    assert [one.body for one in receiver.received] == [one.line for one in MESSAGES]
    headers = receiver.received[0].headers
    assert headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert "authorization" not in headers
    assert receiver.keys() == [key_digest(one.key).hex() for one in MESSAGES]
    assert receiver.connections == 1


def test_deliver_batches(receiver, open_webhook):
    open_webhook(batch_size=4).deliver(MESSAGES)
    assert [len(one.events) for one in receiver.received] == [4, 4, 2]
    assert receiver.received[0].headers["content-type"] == "application/cloudevents-batch+json"
    assert [event["id"] for event in receiver.events()] == [f"e{number}" for number in range(10)]


def test_deliver_a_batch_of_one_is_structured(receiver, open_webhook):
    open_webhook(batch_size=4).deliver(MESSAGES[:1])
    assert receiver.keys() == [key_digest(MESSAGES[0].key).hex()]


def test_deliver_finds_the_one_that_a_batch_is_refused_for(receiver, open_webhook):
    receiver.refused_ids = frozenset({"e6"})
    with pytest.raises(Refused) as caught:
        open_webhook(batch_size=4).deliver(MESSAGES)
    assert (caught.value.taken, caught.value.code) == (6, "sink-refused")
    assert [event["id"] for event in receiver.events()] == [f"e{number}" for number in range(6)]


@pytest.mark.parametrize("answer", [PlannedReply.BUSY, PlannedReply.LATER, PlannedReply.DROP])
def test_deliver_later_tells_how_many_were_taken(receiver, open_webhook, answer):
    # A dropped connection is opened once more at once, so it is dropped twice.
    receiver.answers.extend([PlannedReply.TAKE, PlannedReply.TAKE, answer, answer])
    with pytest.raises(NotTaken) as caught:
        open_webhook().deliver(MESSAGES)
    assert caught.value.taken == 2
    assert caught.value.retry_after_s == (1.0 if answer is PlannedReply.LATER else None)


def test_deliver_after_the_server_closed_an_idle_connection(receiver, open_webhook):
    sink = open_webhook()
    sink.deliver(MESSAGES[:1])
    receiver.stop()
    receiver.start()
    sink.deliver(MESSAGES[1:2])
    assert len(receiver.received) == 2
    assert receiver.connections == 2


def test_deliver_when_nobody_listens(receiver, open_webhook):
    receiver.stop()
    with pytest.raises(NotTaken, match="cannot be reached: Connection refused") as caught:
        open_webhook().deliver(MESSAGES)
    assert (caught.value.taken, caught.value.code) == (0, "sink-unreachable")
    receiver.start()


def test_deliver_waits_no_longer_than_its_timeout(receiver, open_webhook):
    receiver.answers.append(PlannedReply.HANG)
    started = time.monotonic()
    with pytest.raises(NotTaken, match=r"does not answer within 0\.2 s"):
        open_webhook(timeout_s=0.2).deliver(MESSAGES)
    assert time.monotonic() - started < 3


def test_deliver_to_something_that_is_no_web_server():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet():
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"220 mail.example ESMTP\r\n")

        threading.Thread(target=greet, daemon=True).start()
        sink = WebhookSink(WebhookOutOptions(url=f"http://127.0.0.1:{server.getsockname()[1]}", timeout_s=5))
        with pytest.raises(NotTaken, match="cannot be reached"):
            sink.deliver(MESSAGES[:1])
        sink.close()


@pytest.mark.parametrize("status", [301, 400, 401, 404, 410, 413, 422])
def test_deliver_other_answers_refuse(status):
    with pytest.raises(Refused, match=str(status)):
        _deliver_to_answer(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_deliver_passing_answers_are_retryable(status):
    with pytest.raises(NotTaken, match=str(status)):
        _deliver_to_answer(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_deliver_2xx_takes(status):
    _deliver_to_answer(f"HTTP/1.1 {status} X\r\n\r\n")


def test_deliver_takes_an_endless_answer_as_taken():
    _deliver_to_answer("HTTP/1.1 200 OK\r\n\r\n" + "x" * 1_000_000)


def test_deliver_takes_an_answer_that_breaks_off_as_taken():
    _deliver_to_answer("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort")


def _deliver_to_answer(answer):
    """Deliver one message to a server that reads one request and gives this answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                while MESSAGES[0].line not in connection.recv(65_536):
                    pass
                try:
                    connection.sendall(answer.encode())
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        sink = WebhookSink(WebhookOutOptions(url=f"http://127.0.0.1:{server.getsockname()[1]}/", timeout_s=5))
        try:
            sink.deliver(MESSAGES[:1])
        finally:
            sink.close()
            thread.join(5)


def test_open_with_a_token(receiver, monkeypatch, tmp_path):
    monkeypatch.setenv("SCREEN_TOKEN", " abc ")
    spec = SinkSpec("screen", "house_a", "webhook", {"url": receiver.url, "token_env": "SCREEN_TOKEN"})
    sink = open_sink(spec, tmp_path)
    sink.deliver(MESSAGES[:1])
    sink.close()
    assert receiver.received[0].headers["authorization"] == "Bearer abc"


@pytest.mark.parametrize("token", ["", "a\nb", "é"])
def test_open_without_a_usable_token(monkeypatch, tmp_path, token):
    monkeypatch.setenv("SCREEN_TOKEN", token)
    spec = SinkSpec("screen", "house_a", "webhook", {"url": "http://127.0.0.1/", "token_env": "SCREEN_TOKEN"})
    with pytest.raises(Misuse, match="there is no token in SCREEN_TOKEN") as caught:
        open_sink(spec, tmp_path)
    assert caught.value.code == "missing-token"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://a/b",
        "http://",
        "127.0.0.1:9000",
        "http://user:secret@a/",
        "http://a:99999/",
        "http://a/ b",
        "http://a/\r\nX: y",
    ],
)
def test_options_refuse_an_address(url):
    with pytest.raises(Faults) as caught:
        read_options("webhook", {"url": url}, "sink")
    assert caught.value.errors[0].place.path == "url"


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 0}, {"batch_size": 1_001}, {"timeout_s": 0}, {"timeout_s": 601}, {"tokens": "X"}]
)
def test_options_refuse_values(wrong):
    with pytest.raises(Faults):
        read_options("webhook", {"url": "http://a/", **wrong}, "sink")


def test_options_address_alone():
    assert read_options("webhook", "http://a/b", "sink").url == SecretUrl("http://a/b")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": formatdate(1_030, usegmt=True)}, 30.0),
        ({"Retry-After": formatdate(1_030, usegmt=True), "Date": formatdate(1_020, usegmt=True)}, 10.0),
        ({"Retry-After": formatdate(900, usegmt=True)}, 0.0),
    ],
)
def test_retry_after(headers, seconds):
    assert _retry_after_s(headers.get, 1_000.0) == seconds
