"""Whether the links of a network form a tree, which is checked, or any graph; and then, along which trees events go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from comity.route.broker import RoutingBroker
from comity.route.filters import RouteFilter
from comity.route.generic.broker import GenericBroker, OnTree
from comity.route.generic.graph import LinkState
from comity.route.generic.seen import SeenEvents
from comity.route.messages import Refresh, SendEverything, Topic, Update
from comity.server.control import NodeControl
from comity.wire import EventBatch, OverlayStatus
from comity.wire.faults import ProtocolFault

GENERIC = "generic"
"""The option in a hello of brokers that allow circles."""
NodeOutgoing = Sequence[tuple[str, NodeControl]]


class NodeTopology(Protocol):
    """What a node asks of the kind of its network."""

    @property
    def options(self) -> tuple[str, ...]:
        """What it says of it in a hello; both sides of a link say the same."""

    def link_up(self, neighbour: str, now: float) -> NodeOutgoing: ...
    def link_down(self, neighbour: str, now: float) -> NodeOutgoing: ...
    def receive(self, neighbour: str, control: NodeControl, now: float) -> NodeOutgoing: ...

    def accept(self, filter: RouteFilter) -> None:
        """Raise `Misuse` for a filter of a client that has no place in this network."""

    def news(self, neighbour: str | None, batch: EventBatch) -> EventBatch:
        """The events of a batch that did not come before, in another way."""

    def entries(self, neighbour: str, topic: Topic) -> tuple[int, int]:
        """How many filters a neighbour told us, and we it."""

    def status(self) -> OverlayStatus | None:
        """What is to be told of an overlay."""


class Tree:
    """Links form a tree; a link that would close a circle was refused before."""

    options: tuple[str, ...] = ()

    def __init__(self, routing: RoutingBroker) -> None:
        self._routing = routing

    def link_up(self, neighbour: str, now: float) -> NodeOutgoing:
        return self._routing.link_up(neighbour, now)

    def link_down(self, neighbour: str, now: float) -> NodeOutgoing:
        return self._routing.link_down(neighbour, now)

    def receive(self, neighbour: str, control: NodeControl, now: float) -> NodeOutgoing:
        if not isinstance(control, Update | Refresh | SendEverything):
            raise ProtocolFault("there are no circles in this network", code="out-of-turn")
        return self._routing.receive(neighbour, control, now)

    def accept(self, filter: RouteFilter) -> None:
        """Every filter has its place."""

    def news(self, neighbour: str | None, batch: EventBatch) -> EventBatch:
        return batch

    def entries(self, neighbour: str, topic: Topic) -> tuple[int, int]:
        if neighbour not in self._routing.neighbours:
            return 0, 0
        return len(self._routing.table(neighbour, topic)), len(self._routing.told(neighbour, topic))

    def status(self) -> OverlayStatus | None:
        return None


class _Identity(msgspec.Struct):
    source: str = ""
    id: str = ""


_identity_of = msgspec.json.Decoder(_Identity).decode


class Circles(Tree):
    """Links form any graph. While it changes an event may come in two ways, and goes on once."""

    options = (GENERIC,)

    def __init__(self, routing: RoutingBroker) -> None:
        super().__init__(routing)
        self._generic = GenericBroker(routing)
        self._seen = SeenEvents()

    def link_up(self, neighbour: str, now: float) -> NodeOutgoing:
        return self._generic.link_up(neighbour, now)

    def link_down(self, neighbour: str, now: float) -> NodeOutgoing:
        return self._generic.link_down(neighbour, now)

    def receive(self, neighbour: str, control: NodeControl, now: float) -> NodeOutgoing:
        if not isinstance(control, Update | Refresh | SendEverything | LinkState | OnTree):
            raise ProtocolFault("there are no trees of types in this network", code="out-of-turn")
        return self._generic.receive(neighbour, control, now)

    def news(self, neighbour: str | None, batch: EventBatch) -> EventBatch:
        if neighbour is not None and neighbour not in self._routing.neighbours:
            return batch.take(())  # what comes over a link that is not in the tree any more is old
        rows = [row for row, line in enumerate(batch.lines()) if self._is_new(line)]
        return batch if len(rows) == len(batch) else batch.take(rows)

    def _is_new(self, line: bytes) -> bool:
        try:
            found = _identity_of(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return True  # it is no event, which is told later
        return self._seen.is_new((found.source, found.id))
