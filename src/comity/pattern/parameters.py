"""The parameters of a composite profile: how it chooses among duplicates, and what a report consumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Consume(StrEnum):
    """What a report removes from the trace."""

    KEEP = "keep"
    DELETE = "delete"
    REAPPLY = "reapply"


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Which of an operand's candidates are taken: positions from `first` to `last`, negative ones from the end."""

    first: int
    last: int
    collect: bool = False

    def choose(self, count: int) -> range:
        """The positions, from 0, that are taken of so many candidates.

        >>> list(FIRST.choose(3)), list(LAST.choose(3)), list(ALL.choose(3)), list(Duplicates(2, 5).choose(3))
        ([0], [2], [0, 1, 2], [1, 2])
        """
        begin = self.first - 1 if self.first > 0 else count + self.first
        end = self.last if self.last > 0 else count + self.last + 1
        return range(max(begin, 0), min(end, count))

    def __str__(self) -> str:
        named = {FIRST: "first", LAST: "last", ALL: "all", COLLECT: "collect"}.get(self)
        return named or (str(self.first) if self.first == self.last else f"{self.first}..{self.last}")


FIRST, LAST, ALL, COLLECT = Duplicates(1, 1), Duplicates(-1, -1), Duplicates(1, -1), Duplicates(1, -1, collect=True)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Everything that a composite profile says beside its pattern and its condition."""

    duplicates: Duplicates = ALL
    """Of operands that have none of their own."""
    own_duplicates: Mapping[str, Duplicates] = field(default_factory=dict, hash=False)
    consume: Consume = Consume.KEEP
    limit: int | None = None
    """Events that an operand has at most in a trace."""
    ties: tuple[str, ...] | None = None
    """The attribute that orders events of one time."""
    version: int = 1

    def of(self, operand: str) -> Duplicates:
        """How an operand chooses."""
        return self.own_duplicates.get(operand, self.duplicates)
