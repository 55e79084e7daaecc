"""`webhook`, sending: notifications as CloudEvents over HTTP, in structured or in batched mode.

The header `Idempotency-Key` is the same whenever a notification is sent again, so that a receiver can tell. In batched
mode it stands for the whole batch, which may be cut differently after a restart: there the receiver goes by `profile`,
`source` and `id` of each event.
"""

from __future__ import annotations

import http.client
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from comity.connect.identity import key_digest
from comity.connect.port import Capability, Connector, Message, NotTaken, Refused, Setting
from comity.errors import Misuse, Place

# That is the contract with a receiver: 2xx keeps a message, and `Idempotency-Key` tells that it was kept before.
_CAPABILITY = Capability(ordered=True, idempotent=True, durable=True)
_TRY_AGAIN = frozenset({408, 425, 429})
_MOST_ANSWER_BYTES = 65_536


class WebhookOutOptions(BaseModel):
    """Where to send, how many in one request, how long to wait, and the variable that holds a bearer token."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    batch_size: int = Field(default=1, ge=1, le=1_000)
    timeout_s: float = Field(default=10.0, gt=0, le=600)
    token_env: str | None = None

    @field_validator("url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        if not url.isascii() or any(character.isspace() or not character.isprintable() for character in url):
            raise ValueError("an address has no spaces and no characters beyond ASCII")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("this is no http:// or https:// address")
        if parts.username or parts.password:
            raise ValueError("a password does not belong into a file: name a variable with a token in `token_env`")
        _ = parts.port  # raises ValueError for one that is none
        return url


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    reason: str
    retry_after_s: float | None


class WebhookSink:
    """Posts messages to one address, over one connection that is kept open.

    Any 2xx takes a message; 408, 425, 429, 5xx and a failed connection say later; any other answer refuses it. A batch
    that is refused is sent again one by one, to find out which message it was.
    """

    capability = _CAPABILITY

    def __init__(self, options: WebhookOutOptions, token: str | None = None) -> None:
        self._options = options
        self._parts = urlsplit(options.url)
        self._headers = {"User-Agent": "comity", "Accept": "*/*"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: http.client.HTTPConnection | None = None

    def deliver(self, messages: Sequence[Message]) -> None:
        """Post messages in their order, `batch_size` in one request."""
        taken = 0
        for some in _cut(messages, self._options.batch_size):
            self._deliver_request(some, taken)
            taken += len(some)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _deliver_request(self, messages: Sequence[Message], taken: int) -> None:
        answer = self._post_or_fail(messages, taken)
        if 200 <= answer.status < 300:
            return
        told = f"{self._shown} answers {answer.status} {answer.reason}".rstrip()
        if answer.status in _TRY_AGAIN or answer.status >= 500:
            raise NotTaken(told, code="sink-busy", taken=taken, retry_after_s=answer.retry_after_s)
        if len(messages) == 1:
            raise Refused(told, code="sink-refused", taken=taken)
        for number, message in enumerate(messages):
            self._deliver_request([message], taken + number)

    def _post_or_fail(self, messages: Sequence[Message], taken: int) -> _Answer:
        try:
            return self._post(messages)
        except TimeoutError:
            self.close()
            told = f"{self._shown} does not answer within {self._options.timeout_s:g} s"
        except (OSError, http.client.HTTPException) as error:
            self.close()
            told = f"{self._shown} cannot be reached: {_reason(error)}"
        raise NotTaken(told, code="sink-unreachable", taken=taken)

    def _post(self, messages: Sequence[Message]) -> _Answer:
        """The answer to one request. A server may have closed an idle connection: then a new one is tried, once."""
        is_fresh = self._connection is None
        try:
            return self._request(messages)
        except (ConnectionError, http.client.BadStatusLine):
            if is_fresh:
                raise
            self.close()
            return self._request(messages)

    def _request(self, messages: Sequence[Message]) -> _Answer:
        if self._connection is None:
            self._connection = _connect(self._parts, self._options.timeout_s)
        connection = self._connection
        body, kind = _body(messages, batched=self._options.batch_size > 1 and len(messages) > 1)
        headers = {**self._headers, "Content-Type": kind, "Idempotency-Key": _idempotency_key(messages)}
        connection.request("POST", _target(self._parts), body, headers)
        response = connection.getresponse()
        answer = _Answer(response.status, response.reason, _retry_after_s(response.headers.get, time.time()))
        self._finish(response)
        return answer

    def _finish(self, response: http.client.HTTPResponse) -> None:
        """Read what is left of an answer, so that the connection can be used again; a long one is not worth it."""
        try:
            response.read(_MOST_ANSWER_BYTES)
            if not response.isclosed() and response.read(1):
                self.close()
        except (OSError, http.client.HTTPException):
            self.close()  # the status is there, and says it all

    @property
    def _shown(self) -> str:
        return f"{self._parts.scheme}://{self._parts.netloc}{self._parts.path}"  # a query may hold a secret


def _cut(messages: Sequence[Message], size: int) -> Iterator[Sequence[Message]]:
    for start in range(0, len(messages), size):
        yield messages[start : start + size]


def _connect(parts: SplitResult, timeout_s: float) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=timeout_s)


def _target(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _body(messages: Sequence[Message], *, batched: bool) -> tuple[bytes, str]:
    if batched:
        return b"[" + b",".join(message.line for message in messages) + b"]", "application/cloudevents-batch+json"
    return messages[0].line, "application/cloudevents+json; charset=utf-8"


def _idempotency_key(messages: Sequence[Message]) -> str:
    if len(messages) == 1:
        return key_digest(messages[0].key).hex()
    return key_digest("\n".join(message.key for message in messages)).hex()


def _retry_after_s(header: Callable[[str], str | None], now_s: float) -> float | None:
    """Seconds to wait, which a server says as a number or as a date by its own clock."""
    text = (header("Retry-After") or "").strip()
    if text.isdecimal() and text.isascii():
        return float(text[:9])
    until_s = _date_s(text)
    if until_s is None:
        return None
    return max(0.0, until_s - (_date_s(header("Date") or "") or now_s))


def _date_s(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _open(options: WebhookOutOptions, setting: Setting) -> WebhookSink:
    if options.token_env is None:
        return WebhookSink(options)
    token = os.environ.get(options.token_env, "").strip()
    if not token or not token.isascii() or not token.isprintable():
        place = Place(path=f"{setting.domain}.deliver.{setting.name}")
        hint = f"set {options.token_env} before the start"
        raise Misuse(f"there is no token in {options.token_env}", code="missing-token", place=place, hint=hint)
    return WebhookSink(options, token)


CONNECTOR = Connector(kind="webhook", capability=_CAPABILITY, options=WebhookOutOptions, main_option="url", sink=_open)
