"""The HTTP side of the webhook: from requests to lines of CloudEvents JSON, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote

import msgspec
from aiohttp import web

from comity.connect.http.answers import Refusal, json_answer, read_body
from comity.connect.http.connection import Connection
from comity.connect.senders import Sender
from comity.limits import limits

_STRUCTURED = ("application/cloudevents+json", "application/json")
_BATCH = "application/cloudevents-batch+json"
_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
_LONG_BYTES = 131_072
"""From here on a body is read apart from the event loop, which others wait for."""


@dataclass(frozen=True, slots=True)
class WebhookReply:
    """A status and what it means here."""

    status: int
    reason: str
    retry_after_s: int | None = None


class Receiver(Protocol):
    """Who the server works for."""

    def sender_of(self, authorization: str | None) -> Sender | None:
        """Who sends a request with this header; None if it may not send."""
        ...

    def health(self) -> dict[str, object]: ...
    async def receive(self, lines: list[bytes], sender: Sender) -> WebhookReply: ...
    def refused(self, status: int, reason: str, sender: Sender | None, address: str) -> None:
        """Is told of requests that were not taken."""
        ...


class Webhook:
    """Answers requests for a receiver: events by POST to one path, and whether all is well at /healthz."""

    def __init__(self, receiver: Receiver, path: str) -> None:
        self._receiver, self._path = receiver, path

    async def __call__(self, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        if request.method == "POST":
            return await self._post(request, connection)
        connection.request_is_read()
        path = _path(request)
        if request.method in ("GET", "HEAD") and path == "/healthz":
            return json_answer(200, fields=self._receiver.health())
        if path != self._path:
            return json_answer(404, "no such path")
        return json_answer(405, "send events by POST")

    async def _post(self, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        sender: Sender | None = None
        try:
            if _path(request) != self._path:
                raise Refusal(404, "no such path")
            sender = self._identify(request, connection)
            lines = await self._lines(request, connection)
            answer = await self._receiver.receive(lines, sender)
        except Refusal as refusal:
            self._receiver.refused(refusal.status, refusal.reason, sender, request.remote or "")
            raise
        if answer.status != 202:
            self._receiver.refused(answer.status, answer.reason, sender, request.remote or "")
        return json_answer(answer.status, answer.reason, retry_after_s=answer.retry_after_s)

    def _identify(self, request: web.BaseRequest, connection: Connection) -> Sender:
        given = request.headers.getall("Authorization", [])
        sender = self._receiver.sender_of(given[0] if len(given) == 1 else None)
        if sender is None:
            raise Refusal(401, "the bearer token is missing or wrong")
        if sender.is_known:
            connection.trust()
        return sender

    async def _lines(self, request: web.BaseRequest, connection: Connection) -> list[bytes]:
        body = await read_body(request, limits().max_request_bytes)
        connection.request_is_read()
        content_type = request.content_type if "Content-Type" in request.headers else ""
        for name in request.headers:
            if name.lower().startswith("ce-") and len(request.headers.getall(name)) > 1:
                raise Refusal(400, f"the header {name} is there twice")
        if len(body) < _LONG_BYTES:
            found = lines_of(content_type, request.headers, body)
        else:
            found = await asyncio.to_thread(lines_of, content_type, request.headers, body)
        if isinstance(found, WebhookReply):
            raise Refusal(found.status, found.reason)
        return found


def _path(request: web.BaseRequest) -> str:
    return request.rel_url.raw_path


def lines_of(content_type: str, headers: Mapping[str, str], body: bytes) -> list[bytes] | WebhookReply:
    """The records of a request, one line each, or the answer that it gets instead.

    >>> lines_of("application/cloudevents-batch+json", {}, b'[{"id": "1"}, {"id": "2"}]')
    [b'{"id":"1"}', b'{"id":"2"}']
    >>> lines_of("application/cloudevents+json", {}, b'{"id": ').status
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
        return WebhookReply(400, f"not JSON: {error}")
    return _unsupported(content_type)


def _unsupported(content_type: str) -> WebhookReply:
    known = ", ".join((_STRUCTURED[0], _BATCH, _LINES[0]))
    return WebhookReply(415, f"content type {content_type or 'missing'!r}; send one of {known}")


def _compact(content: bytes) -> bytes:
    """The same JSON in one line; raises when it is none."""
    msgspec.json.decode(content)
    return msgspec.json.format(content, indent=-1)


def _json_lines(body: bytes) -> list[bytes] | WebhookReply:
    lines = []
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line.strip():
            try:
                lines.append(_compact(line))
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                return WebhookReply(400, f"line {number} is not JSON: {error}")
    return lines


def _binary(content_type: str, headers: Mapping[str, str], body: bytes) -> list[bytes] | WebhookReply:
    """Binary mode: the envelope is in the headers, the data in the body."""
    record: dict[str, Any] = {}
    for name, value in headers.items():
        if name.lower().startswith("ce-"):
            record[name[3:].lower()] = unquote(value, errors="strict")
    if body:
        if content_type != "application/json" and not content_type.endswith("+json"):
            return _unsupported(content_type)
        record["data"] = msgspec.Raw(_compact(body))
    return [msgspec.json.encode(record)]
