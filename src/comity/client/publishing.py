"""Events on their way to the broker: in batches, each with a number, and kept until the broker has them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from comity.errors import ComityError, Misuse
from comity.event.event import Event
from comity.event.formats.jsonlines import line_of
from comity.limits import limits
from comity.wire import EventBatch, Events, RefuseEvents, encode_message

Publishable = Event | Mapping[str, Any] | bytes | str
"""An event, a dict with the members of CloudEvents, or a line of JSON."""

_BATCH_EVENTS, _BATCH_BYTES = 1_000, 262_144
_MOST_TOLD = 3


class EventsRefused(Misuse):
    """Events that the broker did not take; it took the others.

    `count` is how many, and `refused` says of some of them the place among all, the code, and why.
    """

    def __init__(self, count: int, refused: tuple[tuple[int, str, str], ...]) -> None:
        self.count, self.refused = count, refused
        told = "; ".join(f"number {row + 1}: {text} ({code})" for row, code, text in refused[:_MOST_TOLD])
        hint = "the others were published"
        super().__init__(f"the broker refused {count:,} events: {told}", code="refused-events", hint=hint)

    def records(self, lines: Sequence[bytes]) -> Iterator[dict[str, object]]:
        """The refused events in the form of rejected records, given all lines; of some it is not known which."""
        for row, code, text in self.refused:
            yield _record(lines[row].decode(errors="replace"), code, text)
        for _ in range(self.count - len(self.refused)):
            yield _record("", self.refused[-1][1], "the broker refused this one, too")


def _record(raw: str, code: str, text: str) -> dict[str, object]:
    return {"file": None, "line": None, "raw": raw, "faults": [{"path": "", "reason": text, "code": code}]}


@dataclass(slots=True, eq=False)
class DepartingBatch:
    """A batch that is on its way."""

    position: int
    frame: bytes
    first: int
    """The place of its first event among those that were published together."""
    done: asyncio.Future[None]
    refused: list[RefuseEvents] = field(default_factory=list)


class Departures:
    """What was sent and not acknowledged, in order."""

    def __init__(self) -> None:
        self._waiting: dict[int, DepartingBatch] = {}
        self._last = 0
        self.size_bytes = 0

    def put(self, batch: EventBatch, first: int) -> DepartingBatch:
        """A batch with the next number."""
        self._last += 1
        frame = encode_message(Events(self._last, batch))
        done = asyncio.get_running_loop().create_future()
        publication = self._waiting[self._last] = DepartingBatch(self._last, frame, first, done)
        self.size_bytes += len(frame)
        return publication

    def frames(self) -> list[bytes]:
        """All that wait, to send them anew."""
        return [one.frame for one in self._waiting.values()]

    def refuse(self, refusal: RefuseEvents) -> None:
        """Some events of a batch were not taken."""
        if (publication := self._waiting.get(refusal.position)) is not None:
            publication.refused.append(refusal)

    def acknowledge(self, position: int) -> None:
        """Everything up to a number is where it has to be."""
        while self._waiting and (first := next(iter(self._waiting))) <= position:
            self._finish(self._waiting.pop(first), None)

    def fail(self, error: ComityError) -> None:
        """Nothing more is sent."""
        for publication in self._waiting.values():
            self._finish(publication, error)
        self._waiting.clear()

    def _finish(self, publication: DepartingBatch, error: ComityError | None) -> None:
        self.size_bytes -= len(publication.frame)
        if publication.done.done():  # whoever waited has gone
            return
        if error is None:
            publication.done.set_result(None)
        else:
            publication.done.set_exception(error)
            publication.done.exception()  # it is told once, however many batches failed with it


def batches(events: Publishable | Iterable[Publishable]) -> Iterator[EventBatch]:
    """The events as lines, as many together as one frame should hold."""
    lines: list[bytes] = []
    size = 0
    for event in [events] if isinstance(events, Event | Mapping | bytes | str) else events:
        lines.append(line := _line(event))
        size += len(line)
        if len(lines) == _BATCH_EVENTS or size >= _BATCH_BYTES:
            yield EventBatch.of(lines)
            lines, size = [], 0
    if lines:
        yield EventBatch.of(lines)


def _line(event: Publishable) -> bytes:
    if isinstance(event, Event | Mapping):
        line = line_of(event)
    else:
        line = (event.encode() if isinstance(event, str) else event).strip()
    if len(line) > limits().max_record_bytes:
        hint = "make it smaller, or raise max_record_bytes here and at all brokers"
        raise Misuse(f"an event of {len(line):,} bytes is too long", code="record-too-long", hint=hint)
    return _in_one_line(line) if b"\n" in line else line


def _in_one_line(text: bytes) -> bytes:
    try:
        return msgspec.json.format(text, indent=-1)
    except msgspec.DecodeError as error:
        raise Misuse(f"an event is no JSON: {error}", code="refused-events") from error


def refusal_in(publications: Iterable[DepartingBatch]) -> EventsRefused | None:
    """The error for what was refused of some batches."""
    all_refused = [(one.first, refusal) for one in publications for refusal in one.refused]
    if not all_refused:
        return None
    rows = [(first + row, code, text) for first, refusal in all_refused for row, code, text in refusal.rows]
    return EventsRefused(sum(refusal.count for _, refusal in all_refused), tuple(rows))
