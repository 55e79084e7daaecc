"""Nodes and types in one circular space of numbers."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache

_BITS = 128
_WHOLE = 1 << _BITS


@lru_cache(maxsize=1 << 16)
def place(name: str) -> int:
    """Where a node, or a type, stands: a number that nobody can choose.

    >>> place("house.Fire") == place("house.Fire") != place("house.Water")
    True
    """
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=_BITS // 8).digest(), "big")


def distance(one: int, other: int) -> int:
    """How far two places are from each other, the shorter way round."""
    apart = (one - other) % _WHOLE
    return min(apart, _WHOLE - apart)


class Ring:
    """Nodes by their places, so that a network of many nodes is not looked through for each type.

    >>> Ring("abcd").nearest("house.Fire", 2)
    ['c', 'b']
    """

    def __init__(self, nodes: Iterable[str]) -> None:
        self._nodes = sorted((place(node), node) for node in nodes)

    def nearest(self, name: str, count: int) -> list[str]:
        """The nodes nearest to a name, the nearest first."""
        target = place(name)
        near = dict.fromkeys(self._around(target, count + 1))
        return sorted(near, key=lambda node: (distance(place(node), target), node))[:count]

    def _around(self, target: int, count: int) -> Iterator[str]:
        """So many on each side of a place, fewer if there are not so many."""
        at = bisect_left(self._nodes, (target, ""))
        for step in range(min(count, len(self._nodes))):
            yield self._nodes[(at + step) % len(self._nodes)][1]
            yield self._nodes[at - 1 - step][1]


def nearest(nodes: Iterable[str], name: str, count: int) -> list[str]:
    """The same for nodes that are asked about once."""
    return Ring(nodes).nearest(name, count)
