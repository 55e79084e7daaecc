"""What a node does for each request that has one answer."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from comity.connect.http.answers import read_body
from comity.connect.http.cloud_events import read_lines
from comity.document import parse_document
from comity.errors import Misuse, Place
from comity.event.times import parse_timestamp
from comity.limits import limits
from comity.node.accounts import NotAllowed
from comity.node.api.answers import answer
from comity.node.api.bodies import (
    AcknowledgeBody,
    DoneAnswer,
    LoginAnswer,
    PublishAnswer,
    RegisterBody,
    RuleAnswer,
    RulesAnswer,
    RulesBody,
    TypeAnswer,
    TypesAnswer,
    read_body_as,
)
from comity.node.api.routes import ApiRequest
from comity.node.catalog import TypeVersion
from comity.node.history import HistoryQuery
from comity.node.passwords import token_digest
from comity.node.rule_book import ActiveRule

_SHORT_BYTES = 65_536
"""Of a body that is not made of events."""


async def _body(asked: ApiRequest, most: int = _SHORT_BYTES) -> bytes:
    found = await read_body(asked.web, min(most, limits().max_request_bytes))
    asked.connection.request_is_read()
    return found


# Accounts


async def register(asked: ApiRequest) -> web.Response:
    """Make an account, or log in to it if it is there with this password."""
    settings = asked.server.settings
    given = asked.web.headers.get("Comity-Registration", "")
    wanted = settings.registration
    if not settings.is_open and (wanted is None or token_digest(given) != token_digest(wanted)):
        raise NotAllowed
    body = read_body_as(await _body(asked), RegisterBody)
    is_new = await asked.server.accounts.register(body.name, body.password)
    found = await asked.server.accounts.log_in(body.name)
    return answer(LoginAnswer(found.name, found.token, found.expires_s), 201 if is_new else 200)


async def login(asked: ApiRequest) -> web.Response:
    """A token for whoever has a password, or another token."""
    await _emptied(asked)
    found = await asked.server.accounts.log_in(asked.who)
    return answer(LoginAnswer(found.name, found.token, found.expires_s))


async def logout(asked: ApiRequest) -> web.Response:
    """The token of this request is good no longer."""
    await _emptied(asked)
    await asked.server.accounts.log_out(asked.credentials)
    return answer(DoneAnswer(200, "logged out"))


async def leave(asked: ApiRequest) -> web.Response:
    """Take away the account with its rules and all that waits for it."""
    await _emptied(asked)
    await asked.server.remove_subscriber(asked.who)
    return answer(DoneAnswer(200, "gone"))


async def _emptied(asked: ApiRequest) -> None:
    """Read a body that nothing is expected in."""
    if asked.web.body_exists:
        await _body(asked)
    else:
        asked.connection.request_is_read()


# Types and rules


async def list_types(asked: ApiRequest) -> web.Response:
    """All types that are known here."""
    catalog = asked.server.log.catalog
    return answer(TypesAnswer(catalog.namespace, [_type(one) for one in catalog.versions.values()]))


async def declare_types(asked: ApiRequest) -> web.Response:
    """Take up types, in YAML or JSON; those that are known like that already stay as they are."""
    content = await _body(asked, limits().max_file_bytes)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise Misuse("the body is no UTF-8", code="bad-body") from None
    added = await asked.server.declare(parse_document(text))
    namespace = asked.server.log.catalog.namespace
    return answer(TypesAnswer(namespace, [_type(one) for one in added]), 201 if added else 200)


def _type(one: TypeVersion) -> TypeAnswer:
    return TypeAnswer(one.name, one.version, dict(one.declaration))


async def list_rules(asked: ApiRequest) -> web.Response:
    """The rules of whoever asks."""
    return answer(RulesAnswer([_rule(one) for one in asked.server.log.book.of(asked.who)]))


async def add_rules(asked: ApiRequest) -> web.Response:
    """Take up the rules of a text, all or none."""
    body = read_body_as(await _body(asked, 8 * limits().max_rule_chars), RulesBody)
    rules = await asked.server.add_rules(asked.who, body.text, body.language, body.store)
    return answer(RulesAnswer([_rule(one) for one in rules]), 201)


async def remove_rule(asked: ApiRequest) -> web.Response:
    """Take away a rule, and what waits for it."""
    await _emptied(asked)
    await asked.server.remove_rule(asked.who, asked.path["name"])
    return answer(DoneAnswer(200, "gone"))


def _rule(one: ActiveRule) -> RuleAnswer:
    kept = one.kept
    rule = kept.rule
    return RuleAnswer(rule.name, kept.kind, rule.store, kept.since, rule.text, rule.language, one.bound.limit)


# Events


async def publish(asked: ApiRequest) -> web.Response:
    """Store events. The answer comes when they are on the disk, and an event that comes again is no error."""
    lines = await read_lines(asked.web, asked.connection)
    found = await asked.server.publish(asked.who, lines)
    is_any_taken = any(one.rejected is None for one in found) or not found
    return answer(PublishAnswer([one.as_dict() for one in found]), 200 if is_any_taken else 422)


async def acknowledge(asked: ApiRequest) -> web.Response:
    """Say that notifications are done with, for whoever hears them as server-sent events."""
    body = read_body_as(await _body(asked), AcknowledgeBody)
    connection = asked.server.connections.find(asked.who)
    if connection is None:
        hint = "acknowledge while you are connected; afterwards connect with `after`"
        raise Misuse("you are not connected", code="not-connected", hint=hint)
    connection.acknowledge(body.position)
    await connection.settle()
    return answer(DoneAnswer(200))


async def history(asked: ApiRequest) -> web.Response:
    """Events of a type that were published, page by page."""
    type = asked.query("type")
    if type is None:
        raise Misuse("`type` is missing", code="bad-parameter", place=Place(path="type"), hint="name a type")
    query = HistoryQuery(
        type,
        _moment(asked, "from"),
        _moment(asked, "to"),
        asked.query("filter") or "true",
        asked.number("after") or 0,
        asked.number("limit"),
    )
    return answer((await asked.server.history(query)).as_dict())


def _moment(asked: ApiRequest, name: str) -> Any:
    text = asked.query(name)
    found = parse_timestamp(text) if text is not None else None
    if text is not None and found is None:
        hint = "write it as 2026-01-31T18:00:00Z"
        raise Misuse(f"`{name}` is no point of time", code="bad-parameter", place=Place(path=name), hint=hint)
    return found
