"""The JSON of requests and answers. What these classes say is also what the OpenAPI document says."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from comity.errors import Misuse, Place
from comity.node.rules import StoreKind

B = TypeVar("B")


class RegisterBody(msgspec.Struct, forbid_unknown_fields=True):
    """A name and a password for it."""

    name: str
    password: str

    def __repr__(self) -> str:
        return f"RegisterBody({self.name!r}, ***)"


class LoginAnswer(msgspec.Struct):
    """A token for the header `Authorization: Bearer TOKEN`, and for how many seconds it is good."""

    name: str
    token: str
    expires_s: int


class RulesBody(msgspec.Struct, forbid_unknown_fields=True):
    """A text of rules in any language of profiles, and what waits for its subscriber when nobody is connected."""

    text: str
    language: str | None = None
    store: StoreKind = StoreKind.ALL


class RuleAnswer(msgspec.Struct):
    """A rule: events behind the number `since` are for it; `limit` is how many of an operand the node keeps for it."""

    name: str
    kind: str
    store: str
    since: int
    text: str
    language: str | None = None
    limit: int | None = None


class RulesAnswer(msgspec.Struct):
    """Rules, in the order in which they came."""

    rules: list[RuleAnswer]


class TypeAnswer(msgspec.Struct):
    """A type: its newest version, and how it is declared."""

    name: str
    version: int
    declaration: dict[str, Any]


class TypesAnswer(msgspec.Struct):
    """Types, and the namespace that stands before their names."""

    namespace: str
    types: list[TypeAnswer]


class PublishAnswer(msgspec.Struct):
    """What became of each event, in the order in which they were sent."""

    outcomes: list[dict[str, Any]]


class AcknowledgeBody(msgspec.Struct, forbid_unknown_fields=True):
    """All notifications up to this position are done with."""

    position: int


class HistoryAnswer(msgspec.Struct):
    """Events with their positions; `next` is what `after` is asked for with to go on, null at the end."""

    events: list[dict[str, Any]]
    next: int | None


class DoneAnswer(msgspec.Struct):
    """It is done."""

    status: int
    reason: str = ""


class ErrorAnswer(msgspec.Struct):
    """Each error with a code for programs, a message, and where it is known, the place and what to do."""

    errors: list[dict[str, Any]]


def read_body_as(content: bytes, kind: type[B]) -> B:
    """A body that must be JSON of this shape; raises `Misuse` for any other."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        message, _, path = str(error).partition(" - at ")
        place = Place(path=path.strip("`").removeprefix("$.")) if path else None
        raise Misuse(message, code="bad-body", place=place, hint="see /openapi.json") from None
