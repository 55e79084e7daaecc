"""A client at its node: its requests, and the events that it publishes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, assert_never

from comity.errors import ComityError, Misuse
from comity.limits import limits
from comity.route.changes import Change, Hold, Release
from comity.route.filters import RouteFilter
from comity.route.messages import Topic
from comity.server.connection import NodeConnection
from comity.server.control import read_filter
from comity.server.delivery import Passing
from comity.server.sharing import client_key
from comity.wire import (
    Acknowledged,
    Advertise,
    Frame,
    Granted,
    LogPosition,
    Message,
    RefuseEvents,
    RefuseRequest,
    StatusRequest,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from comity.wire.faults import ProtocolFault

if TYPE_CHECKING:
    from comity.server.node import BrokerNode
    from comity.server.objections import RefusedLine

_TOLD = 10
"""Refused events of a batch that are told one by one."""


class ClientSession:
    """A client, as long as its connection lasts; `holds` outlives it if it is durable."""

    def __init__(self, node: BrokerNode, name: str, connection: NodeConnection, *, is_named: bool) -> None:
        self._node, self.name, self.connection, self._is_named = node, name, connection, is_named
        self.key = client_key(name)
        self.published = 0

    # What the client says

    def hear(self, message: Message) -> None:
        match message:
            case Acknowledged(position):
                self._node.acknowledged(self.key, position)
            case StatusRequest(request):
                self.connection.send(self._node.status(request))
            case Subscribe() | Unsubscribe() | Advertise() | Unadvertise():
                self._request(message)
            case _:
                raise ProtocolFault(f"a client does not say {type(message).__name__}", code="out-of-turn")

    def take(self, frames: list[Frame]) -> None:
        self._node.events.publish(self, frames)

    def lost(self, why: ComityError | None) -> None:
        self._node.client_lost(self, why)

    def replaced(self) -> None:
        """Another connection of the same client is there."""
        self.connection.close(Misuse("another client has this name now", code="taken-over"))

    # Requests

    def _request(self, message: Subscribe | Unsubscribe | Advertise | Unadvertise) -> None:
        try:
            self._carry_out(message)
        except Misuse as error:
            self._refuse(message.request, error)

    def _refuse(self, request: int, error: ComityError) -> None:
        self._node.figures.refuse(error.code)
        self.connection.send(RefuseRequest(request, error.code, _reason(error)[:2_000], error.hint or ""))

    def _carry_out(self, message: Subscribe | Unsubscribe | Advertise | Unadvertise) -> None:
        request = message.request
        match message:
            case Subscribe():
                self._subscribe(message)
            case Unsubscribe(_, number):
                self._release(request, Topic.SUBSCRIPTIONS, number)
            case Advertise():
                filter = self._filter(message.filter)
                hold = Hold(Topic.ADVERTISEMENTS, self.key, message.number, filter, lease_s=message.lease_s)
                self._node.hold([hold], lambda: self._grant(request))
            case Unadvertise(_, number):
                self._release(request, Topic.ADVERTISEMENTS, number)
            case _:
                assert_never(message)

    def _subscribe(self, message: Subscribe) -> None:
        held = self._node.held(self.key, Topic.SUBSCRIPTIONS)
        if message.number not in held and len(held) >= limits().max_client_subscriptions:
            hint = "put filters together with `or`, or use another client"
            raise Misuse("the client has too many subscriptions", code="too-many-subscriptions", hint=hint)
        if message.durable:
            self._check_durable(message)
        filter = self._filter(message.filter)
        number, request = message.number, message.request
        hold = Hold(Topic.SUBSCRIPTIONS, self.key, number, filter, message.durable, message.lease_s)
        if message.durable:
            self._node.hold([hold], lambda: self._keep(request, number, filter, message.label))
        else:
            self._node.hold([hold], lambda: self._grant(request))

    def _filter(self, text: str) -> RouteFilter:
        filter = read_filter(text, self._node.pool)
        self._node.topology.accept(filter)
        return filter

    def _check_durable(self, message: Subscribe) -> None:
        if self._node.ledger is None:
            hint = "start it with --store DIR"
            raise Misuse("this broker stores nothing", code="no-store", hint=hint)
        if not self._is_named:
            hint = "connect with a name, by which the client is known again"
            raise Misuse("a client without a name cannot subscribe durably", code="no-client-name", hint=hint)
        if message.lease_s is not None:
            raise Misuse("a durable subscription has no lease", code="durable-lease", hint="leave out the lease")

    def _keep(self, request: int, number: int, filter: RouteFilter, label: str) -> None:
        self._node.keep(self.key, str(number), filter, label, lambda error: self._kept(request, error))

    def _kept(self, request: int, error: ComityError | None) -> None:
        if error is None:
            self._grant(request)
        else:
            self._refuse(request, error)

    def _release(self, request: int, topic: Topic, number: int) -> None:
        if number not in self._node.held(self.key, topic):
            raise Misuse(f"there is no number {number}", code="unknown-key", hint="it may have ended with its lease")
        change: list[Change] = [Release(topic, self.key, number)]
        self._node.hold(change, lambda: self._grant(request))
        if topic is Topic.SUBSCRIPTIONS:
            self._node.drop(self.key, str(number))

    def _grant(self, request: int) -> None:
        if self.connection.is_open:
            self.connection.send(Granted(request))

    # Events

    def refuse_events(self, position: int, refusals: list[RefusedLine]) -> None:
        """Tell which events of a batch go nowhere."""
        rows = tuple((one.row, one.code, one.text) for one in refusals[:_TOLD])
        self.connection.send_at_once(RefuseEvents(position, len(refusals), rows))

    def finished(self, passing: Passing) -> None:
        """A batch of the client is where it has to be."""
        if self.connection.is_open:
            if passing.position:
                self.connection.send_at_once(Acknowledged(passing.position))
            self.connection.done_with(passing.size)

    def taken_with(self, position: int) -> Iterable[tuple[str, LogPosition]]:
        return ()

    def failed(self, passing: Passing, error: ComityError) -> None:
        """A batch was not stored: the client is to send it again, to whoever can."""
        self.connection.close(error)


def _reason(error: ComityError) -> str:
    """The place, the message and the excerpt, without code and hint, which are told beside it."""
    where = f"{error.place}: " if error.place is not None and str(error.place) else ""
    return f"{where}{error.message}" + (f"\n{error.excerpt}" if error.excerpt else "")
