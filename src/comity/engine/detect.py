"""Patterns in this process: stored events at once, or a stream of them as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, TypeLookup, decode, encode
from comity.event.taxonomy import Taxonomy
from comity.event.validate import Fault
from comity.pattern.bank import Bank, BankState
from comity.pattern.bound import BoundPattern
from comity.pattern.extract import Extraction, Fulfilled, one_by_one
from comity.pattern.occurrence import microseconds
from comity.pattern.rows import Found, found_reports

COMPILED = 50_000
"""Candidates from which on compiled code pays for the seconds that it takes to load."""
_AT_ONCE = 20_000
"""Events between two looks of a stream at what can be decided."""


def decoder(types: Taxonomy | TypeLookup | None) -> Callable[[str], Event]:
    """How events are read again from the lines that candidates carry."""

    def decode_line(line: str) -> Event:
        event = decode(line.encode(), types)
        assert isinstance(event, Event), "it was an event when the line was made"
        return event

    return decode_line


def detect_complete(
    extraction: Extraction,
    candidates: pa.Table | None = None,
    *,
    start: int | None = None,
    until: int | None = None,
) -> Iterator[Found]:
    """The reports over all candidates, those that were gathered or others, which are complete."""
    candidates = extraction.table() if candidates is None else candidates
    bank = replace(extraction.bank, compiled=candidates.num_rows >= COMPILED)
    begin = extraction.earliest if start is None else start
    found, _ = bank.detect(candidates, upto=until, start=begin, last=_last(extraction, begin))
    yield from _in_order(found, bank.patterns)


@dataclass(slots=True)
class Detection:
    """Detects patterns; the figures are complete once the last report was taken."""

    patterns: Sequence[BoundPattern]
    types: Taxonomy | TypeLookup | None = None
    on_rejected: Callable[[Rejected], None] = lambda record: None
    start: int | None = None
    until: int | None = None
    fulfilled: Fulfilled | None = None
    events: int = field(default=0, init=False)
    late: int = field(default=0, init=False)

    def over_stored(self, records: Iterable[Event | Rejected]) -> Iterator[Found]:
        """The reports over all records, which are complete; each event has a time."""
        bank = self._bank(compiled=False)
        extraction = self._extraction(bank)
        for record in records:
            self.take_one(record, extraction)
        yield from detect_complete(extraction, start=self.start, until=self.until)

    def over_stream(
        self,
        records: Iterable[Event | Rejected | None],
        lateness_us: int,
        clock: Callable[[], int] | None = None,
    ) -> Iterator[Found]:
        """The reports as the records come, each as soon as it is decided; None says that nothing came for a while.

        With a clock, time passes by it, too: absences are reported while nothing comes.
        """
        stream = _Stream(self._bank(compiled=False), self.start)
        extraction = self._extraction(stream.bank)
        for number, record in enumerate(records, start=1):
            if record is not None:
                for event in self._events((record,)):
                    self._take(event, extraction, stream)
            if number % _AT_ONCE == 0 or record is None:
                now = [time for time in (extraction.latest, clock() if clock else None) if time is not None]
                if now:
                    yield from stream.advance(extraction, max(now) - lateness_us - 1)
        yield from stream.finish(extraction, self.until)

    def take_one(self, record: Event | Rejected, extraction: Extraction) -> None:
        """A record of a complete input."""
        for event in self._events((record,)):
            if self.until is None or _micros(event) <= self.until:
                extraction.take(event)

    def _take(self, event: Event, extraction: Extraction, stream: _Stream) -> None:
        if self.until is not None and _micros(event) > self.until:
            return
        if stream.done is not None and _micros(event) <= stream.done:
            self.late += 1
            self.events -= 1  # it is counted with the rejected records
            fault = Fault("event.time", str(event.time), "it came when this time was complete already", "late")
            self.on_rejected(Rejected(None, None, encode(event).decode(), (fault,)))
        else:
            extraction.take(event)

    def decoders(self) -> list[Callable[[str], Event]]:
        """By pattern, how lines become events again."""
        return [decoder(self.types)] * len(self.patterns)

    def _bank(self, *, compiled: bool) -> Bank:
        return Bank(self.patterns, self.decoders(), compiled)

    def _extraction(self, bank: Bank) -> Extraction:
        return Extraction(bank, self.fulfilled or one_by_one(bank))

    def _events(self, records: Iterable[Event | Rejected]) -> Iterator[Event]:
        for record in records:
            if isinstance(record, Rejected):
                self.on_rejected(record)
            else:
                self.events += 1
                yield record


@dataclass(slots=True)
class _Stream:
    """What a stream has come to."""

    bank: Bank
    start: int | None
    state: BankState = field(default_factory=BankState)
    done: int | None = None

    def advance(self, extraction: Extraction, upto: int) -> Iterator[Found]:
        """What is decided by now, when everything up to a time has come."""
        if self.done is not None and upto <= self.done:
            return
        candidates = extraction.table()
        found, self.state = self.bank.detect(
            candidates, self.state, done=self.done, upto=upto, start=self._start(extraction, upto)
        )
        self.done = upto
        yield from _in_order(found, self.bank.patterns)

    def finish(self, extraction: Extraction, until: int | None) -> Iterator[Found]:
        """The rest, now that nothing more comes."""
        start = self._start(extraction, None)
        found, _ = self.bank.detect(
            extraction.table(), self.state, done=self.done, upto=until, start=start, last=_last(extraction, start)
        )
        yield from _in_order(found, self.bank.patterns)

    def _start(self, extraction: Extraction, upto: int | None) -> int | None:
        start = extraction.earliest if self.start is None else self.start
        return start if start is not None and (upto is None or start <= upto) else None


def _micros(event: Event) -> int:
    assert event.time is not None, "it was looked at before"
    return microseconds(event.time)


def _last(extraction: Extraction, start: int | None) -> int | None:
    return start if extraction.latest is None else extraction.latest


def _in_order(reports: pa.Table, patterns: Sequence[BoundPattern]) -> Iterator[Found]:
    """The reports in the order in which they occur."""
    yield from sorted(found_reports(reports, patterns), key=lambda one: (one.end, one.profile, one.start, one.id))
