"""The HTTP side of the webhook: from requests to lines of CloudEvents JSON, and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from comity.connect.http.answers import Refusal, json_answer
from comity.connect.http.cloud_events import read_lines
from comity.connect.http.connection import Connection
from comity.connect.senders import Sender


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
            lines = await read_lines(request, connection)
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


def _path(request: web.BaseRequest) -> str:
    return request.rel_url.raw_path
