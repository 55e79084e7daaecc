"""The numbers that a publisher gives its events, so that one that comes again is known however long ago it came."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from comity.limits import limits

Gap = tuple[int, int]
"""Numbers from the first to the second that have not come."""


@dataclass(frozen=True, slots=True)
class SeenNumbers:
    """All numbers from 0 up to the highest have come, but for those in the gaps, which are in order.

    >>> seen = SeenNumbers().with_number(0).with_number(3)
    >>> seen.gaps, seen.has(0), seen.has(2), seen.has(4)
    (((1, 2),), True, False, False)
    >>> seen.with_number(2).gaps
    ((1, 1),)
    """

    highest: int = -1
    gaps: tuple[Gap, ...] = ()

    def has(self, number: int) -> bool:
        """Whether a number has come."""
        if number > self.highest:
            return False
        at = bisect_right(self.gaps, number, key=lambda gap: gap[0]) - 1
        return at < 0 or number > self.gaps[at][1]

    def with_number(self, number: int) -> SeenNumbers:
        """These, and one more. Of too many gaps the oldest is taken for filled."""
        if number > self.highest:
            gap = () if number == self.highest + 1 else ((self.highest + 1, number - 1),)
            return SeenNumbers(number, (*self.gaps, *gap)[-limits().max_number_gaps :])
        return SeenNumbers(self.highest, tuple(part for gap in self.gaps for part in _without(gap, number)))


def _without(gap: Gap, number: int) -> tuple[Gap, ...]:
    first, last = gap
    if not first <= number <= last:
        return (gap,)
    return tuple(part for part in ((first, number - 1), (number + 1, last)) if part[0] <= part[1])
