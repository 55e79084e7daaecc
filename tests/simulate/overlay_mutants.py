"""Nodes of a rendezvous overlay with a fault each: the suite has to find every one."""

from __future__ import annotations

from comity.route.link import Toward
from comity.route.rendezvous.messages import Attach, ForType, OverlayControl, OverlayOutgoing
from comity.route.rendezvous.node import RendezvousNode


class StaysAtTheFirstRendezvous(RendezvousNode):
    """Finds out once where a type meets: nothing is handed over to a node that joins nearer to it."""

    def rendezvous(self, type: str) -> str:
        first: dict[str, str] = self.__dict__.setdefault("_first", {})
        known = first.get(type)
        if known is None or known not in self.lives():
            first[type] = super().rendezvous(type)
        return first[type]


class PlacesByName(RendezvousNode):
    """Takes the first name for the nearest one: all types meet at one node."""

    def rendezvous(self, type: str) -> str:
        return min(self.lives())


class OverlooksDetachments(RendezvousNode):
    """Goes on telling, and counting, a neighbour whose way leads elsewhere now."""

    def receive(self, neighbour: str, control: OverlayControl, now: float) -> OverlayOutgoing:
        if isinstance(control, Attach) and not control.on:
            return []
        return super().receive(neighbour, control, now)


class KeepsAnOldTree(RendezvousNode):
    """Does not begin anew when a neighbour attaches that was attached before."""

    def receive(self, neighbour: str, control: OverlayControl, now: float) -> OverlayOutgoing:
        attached: set[tuple[str, str]] = self.__dict__.setdefault("_attached", set())
        if isinstance(control, Attach):
            if (neighbour, control.type) in attached:
                return []
            attached.add((neighbour, control.type))
        return super().receive(neighbour, control, now)


class TellsEverythingDown(RendezvousNode):
    """Tells those below advertisements, too, as brokers do that are all alike."""

    def receive(self, neighbour: str, control: OverlayControl, now: float) -> OverlayOutgoing:
        outgoing = super().receive(neighbour, control, now)
        if isinstance(control, Attach) and control.on:
            tree = self._trees.get(control.type)
            assert tree is not None
            again = [*tree.broker.link_down(neighbour, now), *tree.broker.link_up(neighbour, now, Toward.PEER)]
            outgoing += [(to, ForType(control.type, said)) for to, said in again]
        return outgoing


FAULTS = {
    StaysAtTheFirstRendezvous: "I0",
    PlacesByName: "I0",
    OverlooksDetachments: "I7",
    KeepsAnOldTree: "I1",
    TellsEverythingDown: "I2",
}
"""Each with an invariant that it breaks."""
