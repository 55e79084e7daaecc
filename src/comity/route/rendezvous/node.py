"""A node of a rendezvous overlay: who publishes a type and who wants it meet at the node nearest to the type's name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from comity.errors import Misuse
from comity.expression.evaluate import AttributeReader
from comity.route.broker import Directions, RoutingBroker
from comity.route.changes import Change, Hold, Release
from comity.route.filters import FilterPool, RouteFilter
from comity.route.generic.gossip import LinkGossip
from comity.route.generic.graph import LinkState
from comity.route.generic.seen import SeenEvents
from comity.route.messages import Key, Topic
from comity.route.policy import Policy, Strategy
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
from comity.route.rendezvous.records import Lives, TypeRecords, TypeRole
from comity.route.rendezvous.ring import nearest
from comity.route.rendezvous.trees import TypeTrees, for_type

_MOST_HOPS = 64


class RendezvousNode:
    """Steps of one node. Links may form any graph; all that the steps give has to arrive in its order on each link.

    `life` is a number that is greater each time that a node of this name begins, as the time is.
    """

    def __init__(self, name: str, policy: Policy, pool: FilterPool, *, replicas: int = 2, life: int = 0) -> None:
        if not policy.advertisements or policy.strategy is Strategy.FLOODING:
            raise Misuse("a rendezvous overlay needs advertisements, and does not flood", code="bad-overlay")
        self.name = name
        self._gossip = LinkGossip(name, life)
        self._followed = 0
        """The state of the graph that trees and records were brought into step with."""
        self._links: set[str] = set()
        self._records = TypeRecords(name, replicas)
        self._trees = TypeTrees(lambda: RoutingBroker(name, policy, pool))
        self._held: dict[tuple[Topic, str, Key], str] = {}
        """The type of all that clients of this node hold."""
        self._seen = SeenEvents()
        self._gone: list[tuple[Topic, str, Key]] = []

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
                return for_type(type, tree.broker.receive(neighbour, inner, now))
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
        return nearest(self._live(), type, 1)[0]

    def role(self, type: str) -> TypeRole:
        """What this node is for a type."""
        return self._records.role(type, self._live())

    def record(self, type: str) -> TypeRecord | None:
        """The record of a type, at the nodes that keep it."""
        return self._records.get(type)

    def add_type(self, record: TypeRecord, now: float) -> OverlayOutgoing:
        """Make a type known, or a new version of it, at its rendezvous; the record of a removed one ends it."""
        return self._publish(record, now)

    def _publish(self, record: TypeRecord, now: float) -> OverlayOutgoing:
        over = self._next_hop(self.rendezvous(record.name))
        if over is not None:
            return [(over, Publish(record))]
        return self._keep(record, now)

    def _keep(self, record: TypeRecord, now: float) -> OverlayOutgoing:
        if not self._records.put(record):
            return []
        found = self._spread(now)
        return found + self._end(record.name) if record.removed else found

    def _spread(self, now: float) -> OverlayOutgoing:
        return [
            sent
            for node, keep in self._records.spread(self._live())
            for sent in self._pass(Passed(node, keep, _MOST_HOPS), now)
        ]

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
                self._records.note(body, self._live())
                return []
            case _:
                assert_never(body)

    def _end(self, type: str) -> OverlayOutgoing:
        """A type is known no longer: all below hear of it, and what clients hold of it is gone."""
        tree = self._trees.drop(type)
        if tree is None:
            return []
        for held, of_type in list(self._held.items()):
            if of_type == type:
                del self._held[held]
                self._gone.append(held)
        up = [] if tree.up is None else [(tree.up, Attach(type, False))]
        return [*up, *((neighbour, TypeGone(type)) for neighbour in sorted(tree.below))]

    def take_gone(self) -> list[tuple[Topic, str, Key]]:
        """What clients held of types that were removed since the last call: they have to be told."""
        taken, self._gone = self._gone, []
        return taken

    # Clients

    def subscribe(
        self, client: str, key: Key, type: str, filter: RouteFilter, now: float, *, durable: bool = False
    ) -> OverlayOutgoing:
        """A client wants events of a type that pass a filter."""
        return self._hold(Hold(Topic.SUBSCRIPTIONS, client, key, filter, durable), type, now)

    def advertise(self, client: str, key: Key, type: str, filter: RouteFilter, now: float) -> OverlayOutgoing:
        """A client will publish events of a type that pass a filter."""
        return self._hold(Hold(Topic.ADVERTISEMENTS, client, key, filter), type, now)

    def _hold(self, hold: Hold, type: str, now: float) -> OverlayOutgoing:
        held = hold.topic, hold.client, hold.key
        if held in self._held:
            raise Misuse(f"{hold.client} has {hold.key!r} already", code="duplicate-key", hint="take it back first")
        self._held[held] = type
        return self._change(type, [hold], now)

    def unsubscribe(self, client: str, key: Key, now: float) -> OverlayOutgoing:
        """A client takes one of its subscriptions back."""
        return self._release(Release(Topic.SUBSCRIPTIONS, client, key), now)

    def unadvertise(self, client: str, key: Key, now: float) -> OverlayOutgoing:
        """A client takes one of its advertisements back."""
        return self._release(Release(Topic.ADVERTISEMENTS, client, key), now)

    def leave(self, client: str, now: float) -> OverlayOutgoing:
        """A client takes all back."""
        own = [Release(topic, name, key) for topic, name, key in self._held if name == client]
        return [sent for release in own for sent in self._release(release, now)]

    def _release(self, release: Release, now: float) -> OverlayOutgoing:
        type = self._held.pop((release.topic, release.client, release.key), None)
        if type is None:
            raise Misuse(f"{release.client} has no {release.key!r}", code="unknown-key")
        return self._change(type, [release], now)

    def _change(self, type: str, changes: Iterable[Change], now: float) -> OverlayOutgoing:
        changed = self._trees.join(type).broker.change(changes, now)
        return [*for_type(type, changed), *self._settle(type, now)]

    # Events

    def may_publish(self, client: str, type: str, record: AttributeReader) -> bool:
        """Whether the client advertised such an event."""
        tree = self._trees.get(type)
        return tree is not None and tree.broker.may_publish(client, record)

    def route(self, origin: str | None, identity: tuple[str, str], type: str, record: AttributeReader) -> Directions:
        """Where an event of a type goes; nowhere if it came before, or from where its tree does not lead any more."""
        tree = self._trees.get(type)
        if tree is None or (origin is not None and origin not in tree.broker.neighbours):
            return Directions()
        return tree.broker.route(origin, record) if self._seen.is_new(identity) else Directions()

    def tree(self, type: str) -> RoutingBroker | None:
        """This node's part in the tree of a type, for those who look on."""
        found = self._trees.get(type)
        return None if found is None else found.broker

    # Time

    def wakes_at(self) -> float | None:
        """When `tick` has something to do next."""
        return min((at for _, tree in self._trees if (at := tree.broker.wakes_at()) is not None), default=None)

    def tick(self, now: float) -> OverlayOutgoing:
        """Time has passed: leases end and are refreshed."""
        found = [sent for type, tree in self._trees for sent in for_type(type, tree.broker.tick(now))]
        return found + self._trees.leave_unused(now) + self._spread(now)

    # Following the graph

    def _live(self) -> Lives:
        graph = self._gossip.graph
        return {node: graph.states[node].life for node in graph.reachable(self.name)}

    def _life(self) -> int:
        return self._gossip.graph.states[self.name].life

    def _next_hop(self, target: str) -> str | None:
        """The neighbour on the cheapest way; None at the target, or where no way leads there."""
        over = self._gossip.graph.toward(target).get(self.name)
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
        found = self._trees.leave_unused(now)
        if self._trees.get(type) is not None:
            found += self._trees.set_up(type, self._next_hop(self.rendezvous(type)), now)
        return found
