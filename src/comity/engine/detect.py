"""Patterns in this process: stored events at once, or a stream of them as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from comity.engine.pattern_stream import PatternStream, decoder
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, TypeLookup, encode
from comity.event.taxonomy import Taxonomy
from comity.event.validate import Fault
from comity.pattern.bank import Bank
from comity.pattern.bound import BoundPattern
from comity.pattern.extract import Extraction, Fulfilled, one_by_one
from comity.pattern.occurrence import microseconds
from comity.pattern.rows import ReportRow

_AT_ONCE = 20_000
"""Events between two looks of a stream at what can be decided."""


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

    def over_stored(self, records: Iterable[Event | Rejected]) -> Iterator[ReportRow]:
        """The reports over all records, which are complete; each event has a time."""
        stream = self.stream()
        for record in records:
            self.take_one(record, stream.extraction)
        yield from stream.finish(self.until)

    def over_stream(
        self,
        records: Iterable[Event | Rejected | None],
        lateness_us: int,
        clock: Callable[[], int] | None = None,
    ) -> Iterator[ReportRow]:
        """The reports as the records come, each as soon as it is decided; None says that nothing came for a while.

        With a clock, time passes by it, too: absences are reported while nothing comes.
        """
        stream = self.stream()
        for number, record in enumerate(records, start=1):
            if record is not None:
                for event in self._events((record,)):
                    self._take(event, stream)
            if number % _AT_ONCE == 0 or record is None:
                latest = stream.extraction.latest
                now = [time for time in (latest, clock() if clock else None) if time is not None]
                if now:
                    yield from stream.advance(max(now) - lateness_us - 1)
        yield from stream.finish(self.until)

    def stream(self) -> PatternStream:
        """What takes the candidates."""
        bank = Bank(self.patterns, [decoder(self.types)] * len(self.patterns), compiled=False)
        return PatternStream(bank, self.fulfilled or one_by_one(bank), start=self.start)

    def take_one(self, record: Event | Rejected, extraction: Extraction) -> None:
        """A record of a complete input."""
        for event in self._events((record,)):
            if self.until is None or _micros(event) <= self.until:
                extraction.take(event)

    def _take(self, event: Event, stream: PatternStream) -> None:
        if self.until is not None and _micros(event) > self.until:
            return
        if stream.is_late(_micros(event)):
            self.late += 1
            self.events -= 1  # it is counted with the rejected records
            fault = Fault("event.time", str(event.time), "it came when this time was complete already", "late")
            self.on_rejected(Rejected(None, None, encode(event).decode(), (fault,)))
        else:
            stream.extraction.take(event)

    def _events(self, records: Iterable[Event | Rejected]) -> Iterator[Event]:
        for record in records:
            if isinstance(record, Rejected):
                self.on_rejected(record)
            else:
                self.events += 1
                yield record


def _micros(event: Event) -> int:
    assert event.time is not None, "it was looked at before"
    return microseconds(event.time)
