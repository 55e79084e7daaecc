"""A link to a neighbour, as long as its connection lasts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from comity.errors import ComityError, Permanent
from comity.server.connection import NodeConnection
from comity.server.control import ControlMessage, NodeControl, read_control, written
from comity.server.delivery import Passing
from comity.server.receivers import LINK
from comity.wire import (
    Acknowledged,
    AttachTree,
    Dropped,
    Frame,
    HandedOn,
    Inform,
    InTree,
    LogPosition,
    Message,
    Reach,
    RemovedType,
    Renew,
    SaidLinks,
    SaidType,
    SendAll,
    StatusRequest,
)
from comity.wire.faults import ProtocolFault

if TYPE_CHECKING:
    from comity.server.intake import Incoming
    from comity.server.links import DialedLink
    from comity.server.node import BrokerNode


class LinkSession:
    """A neighbour: first each side says whom it reaches, then the link is up."""

    def __init__(
        self,
        node: BrokerNode,
        name: str,
        connection: NodeConnection,
        *,
        instance: str,
        address: str | None,
        log: str | None,
        taken: LogPosition | None,
    ) -> None:
        self._node, self.name, self.connection = node, name, connection
        self.key = LINK + name
        self.instance, self.address, self.log, self.taken = instance, address, log, taken
        self.reach: frozenset[str] = frozenset()
        self.is_up = False
        self.dialed: DialedLink | None = None
        self.control_in = self.control_out = 0
        self.heard_position = 0
        """The last position that came on this connection."""
        self.events_in = self.unwanted = self.repeats = self.lost_before_us = 0

    @property
    def dialer(self) -> str:
        """The name of the side that opened the connection."""
        return self._node.name if self.connection.is_dialed else self.name

    def begin(self) -> None:
        """Say whom we reach without this neighbour."""
        self.connection.send(Reach(tuple(sorted(self._node.links.reach_without(self.name)))))

    # What the neighbour says

    def hear(self, message: Message) -> None:
        match message:
            case Reach(brokers):
                self._hear_reach(frozenset(brokers))
            case Acknowledged(position):
                self._node.acknowledged(self.key, position)
            case StatusRequest(request):
                self.connection.send(self._node.status(request))
            case Dropped(events):
                self.lost_before_us += events
            case Inform() | Renew() | SendAll() | SaidLinks() | InTree() if self.is_up:
                self.control_in += 1
                self._hear_control(message)
            case AttachTree() | SaidType() | HandedOn() | RemovedType() if self.is_up:
                self.control_in += 1
                self._hear_control(message)
            case _:
                raise ProtocolFault(f"a neighbour does not say {type(message).__name__} now", code="out-of-turn")

    def _hear_reach(self, brokers: frozenset[str]) -> None:
        # Where circles are allowed each says itself alone, and what there is beyond it in another way.
        twice = brokers & self._node.links.reach_without(self.name)
        if twice or self.name not in brokers:
            who = ", ".join(sorted(twice)[:5]) or self.name
            hint = "brokers form a tree; take away one of the links, or give each broker a name of its own"
            raise Permanent(f"{who} would be reached twice", code="cycle", hint=hint)
        self.reach = brokers
        if not self.is_up:
            self.is_up = True
            self._node.link_up(self)
        self._node.links.tell_reach(self.name)

    def _hear_control(self, message: ControlMessage) -> None:
        control = read_control(message, self._node.pool)
        self._node.control(self, control)

    def take(self, frames: list[Frame]) -> None:
        if not self.is_up:
            raise ProtocolFault("events before the link is up", code="out-of-turn")
        self._node.events.forward(self, frames)

    def lost(self, why: ComityError | None) -> None:
        self._node.link_lost(self, why)

    # What the neighbour is told

    def tell(self, control: NodeControl) -> None:
        """Pass on what the routing says."""
        for message in written(control):
            self.control_out += 1
            self.connection.send(message)

    def heard_again(self, one: Incoming) -> None:
        """Events came that came before. If they are where they have to be, the neighbour has missed that we said so."""
        self.repeats += len(one.batch)
        self.connection.done_with(one.size)
        if one.position <= self._node.links.position_of(self):
            self.connection.send_at_once(Acknowledged(one.position))

    def finished(self, passing: Passing) -> None:
        """A batch of the neighbour is where it has to be."""
        if self.connection.is_open:
            if passing.position:
                self._node.links.take_position(self, passing.position)
                self.connection.send_at_once(Acknowledged(passing.position))
            self.connection.done_with(passing.size)

    def taken_with(self, position: int) -> Iterable[tuple[str, LogPosition]]:
        return [(self.name, LogPosition(self.log, position))] if self.log is not None and position else []

    def failed(self, passing: Passing, error: ComityError) -> None:
        """A batch was not stored: the neighbour sends it again when the link is back."""
        self.connection.close(error)
