"""A receiver of webhooks on loopback that fails when it is told to."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec


class PlannedReply(StrEnum):
    """What the receiver does with the next request."""

    TAKE = "take"
    BUSY = "busy"
    """503; nothing is kept."""
    LATER = "later"
    """429 with Retry-After: 1; nothing is kept."""
    REFUSE = "refuse"
    """400; nothing is kept."""
    DROP = "drop"
    """The connection is closed without an answer; nothing is kept."""
    LOSE_ANSWER = "lose-answer"
    """The connection is closed without an answer, and the request is kept."""
    HANG = "hang"
    """No answer for `hang_s`; nothing is kept."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request that was kept: its headers in lower case, and its events."""

    headers: dict[str, str]
    body: bytes
    events: list[dict[str, Any]]


@dataclass
class WebhookReceiver:
    """Listens while it is in a `with` block. `answers` are used up one by one; then everything is taken.

    >>> with WebhookReceiver() as receiver:
    ...     receiver.url.startswith("http://127.0.0.1:")
    True
    """

    answers: deque[PlannedReply] = field(default_factory=deque)
    refused_ids: frozenset[str] = frozenset()
    delay_s: float = 0.0
    hang_s: float = 5.0
    received: list[Received] = field(default_factory=list)
    requests: int = 0
    connections: int = 0
    port: int = 0
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Where it listens; the same address after a restart."""
        return f"http://127.0.0.1:{self.port}/events"

    def start(self) -> None:
        """Listen, on the same port as before if it did already."""
        self._server = _Server(("127.0.0.1", self.port), _handler(self))
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Close the port and all connections: the next request is refused by the system."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def events(self) -> list[dict[str, Any]]:
        """All events that were kept, in the order in which they came."""
        return [event for one in self.received for event in one.events]

    def keys(self) -> list[str]:
        """`Idempotency-Key` of all requests that were kept."""
        return [one.headers["idempotency-key"] for one in self.received]

    def next_answer(self, events: list[dict[str, Any]]) -> PlannedReply:
        """What becomes of a request."""
        self.requests += 1
        if any(event.get("id") in self.refused_ids for event in events):
            return PlannedReply.REFUSE
        return self.answers.popleft() if self.answers else PlannedReply.TAKE

    def __enter__(self) -> WebhookReceiver:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._open: set[Any] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for request in list(self._open):
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)  # a handler that waits for the next request gets none
            self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: senders that die are what it is for."""


def _handler(receiver: WebhookReceiver) -> type[BaseHTTPRequestHandler]:
    taking = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            receiver.connections += 1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            content = msgspec.json.decode(body)
            events = content if isinstance(content, list) else [content]
            if receiver.delay_s:
                time.sleep(receiver.delay_s)
            with taking:
                answer = receiver.next_answer(events)
                if answer in (PlannedReply.TAKE, PlannedReply.LOSE_ANSWER):
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    receiver.received.append(Received(headers, body, events))
            self._answer(answer)

        def _answer(self, answer: PlannedReply) -> None:
            if answer is PlannedReply.HANG:
                time.sleep(receiver.hang_s)
            if answer in (PlannedReply.DROP, PlannedReply.LOSE_ANSWER, PlannedReply.HANG):
                self.close_connection = True
                return
            self.send_response(
                {PlannedReply.TAKE: 202, PlannedReply.BUSY: 503, PlannedReply.LATER: 429}.get(answer, 400)
            )
            if answer is PlannedReply.LATER:
                self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    return Handler
