"""The traces of patterns that are not flat, and how they are saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from comity.pattern.bound import BoundPattern
from comity.pattern.correlation import key_text
from comity.pattern.detector import Detector
from comity.pattern.machine import TraceState
from comity.pattern.occurrence import Seen
from comity.pattern.report import Report
from comity.pattern.rows import CANDIDATES, REPORTS, CandidateRow, Decode, LineEvent
from comity.pattern.search import Candidates
from comity.pattern.sharing import Sharing

_Saved = tuple[int, int, str, str, str | None]
"""Time, tie-break, source, id and line of an event."""


@dataclass(slots=True)
class TreeBank:
    """Patterns that the general detector takes."""

    patterns: Sequence[BoundPattern]
    decode: Sequence[Decode]
    """By pattern, how its events are decoded."""
    led: frozenset[int] = frozenset()
    """The numbers of patterns whose reports follow from those of others."""
    detector: Detector = field(init=False)

    def __post_init__(self) -> None:
        self.detector = Detector(self.patterns, no_key=key_text(()), led=self.led)

    def add(self, candidates: pa.Table, sharing: Sharing, taken: frozenset[int] = frozenset()) -> None:
        """More candidates, none of them late, for all that share them, but for patterns that are taken elsewhere."""
        columns = [candidates.column(name).to_pylist() for name in CANDIDATES.names]
        self.add_rows(zip(*columns, strict=True), sharing, taken)

    def add_rows(self, rows: Iterable[CandidateRow], sharing: Sharing, taken: frozenset[int] = frozenset()) -> None:
        """The same, of rows."""
        for number, operand, key, time, tie, source, id, line in rows:
            seen = Seen(LineEvent(source, id, line, self.decode[number]), time, tie)
            for user, own in sharing.users.get((number, operand), ()):
                if user not in taken:
                    self.detector.add_to((user, key), self.patterns[user].operand_names[own], seen)

    def detect(self, *, done: int | None, upto: int | None, start: int | None, last: int | None) -> pa.Table:
        """The reports up to a time, or all of them; see `Bank.detect`."""
        return report_table(self.reports(done=done, upto=upto, start=start, last=last), self.patterns)

    def reports(
        self, *, done: int | None, upto: int | None, start: int | None, last: int | None
    ) -> Iterator[tuple[int, Report]]:
        """The same, one by one, with the numbers of their patterns."""
        self.detector.done = done if self.detector.done is None else self.detector.done
        self.detector.start = start if self.detector.start is None else self.detector.start
        if upto is None:
            self.detector.latest = last
            return self.detector.finish()
        return self.detector.advance(upto)

    def save(self) -> bytes:
        """Everything that is kept."""
        traces = [(*key, *_saved_trace(trace)) for key, trace in self.detector.traces.items()]
        return msgspec.msgpack.encode([self.detector.start, self.detector.done, traces])

    def restore(self, saved: bytes, renumbered: dict[int, int]) -> None:
        """Go on from what was saved; `renumbered` has the numbers of the patterns that are still there."""
        start, done, traces = msgspec.msgpack.decode(saved)
        self.detector.start, self.detector.done = start, done
        for number, key, *rest in traces:
            if number in renumbered:
                now = renumbered[number]
                trace = self.detector.trace((now, key))
                _restore_trace(trace, rest, self.decode[now])
                self.detector.schedule((now, key))

    def take_over(self, before: TreeBank, renumbered: dict[int, int]) -> None:
        """Go on with the traces of another bank, which is not used any more; see `restore`."""
        self.detector.start, self.detector.done = before.detector.start, before.detector.done
        for (number, key), trace in before.detector.traces.items():
            if number in renumbered:
                trace.called_at = None
                self.detector.traces[renumbered[number], key] = trace
                self.detector.schedule((renumbered[number], key))


def _saved_trace(trace: TraceState) -> tuple[Any, ...]:
    names = trace.machine.bound.operand_names
    return (
        [(names.index(name), _saved(seen)) for name, seen in trace.waiting],
        [([_saved(seen) for seen in trace.candidates[name].seen], trace.candidates[name].dropped) for name in names],
        trace.due,
        [trace.silent_since.get(silence) for silence in trace.machine.timers.silences],
    )


def _restore_trace(trace: TraceState, saved: Sequence[Any], decode: Decode) -> None:
    names = trace.machine.bound.operand_names
    waiting, candidates, due, silent = saved
    trace.waiting = [(names[operand], _seen(one, decode)) for operand, one in waiting]
    for name, (seen, dropped) in zip(names, candidates, strict=True):
        trace.candidates[name] = own = Candidates(dropped=dropped)
        for one in seen:
            own.add(_seen(one, decode))
    trace.due = [((point[0], point[1]), absence) for point, absence in due]
    for silence, since in zip(trace.machine.timers.silences, silent, strict=True):
        if since is not None:
            trace.silent_since[silence] = since


def _saved(seen: Seen) -> _Saved:
    event = seen.event
    assert isinstance(event, LineEvent)
    return seen.time, seen.tie, event.source, event.id, event.line


def _seen(saved: Sequence[Any], decode: Decode) -> Seen:
    time, tie, source, id, line = saved
    return Seen(LineEvent(source, id, line, decode), time, tie)


def report_table(reports: Iterable[tuple[int, Report]], patterns: Sequence[BoundPattern]) -> pa.Table:
    """Reports as columns."""
    rows = []
    for number, report in reports:
        names = patterns[number].operand_names
        members = [
            (names.index(name), one)
            for name, found in report.events.items()
            for one in (found if isinstance(found, tuple) else (found,))
        ]
        rows.append(
            {
                "pattern": number,
                "start": report.start,
                "end": report.end,
                "operand": [operand for operand, _ in members],
                "source": [one.source for _, one in members],
                "id": [one.id for _, one in members],
                "line": [getattr(one, "line", None) for _, one in members],
            }
        )
    return pa.Table.from_pylist(rows, schema=REPORTS)
