"""From requests to answers: who asks, which route it is, and what an error becomes."""

from __future__ import annotations

import logging

from aiohttp import web

from comity.connect.http.answers import Refusal
from comity.connect.http.connection import Connection
from comity.errors import ComityError
from comity.logs import log
from comity.node.accounts import Credentials, NotAllowed
from comity.node.api.answers import error_answer, refusal_answer
from comity.node.api.routes import ApiRequest, ApiRoute, Router
from comity.node.event_server import EventServer


class NodeApi:
    """Answers the requests to a node."""

    def __init__(self, server: EventServer, router: Router) -> None:
        self.server, self.router = server, router

    async def __call__(self, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        try:
            return await self._answer(request, connection)
        except ComityError as error:
            self._note(request, error)
            found = error_answer(error)
        except Refusal as refusal:
            found = refusal_answer(refusal)
        self.server.counts["refused"] += 1
        found.force_close()  # what is left of its body is not read
        return found

    async def _answer(self, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        route, path = self.router.find(request.method, request.rel_url.raw_path)
        asked = ApiRequest(request, connection, self.server, self, path)
        if not route.is_public:
            asked = await self._known(asked)
        if route.body is None and request.method in ("GET", "HEAD"):
            connection.request_is_read()
        return await self._call(route, asked)

    async def _call(self, route: ApiRoute, asked: ApiRequest) -> web.StreamResponse:
        return await route.call(asked)

    async def _known(self, asked: ApiRequest) -> ApiRequest:
        given = asked.web.headers.getall("Authorization", [])
        if len(given) != 1:
            raise NotAllowed
        credentials = Credentials.of_header(given[0])
        who = await self.server.accounts.who(credentials)
        asked.connection.trust()
        return ApiRequest(asked.web, asked.connection, self.server, self, asked.path, who, credentials)

    def _note(self, request: web.BaseRequest, error: ComityError) -> None:
        level = logging.WARNING if isinstance(error, NotAllowed) else logging.DEBUG
        log("request refused", level=level, code=error.code, path=request.rel_url.raw_path, address=request.remote)
