"""The graph of a network, from what each broker says of its own links; and trees in it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkState:
    """What a broker says of its links. It is passed on to everybody; of two the later one counts."""

    broker: str
    version: int
    links: tuple[tuple[str, float], ...]
    """Its neighbours, each with what the link costs."""
    life: int = 0
    """Rises whenever the broker begins anew, for then it knows nothing of what it said before."""

    @property
    def age(self) -> tuple[int, int]:
        """Greater for what is later."""
        return self.life, self.version


class LinkGraph:
    """What all reachable brokers say. A link counts if both its ends say that it is up.

    >>> graph = LinkGraph()
    >>> for broker, others in {"a": "bc", "b": "ac", "c": "ab"}.items():
    ...     _ = graph.take(LinkState(broker, 1, tuple((other, 1.0) for other in others)))
    >>> sorted(graph.spanning_tree())
    [('a', 'b'), ('a', 'c')]
    """

    def __init__(self) -> None:
        self.states: dict[str, LinkState] = {}
        self.changes = 0
        """Rises with everything that is news."""

    def take(self, state: LinkState) -> bool:
        """Take note of what a broker says; whether it is news."""
        known = self.states.get(state.broker)
        if known is not None and known.age >= state.age:
            return False
        self.states[state.broker] = state
        self.changes += 1
        return True

    def neighbours(self, broker: str) -> Iterator[tuple[str, float]]:
        """The brokers at the other ends of its links; a link costs what its dearer end says."""
        said = self.states.get(broker)
        for other, cost in () if said is None else said.links:
            back = self.states.get(other)
            costs = [their_cost for end, their_cost in (() if back is None else back.links) if end == broker]
            if costs:
                yield other, max(cost, *costs)

    def reachable(self, start: str) -> list[str]:
        """All brokers that links lead to, the start first, near ones before far ones."""
        found = {start: None}
        order = [start]
        for broker in order:
            for other, _ in self.neighbours(broker):
                if other not in found:
                    found[other] = None
                    order.append(other)
        return order

    def forget_unreachable(self, start: str) -> None:
        """Forget what is said by brokers that no link leads to; they say it again when one does."""
        reachable = set(self.reachable(start))
        self.changes += 1
        self.states = {broker: state for broker, state in self.states.items() if broker in reachable}

    def spanning_tree(self) -> set[tuple[str, str]]:
        """The links of the cheapest tree over all brokers (of each part, if there are several), in order of names.

        Who knows the same links gets the same tree: of equally cheap links those of the first names are taken.
        """
        links = sorted(
            (cost, *sorted((broker, other))) for broker in self.states for other, cost in self.neighbours(broker)
        )
        part = {broker: broker for broker in self.states}
        found: set[tuple[str, str]] = set()
        for _, one, other in links:
            left, right = _root(part, str(one)), _root(part, str(other))
            if left != right:
                part[left] = right
                found.add((str(one), str(other)))
        return found

    def toward(self, target: str) -> Mapping[str, str]:
        """For each broker from which the target can be reached, the neighbour over which that is cheapest."""
        costs, over = {target: (0.0, 0)}, dict[str, str]()
        waiting = [(0.0, 0, target)]
        while waiting:
            cost, hops, broker = heapq.heappop(waiting)
            if (cost, hops) > costs[broker]:
                continue
            for other, more in sorted(self.neighbours(broker)):
                through = cost + more, hops + 1
                if other not in costs or through < costs[other]:
                    costs[other], over[other] = through, broker
                    heapq.heappush(waiting, (*through, other))
        return over


def _root(part: dict[str, str], broker: str) -> str:
    while part[broker] != broker:
        part[broker] = part[part[broker]]
        broker = part[broker]
    return broker
