"""The events of a request as lines of CloudEvents JSON: structured, in batches, as JSON Lines, and in binary mode."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import msgspec
from aiohttp import web

from comity.connect.http.answers import Refusal, read_body
from comity.connect.http.connection import Connection
from comity.limits import limits

_STRUCTURED = ("application/cloudevents+json", "application/json")
_BATCH = "application/cloudevents-batch+json"
_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
_LONG_BYTES = 131_072
"""From here on a body is read apart from the event loop, which others wait for."""


async def read_lines(request: web.BaseRequest, connection: Connection) -> list[bytes]:
    """The records of a request, one line each; raises `Refusal` with the answer that it gets instead."""
    body = await read_body(request, limits().max_request_bytes)
    connection.request_is_read()
    content_type = request.content_type if "Content-Type" in request.headers else ""
    for name in request.headers:
        if name.lower().startswith("ce-") and len(request.headers.getall(name)) > 1:
            raise Refusal(400, f"the header {name} is there twice")
    if len(body) < _LONG_BYTES:
        return lines_of(content_type, request.headers, body)
    return await asyncio.to_thread(lines_of, content_type, request.headers, body)


def lines_of(content_type: str, headers: Mapping[str, str], body: bytes) -> list[bytes]:
    """The same for what is at hand.

    >>> lines_of("application/cloudevents-batch+json", {}, b'[{"id": "1"}, {"id": "2"}]')
    [b'{"id":"1"}', b'{"id":"2"}']
    >>> lines_of("application/cloudevents+json", {}, b'{"id": ')
    Traceback (most recent call last):
    comity.connect.http.answers.Refusal: not JSON: Input data was truncated
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
        raise Refusal(400, f"not JSON: {error}") from None
    raise _unsupported(content_type)


def _unsupported(content_type: str) -> Refusal:
    known = ", ".join((_STRUCTURED[0], _BATCH, _LINES[0]))
    return Refusal(415, f"content type {content_type or 'missing'!r}; send one of {known}")


def _compact(content: bytes) -> bytes:
    """The same JSON in one line; raises when it is none."""
    msgspec.json.decode(content)
    return msgspec.json.format(content, indent=-1)


def _json_lines(body: bytes) -> list[bytes]:
    lines = []
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line.strip():
            try:
                lines.append(_compact(line))
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise Refusal(400, f"line {number} is not JSON: {error}") from None
    return lines


def _binary(content_type: str, headers: Mapping[str, str], body: bytes) -> list[bytes]:
    """Binary mode: the envelope is in the headers, the data in the body."""
    record: dict[str, Any] = {}
    for name, value in headers.items():
        if name.lower().startswith("ce-"):
            record[name[3:].lower()] = unquote(value, errors="strict")
    if body:
        if content_type != "application/json" and not content_type.endswith("+json"):
            raise _unsupported(content_type)
        record["data"] = msgspec.Raw(_compact(body))
    return [msgspec.json.encode(record)]
