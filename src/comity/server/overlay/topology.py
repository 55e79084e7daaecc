"""A network of any shape with a tree for each type of events, around the node that is nearest to the type's name."""

from __future__ import annotations

import msgspec

from comity.logs import log
from comity.route.filters import RouteFilter
from comity.route.generic.graph import LinkState
from comity.route.generic.seen import SeenEvents
from comity.route.messages import Topic
from comity.route.rendezvous.messages import Attach, ForType, Passed, Publish, TypeGone
from comity.route.rendezvous.node import RendezvousNode
from comity.server.control import NodeControl
from comity.server.topology import NodeOutgoing
from comity.wire import EventBatch, OverlayStatus
from comity.wire.faults import ProtocolFault
from comity.wire.status import TypeStatus

RENDEZVOUS = "rendezvous"
"""The option in a hello of brokers of such a network."""
_MOST_TYPES = 1_000
"""Types that are told one by one to those who look on."""


class _Head(msgspec.Struct):
    type: str = ""
    source: str = ""
    id: str = ""


_head_of = msgspec.json.Decoder(_Head).decode


def type_of(line: bytes) -> str:
    """The type of an event; empty for what is none."""
    try:
        return _head_of(line).type
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""


class TypeTopology:
    """Links form any graph, and events go along the tree of their type."""

    options: tuple[str, ...] = (RENDEZVOUS,)

    def __init__(self, routing: RendezvousNode) -> None:
        self._routing = routing
        self._seen = SeenEvents()

    def link_up(self, neighbour: str, now: float) -> NodeOutgoing:
        return self._routing.link_up(neighbour, now)

    def link_down(self, neighbour: str, now: float) -> NodeOutgoing:
        return self._routing.link_down(neighbour, now)

    def receive(self, neighbour: str, control: NodeControl, now: float) -> NodeOutgoing:
        if not isinstance(control, LinkState | Attach | ForType | Publish | Passed | TypeGone):
            raise ProtocolFault("in this network filters belong to types", code="out-of-turn")
        told = self._routing.receive(neighbour, control, now)
        for topic, client, _ in self._routing.take_gone():
            log("type removed", neighbour=neighbour, client=client, topic=topic.value)
        return told

    def accept(self, filter: RouteFilter) -> None:
        self._routing.accept(filter)

    def news(self, neighbour: str | None, batch: EventBatch) -> EventBatch:
        """What did not come before; and of what a neighbour sent, that for which the tree leads to it."""
        rows = [row for row, line in enumerate(batch.lines()) if self._is_news(neighbour, line)]
        return batch if len(rows) == len(batch) else batch.take(rows)

    def _is_news(self, neighbour: str | None, line: bytes) -> bool:
        try:
            head = _head_of(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return True  # it is no event, which is told later
        if neighbour is not None and self._routing.leads_from(neighbour, head.type) is None:
            return False
        return self._seen.is_new((head.source, head.id))

    def entries(self, neighbour: str, topic: Topic) -> tuple[int, int]:
        return len(self._routing.table(neighbour, topic)), len(self._routing.told(neighbour, topic))

    def status(self) -> OverlayStatus | None:
        routing = self._routing
        types = sorted({*routing.types(), *(record.name for record in routing.records())})
        told = tuple(self._type(name) for name in types[:_MOST_TYPES])
        return OverlayStatus(nodes=tuple(routing.lives()), types=told, types_here=len(types))

    def _type(self, name: str) -> TypeStatus:
        routing, tree = self._routing, self._routing.tree(name)
        neighbours = () if tree is None else tree.neighbours
        entries = 0 if tree is None else sum(len(tree.table(one, Topic.SUBSCRIPTIONS)) for one in neighbours)
        return TypeStatus(
            name=name,
            role=routing.role(name).value,
            rendezvous=routing.rendezvous(name),
            up=routing.up(name),
            takes_part=tree is not None,
            subscriptions=entries,
        )
