"""HTTPS and senders: certificates made on the spot, real connections on loopback."""

from __future__ import annotations

import http.client
import logging
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme
from tests.connect.test_webhook_hostile import EVENT, connected, is_closed, kept, status

from comity.connect.connectors.webhook.sink import WebhookSink
from comity.connect.connectors.webhook.source import WebhookSource
from comity.connect.http.certificate import Certificate
from comity.connect.port import NotTaken
from comity.connect.registry import open_sink, open_source, read_options
from comity.connect.specs import SinkSpec, SourceSpec
from comity.errors import Faults, Misuse
from comity.limits import limited
from comity.testing.sink_conformance import message, notification

AUTHORITY = trustme.CA()
HEADERS = {"Content-Type": "application/json"}


def write_certificate(folder: Path, name: str = "door", host: str = "127.0.0.1") -> tuple[Path, Path]:
    made = AUTHORITY.issue_cert(host)
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    made.cert_chain_pems[0].write_to_path(certificate)
    made.private_key_pem.write_to_path(key)
    return certificate, key


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


def post(source: WebhookSource, headers: dict[str, str] | None = None) -> tuple[int, int]:
    """The answer, and the serial number of the server's certificate."""
    connection = http.client.HTTPSConnection("127.0.0.1", source.port, timeout=30, context=trusting())
    try:
        connection.request("POST", "/events", EVENT, HEADERS | (headers or {}))
        shown = connection.sock.getpeercert()
        return connection.getresponse().status, int(shown["serialNumber"], 16)
    finally:
        connection.close()


@pytest.fixture
def source(tmp_path: Path) -> WebhookSource:
    return WebhookSource(certificate=Certificate(*write_certificate(tmp_path)))


def test_events_come_over_tls(source: WebhookSource) -> None:
    with kept(source) as keeper:
        assert source.url.startswith("https://127.0.0.1:")
        assert post(source)[0] == 202
        assert keeper.lines == [EVENT]


def test_one_that_does_not_speak_tls_is_cut_off(source: WebhookSource) -> None:
    with kept(source) as keeper:
        with connected(source) as raw:
            raw.sendall(b"POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
            assert status(raw) == 0
        assert post(source)[0] == 202
        assert keeper.lines == [EVENT]


def test_old_versions_of_tls_are_refused(source: WebhookSource) -> None:
    context = trusting()
    with pytest.warns(DeprecationWarning, match="TLS"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLS"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with kept(source), connected(source) as raw, pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(raw, server_hostname="127.0.0.1")


def test_a_slow_handshake_has_a_deadline_and_its_place_is_free_then(source: WebhookSource) -> None:
    with limited(max_request_s=1, max_connections=2), kept(source):
        slow = [connected(source) for _ in range(2)]
        for raw in slow:
            raw.sendall(b"\x16\x03\x01\x02")
        assert all(is_closed(raw) for raw in slow)
        assert post(source)[0] == 202
        for raw in slow:
            raw.close()


def test_handshakes_that_are_waited_for_give_way(source: WebhookSource) -> None:
    with limited(max_request_s=600, max_idle_s=600, max_connections=2), kept(source):
        slow = [connected(source) for _ in range(2)]
        while True:
            try:
                assert post(source)[0] == 202
                break
            except (ConnectionError, ssl.SSLError):  # they came just now
                continue
        assert is_closed(slow[0])
        for raw in slow:
            raw.close()


def test_a_renewed_certificate_is_taken_up(source: WebhookSource, tmp_path: Path) -> None:
    with kept(source):
        _, first = post(source)
        new, key = write_certificate(tmp_path, "new")
        new.rename(tmp_path / "door.pem")
        assert post(source)[1] == first  # its key is not there yet
        key.rename(tmp_path / "door.key")
        assert post(source)[1] != first
        (tmp_path / "door.pem").unlink()
        assert post(source)[0] == 202


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda certificate, key: key.unlink(), "door.key: cannot be read: No such file"),
        (lambda certificate, key: certificate.write_text("x"), "door.pem: there is no certificate in it"),
        (lambda certificate, key: key.write_text("x"), "door.key: there is no private key in it"),
        (lambda certificate, key: AUTHORITY.issue_cert("x").private_key_pem.write_to_path(key), "door.key: the key is"),
        (lambda certificate, key: encrypt(key), "door.key: the key is encrypted"),
    ],
)
def test_files_that_cannot_be_used_are_told_at_the_start(
    tmp_path: Path, spoil: Callable[[Path, Path], object], message: str
) -> None:
    spoil(*write_certificate(tmp_path))
    spec = SourceSpec("door", "house", "webhook", {"port": 0, "certificate": "door.pem", "key": "door.key"})
    with pytest.raises(Misuse) as caught:
        open_source(spec, tmp_path)
    assert message in str(caught.value)
    assert caught.value.code == "bad-certificate"
    assert caught.value.hint


def encrypt(key: Path) -> None:
    from cryptography.hazmat.primitives import serialization

    loaded = serialization.load_pem_private_key(key.read_bytes(), None)
    form = serialization.BestAvailableEncryption(b"passphrase")
    key.write_bytes(
        loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, form)
    )


def test_every_sender_has_its_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PANEL_TOKEN", "first")
    (tmp_path / "gate.token").write_text("second\n")
    write_certificate(tmp_path)
    senders = {"alarm_panel": {"token_env": "PANEL_TOKEN"}, "gate": {"token_file": "gate.token"}}
    options = {"port": 0, "certificate": "door.pem", "key": "door.key", "senders": senders}
    source = open_source(SourceSpec("door", "house", "webhook", options), tmp_path)
    assert isinstance(source, WebhookSource)
    with caplog.at_level(logging.DEBUG, "comity"), kept(source) as keeper:
        assert post(source, {"Authorization": "Bearer first"})[0] == 202
        assert post(source, {"Authorization": "Bearer second"})[0] == 202
        for wrong in ("Bearer third", "Bearer firstsecond", "first", "Bearer ", "bearer first"):
            assert post(source, {"Authorization": wrong})[0] == 401
        assert post(source)[0] == 401
    assert keeper.origins == ["house.door/alarm_panel", "house.door/gate"]
    noted = [(record.getMessage(), record.comity_fields.get("sender")) for record in caplog.records]  # type: ignore[attr-defined]
    assert noted == [("request kept", "alarm_panel"), ("request kept", "gate"), ("request refused", None)]
    assert not any(token in str(vars(record)) for record in caplog.records for token in ("first", "second", "third"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port": 0, "token": "secret"}, "unknown key `token`"),
        ({"port": 0, "senders": {"a": {"token": "secret"}}}, "unknown key `senders.a.token`"),
        ({"port": 0, "senders": {"a": {}}}, "a sender needs `token_env` or `token_file`"),
        ({"port": 0, "senders": {"a b": {"token_env": "A"}}}, "senders.a b"),
        ({"port": 0, "token_env": "A", "senders": {"a": {"token_env": "A"}}}, "exclude each other"),
        ({"port": 0, "token_env": "A", "token_file": "a"}, "exclude each other"),
        ({"port": 0, "key": "a.key"}, "`key` needs `certificate`"),
        ({"port": 0, "host": "0.0.0.0"}, "needs `senders`"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, object], message: str) -> None:
    with pytest.raises(Faults, match=message.replace("`", ".")) as caught:
        read_options("webhook", options)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("second", ["same", "", "two words", "caf\xe9", "a\nb"])
def test_tokens_that_are_none(tmp_path: Path, second: str) -> None:
    (tmp_path / "one").write_text("same")
    (tmp_path / "two").write_text(second)
    options = {"port": 0, "senders": {"a": {"token_file": "one"}, "b": {"token_file": "two"}}}
    with pytest.raises(Misuse) as caught:
        open_source(SourceSpec("door", "house", "webhook", options), tmp_path)
    assert caught.value.code == ("duplicate-token" if second == "same" else "missing-token")
    assert str(caught.value.place) == "house.sources.door.senders.b"


def open_webhook(url: str, folder: Path, **options: object) -> WebhookSink:
    sink = open_sink(SinkSpec("control", "house", "webhook", {"url": url, **options}), folder)
    assert isinstance(sink, WebhookSink)
    return sink


def test_a_sink_trusts_the_authority_that_it_is_told_to(source: WebhookSource, tmp_path: Path) -> None:
    AUTHORITY.cert_pem.write_to_path(tmp_path / "authority.pem")
    (tmp_path / "token").write_text("secret")
    with kept(source) as keeper:
        sink = open_webhook(source.url, tmp_path, ca_file="authority.pem", token_file="token")
        sink.deliver([message(notification(1))])
        sink.close()
        assert len(keeper.lines) == 1
        stranger = open_webhook(source.url, tmp_path)
        with pytest.raises(NotTaken, match="certificate verify failed"):
            stranger.deliver([message(notification(2))])


def test_a_sink_looks_whether_the_certificate_is_for_that_host(tmp_path: Path) -> None:
    AUTHORITY.cert_pem.write_to_path(tmp_path / "authority.pem")
    source = WebhookSource(certificate=Certificate(*write_certificate(tmp_path, host="elsewhere.example")))
    with kept(source), pytest.raises(NotTaken, match="not valid for"):
        open_webhook(source.url, tmp_path, ca_file="authority.pem").deliver([message(notification(1))])


def test_a_sink_with_a_file_that_is_no_authority(tmp_path: Path) -> None:
    (tmp_path / "authority.pem").write_text("x")
    with pytest.raises(Misuse) as caught:
        open_webhook("https://127.0.0.1:1/", tmp_path, ca_file="authority.pem")
    assert caught.value.code == "bad-certificate"
    with pytest.raises(Misuse, match="cannot be read"):
        open_webhook("https://127.0.0.1:1/", tmp_path, ca_file="nowhere.pem")


def test_the_server_is_gone_after_close(source: WebhookSource) -> None:
    with kept(source):
        assert post(source)[0] == 202
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", source.port), 5)
