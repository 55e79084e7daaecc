"""From times to places on a line. Long stretches in which nothing happens are cut short."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median

from comity.pattern.report import moment_text

_SECOND, _MINUTE, _HOUR, _DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
_STEPS = (
    *(base * 10**power for power in range(6) for base in (1, 2, 5)),
    *(count * _SECOND for count in (1, 2, 5, 10, 15, 30)),
    *(count * _MINUTE for count in (1, 2, 5, 10, 15, 30)),
    *(count * _HOUR for count in (1, 2, 3, 6, 12)),
    *(count * _DAY for count in (1, 2, 7, 14, 28, 91, 182, 364, 3_640, 36_400, 364_000)),
)
_TICK_DISTANCE = 86
_LONG_GAP = 15
"""A stretch is cut short if it is so many times as long as the usual one, and a third of everything."""


@dataclass(frozen=True)
class TimeAxis:
    """Places for the times between the first and the last of `marks`, at which something happens."""

    marks: tuple[int, ...]
    left: float
    right: float

    @classmethod
    def over(cls, times: Iterable[int], left: float, right: float) -> TimeAxis:
        """An axis for these times, with a little room on both sides.

        >>> axis = TimeAxis.over([0, 10, 20], 0, 100)
        >>> 0 < axis.place(0) < axis.place(10) < axis.place(20) < 100
        True
        """
        marks = sorted(set(times)) or [0]
        drawn = sum(_drawn([b - a for a, b in pairwise(marks)]))
        room = max(int(drawn) // 40, 1) if drawn else _SECOND
        return cls((marks[0] - room, *marks, marks[-1] + room), left, right)

    @cached_property
    def _lengths(self) -> list[float]:
        """How long each stretch between two marks is drawn, as a time."""
        gaps = [b - a for a, b in pairwise(self.marks)]
        return [gaps[0], *_drawn(gaps[1:-1]), gaps[-1]]

    @cached_property
    def _places(self) -> list[float]:
        scale = (self.right - self.left) / sum(self._lengths)
        places = [self.left]
        for length in self._lengths:
            places.append(places[-1] + length * scale)
        return places

    def place(self, time: int) -> float:
        """Where a time is; those beyond the axis are at its edges."""
        if time <= self.marks[0] or time >= self.marks[-1]:
            return self.left if time <= self.marks[0] else self.right
        at = bisect_right(self.marks, time) - 1
        begin, end = self.marks[at], self.marks[at + 1]
        return self._places[at] + (self._places[at + 1] - self._places[at]) * (time - begin) / (end - begin)

    @cached_property
    def cuts(self) -> list[tuple[int, int]]:
        """The stretches that are cut short."""
        shown = zip(pairwise(self.marks), self._lengths, strict=True)
        return [(a, b) for (a, b), length in shown if length < b - a]

    @cached_property
    def ticks(self) -> list[tuple[float, str]]:
        """Round times with their texts, far enough from each other."""
        scale = sum(self._lengths) / (self.right - self.left)
        step = next((one for one in _STEPS if one >= _TICK_DISTANCE * scale), _STEPS[-1])
        found: list[tuple[float, str]] = []
        for begin, end in self._stretches():
            for time in range(-(-begin // step) * step, end + 1, step):
                place = self.place(time)
                if not found or place - found[-1][0] >= _TICK_DISTANCE * 0.75:
                    found.append((place, self._tick_text(time, step)))
        return found

    def _stretches(self) -> list[tuple[int, int]]:
        edges = [self.marks[0], *(time for cut in self.cuts for time in cut), self.marks[-1]]
        return list(zip(edges[::2], edges[1::2], strict=True))

    def _tick_text(self, time: int, step: int) -> str:
        day, _, clock = moment_text(time).removesuffix("Z").partition("T")
        if not clock or step >= _DAY:
            return day
        clock = clock.rstrip("0") if "." in clock else clock if step < _MINUTE else clock[:5]
        return clock if self.day else f"{day[5:]} {clock}"

    @cached_property
    def day(self) -> str | None:
        """The one day of all times, if it is one."""
        first, last = moment_text(self.marks[1])[:10], moment_text(self.marks[-2])[:10]
        return first if first == last else None


def _drawn(gaps: list[int]) -> list[float]:
    """How long stretches are drawn, as times."""
    usual, total = median(gaps) if gaps else 0, sum(gaps)
    return [usual * 3 if gap > _LONG_GAP * usual and gap > total / 3 else gap for gap in gaps]
