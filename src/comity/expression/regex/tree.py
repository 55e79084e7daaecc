"""The tree of a regular expression, and sets of characters as ranges of code points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Ranges = tuple[tuple[int, int], ...]
"""Code points as sorted, disjoint, inclusive ranges without the surrogates."""

MAX_CODE_POINT = 0x10FFFF
ALPHABET: Ranges = ((0, 0xD7FF), (0xE000, MAX_CODE_POINT))


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of the ranges."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Concatenation:
    """One after the other; without items it is the empty text."""

    items: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Any one of the items."""

    items: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The item, `low` to `high` times; without end when `high` is None."""

    item: Regex
    low: int
    high: int | None


Regex = Chars | Concatenation | Alternation | Repeat

ANY = Chars(ALPHABET)
ANY_RUN = Repeat(ANY, 0, None)


def literal(text: str) -> Regex:
    """The pattern that matches just this text."""
    return sequence(Chars(((ord(char), ord(char)),)) for char in text)


def sequence(items: Iterable[Regex]) -> Regex:
    """The items one after the other, without needless nesting."""
    flat = tuple(items)
    return flat[0] if len(flat) == 1 else Concatenation(flat)


def choice(items: Iterable[Regex]) -> Regex:
    """Any one of the items, without needless nesting."""
    flat = tuple(items)
    return flat[0] if len(flat) == 1 else Alternation(flat)


def normal_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same characters as sorted, disjoint ranges without surrogates."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(part for pair in ranges for part in _without_surrogates(*pair)):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def other_than(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """All characters but these."""
    gaps, after = [], 0
    for low, high in normal_ranges(ranges):
        gaps.append((after, low - 1))
        after = high + 1
    gaps.append((after, MAX_CODE_POINT))
    return normal_ranges(gaps)


def _without_surrogates(low: int, high: int) -> list[tuple[int, int]]:
    parts = ((max(low, first), min(high, last)) for first, last in ALPHABET)
    return [(first, last) for first, last in parts if first <= last]
