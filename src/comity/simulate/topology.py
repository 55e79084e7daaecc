"""Which brokers there are, and which of them are linked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from random import Random

Pair = tuple[str, str]
"""Two brokers; `linked` brings them into the order of their names."""


def linked(one: str, other: str) -> Pair:
    """The link between two brokers, the same whichever is named first."""
    return (one, other) if one < other else (other, one)


@dataclass(frozen=True, slots=True)
class Topology:
    """Brokers and the links between them.

    >>> Topology.line(3).links
    (('b0', 'b1'), ('b1', 'b2'))
    """

    brokers: tuple[str, ...]
    links: tuple[Pair, ...]

    @classmethod
    def of(cls, links: Iterable[Pair], brokers: Iterable[str] = ()) -> Topology:
        """What the links name, and brokers beside them."""
        ordered = tuple(dict.fromkeys(linked(*link) for link in links))
        return cls(tuple(dict.fromkeys([*brokers, *(end for link in ordered for end in link)])), ordered)

    @classmethod
    def line(cls, size: int) -> Topology:
        """One after the other."""
        return cls._numbered(size, ((number - 1, number) for number in range(1, size)))

    @classmethod
    def star(cls, size: int) -> Topology:
        """All at the first one."""
        return cls._numbered(size, ((0, number) for number in range(1, size)))

    @classmethod
    def balanced(cls, size: int, degree: int = 3) -> Topology:
        """A tree of which every inner broker has `degree` brokers below it."""
        return cls._numbered(size, (((number - 1) // degree, number) for number in range(1, size)))

    @classmethod
    def tree(cls, size: int, chance: Random, reach: int = 8) -> Topology:
        """A random tree: each broker is linked to one of the `reach` before it, so it gets neither flat nor thin."""
        links = ((chance.randrange(max(0, number - reach), number), number) for number in range(1, size))
        return cls._numbered(size, links)

    @classmethod
    def mesh(cls, size: int, chance: Random, more: int) -> Topology:
        """A random tree with as many links more as asked for, so it has circles."""
        base = cls.tree(size, chance)
        missing = [
            (one, other)
            for at, one in enumerate(base.brokers)
            for other in base.brokers[at + 1 :]
            if linked(one, other) not in base.links
        ]
        return cls.of([*base.links, *chance.sample(missing, min(more, len(missing)))], base.brokers)

    @classmethod
    def _numbered(cls, size: int, links: Iterable[tuple[int, int]]) -> Topology:
        return cls.of(((f"b{one}", f"b{other}") for one, other in links), (f"b{number}" for number in range(size)))

    @property
    def is_tree(self) -> bool:
        """Whether there is one way between any two."""
        return len(self.links) == len(self.brokers) - 1 and len(side(self.brokers[0], neighbours(self.links))) == len(
            self.brokers
        )


def neighbours(links: Iterable[Pair]) -> Mapping[str, list[str]]:
    """Who is linked to whom, in the order of the links."""
    found: dict[str, list[str]] = defaultdict(list)
    for one, other in links:
        found[one].append(other)
        found[other].append(one)
    return found


def side(start: str, near: Mapping[str, Collection[str]], without: str | None = None) -> set[str]:
    """The brokers that can be reached from `start` without going through one of them.

    >>> sorted(side("b1", neighbours(Topology.line(4).links), without="b0"))
    ['b1', 'b2', 'b3']
    """
    found, waiting = {start}, [start]
    while waiting:
        for neighbour in near.get(waiting.pop(), ()):
            if neighbour not in found and neighbour != without:
                found.add(neighbour)
                waiting.append(neighbour)
    return found
