"""The OpenAPI document of a node, made of the one table of its requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from comity.node.api.routes import ApiParameter, ApiRoute

_REF = "#/components/schemas/{name}"
_JSON = "application/json"


def open_api(routes: Sequence[ApiRoute], version: str) -> dict[str, Any]:
    """What every request takes and gives, in OpenAPI 3.1."""
    classes = sorted(_classes(routes), key=lambda one: one.__name__)
    _, schemas = msgspec.json.schema_components(classes, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for one in routes:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Comity event server", "version": version},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {"type": "http", "scheme": "basic"},
            },
        },
        "security": [{"token": []}, {"password": []}],
    }


def _classes(routes: Sequence[ApiRoute]) -> set[type]:
    found = {kind for one in routes for kind in one.answers.values() if kind is not None}
    return found | {one.body for one in routes if isinstance(one.body, type)}


def _operation(route: ApiRoute) -> dict[str, Any]:
    found: dict[str, Any] = {"operationId": route.name, "summary": route.about}
    if route.is_public:
        found["security"] = []
    if route.parameters:
        found["parameters"] = [_parameter(one) for one in route.parameters]
    if route.body is not None:
        content = route.body if isinstance(route.body, Mapping) else {_JSON: _of_class(route.body)}
        found["requestBody"] = {"required": True, "content": {kind: {"schema": one} for kind, one in content.items()}}
    found["responses"] = {str(status): _answer(status, kind) for status, kind in sorted(route.answers.items())}
    return found


def _parameter(one: ApiParameter) -> dict[str, Any]:
    is_needed = one.where == "path" or one.is_needed
    return {"name": one.name, "in": one.where, "description": one.about, "required": is_needed, "schema": one.schema}


def _answer(status: int, kind: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    return told if kind is None else {**told, "content": {_JSON: {"schema": _of_class(kind)}}}


def _of_class(kind: type) -> dict[str, str]:
    return {"$ref": _REF.format(name=kind.__name__)}
