"""The incremental detector of many patterns: events go in, reports come out as the watermark moves."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any

from comity.event.event import Event
from comity.pattern.bound import BoundPattern
from comity.pattern.machine import Machine, TraceState
from comity.pattern.occurrence import Seen
from comity.pattern.report import Report

TraceKey = tuple[int, Any]
"""The number of a pattern, and the correlation key."""


@dataclass(slots=True)
class Detector:
    """All traces of some patterns.

    >>> from datetime import UTC, datetime, timedelta
    >>> from comity.pattern.bound import bind_pattern
    >>> from comity.pattern.tree import Operand, Sequence as Steps
    >>> detector = Detector([bind_pattern("ab", Steps((Operand("a", "A"), Operand("b", "B")), within=60_000_000))])
    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> detector.take([Event("1", "/x", "A", noon), Event("2", "/x", "B", noon + timedelta(seconds=5))])
    >>> [report.as_dict()["events"] for _, report in detector.finish()]
    [{'a': '1', 'b': '2'}]
    """

    patterns: Sequence[BoundPattern]
    start: int | None = None
    """Where all traces start; without it, with the first event."""
    done: int | None = None
    """Everything up to this time was reported."""
    earliest: int | None = None
    latest: int | None = None
    """The times of the first and the last event."""
    late: int = 0
    """Events that came when their time was done."""
    traces: dict[TraceKey, TraceState] = field(default_factory=dict)
    no_key: Any = ()
    """The correlation key of patterns that have none."""
    led: frozenset[int] = frozenset()
    """The numbers of patterns whose reports follow from those of others."""
    _machines: list[Machine] = field(init=False)
    _calls: list[tuple[int, int, TraceKey]] = field(default_factory=list, init=False)
    """When to look at which trace again, a heap: of many traces, few have something to do when time moves on."""
    _tickets: count[int] = field(default_factory=count, init=False)
    """Tells calls of one time apart, since keys need not have an order."""

    def __post_init__(self) -> None:
        self._machines = [Machine(pattern) for pattern in self.patterns]

    def take(self, events: Iterable[Event]) -> None:
        """Events of all types, in any order; those whose time is done are counted as late."""
        for event in events:
            seen = Seen.of(event)
            if self.see(seen.time):
                for number, pattern in enumerate(self.patterns):
                    own = seen if pattern.parameters.ties is None else Seen.of(event, pattern.parameters.ties)
                    for operand, test in pattern.tests.items():
                        if test(event):
                            self.add(number, operand, own)

    def see(self, time: int) -> bool:
        """Note that there was an event of whatever type; whether it is in time."""
        if self.done is not None and time <= self.done:
            self.late += 1
            return False
        self.earliest = time if self.earliest is None else min(self.earliest, time)
        self.latest = time if self.latest is None else max(self.latest, time)
        return True

    def add(self, pattern: int, operand: str, seen: Seen) -> None:
        """An event that fulfils what an operand of a pattern asks."""
        key = self.patterns[pattern].key
        value = key.of(operand, seen.event) if key else self.no_key
        if value is not None:
            self.add_to((pattern, value), operand, seen)

    def add_to(self, key: TraceKey, operand: str, seen: Seen) -> None:
        """The same, of which the trace is known."""
        trace = self.trace(key)
        trace.add(operand, seen)
        self._call(key, trace, seen.time)

    def advance(self, upto: int) -> Iterator[tuple[int, Report]]:
        """What closes up to and including a time, by the number of its pattern; such times are done then."""
        if self.done is not None and upto <= self.done:
            return
        before, self.done = self.done, upto
        self._begin(upto, before)
        told: set[str] = set()  # reports with one identity end at one time, and so in one call
        while self._calls and self._calls[0][0] <= upto:
            at, _, key = heappop(self._calls)
            trace = self.traces.get(key)
            if trace is None or trace.called_at != at:  # it has gone, or was called for an earlier time since
                continue
            trace.called_at = None
            yield from ((key[0], report) for report in trace.advance(upto) if _is_new(report, told))
            if trace.is_idle:
                del self.traces[key]
            else:
                self.schedule(key)

    def finish(self, until: int | None = None) -> Iterator[tuple[int, Report]]:
        """The rest: with `until`, up to that time; without, all that closes when nothing more happens."""
        if until is not None:
            yield from self.advance(until)
            return
        if self.latest is None and self.start is None:
            return
        last = self.latest if self.latest is not None else self.start
        assert last is not None, "one of them is there"
        self._begin(last, self.done)
        told: set[str] = set()
        for (number, _), trace in self.traces.items():
            yield from ((number, report) for report in trace.finish(last) if _is_new(report, told))
        self.traces.clear()
        self._calls.clear()

    def schedule(self, key: TraceKey) -> None:
        """Look at a trace again when it has something to do; needed after it was changed from outside."""
        trace = self.traces[key]
        at = trace.next_time
        if at is not None:
            self._call(key, trace, at)

    def _call(self, key: TraceKey, trace: TraceState, at: int) -> None:
        if trace.called_at is None or at < trace.called_at:
            trace.called_at = at
            heappush(self._calls, (at, next(self._tickets), key))

    def _begin(self, upto: int, done: int | None) -> None:
        """Start the traces in which something is awaited before any event comes, once it is known when.

        Patterns that were added later start where time was not complete yet.
        """
        if self.start is None and self.earliest is not None and self.earliest <= upto:
            self.start = self.earliest
        if self.start is not None and self.start <= upto:
            self.begin_at(self.start if done is None else max(self.start, done + 1))

    def begin_at(self, start: int, beside: Container[int] = ()) -> None:
        """Start such traces, as far as they have not begun, but for those of some patterns."""
        for number, machine in enumerate(self._machines):
            if machine.timers.silences and number not in self.led and number not in beside:
                trace = self.trace((number, self.no_key))
                if not trace.has_begun:
                    trace.begin(start)
                    self.schedule((number, self.no_key))

    def trace(self, key: TraceKey) -> TraceState:
        """The trace with a key, a new one if there is none."""
        found = self.traces.get(key)
        if found is None:
            found = self.traces[key] = TraceState(self._machines[key[0]])
        return found


def _is_new(report: Report, told: set[str]) -> bool:
    """Whether no report of its identity was told yet; it is told now."""
    is_new = report.id not in told
    told.add(report.id)
    return is_new
