"""What checkers found to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Finding:
    """An invariant that does not hold, by the number that it has in the documentation, and how that shows."""

    invariant: str
    text: str
    at_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.invariant} at {self.at_s:.4f} s: {self.text}"


@dataclass(slots=True)
class Findings:
    """All findings of a run; a broken rule breaks everything after it, so no more than a thousand are kept."""

    now: float = 0.0
    kept: list[Finding] = field(default_factory=list)

    def add(self, invariant: str, text: str) -> None:
        if len(self.kept) < _KEPT:
            self.kept.append(Finding(invariant, text, self.now))

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.kept)

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def invariants(self) -> set[str]:
        """The numbers of those that do not hold."""
        return {one.invariant for one in self.kept}
