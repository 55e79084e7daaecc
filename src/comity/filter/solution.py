"""What proves that a formula can hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from comity.filter.open_kinds import Path
from comity.filter.search import Narrowed


@dataclass(frozen=True, slots=True)
class Solution:
    """A branch on which the formula holds, with exact values for the numbers and joint values for equal attributes."""

    branch: Narrowed
    numbers: dict[Path, Fraction] = field(default_factory=dict)
    twins: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """For attributes compared with each other: the cell and the place in it; equal pairs stand for equal values."""
    ranks: dict[Path, int] = field(default_factory=dict)
    """For strings compared by order: their order. That such strings exist is only shown by a witness."""

    @property
    def is_certain(self) -> bool:
        """Whether the formula can hold even if no witness could be made."""
        return not self.branch.assumed and not self.ranks
