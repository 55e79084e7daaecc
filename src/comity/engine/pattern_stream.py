"""Patterns as time moves on: candidates go in, reports come out as soon as they are decided."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field, replace

import msgspec
import pyarrow as pa

from comity.event.event import Event
from comity.event.formats.jsonlines import TypeLookup, decode
from comity.event.taxonomy import Taxonomy
from comity.pattern.bank import Bank
from comity.pattern.extract import Extraction, Fulfilled
from comity.pattern.report import Report
from comity.pattern.rows import ReportRow, found_reports
from comity.pattern.tree_bank import TreeBank, report_table

COMPILED = 50_000
"""Candidates from which on compiled code pays for the seconds that it takes to load."""


def decoder(types: Taxonomy | TypeLookup | None) -> Callable[[str], Event]:
    """How events are read again from the lines that candidates carry."""

    def decode_line(line: str) -> Event:
        event = decode(line.encode(), types)
        assert isinstance(event, Event), "it was an event when the line was made"
        return event

    return decode_line


class SavedStream(msgspec.Struct, array_like=True):
    """What a stream of patterns has come to, as it is written down."""

    bodies: list[str]
    """Those of the patterns whose traces these are, in their order."""
    start: int | None
    earliest: int | None
    latest: int | None
    done: int | None
    traces: bytes


@dataclass(slots=True)
class PatternStream:
    """Patterns over events that come in any order, within the lateness that whoever moves time on allows."""

    bank: Bank
    fulfilled: Fulfilled = lambda event: ()
    keep_lines: bool = False
    start: int | None = None
    """Where traces start; without it, with the first event."""
    done: int | None = field(default=None, init=False)
    """Everything up to this time was reported."""
    extraction: Extraction = field(init=False)
    _tree: TreeBank = field(init=False)

    def __post_init__(self) -> None:
        self.extraction = Extraction(self.bank, self.fulfilled, self.keep_lines)
        self._tree = self.bank.tree()

    def is_late(self, time: int) -> bool:
        """Whether the time of an event was complete before the event came."""
        return self.done is not None and time <= self.done

    def advance(self, upto: int) -> list[ReportRow]:
        """What is decided now, when everything up to a time has come."""
        if self.done is not None and upto <= self.done:
            return []
        self._feed()
        begun = self._start if self._start is not None and self._start <= upto else None
        reports = list(self._tree.reports(done=self.done, upto=upto, start=begun, last=None))
        self.done = upto
        return self._in_order(self._table(reports)) if reports else []

    def finish(self, until: int | None = None) -> list[ReportRow]:
        """What closes when nothing more comes; should more come, it goes on as if it had not ended."""
        if self.done is not None and until is not None:
            return self.advance(until)
        complete = self._complete(until) if self.done is None else self._rest()
        return self._in_order(complete)

    def finish_with(self, candidates: pa.Table, until: int | None = None) -> list[ReportRow]:
        """What candidates that were found elsewhere give, which are complete."""
        return self._in_order(self._detect(candidates, until))

    def change(self, bank: Bank) -> None:
        """Other patterns from now on: those that stay keep their traces, new ones begin here."""
        self._feed()
        before, names = self._tree, self.bank.bodies
        self.bank, self.extraction.bank = bank, bank
        self._tree = bank.tree()
        places = bank.renumbered(names)
        self._tree.take_over(before, places)
        self._begin_beside(set(places.values()))

    def save(self) -> SavedStream:
        """What `restore` goes on from."""
        self._feed()
        seen, traces = self.extraction, self._tree.save()
        return SavedStream(list(self.bank.bodies), self.start, seen.earliest, seen.latest, self.done, traces)

    def restore(self, saved: SavedStream) -> None:
        """Go on from what was saved, perhaps of other patterns: what is kept of those that are gone is left out."""
        self.start, self.done = saved.start, saved.done
        self.extraction.earliest, self.extraction.latest = saved.earliest, saved.latest
        places = self.bank.renumbered(saved.bodies)
        self._tree.restore(saved.traces, places)
        self._begin_beside(set(places.values()))

    @property
    def _start(self) -> int | None:
        return self.extraction.earliest if self.start is None else self.start

    @property
    def _last(self) -> int | None:
        return self._start if self.extraction.latest is None else self.extraction.latest

    def _begin_beside(self, kept: Container[int]) -> None:
        """Silences of patterns that come later begin now: what was before them nobody has gathered."""
        if self.extraction.latest is not None:
            complete = self.extraction.latest if self.done is None else self.done + 1
            self._tree.detector.begin_at(max(self.extraction.latest, complete), beside=kept)

    def _feed(self) -> None:
        self._tree.add_rows(self.extraction.take_rows(), self.bank.sharing)

    def _complete(self, until: int | None) -> pa.Table:
        """Over everything that came, in one go; what is kept stays as it is."""
        rows = self.extraction.rows
        candidates = self.extraction.table()
        self.extraction.rows = rows
        return self._detect(candidates, until)

    def _detect(self, candidates: pa.Table, until: int | None) -> pa.Table:
        bank = replace(self.bank, compiled=candidates.num_rows >= COMPILED)
        return bank.detect(candidates, upto=until, start=self._start, last=self._last)[0]

    def _rest(self) -> pa.Table:
        self._feed()
        copy = self.bank.tree()
        copy.restore(self._tree.save(), self.bank.renumbered(self.bank.bodies))
        reports = copy.reports(done=self.done, upto=None, start=self._start, last=self._last)
        return self._table(reports)

    def _table(self, reports: Iterable[tuple[int, Report]]) -> pa.Table:
        return self.bank.told_to_all(report_table(reports, self.bank.patterns))

    def _in_order(self, reports: pa.Table) -> list[ReportRow]:
        """The reports in the order in which they occur."""
        found = found_reports(reports, self.bank.patterns)
        return sorted(found, key=lambda one: (one.end, one.profile, one.start, one.id))
