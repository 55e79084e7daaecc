"""From records to publications: what an event has to be before it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from comity.event.formats.jsonlines import Rejected, decode, encode
from comity.event.taxonomy import Taxonomy
from comity.event.window import Window
from comity.node.entries import event_entry
from comity.node.publication_rows import NewPublication
from comity.pattern.occurrence import microseconds
from comity.server.store.port import Committed


@dataclass(frozen=True, slots=True)
class PublishOutcome:
    """What became of one event: it was stored now, or before, or it is none."""

    id: str | None
    position: int | None = None
    is_new: bool = False
    rejected: Rejected | None = None

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape of it."""
        if self.rejected is not None:
            return {"outcome": "rejected", "faults": [fault.as_dict() for fault in self.rejected.faults]}
        found: dict[str, Any] = {"outcome": "stored" if self.is_new else "repeated", "id": self.id}
        return {**found, "position": self.position} if self.position else found


def prepared(
    publisher: str, lines: Sequence[bytes], taxonomy: Taxonomy, now: datetime
) -> list[NewPublication | Rejected]:
    """Each line as a publication, or why it is no event of these types."""
    window = Window.around(now)
    return [_prepared(publisher, line, taxonomy, window, now) for line in lines]


def _prepared(
    publisher: str, line: bytes, taxonomy: Taxonomy, window: Window, now: datetime
) -> NewPublication | Rejected:
    event = decode(line, taxonomy, window=window)
    if isinstance(event, Rejected):
        return event
    as_it_came = event
    if event.time is None:  # patterns and histories need one, and the publisher leaves it to us
        event = event.replace(time=now)
    if event.mode is not None:  # whether it is live is told by the node, to each subscriber
        event = event.replace(mode=None)
    assert event.time is not None, "it was given one"
    kept = line if event is as_it_came else encode(event)
    number = event.sequence if event.sequence is not None and event.sequence >= 0 else None
    return NewPublication(
        event_entry(publisher, event, kept), event.source, event.type, microseconds(event.time), number
    )


def outcomes(prepared: Sequence[NewPublication | Rejected], committed: Sequence[Committed]) -> list[PublishOutcome]:
    """What became of each record, given the answers for those that were stored."""
    answers = iter(committed)
    found: list[PublishOutcome] = []
    for one in prepared:
        if isinstance(one, Rejected):
            found.append(PublishOutcome(None, rejected=one))
        else:
            answer = next(answers)
            found.append(PublishOutcome(one.entry.id, answer.sequence, answer.is_new))
    return found


def now_of(clock_s: float) -> datetime:
    """A time of a clock.

    >>> now_of(0.5).isoformat()
    '1970-01-01T00:00:00.500000+00:00'
    """
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=round(clock_s * 1e6))


def as_events(found: Sequence[NewPublication | Rejected]) -> list[NewPublication]:
    """Those that are events."""
    return [one for one in found if not isinstance(one, Rejected)]
