"""Finding occurrences among the events of a trace, within bounds: nothing is looked at that cannot take part."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from comity.pattern.bound import BoundPattern, Join
from comity.pattern.occurrence import Occurrence, Point, Seen, end_tie, fulfils, joined
from comity.pattern.tree import (
    Both,
    Either,
    Operand,
    Pattern,
    Selection,
    Sequence,
    Silence,
    Together,
)

EARLIEST: Point = (-(2**127), 0)
_FIRST, _LAST = -(2**64), 2**64
"""Before and after all tie-breaks."""


@dataclass(slots=True)
class Candidates:
    """An operand's events in a trace, in their order."""

    seen: list[Seen] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    dropped: int = 0
    """Events before the first of them that are too old to take part, but count for positions."""

    def add(self, seen: Seen) -> None:
        """One more; it must not be before the last of them."""
        self.seen.append(seen)
        self.points.append(seen.point)

    def between(self, low: Point, high: Point) -> list[Seen]:
        """Those from one point to another, both included."""
        return self.seen[bisect_left(self.points, low) : bisect_right(self.points, high)]

    def expire(self, before: int) -> None:
        """Leave out those that are too old to take part; they still count for positions."""
        count = bisect_left(self.points, (before, _FIRST))
        if count:
            del self.seen[:count], self.points[:count]
            self.dropped += count

    def limit(self, most: int) -> None:
        """Forget the oldest ones beyond a number, those that are too old first."""
        excess = self.dropped + len(self.seen) - most
        if excess > 0:
            from_dropped = min(excess, self.dropped)
            self.dropped -= from_dropped
            del self.seen[: excess - from_dropped], self.points[: excess - from_dropped]

    def clear(self) -> None:
        """Forget all of them."""
        self.seen, self.points, self.dropped = [], [], 0

    def remove(self, orders: set[tuple[int, int, str, str]]) -> None:
        """Leave out those that took part in a report."""
        kept = [one for one in self.seen if one.order not in orders]
        if len(kept) < len(self.seen):
            self.seen, self.points = kept, [one.point for one in kept]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What parts in any order have to fulfil together: their conditions, how far apart they are, and the bounds."""

    joins: tuple[Join, ...]
    within: int | None
    tolerance: int | None
    begin: Point
    low: Point
    high: Point

    def since(self, end: int) -> Point:
        """The earliest start of a part, when the whole ends then or later."""
        return self.begin if self.within is None else max(self.begin, (end - self.within, _FIRST))

    def bounds(self, one: Occurrence, ends: tuple[int, int], is_before_closer: bool) -> tuple[Point, Point]:
        """Between which points another part has to end."""
        low, high = EARLIEST, _before(self.low) if is_before_closer else self.high
        if self.within is not None:
            high = min(high, (one.start[0] + self.within, _LAST))
        if self.tolerance is not None:
            low = (ends[1] - self.tolerance, _FIRST)
            high = min(high, (ends[0] + self.tolerance, _LAST))
        return low, high

    def allows(self, whole: Occurrence) -> bool:
        return self.within is None or whole.end[0] - whole.start[0] <= self.within


@dataclass(slots=True)
class Search:
    """The occurrences of a pattern's parts at a point of time."""

    bound: BoundPattern
    candidates: Mapping[str, Candidates]
    silent_since: Mapping[Silence, int]
    """By silence, a time at which one of them began or would have; nothing before the trace has started."""
    now: Point
    last: int | None = None
    """The time after which no silence begins: that of the last event, where it is known."""

    def closing(self) -> list[Occurrence]:
        """What closes now."""
        return [] if self.bound.never else list(self.find(self.bound.pattern, EARLIEST, self.now, self.now))

    def find(self, pattern: Pattern, begin: Point, low: Point, high: Point) -> Iterator[Occurrence]:
        """The occurrences of a part that start at `begin` or later and end between `low` and `high`, all included."""
        if high < low or high < begin:
            return
        match pattern:
            case Operand(name):
                for seen in self.candidates[name].between(max(begin, low), high):
                    yield Occurrence(seen.point, seen.point, {name: seen})
            case Either(parts):
                for part in parts:
                    yield from self.find(part, begin, low, high)
            case Both(parts, within):
                joins = self.bound.joins.get(pattern, ())
                yield from self._all_parts(parts, _Frame(joins, within, None, begin, low, high))
            case Together(parts, tolerance):
                joins = self.bound.joins.get(pattern, ())
                yield from self._all_parts(parts, _Frame(joins, None, tolerance, begin, low, high))
            case Sequence():
                yield from self._sequences(pattern, begin, low, high)
            case Silence():
                yield from self._silences(pattern, begin, low, high)
            case Selection():
                for one in self._selected(pattern):
                    if begin <= one.start and low <= one.end <= high:
                        yield one
            case _:
                assert_never(pattern)

    # Parts in any order

    def _all_parts(self, parts: tuple[Pattern, ...], frame: _Frame) -> Iterator[Occurrence]:
        """Each combination once: by the first of its parts that ends at `low` or later."""
        for closer, part in enumerate(parts):
            others = [(other, at < closer) for at, other in enumerate(parts) if at != closer]
            for one in self.find(part, frame.since(frame.low[0]), frame.low, frame.high):
                yield from self._with_others(one, (one.end[0], one.end[0]), others, frame)

    def _with_others(
        self, one: Occurrence, ends: tuple[int, int], others: list[tuple[Pattern, bool]], frame: _Frame
    ) -> Iterator[Occurrence]:
        if not others:
            yield one
            return
        (part, is_before_closer), *rest = others
        low, high = frame.bounds(one, ends, is_before_closer)
        for other in self.find(part, frame.since(one.end[0]), low, high):
            if other.shares_event_with(one):
                continue
            whole = joined((one, other))
            if frame.allows(whole) and fulfils(whole.bound, frame.joins):
                reached = min(ends[0], other.end[0]), max(ends[1], other.end[0])
                yield from self._with_others(whole, reached, rest, frame)

    # Sequences

    def _sequences(self, pattern: Sequence, begin: Point, low: Point, high: Point) -> Iterator[Occurrence]:
        within, tie = pattern.within, end_tie(self.bound.parameters)
        if not pattern.gaps[-1]:
            yield from self._steps(pattern, begin, low, high, within)
            return
        assert within is not None, "an absence at the end has a time frame"
        # The end of the absence is (end of the last step + within, tie), whatever the tie-break of the last step.
        latest = high[0] - within if tie <= high[1] else high[0] - within - 1
        earliest = low[0] - within if tie >= low[1] else low[0] - within + 1
        for whole in self._steps(pattern, begin, (earliest, _FIRST), (latest, _LAST), None):
            yield Occurrence(whole.start, (whole.end[0] + within, tie), whole.bound)

    def _steps(
        self, pattern: Sequence, begin: Point, low: Point, high: Point, within: int | None
    ) -> Iterator[Occurrence]:
        """The steps of a sequence from the last to the first, with nothing in the gaps."""
        joins = self.bound.joins.get(pattern, ())
        *earlier, last = pattern.present
        for end in self.find(last, begin if within is None else max(begin, (low[0] - within, _FIRST)), low, high):
            if within is not None and end.end[0] - end.start[0] > within:
                continue
            since = begin if within is None else max(begin, (end.end[0] - within, _FIRST))
            for chosen in self._before_step(earlier, (end,), end, joins, since):
                whole = joined(chosen)
                if self._is_undisturbed(pattern, chosen, whole):
                    yield whole

    def _before_step(
        self,
        earlier: list[Pattern],
        chosen: tuple[Occurrence, ...],
        whole: Occurrence,
        joins: tuple[Join, ...],
        since: Point,
    ) -> Iterator[tuple[Occurrence, ...]]:
        if not earlier:
            yield chosen
            return
        *before, part = earlier
        for one in self.find(part, since, EARLIEST, _before(chosen[0].start)):
            both = joined((one, whole))
            if fulfils(both.bound, joins):
                yield from self._before_step(before, (one, *chosen), both, joins, since)

    def _is_undisturbed(self, pattern: Sequence, chosen: tuple[Occurrence, ...], whole: Occurrence) -> bool:
        leading, *between, trailing = pattern.gaps
        for at, gap in enumerate(between):
            if gap and self._occurs(gap, whole, _after(chosen[at].end), _before(chosen[at + 1].start)):
                return False
        if leading:
            looking_back = pattern.within
            since = EARLIEST if looking_back is None else (whole.end[0] - looking_back, _FIRST)
            if self._occurs(leading, whole, since, _before(whole.start)):
                return False
        if trailing and pattern.within is not None:
            return not self._occurs(trailing, whole, _after(whole.end), (whole.end[0] + pattern.within, _LAST))
        return True

    def _occurs(self, gap: tuple[Pattern, ...], whole: Occurrence, low: Point, high: Point) -> bool:
        for absent in gap:
            joins = self.bound.against.get(absent, ())
            for one in self.find(absent, EARLIEST, low, high):
                if not joins or fulfils({**whole.bound, **one.bound}, joins):
                    return True
        return False

    # Silences and positions

    def _silences(self, pattern: Silence, begin: Point, low: Point, high: Point) -> Iterator[Occurrence]:
        within, tie = pattern.within, end_tie(self.bound.parameters)
        anchor = self.silent_since.get(pattern)
        if anchor is None:  # the declared start is still to come
            return
        broken = sorted({one.end[0] for one in self.find(pattern.pattern, EARLIEST, EARLIEST, self.now)})
        anchors = [anchor, *(end for end in broken if end > anchor)]
        for at, start in enumerate(anchors):
            before = anchors[at + 1] if at + 1 < len(anchors) else None
            # The first silence that ends at `low` or later; they follow each other without a gap.
            number = max(1, -((start - low[0]) // within))
            while True:
                end = start + number * within
                if (end, tie) > high or (before is not None and before <= end):
                    break
                since = end - within
                if self.last is not None and since > self.last:
                    break
                if (end, tie) >= low and (since, tie) >= begin:
                    yield Occurrence((since, tie), (end, tie), {})
                number += 1

    def _selected(self, pattern: Selection) -> Iterator[Occurrence]:
        first, last = pattern.first, pattern.last
        if isinstance(pattern.pattern, Operand):
            name = pattern.pattern.name
            own = self.candidates[name]
            if first is None:
                some = own.seen[-1:]
            else:
                some = own.seen[max(0, first - 1 - own.dropped) : max(0, (last or first) - own.dropped)]
            yield from (Occurrence(seen.point, seen.point, {name: seen}) for seen in some)
            return
        found = sorted(self.find(pattern.pattern, EARLIEST, EARLIEST, self.now), key=lambda one: one.order)
        yield from found[-1:] if first is None else found[first - 1 : last]


def _before(point: Point) -> Point:
    return point[0], point[1] - 1


def _after(point: Point) -> Point:
    return point[0], point[1] + 1
