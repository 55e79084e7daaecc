"""An object store on loopback, and a way to it on which requests fail and answers are lost or late, as tests demand."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any
from uuid import uuid4

from comity.storage.access import StorageAccess
from comity.storage.place import Storage, storage_at

KEY, SECRET, REGION = "test-key", "test-secret-0123456789", "us-east-1"
PATIENCE_S = 60


@dataclass(frozen=True)
class ObjectStore:
    """An S3 at an endpoint."""

    endpoint: str

    @property
    def spark_config(self) -> dict[str, str]:
        """The settings by which Spark and Comity get there."""
        settings = {
            "endpoint": self.endpoint,
            "access.key": KEY,
            "secret.key": SECRET,
            "endpoint.region": REGION,
            "path.style.access": "true",
        }
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}

    @property
    def options(self) -> list[str]:
        """The same, as options of commands."""
        return [part for name, value in self.spark_config.items() for part in ("--spark-config", f"{name}={value}")]

    @property
    def access(self) -> StorageAccess:
        return StorageAccess.of(self.spark_config, {})

    def bucket(self) -> str:
        """The address of a new bucket."""
        name = f"comity-{uuid4().hex[:12]}"
        connection = HTTPConnection(self.endpoint.removeprefix("http://"), timeout=PATIENCE_S)
        connection.request("PUT", f"/{name}")
        assert connection.getresponse().status == 200
        connection.close()
        return f"s3a://{name}"

    def storage(self, address: str) -> Storage:
        return storage_at(address, self.access)


_SERVER = """\
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(*server.get_host_and_port(), flush=True)
sys.stdin.read()
"""
"""It ends when whoever started it does."""


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """A store in a process of its own, which is there while the block runs."""
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert server.stdout is not None
        host, port = server.stdout.readline().split()
        yield ObjectStore(f"http://{host}:{port}")
    finally:
        server.kill()
        server.communicate()


@dataclass
class Fault:
    """What befalls a request, and when: it is refused, and nothing happens, unless something else is said."""

    method: str
    path: str
    """A part of the path, with its query."""
    is_lost: bool = False
    """Whether it is carried out and only its answer lost."""
    is_reset: bool = False
    """Whether the connection breaks before anything is done."""
    delay_s: float = 0
    """For how long it waits; then it is carried out and answered."""
    times: int = 1
    meanwhile: Callable[[], object] = lambda: None
    """Done when it befalls one: after the request was carried out if its answer is lost, and else in its place."""

    def befalls(self, method: str, path: str) -> bool:
        return self.times > 0 and method == self.method and self.path in path


@dataclass
class Weather:
    """Faults of every kind, that befall requests by chance."""

    chance: Random
    share: float
    """Of requests that something befalls."""
    longest_delay_s: float = 1.0
    befallen: int = 0
    """To how many requests something happened."""

    def fault_of(self, method: str, path: str) -> Fault | None:
        """What befalls a request."""
        if self.chance.random() >= self.share:
            return None
        self.befallen += 1
        kinds: list[dict[str, Any]] = [{}, {"is_lost": True}, {"is_reset": True}]
        kinds.append({"delay_s": self.chance.uniform(0.01, self.longest_delay_s)})
        return Fault(method, path, **self.chance.choice(kinds))


@dataclass
class FaultyWay:
    """A proxy before a store: faults befall requests, each so many times as it says, and others by chance."""

    target: str
    faults: list[Fault] = field(default_factory=list)
    weather: Weather | None = None
    seen: list[str] = field(default_factory=list)
    endpoint: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def store(self) -> ObjectStore:
        return ObjectStore(self.endpoint)

    def fault_of(self, method: str, path: str) -> Fault | None:
        with self._lock:
            self.seen.append(f"{method} {path}")
            for one in self.faults:
                if one.befalls(method, path):
                    one.times -= 1
                    return one
            return None if self.weather is None else self.weather.fault_of(method, path)


@contextmanager
def faulty_way(store: ObjectStore) -> Iterator[FaultyWay]:
    """A faulty way to a store, while the block runs."""
    way = FaultyWay(store.endpoint.removeprefix("http://"))
    server = _Server(("127.0.0.1", 0), _handler(way))
    way.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield way
    finally:
        server.shutdown()
        server.server_close()
        serving.join(PATIENCE_S)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def shutdown_request(self, request: Any) -> None:
        self.close_request(request)  # at once, so that a connection can be broken


def _handler(way: FaultyWay) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self._body()
            fault = way.fault_of(self.command, self.path)
            if fault is not None and fault.delay_s:
                time.sleep(fault.delay_s)
            if fault is None or fault.delay_s:
                self._pass_on(*self._carried_out(body))
                return
            if fault.is_lost:
                self._carried_out(body)
            fault.meanwhile()
            self.close_connection = True
            if fault.is_reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif not fault.is_lost:
                self._pass_on(503, [], b"<Error><Code>ServiceUnavailable</Code></Error>")

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return body

        def _carried_out(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            connection = HTTPConnection(way.target, timeout=PATIENCE_S)
            kept = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
            connection.request(self.command, self.path, body, {**kept, "Content-Length": str(len(body))})
            answer = connection.getresponse()
            found = answer.status, answer.getheaders(), answer.read()
            connection.close()
            return found

        def _pass_on(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            with suppress(BrokenPipeError, ConnectionResetError, HTTPException):
                self.send_response_only(status)
                own = [(name, value) for name, value in headers if name.lower() not in _HOP]
                length = [value for name, value in headers if name.lower() == "content-length"]
                for name, value in own:
                    self.send_header(name, value)
                self.send_header("Content-Length", length[0] if self.command == "HEAD" and length else str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


_HOP = ("connection", "content-length", "keep-alive", "transfer-encoding", "expect")
