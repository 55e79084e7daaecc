"""The one table of what a node answers: requests are told apart by it, and the OpenAPI document is made of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from aiohttp import web

from comity.connect.http.connection import Connection
from comity.errors import Misuse, Place
from comity.node.accounts import Credentials
from comity.node.event_server import EventServer

if TYPE_CHECKING:
    from comity.node.api.handler import NodeApi


@dataclass(frozen=True, slots=True)
class ApiParameter:
    """A parameter in the query of a request, or in its path."""

    name: str
    about: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    where: str = "query"
    is_needed: bool = False


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request of somebody who is known, or of anybody where that is enough."""

    web: web.BaseRequest
    connection: Connection
    server: EventServer
    api: NodeApi
    path: Mapping[str, str] = field(default_factory=dict)
    who: str = ""
    credentials: Credentials = field(default_factory=Credentials)

    def query(self, name: str) -> str | None:
        """A parameter of the query, which may be there once."""
        found = self.web.rel_url.query.getall(name, [])
        if len(found) > 1:
            raise Misuse(f"`{name}` is there twice", code="bad-parameter", place=Place(path=name))
        return found[0] if found else None

    def number(self, name: str) -> int | None:
        """A parameter that is a whole number, not below 0."""
        text = self.query(name)
        if text is not None and not (text.isdecimal() and text.isascii() and len(text) < 19):
            hint = "write a whole number"
            raise Misuse(f"`{name}` is no number", code="bad-parameter", place=Place(path=name), hint=hint)
        return None if text is None else int(text)


Call = Callable[[ApiRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """A method and a path, what is done for it, and what that is called in documents."""

    method: str
    path: str
    call: Call
    about: str
    answers: Mapping[int, Any]
    """By status the class of the answer's body; None where it is no JSON."""
    body: Any = None
    """The class of the request's body, or a mapping of content types to schemas."""
    parameters: Sequence[ApiParameter] = ()
    is_public: bool = False

    @property
    def name(self) -> str:
        """How programs call it."""
        return self.call.__name__


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Sequence[ApiRoute]) -> None:
        self.routes = routes
        self._by_shape: dict[tuple[str | None, ...], dict[str, ApiRoute]] = {}
        for one in routes:
            shape = tuple(None if part.startswith("{") else part for part in one.path.strip("/").split("/"))
            self._by_shape.setdefault(shape, {})[one.method] = one

    def find(self, method: str, raw_path: str) -> tuple[ApiRoute, dict[str, str]]:
        """The route, and what its path says; raises `Misuse` when there is none."""
        parts = raw_path.strip("/").split("/")
        for shape, by_method in self._by_shape.items():
            if len(shape) == len(parts) and all(own in (None, part) for own, part in zip(shape, parts, strict=True)):
                found = by_method.get("GET" if method == "HEAD" else method)
                if found is None:
                    hint = f"this path answers {', '.join(sorted(by_method))}"
                    raise Misuse("it does not answer this method", code="wrong-method", hint=hint)
                return found, _values(found.path, parts)
        raise Misuse("there is no such path", code="unknown-path", hint="see /openapi.json")


def _values(path: str, parts: Sequence[str]) -> dict[str, str]:
    pattern = path.strip("/").split("/")
    try:
        return {
            own[1:-1]: unquote(part, errors="strict")
            for own, part in zip(pattern, parts, strict=True)
            if own.startswith("{")
        }
    except UnicodeDecodeError:
        raise Misuse("the path is no UTF-8", code="unknown-path") from None
