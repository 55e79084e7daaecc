"""One connection of aiohttp, with what aiohttp leaves out: deadlines for a request, and for reading its answer.

A connection goes round: it is idle, then it receives (from the first byte of a request to its last one), then the
request is worked on, then its answer is sent. Each of these but the work has a bound in seconds, whatever the pace of
single bytes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import Enum
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong

from comity.connect.http.answers import json_answer, raw_answer
from comity.connect.http.door import Door, Guest
from comity.limits import limits
from comity.logs import log
from comity.visible import visible

_LINGER_S = 1.0
_MOST_REASON_CHARS = 200


class _Doing(Enum):
    IDLE = "idle"
    RECEIVING = "receiving"
    WORKING = "working"
    ANSWERING = "answering"
    LEAVING = "leaving"


class Connection(web.RequestHandler):
    """The protocol of one connection; its guest was let in already."""

    def __init__(self, manager: web.Server, door: Door, guest: Guest, loop: asyncio.AbstractEventLoop) -> None:
        bounds = limits()
        self._door, self._guest = door, guest
        self._timer: asyncio.TimerHandle | None = None
        self._doing = _Doing.IDLE
        self._clock: Callable[[], float] = loop.time
        super().__init__(
            manager,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # None is how it is switched off
            keepalive_timeout=bounds.max_idle_s,
            lingering_time=_LINGER_S,
            max_line_size=bounds.max_header_bytes,
            max_field_size=bounds.max_header_bytes,
            max_headers=bounds.max_headers,
            auto_decompress=False,  # a small body could stand for a large one
        )

    # What a handler says

    def trust(self) -> None:
        """The sender of the request under way is known: it is not sent away to make room, though it has a deadline."""
        self._guest.is_waited_for = False

    def request_is_read(self) -> None:
        """All of the request is there: however long the work on it takes is not the sender's fault."""
        self._stop_timer()
        self._doing, self._guest.is_waited_for = _Doing.WORKING, False

    def request_begins(self) -> None:
        """A request was taken up. Its first byte may have come while the one before was worked on."""
        if self._doing is _Doing.IDLE:
            self._receive()

    # What aiohttp and asyncio say

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._guest.send_away = self.send_away
        self._become_idle()

    def data_received(self, data: bytes) -> None:
        if data and self._doing is _Doing.IDLE:
            self._receive()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_timer()
        self._door.leave(self._guest)
        super().connection_lost(exc)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer; a client that does not read it has no longer than one that does not send."""
        self._doing = _Doing.ANSWERING
        self._start_timer(limits().max_request_s, self._abort)
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            self._become_idle()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what is no HTTP, or to a request on which the work failed."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer was begun")
        if status >= 500:
            log("request failed", level=logging.ERROR, error=f"{type(exc).__name__}: {exc}")
            answer = json_answer(500, "this is a fault of the server")
        else:
            answer = _bad_request(exc, message or "")
        answer.force_close()
        return answer

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """What aiohttp would write to standard error; clients that send nonsense are nothing to report there."""

    def send_away(self) -> None:
        """Close the connection, so that another one has room; whoever has begun a request is told to send it again."""
        self._hang_up(raw_answer(503, "Busy", retry_after_s=1) if self._doing is _Doing.RECEIVING else b"")

    # Time

    def _become_idle(self) -> None:
        self._doing, self._guest.is_waited_for = _Doing.IDLE, True
        self._guest.since_s = self._clock()
        self._start_timer(limits().max_idle_s, lambda: self._hang_up(b""))

    def _receive(self) -> None:
        self._doing = _Doing.RECEIVING
        self._guest.since_s = self._clock()
        self._start_timer(limits().max_request_s, lambda: self._hang_up(raw_answer(408, "Request Timeout")))

    def _start_timer(self, seconds: float, then: Callable[[], None]) -> None:
        self._stop_timer()
        if self.transport is not None:
            self._timer = self._loop.call_later(seconds, then)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hang_up(self, last_words: bytes) -> None:
        """Close; one that does not take in its last words, or goes on sending, is cut off.

        What it sends meanwhile is read and thrown away: to close on unread bytes would take back the last words, too.
        """
        transport = self.transport
        if transport is None or self._doing is _Doing.LEAVING:
            return
        self._stop_timer()
        self._doing = _Doing.LEAVING
        if not last_words or self.writing_paused or not transport.can_write_eof():
            transport.write(last_words)
            self.force_close()
        else:
            transport.write(last_words)
            transport.write_eof()
            self.close()
        self._loop.call_later(_LINGER_S, transport.abort)

    def _abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()


def _bad_request(error: BaseException | None, message: str) -> web.Response:
    if isinstance(error, LineTooLong):
        return json_answer(431, "the first line or a header is too long")
    return json_answer(400, f"this is no HTTP request: {visible(' '.join(message.split()))[:_MOST_REASON_CHARS]}")
