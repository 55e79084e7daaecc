"""The tree of each type: the ways of all that take part in it to its rendezvous.

In a tree, subscriptions and advertisements go up to the rendezvous; where a subscription meets an advertisement, it
also follows it down. Events follow the subscriptions back, and pass the rendezvous only where a way leads over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from comity.errors import Misuse
from comity.limits import limits
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

    @property
    def is_used(self) -> bool:
        """Whether anybody here or below takes part."""
        return bool(self.below) or self.broker.has_clients


class TypeTrees:
    """The trees of all types that this node takes part in."""

    def __init__(self, new_broker: Callable[[], RoutingBroker]) -> None:
        self._new_broker = new_broker
        self._trees: dict[str, TypeTree] = {}
        self._busy: dict[str, None] = {}
        """Those in which a step left something over."""

    def __iter__(self) -> Iterator[tuple[str, TypeTree]]:
        return iter(list(self._trees.items()))

    def __len__(self) -> int:
        return len(self._trees)

    def get(self, type: str) -> TypeTree | None:
        """The tree of a type, if this node takes part in it."""
        return self._trees.get(type)

    def join(self, type: str) -> TypeTree:
        """The same; it takes part from now on."""
        tree = self._trees.get(type)
        if tree is None:
            self.check_room(1)
            tree = self._trees[type] = TypeTree(self._new_broker())
        return tree

    def check_room(self, more: int) -> None:
        """Raise if this node would take part in more trees than it may."""
        if len(self._trees) + more > limits().max_overlay_types:
            hint = "use fewer types, told apart by their attributes, or raise the bound"
            raise Misuse("the broker takes part in the trees of too many types", code="too-many-types", hint=hint)

    def said(self, type: str, outgoing: Outgoing) -> OverlayOutgoing:
        """What a step of the broker in a tree tells its neighbours; it may have left something over."""
        if self._trees[type].broker.has_work:
            self._busy[type] = None
        return [(neighbour, ForType(type, control)) for neighbour, control in outgoing]

    @property
    def has_work(self) -> bool:
        """Whether a change was too large for one step."""
        return bool(self._busy)

    def work(self) -> OverlayOutgoing:
        """Go on with what earlier steps left over."""
        busy, self._busy = self._busy, {}
        trees = ((type, self._trees.get(type)) for type in busy)
        return [sent for type, tree in trees if tree is not None for sent in self.said(type, tree.broker.work())]

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
        if not on and type not in self._trees:
            return []
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
            if neighbour == tree.up or neighbour in tree.below or neighbour in tree.broker.neighbours:
                tree.below.discard(neighbour)
                tree.up = None if tree.up == neighbour else tree.up
                found += self._renew(type, neighbour, now) + self.leave_unused(type, now)
        return found

    def leave_unused(self, type: str, now: float) -> OverlayOutgoing:
        """Leave a tree in which nobody here or below takes part."""
        tree = self._trees.get(type)
        if tree is None or tree.is_used:
            return []
        found = self.set_up(type, None, now)
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
        return self.said(type, found)
