"""A world so small that all of its events can be listed: filters as plain data, and what they match by counting.

Shares no code with what it judges: events of a filter are computed here, from its parts, and only texts are given away.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NUMBERS = (None, *range(7))
WORDS = (None, "x", "y", "z")
SPACE = tuple((number, word) for number in NUMBERS for word in WORDS)
"""Every event: an attribute `a` and an attribute `b`, each of which may be missing."""
Point = tuple[int | None, str | None]


def as_record(point: Point) -> Mapping[tuple[str, ...], Any]:
    """The event as routing reads it."""
    return {("a",): point[0], ("b",): point[1], ("event", "type"): "Small"}


@dataclass(frozen=True)
class SmallFilter:
    """A range of `a` (or all but a range), and words for `b`; None asks nothing."""

    range: tuple[int, int] | None = None
    outside: bool = False
    words: tuple[str, ...] | None = None
    spelling: int = 0
    """The same may be written in several ways."""

    @property
    def text(self) -> str:
        parts = [part for part in (self._number_text(), self._word_text()) if part]
        return " and ".join(parts) or "true"

    def _number_text(self) -> str:
        if self.range is None:
            return ""
        low, high = self.range
        if self.outside:
            return f"a not between {low} and {high}"
        return [f"a between {low} and {high}", f"a >= {low} and a <= {high}", f"a <= {high} and a >= {low}"][
            self.spelling
        ]

    def _word_text(self) -> str:
        if self.words is None:
            return ""
        return "b in (" + ", ".join(f"'{word}'" for word in self.words) + ")"

    def wants(self, point: Point) -> bool:
        number, word = point
        if self.words is not None and word not in self.words:
            return False
        if self.range is None:
            return True
        return number is not None and (self.range[0] <= number <= self.range[1]) != self.outside

    @property
    def events(self) -> frozenset[Point]:
        return frozenset(point for point in SPACE if self.wants(point))


def random_filter(chance: random.Random) -> SmallFilter:
    """Filters that often cover each other, meet, or are neighbours."""
    low, high = sorted((chance.randrange(7), chance.randrange(7)))
    ranged = None if chance.random() < 0.2 else (low, high)
    words = None if chance.random() < 0.6 else tuple(sorted(chance.sample(WORDS[1:], chance.choice((1, 1, 2)))))
    return SmallFilter(ranged, chance.random() < 0.15, words, chance.randrange(3))
