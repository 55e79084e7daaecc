"""Of several things those that are needed: what another one covers is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Covered = TypeVar("Covered")


def uncovered(given: Iterable[Covered], covers: Callable[[Covered, Covered], bool]) -> list[Covered]:
    """What no other one covers; of several that cover each other, the first.

    >>> uncovered([{1}, {1, 2}, {3}, {3}], lambda outer, inner: outer >= inner)
    [{1, 2}, {3}]
    """
    kept: list[Covered] = []
    for new in given:
        if not any(covers(known, new) for known in kept):
            kept = [known for known in kept if not covers(new, known)]
            kept.append(new)
    return kept
