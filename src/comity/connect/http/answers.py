"""Answers, and the body of a request within its bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Refusal(Exception):
    """A request that gets this answer instead of what it asks for; its connection is closed."""

    def __init__(self, status: int, reason: str, retry_after_s: int | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.retry_after_s = status, reason, retry_after_s


def json_answer(
    status: int, reason: str = "", *, retry_after_s: int | None = None, fields: Mapping[str, object] | None = None
) -> web.Response:
    """The one shape of answers: `{"status": …, "reason": …}`, or other fields."""
    content: Any = fields if fields is not None else {"status": status, "reason": reason}
    headers = {"Server": "comity"}  # not which version of what it is made with
    if retry_after_s is not None:
        headers["Retry-After"] = str(retry_after_s)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(
        status=status, body=msgspec.json.encode(content), content_type="application/json", headers=headers
    )


def raw_answer(status: int, phrase: str, *, retry_after_s: int | None = None) -> bytes:
    """An answer for a connection that is closed before there is a request.

    >>> raw_answer(503, "Busy", retry_after_s=1).splitlines()[:2]
    [b'HTTP/1.1 503 Busy', b'Retry-After: 1']
    """
    later = f"Retry-After: {retry_after_s}\r\n" if retry_after_s is not None else ""
    return f"HTTP/1.1 {status} {phrase}\r\n{later}Content-Length: 0\r\nConnection: close\r\n\r\n".encode()


async def read_body(request: web.BaseRequest, most_bytes: int) -> bytes:
    """The body, of known length or in chunks; raises `Refusal` for one that is too long, or of no length at all."""
    is_chunked = request.headers.get("Transfer-Encoding", "").strip().lower() == "chunked"
    if request.content_length is None and not is_chunked:
        raise Refusal(411, "the header Content-Length is needed, or a body in chunks")
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise Refusal(415, "send the body as it is, not compressed")
    if (request.content_length or 0) > most_bytes:
        raise Refusal(413, f"the request is longer than {most_bytes} bytes")
    await _invite(request)
    body = bytearray()
    while chunk := await request.content.readany():
        body += chunk
        if len(body) > most_bytes:
            raise Refusal(413, f"the request is longer than {most_bytes} bytes")
    return bytes(body)


async def _invite(request: web.BaseRequest) -> None:
    """Many clients ask before they send a long body."""
    expected = request.headers.get("Expect")
    if expected is None:
        return
    if expected.strip().lower() != "100-continue":
        raise Refusal(417, "only 100-continue can be expected")
    await request.writer.write(_CONTINUE)
    request.writer.output_size = 0  # it is no part of the answer
