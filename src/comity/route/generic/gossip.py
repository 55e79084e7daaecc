"""Every broker tells every other one of its links."""

from __future__ import annotations

from comity.route.generic.graph import LinkGraph, LinkState


class LinkGossip:
    """What one broker knows of the graph, and passes on. Steps give what is to be sent to whom."""

    def __init__(self, name: str, life: int = 0) -> None:
        self.name = name
        self._life = life
        self.graph = LinkGraph()
        self._costs: dict[str, float] = {}
        self._version = 0
        self._say()

    def link_up(self, neighbour: str, cost: float) -> list[tuple[str, LinkState]]:
        """A link has come up: everybody hears of it, and the neighbour of all that is known."""
        self._costs[neighbour] = cost
        own = self._say()
        others = [state for state in self.graph.states.values() if state.broker != self.name]
        return self._spread(own) + [(neighbour, state) for state in others]

    def link_down(self, neighbour: str) -> list[tuple[str, LinkState]]:
        """A link is lost."""
        del self._costs[neighbour]
        spread = self._spread(self._say())
        self.graph.forget_unreachable(self.name)
        return spread

    def take(self, neighbour: str, state: LinkState) -> list[tuple[str, LinkState]]:
        """A neighbour passed something on. What an earlier life of this broker said is corrected."""
        if state.broker == self.name:
            if state.age < self.graph.states[self.name].age or state == self.graph.states[self.name]:
                return []
            self._life, self._version = state.age
            return self._spread(self._say())
        return self._spread(state, but=neighbour) if self.graph.take(state) else []

    def _say(self) -> LinkState:
        self._version += 1
        state = LinkState(self.name, self._version, tuple(sorted(self._costs.items())), self._life)
        self.graph.take(state)
        return state

    def _spread(self, state: LinkState, but: str | None = None) -> list[tuple[str, LinkState]]:
        return [(neighbour, state) for neighbour in self._costs if neighbour != but]
