"""A broker in a network whose links form any graph: it routes along a spanning tree, which all brokers agree on.

A link carries subscriptions and events while both of its ends hold it to be in the tree. What the tree is follows from
what all brokers say of their links; so when links and brokers come and go, all find the same new tree, and the tables
are filled again over the links that are new in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from comity.expression.evaluate import AttributeReader
from comity.route.broker import Directions, RoutingBroker
from comity.route.generic.gossip import LinkGossip
from comity.route.generic.graph import LinkState
from comity.route.generic.seen import SeenEvents
from comity.route.messages import Control, Refresh, SendEverything, Update


@dataclass(frozen=True, slots=True)
class OnTree:
    """The sender holds this link to be in the tree, or does so no longer."""

    on: bool


TreeControl = LinkState | OnTree
GenericControl = Control | TreeControl
GenericOutgoing = list[tuple[str, GenericControl]]


class GenericBroker:
    """Steps of a broker whose links may form circles; `routing` is the broker on the tree.

    After any step of `routing` itself, its messages are sent as they are. `life` is a number that is greater each time
    that a broker of this name begins, as the time is.
    """

    def __init__(self, routing: RoutingBroker, *, life: int = 0) -> None:
        self.routing = routing
        self._gossip = LinkGossip(routing.name, life)
        self._links: dict[str, _Ends] = {}
        self._seen = SeenEvents()
        self._followed = 0
        """The state of the graph that the tree was taken from."""

    @property
    def neighbours(self) -> tuple[str, ...]:
        """All whose links are up, in the tree or not."""
        return tuple(self._links)

    def link_up(self, neighbour: str, now: float, cost: float = 1.0) -> GenericOutgoing:
        """A link has come up; what it costs tells which links the tree is made of."""
        self._links[neighbour] = _Ends()
        return [*self._gossip.link_up(neighbour, cost), *self._follow(now)]

    def link_down(self, neighbour: str, now: float) -> GenericOutgoing:
        """A link is lost."""
        ends = self._links.pop(neighbour)
        found: GenericOutgoing = [*self._gossip.link_down(neighbour)]
        if ends.here and ends.there:
            found += self.routing.link_down(neighbour, now)
        return found + self._follow(now)

    def receive(self, neighbour: str, control: GenericControl, now: float) -> GenericOutgoing:
        """A neighbour told something. What comes over a link that is not in the tree any more is old."""
        match control:
            case LinkState():
                return [*self._gossip.take(neighbour, control), *self._follow(now)]
            case OnTree(on):
                return self._set(neighbour, now, there=on)
            case Update() | Refresh() | SendEverything():
                if not self._is_used(neighbour):
                    return []
                return list(self.routing.receive(neighbour, control, now))
            case _:
                assert_never(control)

    def route(self, origin: str | None, identity: tuple[str, str], record: AttributeReader) -> Directions:
        """Where an event goes; nowhere if it came before, or over a link that is not in the tree any more."""
        if origin is not None and not self._is_used(origin):
            return Directions()
        return self.routing.route(origin, record) if self._seen.is_new(identity) else Directions()

    def closes_circle(self, neighbour: str) -> bool:
        """Whether a link to the neighbour would be a second way to it: who wants trees only refuses it."""
        return neighbour in self._gossip.graph.reachable(self.routing.name)

    def _is_used(self, neighbour: str) -> bool:
        ends = self._links.get(neighbour)
        return ends is not None and ends.here and ends.there

    def _follow(self, now: float) -> GenericOutgoing:
        """Take up the tree that follows from what is known now."""
        if self._followed == self._gossip.graph.changes:
            return []
        self._followed = self._gossip.graph.changes
        tree = self._gossip.graph.spanning_tree()
        name = self.routing.name
        found: GenericOutgoing = []
        for neighbour, ends in self._links.items():
            wanted = (min(name, neighbour), max(name, neighbour)) in tree
            if wanted != ends.here:
                found.append((neighbour, OnTree(wanted)))
                found += self._set(neighbour, now, here=wanted)
        return found

    def _set(
        self, neighbour: str, now: float, *, here: bool | None = None, there: bool | None = None
    ) -> GenericOutgoing:
        """One of the two ends has changed its mind."""
        ends = self._links[neighbour]
        used = ends.here and ends.there
        ends.here = ends.here if here is None else here
        ends.there = ends.there if there is None else there
        step: Callable[[str, float], list[tuple[str, Control]]] | None = None
        if (ends.here and ends.there) != used:
            step = self.routing.link_down if used else self.routing.link_up
        return [] if step is None else list(step(neighbour, now))


@dataclass(slots=True)
class _Ends:
    """Whether a link is in the tree, as its two ends have it."""

    here: bool = False
    there: bool = False
