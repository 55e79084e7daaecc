"""The HTTP side of the webhook: from requests to lines of CloudEvents JSON, and answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6, socket
from socketserver import TCPServer
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import msgspec

from comity.limits import limits

_STRUCTURED = ("application/cloudevents+json", "application/json")
_BATCH = "application/cloudevents-batch+json"
_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
_IDLE_S = 10.0
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and what it means here."""

    status: int
    reason: str
    retry_after_s: int | None = None


class Receiver(Protocol):
    """Who the server works for."""

    def is_authorised(self, header: str | None) -> bool: ...
    def health(self) -> dict[str, object]: ...
    def receive(self, lines: list[bytes]) -> Answer: ...


def serve(receiver: Receiver, host: str, port: int, path: str, context: Context) -> tuple[int, Callable[[], None]]:
    """Listen in a thread of its own; gives the port, and what stops it. Raises `OSError` when it cannot listen."""
    server = _Server((host, port), _handler(receiver, path), context)
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_S,), name=f"webhook:{port}", daemon=True)
    thread.start()

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return server.server_address[1], stop


def lines_of(content_type: str, headers: Message, body: bytes) -> list[bytes] | Answer:
    """The records of a request, one line each, or the answer that it gets instead.

    >>> lines_of("application/cloudevents-batch+json", Message(), b'[{"id": "1"}, {"id": "2"}]')
    [b'{"id":"1"}', b'{"id":"2"}']
    >>> lines_of("application/cloudevents+json", Message(), b'{"id": ').status
    400
    """
    try:
        if headers.get("ce-id") is not None or headers.get("ce-type") is not None:
            return _binary(content_type, headers, body)
        if content_type in _STRUCTURED:
            return [_compact(body)]
        if content_type == _BATCH:
            return [_compact(bytes(one)) for one in msgspec.json.decode(body, type=list[msgspec.Raw])]
        if content_type in _LINES:
            return _json_lines(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return Answer(400, f"not JSON: {error}")
    return _unsupported(content_type)


def _unsupported(content_type: str) -> Answer:
    known = ", ".join((_STRUCTURED[0], _BATCH, _LINES[0]))
    return Answer(415, f"content type {content_type or 'missing'!r}; send one of {known}")


def _compact(content: bytes) -> bytes:
    """The same JSON in one line; raises when it is none."""
    msgspec.json.decode(content)
    return msgspec.json.format(content, indent=-1)


def _json_lines(body: bytes) -> list[bytes] | Answer:
    lines = []
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line.strip():
            try:
                lines.append(_compact(line))
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                return Answer(400, f"line {number} is not JSON: {error}")
    return lines


def _binary(content_type: str, headers: Message, body: bytes) -> list[bytes] | Answer:
    """Binary mode: the envelope is in the headers, the data in the body."""
    record: dict[str, Any] = {}
    for name, value in headers.items():
        if name.lower().startswith("ce-"):
            record[name[3:].lower()] = unquote(value.encode("latin-1").decode(), errors="strict")
    if body:
        if content_type != "application/json" and not content_type.endswith("+json"):
            return _unsupported(content_type)
        record["data"] = msgspec.Raw(_compact(body))
    return [msgspec.json.encode(record)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], context: Context) -> None:
        self._context = context
        self._free = threading.BoundedSemaphore(limits().max_connections)
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind without looking up the name of this machine, which may take seconds and is not needed."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self._turn_away(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            self._context.copy().run(super().process_request_thread, request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever hung up gets no answer, and nobody else is concerned."""

    def _turn_away(self, request: socket) -> None:
        try:
            request.sendall(b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        except OSError:
            pass
        finally:
            self.shutdown_request(request)


def _handler(receiver: Receiver, path: str) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        _receiver = receiver
        _path = path

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "comity"
    sys_version = ""
    timeout = _IDLE_S
    disable_nagle_algorithm = True  # else an answer waits for the client to confirm its headers
    _receiver: Receiver
    _path: str

    def do_GET(self) -> None:
        if urlsplit(self.path).path == "/healthz":
            self._reply(200, self._receiver.health())
        elif urlsplit(self.path).path == self._path:
            self._answer(Answer(405, "send events by POST"))
        else:
            self._answer(Answer(404, "no such path"))

    def do_POST(self) -> None:
        refusal = self._refusal()
        if refusal is not None:
            self.close_connection = True  # its body is not read
            self._answer(refusal)
            return
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        if len(body) < size:
            self.close_connection = True
            return
        found = lines_of(self.headers.get_content_type() if "Content-Type" in self.headers else "", self.headers, body)
        self._answer(self._receiver.receive(found) if isinstance(found, list) else found)

    def _refusal(self) -> Answer | None:
        if urlsplit(self.path).path != self._path:
            return Answer(404, "no such path")
        if not self._receiver.is_authorised(self.headers.get("Authorization")):
            return Answer(401, "the bearer token is missing or wrong")
        size = self.headers.get("Content-Length", "")
        if not (size.isascii() and size.isdecimal()) or "Transfer-Encoding" in self.headers:
            return Answer(411, "the header Content-Length is needed")
        bound = limits().max_request_bytes
        if len(size) > 18 or int(size) > bound:
            return Answer(413, f"the request is longer than {bound} bytes")
        return None

    def _answer(self, answer: Answer) -> None:
        fields: dict[str, object] = {"status": answer.status, "reason": answer.reason}
        self._reply(answer.status, fields, answer.retry_after_s)

    def _reply(self, status: int, fields: dict[str, object], retry_after_s: int | None = None) -> None:
        content = msgspec.json.encode(fields)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if retry_after_s is not None:
            self.send_header("Retry-After", str(retry_after_s))
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are counted as records, not written to standard error."""
