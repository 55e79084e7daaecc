"""Operands that ask for the same events, of many patterns: their candidates are found once, and shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from comity.pattern.bound import BoundPattern

Asked = tuple[int, int]
"""The numbers of a pattern and of one of its operands."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """By the first operand that asks for some events, all that ask for the same, with the same key."""

    users: Mapping[Asked, tuple[Asked, ...]]

    @classmethod
    def of(cls, patterns: Sequence[BoundPattern], leaders: Sequence[int]) -> Sharing:
        """What the operands of patterns share; a pattern that another one leads asks for nothing itself.

        >>> from comity.pattern.bound import bind_pattern
        >>> from comity.pattern.tree import Operand, Sequence as Steps
        >>> pair = Steps((Operand("a", "A"), Operand("b", "B")))
        >>> Sharing.of([bind_pattern("ab", pair)], [0]).users
        {(0, 0): ((0, 0),), (0, 1): ((0, 1),)}
        """
        first: dict[object, Asked] = {}
        users: dict[Asked, list[Asked]] = {}
        for number, pattern in enumerate(patterns):
            if leaders[number] != number:
                continue
            for operand, name in enumerate(pattern.operand_names):
                leader = first.setdefault(_asked_for(pattern, number, name), (number, operand))
                users.setdefault(leader, []).append((number, operand))
        return cls({leader: tuple(own) for leader, own in users.items()})


def _asked_for(pattern: BoundPattern, number: int, name: str) -> object:
    # Without a key each pattern has its trace to itself, and may be detected elsewhere than others.
    key = (None, number) if pattern.key is None else pattern.key.parts_of(name)
    return pattern.feed, pattern.filters[name], key, pattern.parameters.ties, pattern.needs_line(name)
