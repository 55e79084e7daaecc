"""Lines that are not routed, and why: they are no events, or not their publisher's to publish."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode
from comity.route.notices import RESERVED
from comity.wire import EventBatch

_RESERVED, _ESCAPE = RESERVED.encode(), b"\\u"


class RefusedLine(NamedTuple):
    """A line that is not routed: its row in the batch, a code, and a text."""

    row: int
    code: str
    text: str


MayPublish = Callable[[Event], bool]


def objections(batch: EventBatch, may_publish: MayPublish | None) -> list[RefusedLine]:
    """The events of a batch that a client must not publish: those that brokers do, and those that it did not advertise.

    What is no event is not told here.
    """
    text = batch.text
    if may_publish is None and _RESERVED not in text and _ESCAPE not in text:
        return []
    found = ((row, decode(line)) for row, line in enumerate(batch.lines()))
    told = (_objection(row, event, may_publish) for row, event in found if isinstance(event, Event))
    return [one for one in told if one is not None]


def _objection(row: int, event: Event, may_publish: MayPublish | None) -> RefusedLine | None:
    if event.type.startswith(RESERVED):
        return RefusedLine(row, code="reserved-type", text=f"only brokers publish {event.type}"[:200])
    if may_publish is not None and not may_publish(event):
        return RefusedLine(row, code="not-advertised", text="the event matches nothing that its producer advertises")
    return None


def refused(row: int, rejected: Rejected) -> RefusedLine:
    """That a line is no event."""
    fault = rejected.faults[0]
    return RefusedLine(row, fault.code, f"{fault.path}: {fault.reason}"[:200])
