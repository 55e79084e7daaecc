"""The tree of each type: the ways of all that take part in it to its rendezvous.

In a tree, subscriptions and advertisements go up to the rendezvous; where a subscription meets an advertisement, it
also follows it down. Events follow the subscriptions back, and pass the rendezvous only where a way leads over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from comity.route.broker import RoutingBroker
from comity.route.link import Toward
from comity.route.messages import Outgoing
from comity.route.rendezvous.messages import Attach, ForType, OverlayOutgoing


@dataclass(slots=True)
class TypeTree:
    """What one node knows of the tree of a type."""

    broker: RoutingBroker
    up: str | None = None
    """The neighbour on the way to the rendezvous; None at the rendezvous itself."""
    below: set[str] = field(default_factory=set)
    """The neighbours whose way leads over this node."""


class TypeTrees:
    """The trees of all types that this node takes part in."""

    def __init__(self, new_broker: Callable[[], RoutingBroker]) -> None:
        self._new_broker = new_broker
        self._trees: dict[str, TypeTree] = {}

    def __iter__(self) -> Iterator[tuple[str, TypeTree]]:
        return iter(list(self._trees.items()))

    def get(self, type: str) -> TypeTree | None:
        """The tree of a type, if this node takes part in it."""
        return self._trees.get(type)

    def join(self, type: str) -> TypeTree:
        """The same; it takes part from now on."""
        tree = self._trees.get(type)
        if tree is None:
            tree = self._trees[type] = TypeTree(self._new_broker())
        return tree

    def set_up(self, type: str, neighbour: str | None, now: float) -> OverlayOutgoing:
        """The way to the rendezvous leads over this neighbour from now on; None: it ends here."""
        tree = self._trees[type]
        before, tree.up = tree.up, neighbour
        found: OverlayOutgoing = []
        if before != neighbour:
            for changed, on in ((before, False), (neighbour, True)):
                if changed is not None:
                    found.append((changed, Attach(type, on)))
                    found += self._renew(type, changed, now)
        return found

    def attach(self, type: str, neighbour: str, on: bool, now: float) -> OverlayOutgoing:
        """The way of a neighbour leads over this node from now on, or no longer."""
        tree = self.join(type)
        if on:
            tree.below.add(neighbour)
        else:
            tree.below.discard(neighbour)
        return self._renew(type, neighbour, now)

    def lose(self, neighbour: str, now: float) -> OverlayOutgoing:
        """The link to a neighbour is gone."""
        found: OverlayOutgoing = []
        for type, tree in self:
            tree.below.discard(neighbour)
            tree.up = None if tree.up == neighbour else tree.up
            found += self._renew(type, neighbour, now)
        return found

    def leave_unused(self, now: float) -> OverlayOutgoing:
        """Leave the trees in which nobody here or below takes part."""
        found: OverlayOutgoing = []
        for type, tree in self:
            if not tree.below and not tree.broker.has_clients:
                found += self.set_up(type, None, now)
                del self._trees[type]
        return found

    def drop(self, type: str) -> TypeTree | None:
        """Forget the tree, with all that is held in it."""
        return self._trees.pop(type, None)

    def _renew(self, type: str, neighbour: str, now: float) -> OverlayOutgoing:
        """Begin anew on a link, as both of its ends do whenever one of them has changed what it is to the other."""
        tree = self._trees[type]
        found: Outgoing = []
        if neighbour in tree.broker.neighbours:
            found += tree.broker.link_down(neighbour, now)
        if neighbour == tree.up or neighbour in tree.below:
            found += tree.broker.link_up(neighbour, now, Toward.UP if neighbour == tree.up else Toward.DOWN)
        return for_type(type, found)


def for_type(type: str, outgoing: Outgoing) -> OverlayOutgoing:
    """What a broker in the tree of a type tells its neighbours."""
    return [(neighbour, ForType(type, control)) for neighbour, control in outgoing]
