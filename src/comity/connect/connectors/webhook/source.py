"""A webhook as a source: an HTTP or HTTPS server that takes CloudEvents by POST.

It takes one event (`application/cloudevents+json`, or headers `ce-…` with JSON data), a list of them
(`application/cloudevents-batch+json`) and JSON Lines (`application/x-ndjson`). The answer 202 means that the records
were acknowledged, so that no crash can lose them. Whoever gets no answer sends again; duplicates are removed by source
and id.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from comity.connect.connectors.webhook.server import Webhook, WebhookReply
from comity.connect.http.certificate import Certificate
from comity.connect.http.server import HttpServer
from comity.connect.port import Batch, Capability, Connector, Position, Record, Setting
from comity.connect.senders import Sender, Senders, read_token
from comity.errors import Misuse, Place
from comity.limits import limits
from comity.logs import log

_POLL_S = 0.02
_QUIET_S = 10.0
"""Seconds in which refusals for one reason make one line of the log: they are made by others, at any rate."""

_Text = Annotated[str, StringConstraints(min_length=1)]
SenderName = Annotated[str, StringConstraints(pattern=r"^[^\W\d]\w*$")]


class TokenOptions(BaseModel):
    """Where a token is kept: not here, because the files of a federation are shared."""

    model_config = ConfigDict(extra="forbid", strict=True)

    token_env: _Text | None = None
    """The environment variable that has it."""
    token_file: _Text | None = None
    """The file that has it, alone."""

    @property
    def has_token(self) -> bool:
        """Whether one of the two is given."""
        return self.token_env is not None or self.token_file is not None

    @model_validator(mode="after")
    def _check_one_token(self) -> TokenOptions:
        if self.token_env is not None and self.token_file is not None:
            raise ValueError("`token_env` and `token_file` exclude each other")
        return self


class SenderOptions(TokenOptions):
    """One sender."""

    @model_validator(mode="after")
    def _check_a_token(self) -> SenderOptions:
        if not self.has_token:
            raise ValueError("a sender needs `token_env` or `token_file`")
        return self


class WebhookOptions(TokenOptions):
    """The options of `webhook` as a source. With a token of its own, requests need `Authorization: Bearer TOKEN`."""

    port: int = Field(ge=0, le=65_535)
    """Where to listen; 0 takes any port that is free."""
    host: str = "127.0.0.1"
    path: str = Field(default="/events", pattern="^/")
    senders: dict[SenderName, SenderOptions] = Field(default_factory=dict)
    """The tokens of senders that have one each."""
    certificate: _Text | None = None
    """A PEM file; with it, HTTPS is spoken."""
    key: _Text | None = None
    """The PEM file of its key, if that is not in the same file."""
    answer_within_s: float = Field(default=30.0, gt=0, le=600)
    """Seconds that a request waits until its records are kept; then it is told to come again."""

    @model_validator(mode="after")
    def _check_access(self) -> WebhookOptions:
        if self.has_token and self.senders:
            raise ValueError("a token for all and `senders` exclude each other")
        if not self.has_token and not self.senders and not _is_loopback(self.host):
            raise ValueError("a webhook that other machines can reach needs `senders`, `token_env` or `token_file`")
        if self.key is not None and self.certificate is None:
            raise ValueError("`key` needs `certificate`")
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
    origin: str
    last_serial: int = 0
    is_kept: bool = False
    settled: Future[None] = field(default_factory=Future)


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
        tokens: Mapping[str | None, str] | None = None,
        certificate: Certificate | None = None,
        answer_within_s: float = 30.0,
        name: str = "webhook",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tokens` are those of senders, by name; that of None is for whoever has it."""
        self.capability = Capability(ordered=True, live=True)
        self.port = port
        self._host, self._path, self._name, self._certificate = host, path, name, certificate
        self._senders = Senders(tokens or {})
        self._answer_within_s, self._clock = answer_within_s, clock
        self._lock = threading.Lock()
        self._waiting: deque[_Delivery] = deque()
        self._taken: deque[_Delivery] = deque()
        self._waiting_records = 0
        self._serial = 0
        self._server: HttpServer | None = None
        self._refusals = _Refusals(name, clock)

    @property
    def url(self) -> str:
        """Where events are posted to."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http{'s' if self._certificate else ''}://{host}:{self.port}{self._path}"

    def open(self, position: Position = None) -> None:
        self.close()
        self._serial = position or 0
        server = HttpServer(Webhook(self, self._path), self._host, self.port, certificate=self._certificate)
        self._server = server
        try:
            self.port = server.start()
        except OSError as error:
            self._server = None
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
        with self._lock:
            server, self._server = self._server, None
            for delivery in (*self._taken, *self._waiting):
                self._settle(delivery, False)
            self._taken.clear()
            self._waiting.clear()
            self._waiting_records = 0
        if server is not None:
            server.stop()

    def sender_of(self, authorization: str | None) -> Sender | None:
        """Who sends a request with this header `Authorization`; None if it may not send."""
        return self._senders.sender_of(authorization)

    def health(self) -> dict[str, object]:
        """What `/healthz` answers."""
        with self._lock:
            return {"status": "ok", "waiting": self._waiting_records}

    def refused(self, status: int, reason: str, sender: Sender | None, address: str) -> None:
        """Note in the log that a request was not taken."""
        self._refusals.note(status, reason, sender.name if sender else None, address)

    async def receive(self, lines: list[bytes], sender: Sender) -> WebhookReply:
        """Queue the records of a request, and wait until they are kept."""
        bound = limits().max_waiting_records
        if len(lines) > bound:
            return WebhookReply(413, f"more than {bound} records in one request")
        delivery = _Delivery(deque(lines), f"{self._name}/{sender.name}" if sender.name else self._name)
        with self._lock:
            if self._server is None:
                return WebhookReply(503, "the source is closing", retry_after_s=1)
            if self._waiting_records + len(lines) > bound:
                return WebhookReply(429, "too many records are waiting", retry_after_s=1)
            if lines:
                self._waiting.append(delivery)
                self._waiting_records += len(lines)
        if not lines:
            return WebhookReply(202, "nothing to keep")
        await asyncio.wait({asyncio.wrap_future(delivery.settled)}, timeout=self._answer_within_s)
        answer = self._answer(delivery)
        if answer.status == 202:
            log("request kept", level=logging.DEBUG, source=self._name, sender=sender.name, records=len(lines))
        return answer

    def _answer(self, delivery: _Delivery) -> WebhookReply:
        with self._lock:
            if delivery.is_kept:
                return WebhookReply(202, "kept")
            if delivery in self._waiting and delivery not in self._taken:  # nobody will miss it
                self._waiting.remove(delivery)
                self._waiting_records -= len(delivery.lines)
        return WebhookReply(503, "not kept in time", retry_after_s=1)

    def _take(self, delivery: _Delivery, max_records: int, records: list[Record]) -> None:
        if not self._taken or self._taken[-1] is not delivery:
            self._taken.append(delivery)
        while delivery.lines and len(records) < max_records:
            self._serial += 1
            records.append(Record(delivery.lines.popleft(), delivery.origin, self._serial))
            self._waiting_records -= 1
        delivery.last_serial = self._serial
        if not delivery.lines:
            self._waiting.popleft()

    def _settle(self, delivery: _Delivery, is_kept: bool) -> None:
        delivery.is_kept = is_kept
        if not delivery.settled.done():
            delivery.settled.set_result(None)


class _Refusals:
    """Requests that were not taken, as lines of the log: one for each reason and sender in a while, with their number.

    The addresses of strangers are not told apart, else each of them could have a line.
    """

    def __init__(self, source: str, clock: Callable[[], float]) -> None:
        self._source, self._clock = source, clock
        self._told: dict[tuple[int, str | None], tuple[float, int]] = {}

    def note(self, status: int, reason: str, sender: str | None, address: str) -> None:
        now = self._clock()
        told_at_s, untold = self._told.get((status, sender), (-_QUIET_S, 0))
        if now - told_at_s < _QUIET_S:
            self._told[status, sender] = told_at_s, untold + 1
            return
        self._told[status, sender] = now, 0
        fields = {"source": self._source, "sender": sender, "address": address, "status": status, "reason": reason}
        log("request refused", level=logging.WARNING, **fields, untold=untold)


def _source(options: WebhookOptions, setting: Setting) -> WebhookSource:
    return WebhookSource(
        options.port,
        host=options.host,
        path=options.path,
        tokens=_tokens(options, setting),
        certificate=_certificate(options, setting),
        answer_within_s=options.answer_within_s,
        name=f"{setting.domain}.{setting.name}",
    )


def _tokens(options: WebhookOptions, setting: Setting) -> dict[str | None, str]:
    """The tokens by sender; raises `Misuse` for one that is not there, and for one that two senders have."""
    found: dict[str | None, str] = {}
    where = f"{setting.domain}.sources.{setting.name}"
    holders: list[tuple[str | None, TokenOptions]] = [(None, options), *options.senders.items()]
    for name, one in holders:
        place = Place(path=f"{where}.senders.{name}" if name else where)
        token = read_token(one.token_env, one.token_file, setting.base, place)
        if token is not None and token in found.values():
            hint = "give each sender its own"
            raise Misuse("another sender has the same token", code="duplicate-token", place=place, hint=hint)
        if token is not None:
            found[name] = token
    return found


def _certificate(options: WebhookOptions, setting: Setting) -> Certificate | None:
    if options.certificate is None:
        return None
    key = setting.base / options.key if options.key is not None else None
    return Certificate(setting.base / options.certificate, key)


CONNECTOR = Connector(
    kind="webhook",
    capability=Capability(ordered=True, live=True),
    options=WebhookOptions,
    main_option="port",
    source=_source,
)
