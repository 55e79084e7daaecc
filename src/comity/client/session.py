"""What `async with comity.connect(…)` gives: a client of a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from comity.client.inbox import Inbox, Shelf
from comity.client.notices import EventsLost
from comity.client.publishing import DepartingBatch, Departures, Publishable, batches, refusal_in
from comity.client.requests import Asking, Reply, Requests, into
from comity.client.settings import ClientSettings
from comity.client.subscription import EventSubscription
from comity.client.uplink import Uplink
from comity.errors import ComityError, Misuse, Permanent, Retryable
from comity.limits import limits
from comity.server.connection import NodeConnection
from comity.wire import (
    Acknowledged,
    Advertise,
    Deliver,
    Dropped,
    Frame,
    Granted,
    LogPosition,
    Message,
    NodeStatus,
    RefuseEvents,
    RefuseRequest,
    StatusRequest,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    Welcome,
    decode_message,
)

T = TypeVar("T")
Refused = Callable[[ComityError], None]


class Advertisement:
    """What a client says that its events will fit."""

    def __init__(self, session: NetworkSession, number: int, filter: str) -> None:
        self._session, self._number, self.filter = session, number, filter

    async def cancel(self) -> None:
        """Say it no longer."""
        await self._session.unadvertise(self._number)


class NetworkSession:
    """A place in a network: `subscribe`, `publish`, `advertise`."""

    def __init__(self, settings: ClientSettings) -> None:
        self.broker = ""
        """The name of the broker."""
        self.lost = 0
        """Events that were not delivered, because they were not taken in fast enough, or waited too long."""
        self._settings = settings
        self._uplink = Uplink(settings, self)
        self._departures, self._requests = Departures(), Requests()
        self.inbox = Inbox(limits().max_window_bytes, self._acknowledge, self._lose)
        self._subscriptions: dict[int, EventSubscription] = {}
        self._advertised: dict[int, str] = {}
        self._kept: dict[str, int] = {}
        """The numbers of durable subscriptions that the broker has of us, by label."""
        self._last_number = 0
        self._to_restore = 0
        """Subscriptions and advertisements that a new connection has not granted again."""
        self._log: str | None = None
        self._freed = asyncio.Event()
        self._failure: ComityError | None = None
        self._ended = asyncio.Event()

    # The user's words

    def subscribe(self, filter: str = "true", *, durable: str | None = None) -> EventSubscription:
        """The events that fit a filter, from now on.

        A durable subscription has a name, and the session, too (`connect(url, name=…)`): what comes while nobody is
        there waits for it, and a subscription of the same name goes on where the last one has acknowledged.
        """
        if durable is not None and not (durable and self._settings.name):
            hint = "connect(url, name=…) says who you are; the broker keeps durable subscriptions by it"
            raise Misuse("a durable subscription and its client need names", code="no-client-name", hint=hint)
        return EventSubscription(self, filter, durable)

    async def publish(self, events: Publishable | Iterable[Publishable]) -> int:
        """Publish an event or many; how many there were. When it returns, no durable subscription misses them.

        An event is an `Event`, a dict of CloudEvents, or JSON. Raises `EventsRefused` if the broker did not take some.
        """
        sent: list[DepartingBatch] = []
        count = 0
        for batch in batches(events):
            await self._room()
            sent.append(publication := self._departures.put(batch, count))
            count += len(batch)
            if not self._to_restore:
                self._uplink.send_frame(publication.frame, is_charged=True)
        for publication in sent:
            await self._patiently(publication.done)
        if (refused := refusal_in(sent)) is not None:
            raise refused
        return count

    async def advertise(self, filter: str) -> Advertisement:
        """Say that the events which will be published here fit a filter."""
        number = self._next_number()
        await self._ask(partial(_advertising, number, filter))
        self._advertised[number] = filter
        return Advertisement(self, number, filter)

    async def status(self) -> NodeStatus:
        """What the broker tells of itself."""
        found = await self._ask(StatusRequest)
        assert isinstance(found, NodeStatus)
        return found

    async def ended(self) -> None:
        """Wait until the connection is lost for good, and raise why."""
        await self._ended.wait()
        self._check_open()

    # For subscriptions and advertisements

    async def begin(self, subscription: EventSubscription) -> Shelf:
        """Ask for the events of a subscription; gives where they will wait."""
        number = subscription.number = self._number_of(subscription)
        shelf = self.inbox.shelf(number, is_durable=subscription.is_durable)
        self._subscriptions[number] = subscription
        try:
            await self._ask(partial(_subscribing, subscription))
        except BaseException:
            self._subscriptions.pop(number, None)
            self.inbox.remove(number)
            raise
        return shelf

    def _number_of(self, subscription: EventSubscription) -> int:
        label = subscription.label
        if label is None:
            return self._next_number()
        number = self._kept.get(label)
        if number is None:
            number = self._kept[label] = self._next_number()
        if number in self._subscriptions:
            reason = f"the durable subscription {label!r} is there already"
            raise Misuse(reason, code="duplicate-subscription", hint="give each a name of its own")
        return number

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    async def cancel(self, number: int) -> None:
        """End a subscription."""
        self._subscriptions.pop(number, None)
        self._kept = {label: one for label, one in self._kept.items() if one != number}
        self.inbox.remove(number)
        if self._failure is None:
            await self._ask(lambda request: Unsubscribe(request, number))

    async def unadvertise(self, number: int) -> None:
        """End an advertisement."""
        if self._advertised.pop(number, None) is not None:
            await self._ask(lambda request: Unadvertise(request, number))

    # Asking, and waiting

    async def _ask(self, asking: Asking) -> Reply:
        self._check_open()
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        answered = into(answer)
        self._uplink.send(self._requests.put(asking, answered))
        try:
            return await self._patiently(answer)
        finally:
            self._requests.forget(answered)

    async def _patiently(self, answer: asyncio.Future[T]) -> T:
        """Wait for an answer; while there is no connection, or another one, for as long as one is tried."""
        until = asyncio.get_running_loop().time() + self._settings.timeout_s + self._settings.patience_s
        while not answer.done():
            times = self._uplink.times_up
            await asyncio.wait([answer], timeout=self._settings.timeout_s)
            is_steady = self._uplink.is_up and times == self._uplink.times_up
            if not answer.done() and (is_steady or asyncio.get_running_loop().time() > until):
                hint = "it may have been done all the same; events that come again are recognised where they are kept"
                reason = f"{self._settings.url} did not answer within {self._settings.timeout_s:g} s"
                raise Retryable(reason, code="no-answer", hint=hint)
        return answer.result()

    async def _room(self) -> None:
        """Wait until not too much is on its way."""
        self._check_open()
        while self._departures.size_bytes > limits().max_window_bytes:
            self._freed.clear()
            await self._freed.wait()
            self._check_open()

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure

    # Life

    async def open(self) -> None:
        """Connect for the first time."""
        await self._uplink.open()

    async def close(self, *, is_well: bool = True) -> None:
        """Say goodbye. If all is well, the events that were handed out are acknowledged."""
        for subscription in self._subscriptions.values():
            if is_well:
                subscription.finish()
            subscription.end(None)
        await self._uplink.close()
        self.failed(session_closed())

    def taken(self) -> LogPosition | None:
        """How far everything in the log of the broker is done with; what was received beyond may come again."""
        return LogPosition(self._log, self.inbox.done) if self._log and self.inbox.done else None

    def welcomed(self, welcome: Welcome) -> None:
        """There is a connection, perhaps again: all that stands is said."""
        self.broker = welcome.name
        if welcome.log != self._log:
            self.inbox.begin_log()
            self._log = welcome.log
        for kept in welcome.kept:
            self._kept.setdefault(kept.label, kept.number)
            self._last_number = max(self._last_number, kept.number)
            self.inbox.shelf(kept.number, is_durable=True)
        for message in self._requests.begin_anew():
            self._uplink.send(message)
        self._restore()

    def _restore(self) -> None:
        """Ask for what earlier connections granted; what waits to be published follows when it is granted again."""
        standing: list[tuple[Asking, Refused]] = [
            (partial(_subscribing, one), one.end) for one in self._subscriptions.values() if one.has_begun
        ]
        standing += [(partial(_advertising, number, text), self.failed) for number, text in self._advertised.items()]
        self._to_restore = len(standing)
        for asking, refused in standing:
            answered = partial(self._restored, refused)
            self._uplink.send(self._requests.put(asking, answered, is_standing=True))
        self._publish_if_restored()

    def _restored(self, refused: Refused, reply: Reply | ComityError) -> None:
        if isinstance(reply, ComityError):
            refused(reply)
        self._to_restore -= 1
        self._publish_if_restored()

    def _publish_if_restored(self) -> None:
        if not self._to_restore:
            for frame in self._departures.frames():
                self._uplink.send_frame(frame, is_charged=True)

    def failed(self, error: ComityError) -> None:
        """There is no connection any more, and there will be none."""
        if self._failure is not None:
            return
        self._failure = error
        self._ended.set()
        self._requests.fail(error)
        self._departures.fail(error)
        self._freed.set()
        for subscription in self._subscriptions.values():
            subscription.end(error)

    # Messages

    def hear(self, message: Message) -> None:
        """Something came that is no event."""
        match message:
            case Acknowledged():
                self._departures.acknowledge(message.position)
                self._freed.set()
            case RefuseEvents():
                self._departures.refuse(message)
            case Dropped():
                self._lose(message.events)
            case Granted() | RefuseRequest() | NodeStatus():
                self._requests.answer(message)
            case _:
                raise Permanent(f"a broker does not say {type(message).__name__}", code="malformed-frame")

    def take(self, frames: list[Frame], connection: NodeConnection) -> None:
        """Events came."""
        for frame in frames:
            delivery = decode_message(frame)
            if isinstance(delivery, Deliver):
                self.inbox.take(delivery, partial(connection.done_with, len(frame.whole)))

    def _acknowledge(self, position: int) -> None:
        self._uplink.send_at_once(Acknowledged(position))

    def _lose(self, events: int) -> None:
        self.lost += events
        self._settings.tell(EventsLost(events, self.lost))


def session_closed() -> Permanent:
    """The error of whoever uses a session behind its end."""
    return Permanent("the session is closed", code="closed-session", hint="use it inside of its `with` block")


def _subscribing(subscription: EventSubscription, request: int) -> Message:
    number, label = subscription.number, subscription.label
    assert number is not None
    return Subscribe(
        request=request, number=number, filter=subscription.filter, durable=label is not None, label=label or ""
    )


def _advertising(number: int, filter: str, request: int) -> Message:
    return Advertise(request=request, number=number, filter=filter)
