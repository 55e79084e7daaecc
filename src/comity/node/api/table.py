"""Every request that a node answers."""

from __future__ import annotations

from comity.node.api import calls, state, streams
from comity.node.api.bodies import (
    AcknowledgeBody,
    DoneAnswer,
    ErrorAnswer,
    HistoryAnswer,
    LoginAnswer,
    PublishAnswer,
    RegisterBody,
    RulesAnswer,
    RulesBody,
    TypesAnswer,
)
from comity.node.api.routes import ApiParameter, ApiRoute

_NUMBER = {"type": "integer", "minimum": 0, "maximum": (1 << 53) - 1}
_MOMENT = {"type": "string", "format": "date-time"}
_AFTER = ApiParameter("after", "Go on behind this position.", _NUMBER)
_BAD, _WHO, _BUSY = {400: ErrorAnswer}, {401: ErrorAnswer}, {503: ErrorAnswer}
_TOO_LONG = {408: None, 411: ErrorAnswer, 413: ErrorAnswer, 415: ErrorAnswer, 417: ErrorAnswer, 431: None}
_READ, _WRITTEN = {**_BAD, **_WHO, **_BUSY}, {**_BAD, **_WHO, **_TOO_LONG, **_BUSY}

EVENT_SCHEMA = {
    "type": "object",
    "required": ["id", "source", "type"],
    "properties": {
        "specversion": {"type": "string"},
        "id": {"type": "string", "minLength": 1},
        "source": {"type": "string", "minLength": 1},
        "type": {"type": "string"},
        "time": _MOMENT,
        "subject": {"type": "string"},
        "sequence": {"type": "string", "pattern": "^[0-9]{1,18}$"},
        "data": {"type": "object"},
    },
}
"""An event of CloudEvents in JSON; the type says what its `data` holds."""

_EVENTS = {
    "application/cloudevents+json": EVENT_SCHEMA,
    "application/cloudevents-batch+json": {"type": "array", "items": EVENT_SCHEMA},
    "application/x-ndjson": {"type": "string"},
}
_TYPES = {
    "application/yaml": {"type": "string"},
    "application/json": {
        "type": "object",
        "required": ["types"],
        "properties": {"namespace": {"type": "string"}, "types": {"type": "object"}},
    },
}

ROUTES = (
    ApiRoute("GET", "/healthz", state.healthz, "Whether the node works.", {200: None, 503: None}, is_public=True),
    ApiRoute("GET", "/metrics", state.metrics, "Figures for Prometheus.", {200: None}, is_public=True),
    ApiRoute("GET", "/openapi.json", state.openapi, "This, for programs (OpenAPI 3.1).", {200: None}, is_public=True),
    ApiRoute(
        "POST",
        "/v1/register",
        calls.register,
        "Make an account, or log in to it if it is there with this password.",
        {200: LoginAnswer, 201: LoginAnswer, **_WRITTEN},
        RegisterBody,
        is_public=True,
    ),
    ApiRoute("POST", "/v1/login", calls.login, "Get a token.", {200: LoginAnswer, **_WRITTEN}),
    ApiRoute("POST", "/v1/logout", calls.logout, "Let the token be good no longer.", {200: DoneAnswer, **_WRITTEN}),
    ApiRoute(
        "DELETE", "/v1/account", calls.leave, "Take away the account and all of it.", {200: DoneAnswer, **_WRITTEN}
    ),
    ApiRoute("GET", "/v1/types", calls.list_types, "All types.", {200: TypesAnswer, **_READ}),
    ApiRoute(
        "POST",
        "/v1/types",
        calls.declare_types,
        "Declare types, or more optional attributes of known ones.",
        {200: TypesAnswer, 201: TypesAnswer, 409: ErrorAnswer, **_WRITTEN},
        _TYPES,
    ),
    ApiRoute("GET", "/v1/rules", calls.list_rules, "Your rules.", {200: RulesAnswer, **_READ}),
    ApiRoute(
        "POST",
        "/v1/rules",
        calls.add_rules,
        "Subscribe: take up the rules of a text, all or none.",
        {201: RulesAnswer, 409: ErrorAnswer, **_WRITTEN},
        RulesBody,
    ),
    ApiRoute(
        "DELETE",
        "/v1/rules/{name}",
        calls.remove_rule,
        "Unsubscribe: take away a rule and what waits for it.",
        {200: DoneAnswer, 404: ErrorAnswer, **_WRITTEN},
        parameters=(ApiParameter("name", "Its name.", where="path"),),
    ),
    ApiRoute(
        "POST",
        "/v1/events",
        calls.publish,
        "Publish events: one, a batch, lines of JSON, or one in binary mode.",
        {200: PublishAnswer, 422: PublishAnswer, 409: ErrorAnswer, **_WRITTEN},
        _EVENTS,
    ),
    ApiRoute(
        "GET",
        "/v1/history",
        calls.history,
        "Events of a type that were published.",
        {200: HistoryAnswer, **_READ},
        parameters=(
            ApiParameter("type", "Events of this type and of those below it.", is_needed=True),
            ApiParameter("from", "Not before this time.", _MOMENT),
            ApiParameter("to", "Before this time.", _MOMENT),
            ApiParameter("filter", "What the events must fulfil."),
            _AFTER,
            ApiParameter("limit", "How many events are looked at.", _NUMBER),
        ),
    ),
    ApiRoute(
        "GET",
        "/v1/notifications",
        streams.notifications,
        "Hear what waited and what comes, over a WebSocket or as server-sent events.",
        {101: None, 200: None, **_READ},
        parameters=(_AFTER,),
    ),
    ApiRoute(
        "POST",
        "/v1/acknowledge",
        calls.acknowledge,
        "All notifications up to a position are done with.",
        {200: DoneAnswer, 409: ErrorAnswer, **_WRITTEN},
        AcknowledgeBody,
    ),
)
