"""Nodes and types in one circular space of numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_BITS = 128
_WHOLE = 1 << _BITS


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


def nearest(nodes: Iterable[str], name: str, count: int) -> list[str]:
    """The nodes nearest to a name, the nearest first.

    >>> nearest(["a", "b", "c", "d"], "house.Fire", 2)
    ['c', 'b']
    """
    target = place(name)
    return sorted(nodes, key=lambda node: (distance(place(node), target), node))[:count]
