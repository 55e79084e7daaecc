"""`webhook`, sending: notifications as CloudEvents over HTTP, in structured or in batched mode.

The header `Idempotency-Key` is the same whenever a notification is sent again, so that a receiver can tell. In batched
mode it stands for the whole batch, which may be cut differently after a restart: there the receiver goes by `profile`,
`source` and `id` of each event.
"""

from __future__ import annotations

import http.client
import os
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Annotated
from urllib.parse import SplitResult

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from comity.connect.identity import key_digest
from comity.connect.port import Capability, Connector, Message, NotTaken, Refused, Setting
from comity.connect.secret_url import SecretUrl
from comity.connect.senders import read_token
from comity.errors import Misuse, Place

# That is the contract with a receiver: 2xx keeps a message, and `Idempotency-Key` tells that it was kept before.
_CAPABILITY = Capability(ordered=True, idempotent=True, durable=True)
_TRY_AGAIN = frozenset({408, 425, 429})
_MOST_ANSWER_BYTES = 65_536


def _as_url(given: object) -> object:
    return SecretUrl(given) if isinstance(given, str) else given


class WebhookOutOptions(BaseModel):
    """Where to send, how many in one request, how long to wait, where a bearer token is, and whom to trust."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    url: Annotated[SecretUrl, BeforeValidator(_as_url)] | None = None
    url_env: Annotated[str, StringConstraints(min_length=1)] | None = None
    """The environment variable that has the address, if its path is a secret that should stand in no file."""
    batch_size: int = Field(default=1, ge=1, le=1_000)
    timeout_s: float = Field(default=10.0, gt=0, le=600)
    token_env: Annotated[str, StringConstraints(min_length=1)] | None = None
    token_file: Annotated[str, StringConstraints(min_length=1)] | None = None
    ca_file: Annotated[str, StringConstraints(min_length=1)] | None = None
    """A PEM file with the authorities to trust, in place of those of the system."""

    @model_validator(mode="after")
    def _check_choices(self) -> WebhookOutOptions:
        if (self.url is None) == (self.url_env is None):
            raise ValueError("one of `url` and `url_env` is needed")
        if self.token_env is not None and self.token_file is not None:
            raise ValueError("`token_env` and `token_file` exclude each other")
        return self


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

    def __init__(
        self,
        options: WebhookOutOptions,
        token: str | None = None,
        *,
        url: SecretUrl | None = None,
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        """`url` is what `url_env` holds; `trusted` has the authorities of `ca_file`."""
        found = options.url or url
        if found is None:
            raise ValueError("there is no address")
        self._options, self._url, self._parts, self._trusted = options, found, found.reveal(), trusted
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
        told = f"{self._url} answers {answer.status} {answer.reason}".rstrip()
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
            told = f"{self._url} does not answer within {self._options.timeout_s:g} s"
        except (OSError, http.client.HTTPException) as error:
            self.close()
            told = f"{self._url} cannot be reached: {_reason(error)}"
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
            self._connection = _connect(self._parts, self._options.timeout_s, self._trusted)
        connection = self._connection
        body, kind = _body(messages, batched=self._options.batch_size > 1 and len(messages) > 1)
        headers = {**self._headers, "Content-Type": kind, "Idempotency-Key": _idempotency_key(messages)}
        connection.request("POST", _target(self._parts), body, headers)
        response = connection.getresponse()
        # What the server calls its status is not repeated: it may hold the path of the request, and anything else.
        reason = http.client.responses.get(response.status, "")
        answer = _Answer(response.status, reason, _retry_after_s(response.headers.get, time.time()))
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


def _cut(messages: Sequence[Message], size: int) -> Iterator[Sequence[Message]]:
    for start in range(0, len(messages), size):
        yield messages[start : start + size]


def _connect(parts: SplitResult, timeout_s: float, trusted: ssl.SSLContext | None) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=trusted)
    return http.client.HTTPConnection(host, parts.port, timeout=timeout_s)


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
    place = Place(path=f"{setting.domain}.deliver.{setting.name}")
    token = read_token(options.token_env, options.token_file, setting.base, place)
    url = _url_in(options.url_env, place) if options.url_env is not None else None
    trusted = _trusting(setting.base / options.ca_file) if options.ca_file is not None else None
    return WebhookSink(options, token, url=url, trusted=trusted)


def _url_in(variable: str, place: Place) -> SecretUrl:
    hint = f"set {variable} before the start"
    try:
        return SecretUrl(os.environ[variable])
    except KeyError:
        raise Misuse(f"there is no address in {variable}", code="missing-url", place=place, hint=hint) from None
    except ValueError as error:
        raise Misuse(f"{variable}: {error}", code="missing-url", place=place, hint=hint) from None


def _trusting(path: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError as error:
        hint = "name a file with certificates in PEM"
        raise Misuse(
            "there is no certificate in it", code="bad-certificate", place=Place(str(path)), hint=hint
        ) from error
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise Misuse(reason, code="bad-certificate", place=Place(str(path))) from error


CONNECTOR = Connector(kind="webhook", capability=_CAPABILITY, options=WebhookOutOptions, main_option="url", sink=_open)
