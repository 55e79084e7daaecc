"""What a node makes of the graph: who can be reached, and over which neighbour; found out once for each state of it."""

from __future__ import annotations

from comity.route.generic.gossip import LinkGossip
from comity.route.rendezvous.records import Lives
from comity.route.rendezvous.ring import Ring


class OverlayWays:
    """The ways from one node, as far as the links that it hears of tell."""

    def __init__(self, gossip: LinkGossip) -> None:
        self._gossip = gossip
        self._seen = -1
        """The state of the graph that the rest is of."""
        self._lives: Lives = {}
        self._ring = Ring(())
        self._over: dict[str, str | None] = {}

    def lives(self) -> Lives:
        """The nodes that can be reached."""
        self._look()
        return self._lives

    def nearest(self, type: str, count: int) -> list[str]:
        """Those of them that are nearest to the name of a type."""
        self._look()
        return self._ring.nearest(type, count)

    def toward(self, target: str) -> str | None:
        """The neighbour on the cheapest way; None at the target, or where no way leads there."""
        self._look()
        if target not in self._over:
            self._over[target] = self._gossip.graph.toward(target).get(self._gossip.name)
        return self._over[target]

    def _look(self) -> None:
        graph = self._gossip.graph
        if self._seen == graph.changes:
            return
        self._seen = graph.changes
        self._lives = {node: graph.states[node].life for node in graph.reachable(self._gossip.name)}
        self._ring = Ring(self._lives)
        self._over.clear()
