"""Sets as cuts of an ordered line.

A cut is a place between two neighbours of the line. A set is a strictly increasing tuple of cuts: reading from the
left, outside at first, each cut changes between outside and inside. With the least cut of the line in front, the set
begins inside. Every finite union of intervals has exactly one such tuple, so equal sets are equal tuples.
"""

from __future__ import annotations

from typing import Any

Cuts = tuple[Any, ...]

# Truth tables over (inside left, inside right): bit 0 is neither, bit 1 left only, bit 2 right only, bit 3 both.
INTERSECTION = 0b1000
UNION = 0b1110
DIFFERENCE = 0b0010


def combine(left: Cuts, right: Cuts, table: int) -> Cuts:
    """The set of what the truth table takes.

    >>> combine((1, 5), (3, 9), INTERSECTION), combine((1, 5), (3, 9), DIFFERENCE)
    ((3, 5), (1, 3))
    """
    out: list[Any] = []
    side = inside = at_left = at_right = 0
    end_left, end_right = len(left), len(right)
    while at_left < end_left or at_right < end_right:
        if at_right == end_right or (at_left < end_left and left[at_left] <= right[at_right]):
            cut = left[at_left]
            if at_right < end_right and right[at_right] == cut:
                at_right += 1
                side ^= 2
            at_left += 1
            side ^= 1
        else:
            cut = right[at_right]
            at_right += 1
            side ^= 2
        if (table >> side & 1) != inside:
            inside ^= 1
            out.append(cut)
    return tuple(out)


def intersection(left: Cuts, right: Cuts) -> Cuts:
    """What is in both; the common case of two intervals takes no loop."""
    if len(left) == 2 and len(right) == 2:
        low = left[0] if left[0] >= right[0] else right[0]
        high = left[1] if left[1] <= right[1] else right[1]
        return (low, high) if low < high else ()
    return combine(left, right, INTERSECTION) if left and right else ()


def within(part: Cuts, whole: Cuts) -> bool:
    """Whether the whole covers the part."""
    if not part or part == whole:
        return True
    if len(part) == 2 and len(whole) == 2:
        return bool(whole[0] <= part[0] and part[1] <= whole[1])
    return not combine(part, whole, DIFFERENCE)


def complement(cuts: Cuts, least: Any) -> Cuts:
    """What is not in the set, on a line that begins with the cut `least`."""
    return cuts[1:] if cuts and cuts[0] == least else (least, *cuts)
