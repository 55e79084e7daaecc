"""Where brokers stand in a picture: round the middle of their tree, with more room where there are more."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from comity.simulate.topology import Pair, neighbours

Point = tuple[float, float]


def laid_out(brokers: Sequence[str], links: Iterable[Pair]) -> dict[str, Point]:
    """A place for every broker, from -1 to 1 in both directions; those that no link joins stand in trees of their own.

    >>> places = laid_out(["a", "b", "c"], [("a", "b"), ("b", "c")])
    >>> [round(abs(places[name][0]), 6) for name in ("a", "b", "c")]
    [1.0, 0.0, 1.0]
    """
    near = neighbours(links)
    places: dict[str, Point] = {}
    for start in brokers:
        if start not in places:
            places.update(_round_the_middle(_middle(start, near), near, shift=2.3 * len(places) / len(brokers)))
    return _fitted(places)


def _fitted(places: Mapping[str, Point]) -> dict[str, Point]:
    """The same, in the middle and as large as there is room; along the length rather than the height."""
    left, right = (pick(x for x, _ in places.values()) for pick in (min, max))
    low, high = (pick(y for _, y in places.values()) for pick in (min, max))
    half = max(right - left, high - low) / 2 or 1.0
    found = {name: ((x - (left + right) / 2) / half, (y - (low + high) / 2) / half) for name, (x, y) in places.items()}
    if high - low > right - left:
        return {name: (-y, x) for name, (x, y) in found.items()}
    return found


def _middle(start: str, near: Mapping[str, list[str]]) -> str:
    """The broker from which the furthest one is nearest: the middle of the longest way."""
    end = _ways(start, near)[-1]
    longest = _ways(end[-1], near)[-1]
    return longest[len(longest) // 2]


def _ways(start: str, near: Mapping[str, list[str]]) -> list[list[str]]:
    """The ways to all brokers, the shortest first."""
    found, seen = [[start]], {start}
    for way in found:
        for other in near.get(way[-1], ()):
            if other not in seen:
                seen.add(other)
                found.append([*way, other])
    return found


def _round_the_middle(middle: str, near: Mapping[str, list[str]], shift: float) -> dict[str, Point]:
    """Each broker on a ring as far out as its way is long, in the part of the circle that its parent has."""
    ways = _ways(middle, near)
    leaves: dict[str, int] = {}
    for way in reversed(ways):
        below = [other for other in near.get(way[-1], ()) if other not in way]
        leaves[way[-1]] = sum(leaves.get(other, 0) for other in below) or 1
    parts: dict[str, tuple[float, float]] = {middle: (0.0, 2 * math.pi)}
    places: dict[str, Point] = {}
    for way in ways:
        name, (begin, end) = way[-1], parts[way[-1]]
        angle, radius = (begin + end) / 2, len(way) - 1.0
        places[name] = (shift + radius * math.cos(angle), radius * math.sin(angle))
        at = begin
        for other in near.get(name, ()):
            if other not in parts:
                width = (end - begin) * leaves[other] / leaves[name]
                parts[other] = (at, at + width)
                at += width
    return places
