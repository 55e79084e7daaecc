"""A node of a rendezvous overlay: who publishes a type and who wants it meet at the node nearest to the type's name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from comity.errors import Misuse
from comity.expression.evaluate import AttributeReader
from comity.route.broker import Directions, RoutingBroker
from comity.route.changes import Change, Hold, Leave, Release
from comity.route.filters import FilterPool, RouteFilter
from comity.route.generic.gossip import LinkGossip
from comity.route.generic.graph import LinkState
from comity.route.generic.seen import SeenEvents
from comity.route.messages import Entry, Key, Topic
from comity.route.notices import RoutingNotice
from comity.route.policy import Policy, Strategy
from comity.route.rendezvous.held import HeldTypes
from comity.route.rendezvous.messages import (
    Attach,
    ForType,
    KeepRecord,
    OverlayControl,
    OverlayOutgoing,
    Passed,
    Publish,
    RecordKept,
    TypeGone,
    TypeRecord,
)
from comity.route.rendezvous.naming import types_of
from comity.route.rendezvous.records import REFRESHED_S, TypeRecords, TypeRole
from comity.route.rendezvous.trees import TypeTrees
from comity.route.rendezvous.ways import OverlayWays

_MOST_HOPS = 250
_TYPE = ("event", "type")


class RendezvousNode:
    """Steps of one node. Links may form any graph; all that the steps give has to arrive in its order on each link.

    `life` is a number that is greater each time that a node of this name begins, as the time is.
    """

    def __init__(self, name: str, policy: Policy, pool: FilterPool, *, replicas: int = 2, life: int = 0) -> None:
        check_overlay_policy(policy)
        self.name, self.policy, self.pool = name, policy, pool
        self._gossip = LinkGossip(name, life)
        self._ways = OverlayWays(self._gossip)
        self._followed = 0
        """The state of the graph that trees and records were brought into step with."""
        self._links: set[str] = set()
        self._records = TypeRecords(name, replicas)
        self._trees = TypeTrees(self._new_broker)
        self._held = HeldTypes()
        self._seen = SeenEvents()
        self._gone: list[tuple[Topic, str, Key]] = []
        self._announced: dict[str, tuple[str, float]] = {}
        """The types that clients of this node publish: at which rendezvous they were made known, and when again."""

    def _new_broker(self) -> RoutingBroker:
        return RoutingBroker(self.name, self.policy, self.pool)

    @property
    def neighbours(self) -> tuple[str, ...]:
        """Those whose links are up."""
        return tuple(self._links)

    # Links

    def link_up(self, neighbour: str, now: float, cost: float = 1.0) -> OverlayOutgoing:
        """A link has come up."""
        self._links.add(neighbour)
        return [*self._gossip.link_up(neighbour, cost), *self._follow(now)]

    def link_down(self, neighbour: str, now: float) -> OverlayOutgoing:
        """A link is lost."""
        self._links.discard(neighbour)
        return [*self._gossip.link_down(neighbour), *self._trees.lose(neighbour, now), *self._follow(now)]

    def receive(self, neighbour: str, control: OverlayControl, now: float) -> OverlayOutgoing:
        """A neighbour told something."""
        match control:
            case LinkState():
                return [*self._gossip.take(neighbour, control), *self._follow(now)]
            case Attach(type, on):
                return [*self._trees.attach(type, neighbour, on, now), *self._settle(type, now)]
            case ForType(type, inner):
                tree = self._trees.get(type)
                if tree is None or neighbour not in tree.broker.neighbours:
                    return []  # of a tree that this node has left
                return self._trees.said(type, tree.broker.receive(neighbour, inner, now))
            case Publish(record):
                return self._publish(record, now)
            case Passed():
                return self._pass(control, now)
            case TypeGone(type):
                return self._end(type)
            case _:
                assert_never(control)

    # Types

    def rendezvous(self, type: str) -> str:
        """The node where the ways of a type meet, as far as this one knows."""
        return self._ways.nearest(type, 1)[0]

    def role(self, type: str) -> TypeRole:
        """What this node is for a type."""
        return self._records.role(type, self._ways.nearest)

    def record(self, type: str) -> TypeRecord | None:
        """The record of a type, at the nodes that keep it."""
        return self._records.get(type)

    def records(self) -> list[TypeRecord]:
        """All that this node keeps."""
        return list(self._records)

    def add_type(self, record: TypeRecord, now: float) -> OverlayOutgoing:
        """Make a type known, or a new version of it, at its rendezvous; the record of a removed one ends it."""
        return self._publish(record, now)

    def _publish(self, record: TypeRecord, now: float) -> OverlayOutgoing:
        over = self._next_hop(self.rendezvous(record.name))
        if over is not None:
            return [(over, Publish(record))]
        return self._keep(record, now) or self._send(self._records.renew(record.name, self._ways.nearest, now), now)

    def _keep(self, record: TypeRecord, now: float) -> OverlayOutgoing:
        if not self._records.put(record, now):
            return []
        found = self._spread(now)
        return found + self._end(record.name) if record.removed else found

    def _spread(self, now: float) -> OverlayOutgoing:
        return self._send(self._records.spread(self._ways.lives(), self._ways.nearest), now)

    def _send(self, told: Iterable[tuple[str, KeepRecord]], now: float) -> OverlayOutgoing:
        return [sent for node, keep in told for sent in self._pass(Passed(node, keep, _MOST_HOPS), now)]

    def _pass(self, passed: Passed, now: float) -> OverlayOutgoing:
        """Take a message, or pass it on; what cannot go on is sent again when the graph changes."""
        if passed.to == self.name:
            return self._take(passed.body, now)
        over = self._next_hop(passed.to)
        if over is None or not passed.hops:
            return []
        return [(over, Passed(passed.to, passed.body, passed.hops - 1))]

    def _take(self, body: KeepRecord | RecordKept, now: float) -> OverlayOutgoing:
        match body:
            case KeepRecord(record, by):
                kept = Passed(by, RecordKept(record.name, record.version, self.name, self._life()), _MOST_HOPS)
                return [*self._keep(record, now), *self._pass(kept, now)]
            case RecordKept():
                self._records.note(body, self._ways.lives(), self._ways.nearest)
                return []
            case _:
                assert_never(body)

    def _end(self, type: str) -> OverlayOutgoing:
        """A type is known no longer: all below hear of it, and what clients hold of it is gone."""
        self._announced.pop(type, None)
        tree = self._trees.drop(type)
        if tree is None:
            return []
        self._gone += self._held.end(type)
        up = [] if tree.up is None else [(tree.up, Attach(type, False))]
        return [*up, *((neighbour, TypeGone(type)) for neighbour in sorted(tree.below))]

    def take_gone(self) -> list[tuple[Topic, str, Key]]:
        """What clients held of types that were removed since the last call: they have to be told."""
        taken, self._gone = self._gone, []
        return taken

    # Clients

    def accept(self, filter: RouteFilter) -> None:
        """Raise `Misuse` for a filter that names no types, or more than there is room for."""
        new = [type for type in types_of(filter, self.pool) if self._trees.get(type) is None]
        if new:
            self._trees.check_room(len(new))

    def change(self, changes: Iterable[Change], now: float) -> OverlayOutgoing:
        """What clients hold, and take back. Each filter has to name the types of its events."""
        return self._change(changes, lambda filter: types_of(filter, self.pool), now)

    def change_of(self, type: str, changes: Iterable[Change], now: float) -> OverlayOutgoing:
        """The same for filters over events of one type, which they need not name."""
        return self._change(changes, lambda filter: (type,), now)

    def subscribe(
        self, client: str, key: Key, type: str, filter: RouteFilter, now: float, *, durable: bool = False
    ) -> OverlayOutgoing:
        """A client wants events of a type that pass a filter."""
        return self.change_of(type, [Hold(Topic.SUBSCRIPTIONS, client, key, filter, durable)], now)

    def advertise(self, client: str, key: Key, type: str, filter: RouteFilter, now: float) -> OverlayOutgoing:
        """A client will publish events of a type that pass a filter."""
        return self.change_of(type, [Hold(Topic.ADVERTISEMENTS, client, key, filter)], now)

    def unsubscribe(self, client: str, key: Key, now: float) -> OverlayOutgoing:
        """A client takes one of its subscriptions back."""
        return self.change([Release(Topic.SUBSCRIPTIONS, client, key)], now)

    def unadvertise(self, client: str, key: Key, now: float) -> OverlayOutgoing:
        """A client takes one of its advertisements back."""
        return self.change([Release(Topic.ADVERTISEMENTS, client, key)], now)

    def leave(self, client: str, now: float) -> OverlayOutgoing:
        """A client takes all back."""
        return self.change([Leave(client)], now)

    def _change(
        self, changes: Iterable[Change], types: Callable[[RouteFilter], Iterable[str]], now: float
    ) -> OverlayOutgoing:
        found: OverlayOutgoing = []
        for type, listed in self._held.by_type(changes, types).items():
            broker = self._trees.join(type).broker
            found += [*self._trees.said(type, broker.change(listed, now)), *self._settle(type, now)]
        return found

    def renew(self, client: str, now: float) -> None:
        """The leases of all that a client holds begin anew."""
        for type in self._held.types_of_client(client):
            tree = self._trees.get(type)
            if tree is not None:
                tree.broker.renew(client, now)

    # Events

    def may_publish(self, client: str, record: AttributeReader) -> bool:
        """Whether the client advertised such an event."""
        tree = self._trees.get(str(record.get(_TYPE)))
        return tree is not None and tree.broker.may_publish(client, record)

    def route(self, origin: str | None, identity: tuple[str, str], record: AttributeReader) -> Directions:
        """Where an event goes; nowhere if it came before, or from where the tree of its type does not lead any more."""
        tree = self.leads_from(origin, str(record.get(_TYPE)))
        return Directions() if tree is None or not self._seen.is_new(identity) else tree.route(origin, record)

    def leads_from(self, origin: str | None, type: str) -> RoutingBroker | None:
        """This node's part in the tree of a type, if events may come from there."""
        tree = self._trees.get(type)
        if tree is None or (origin is not None and origin not in tree.broker.neighbours):
            return None
        return tree.broker

    # Time

    @property
    def has_work(self) -> bool:
        """Whether a change was too large for one step: call `work`, events may go between."""
        return self._trees.has_work

    def work(self) -> OverlayOutgoing:
        """Go on with what earlier steps left over."""
        return self._trees.work()

    def wakes_at(self) -> float | None:
        """When `tick` has something to do next."""
        trees = [at for _, tree in self._trees if (at := tree.broker.wakes_at()) is not None]
        known = [at for _, at in self._announced.values()]
        end = self._records.next_end()
        return min([*trees, *known, *(() if end is None else (end,))], default=None)

    def tick(self, now: float) -> OverlayOutgoing:
        """Time has passed: leases end and are refreshed."""
        found: OverlayOutgoing = []
        for type, tree in self._trees:
            found += self._trees.said(type, tree.broker.tick(now))
            self._held.forget_ended(type, tree.broker)
            found += self._settle(type, now)
        self._records.forget_old(now)
        return found + self._spread(now)

    # Following the graph

    def _life(self) -> int:
        return self._gossip.graph.states[self.name].life

    def _next_hop(self, target: str) -> str | None:
        """The neighbour on the cheapest way; None at the target, or where no way leads there."""
        over = self._ways.toward(target)
        return over if over in self._links else None

    def _follow(self, now: float) -> OverlayOutgoing:
        """The graph has changed: trees take other ways, and records go to other nodes."""
        if self._followed == self._gossip.graph.changes:
            return []
        self._followed = self._gossip.graph.changes
        found = [sent for type, _ in self._trees for sent in self._settle(type, now)]
        return found + self._spread(now)

    def _settle(self, type: str, now: float) -> OverlayOutgoing:
        """Let the way to the rendezvous be the right one, if there is anything to tell there."""
        found = self._trees.leave_unused(type, now)
        if self._trees.get(type) is not None:
            found += self._trees.set_up(type, self._next_hop(self.rendezvous(type)), now)
        return found + self._announce(type, now)

    def _announce(self, type: str, now: float) -> OverlayOutgoing:
        """Make a type known that a client of this node publishes: at each new rendezvous, and from time to time."""
        if not self._held.is_advertised(type):
            self._announced.pop(type, None)
            return []
        at, again_at = self._announced.get(type, ("", 0.0))
        rendezvous = self.rendezvous(type)
        if at == rendezvous and now < again_at:
            return []
        self._announced[type] = rendezvous, now + REFRESHED_S
        return self._publish(TypeRecord(type), now)

    # For those who look on

    def tree(self, type: str) -> RoutingBroker | None:
        """This node's part in the tree of a type."""
        found = self._trees.get(type)
        return None if found is None else found.broker

    def up(self, type: str) -> str | None:
        """The neighbour on the way to the rendezvous of a type, if this node takes part in its tree."""
        found = self._trees.get(type)
        return None if found is None else found.up

    def types(self) -> list[str]:
        """The types in whose trees this node takes part."""
        return [type for type, _ in self._trees]

    def lives(self) -> list[str]:
        """The nodes that can be reached, this one included."""
        return sorted(self._ways.lives())

    def table(self, neighbour: str, topic: Topic) -> tuple[Entry, ...]:
        """What the neighbour told, in all trees."""
        return tuple(entry for broker in self._with(neighbour) for entry in broker.table(neighbour, topic))

    def told(self, neighbour: str, topic: Topic) -> tuple[Entry, ...]:
        """What the neighbour was told, in all trees."""
        return tuple(entry for broker in self._with(neighbour) for entry in broker.told(neighbour, topic))

    def _with(self, neighbour: str) -> list[RoutingBroker]:
        return [tree.broker for _, tree in self._trees if neighbour in tree.broker.neighbours]

    def take_notices(self) -> list[RoutingNotice]:
        """None: see `check_overlay_policy`."""
        return []


def check_overlay_policy(policy: Policy) -> None:
    """Raise `Misuse` for a policy by which no overlay can be run."""
    if not policy.advertisements or policy.strategy is Strategy.FLOODING:
        raise Misuse("a rendezvous overlay needs advertisements, and does not flood", code="bad-overlay")
    if policy.adaptive is not None or policy.notices:
        raise Misuse("a rendezvous overlay always filters, and publishes no notices", code="bad-overlay")
