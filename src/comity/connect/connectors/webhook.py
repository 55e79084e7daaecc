"""A webhook as a source: a small HTTP server that takes CloudEvents by POST.

It takes one event (`application/cloudevents+json`, or headers `ce-…` with JSON data), a list of them
(`application/cloudevents-batch+json`) and JSON Lines (`application/x-ndjson`). The answer 202 means that the records
were acknowledged, so that no crash can lose them. Whoever gets no answer sends again; duplicates are removed by source
and id.
"""

from __future__ import annotations

import contextvars
import hmac
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address

from pydantic import BaseModel, ConfigDict, Field, model_validator

from comity.connect.connectors.webhook_server import Answer, serve
from comity.connect.port import Batch, Capability, Connector, Position, Record, Setting
from comity.errors import Misuse, Place
from comity.limits import limits

_POLL_S = 0.02


class WebhookOptions(BaseModel):
    """The options of `webhook` as a source."""

    model_config = ConfigDict(extra="forbid", strict=True)

    port: int = Field(ge=0, le=65_535)
    """Where to listen; 0 takes any port that is free."""
    host: str = "127.0.0.1"
    path: str = Field(default="/events", pattern="^/")
    token: str | None = Field(default=None, min_length=1)
    """If set, requests need the header `Authorization: Bearer TOKEN`."""
    token_env: str | None = Field(default=None, min_length=1)
    """The environment variable that has the token, so that it stands in no file."""
    answer_within_s: float = Field(default=30.0, gt=0, le=600)
    """Seconds that a request waits until its records are kept; then it is told to come again."""

    @model_validator(mode="after")
    def _check_token(self) -> WebhookOptions:
        if self.token is not None and self.token_env is not None:
            raise ValueError("`token` and `token_env` exclude each other")
        if self.token is None and self.token_env is None and not _is_loopback(self.host):
            raise ValueError("a webhook that other machines can reach needs `token` or `token_env`")
        return self


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(eq=False)
class _Delivery:
    """The records of one request, until all of them are acknowledged."""

    lines: deque[bytes]
    last_serial: int = 0
    is_kept: bool = False
    settled: threading.Event = field(default_factory=threading.Event)


class WebhookSource:
    """Records of requests, in the order in which these came. The position is how many there were.

    `port` and `url` tell, once it is open, where it listens.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        host: str = "127.0.0.1",
        path: str = "/events",
        token: str | None = None,
        answer_within_s: float = 30.0,
        name: str = "webhook",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.capability = Capability(ordered=True, live=True)
        self.port = port
        self._host, self._path, self._token, self._name = host, path, token, name
        self._answer_within_s, self._clock = answer_within_s, clock
        self._lock = threading.Lock()
        self._waiting: deque[_Delivery] = deque()
        self._taken: deque[_Delivery] = deque()
        self._waiting_records = 0
        self._serial = 0
        self._stop_server: Callable[[], None] | None = None

    @property
    def url(self) -> str:
        """Where events are posted to."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}{self._path}"

    def open(self, position: Position = None) -> None:
        self.close()
        self._serial = position or 0
        context = contextvars.copy_context()  # so that the threads of requests have the same limits
        try:
            self.port, self._stop_server = serve(self, self._host, self.port, self._path, context)
        except OSError as error:
            message = f"cannot listen on {self._host}:{self.port}: {error.strerror or error}"
            raise Misuse(message, code="port-not-free", hint="choose another port") from error

    def next_batch(self, max_records: int) -> Batch | None:
        records: list[Record] = []
        with self._lock:
            while self._waiting and len(records) < max_records:
                self._take(self._waiting[0], max_records, records)
            if records:
                return Batch(tuple(records), self._serial)
            return Batch((), self._serial, self._clock() + _POLL_S)

    def acknowledge(self, position: Position) -> None:
        with self._lock:
            while self._taken and not self._taken[0].lines and self._taken[0].last_serial <= position:
                self._settle(self._taken.popleft(), True)

    def close(self) -> None:
        if self._stop_server is not None:
            self._stop_server()
            self._stop_server = None
        with self._lock:
            for delivery in (*self._taken, *self._waiting):
                self._settle(delivery, False)
            self._taken.clear()
            self._waiting.clear()
            self._waiting_records = 0

    def is_authorised(self, header: str | None) -> bool:
        """Whether a request with this header `Authorization` may send."""
        if self._token is None:
            return True
        return hmac.compare_digest((header or "").encode(), f"Bearer {self._token}".encode())

    def health(self) -> dict[str, object]:
        """What `/healthz` answers."""
        with self._lock:
            return {"status": "ok", "waiting": self._waiting_records}

    def receive(self, lines: list[bytes]) -> Answer:
        """Queue the records of a request, and wait until they are kept."""
        bound = limits().max_waiting_records
        if len(lines) > bound:
            return Answer(413, f"more than {bound} records in one request")
        delivery = _Delivery(deque(lines))
        with self._lock:
            if self._stop_server is None:
                return Answer(503, "the source is closing", retry_after_s=1)
            if self._waiting_records + len(lines) > bound:
                return Answer(429, "too many records are waiting", retry_after_s=1)
            if lines:
                self._waiting.append(delivery)
                self._waiting_records += len(lines)
        if not lines:
            return Answer(202, "nothing to keep")
        delivery.settled.wait(self._answer_within_s)
        return self._answer(delivery)

    def _answer(self, delivery: _Delivery) -> Answer:
        with self._lock:
            if delivery.is_kept:
                return Answer(202, "kept")
            if delivery in self._waiting and delivery not in self._taken:  # nobody will miss it
                self._waiting.remove(delivery)
                self._waiting_records -= len(delivery.lines)
        return Answer(503, "not kept in time", retry_after_s=1)

    def _take(self, delivery: _Delivery, max_records: int, records: list[Record]) -> None:
        if not self._taken or self._taken[-1] is not delivery:
            self._taken.append(delivery)
        while delivery.lines and len(records) < max_records:
            self._serial += 1
            records.append(Record(delivery.lines.popleft(), self._name, self._serial))
            self._waiting_records -= 1
        delivery.last_serial = self._serial
        if not delivery.lines:
            self._waiting.popleft()

    def _settle(self, delivery: _Delivery, is_kept: bool) -> None:
        delivery.is_kept = is_kept
        delivery.settled.set()


def _source(options: WebhookOptions, setting: Setting) -> WebhookSource:
    return WebhookSource(
        options.port,
        host=options.host,
        path=options.path,
        token=_token(options),
        answer_within_s=options.answer_within_s,
        name=f"{setting.domain}.{setting.name}",
    )


def _token(options: WebhookOptions) -> str | None:
    if options.token_env is None:
        return options.token
    found = os.environ.get(options.token_env)
    if not found:
        message = f"the environment variable {options.token_env} is not set"
        raise Misuse(message, code="missing-token", place=Place(path="token_env"))
    return found


CONNECTOR = Connector(
    kind="webhook",
    capability=Capability(ordered=True, live=True),
    options=WebhookOptions,
    main_option="port",
    source=_source,
)
