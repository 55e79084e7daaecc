"""Answers, and the one form of errors in them."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from comity.connect.http.answers import Refusal
from comity.errors import ComityError, Faults, Misuse, Retryable

_STATUS = {
    "not-allowed": 401,
    "unknown-rule": 404,
    "unknown-path": 404,
    "wrong-method": 405,
    "not-connected": 409,
    "type-conflict": 409,
    "rule-name-in-use": 409,
    "too-many": 409,
}
"""By code, where it is not that of the kind of error."""
_BUSY_S = "1"


def answer(content: Any, status: int = 200, **headers: str) -> web.Response:
    """An answer in JSON."""
    return web.Response(
        status=status,
        body=msgspec.json.encode(content),
        content_type="application/json",
        headers={"Server": "comity", "Cache-Control": "no-store", **headers},
    )


def error_answer(error: ComityError) -> web.Response:
    """The answer to a request that failed."""
    status = status_of(error)
    headers = {"WWW-Authenticate": 'Basic realm="comity", charset="UTF-8"'} if status == 401 else {}
    if status == 503:
        headers["Retry-After"] = _BUSY_S
    return answer({"errors": [one.as_dict() for one in _each(error)]}, status, **headers)


def status_of(error: ComityError) -> int:
    """What an error is in HTTP.

    >>> status_of(Misuse("there is no such thing", code="unknown-rule")), status_of(Misuse("no", code="syntax"))
    (404, 400)
    """
    if error.code in _STATUS:
        return _STATUS[error.code]
    if isinstance(error, Misuse):
        return 400
    return 503 if isinstance(error, Retryable) else 500


def refusal_answer(refusal: Refusal) -> web.Response:
    """The answer to a request that was not read to its end, in the same form."""
    error = {"code": f"http-{refusal.status}", "message": refusal.reason}
    headers = {} if refusal.retry_after_s is None else {"Retry-After": str(refusal.retry_after_s)}
    return answer({"errors": [error]}, refusal.status, **headers)


def _each(error: ComityError) -> list[ComityError]:
    if isinstance(error, Faults):
        return [single for one in error.errors for single in _each(one)]
    return [error]
