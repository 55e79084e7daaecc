"""Events on their way through a node: lines that are read as far as filters ask, and passed on as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode
from comity.route.notices import RESERVED


class RefusedLine(NamedTuple):
    """A line that is not routed: its row in the batch, a code, and a text."""

    row: int
    code: str
    text: str


Reading = tuple[list[Event | None], list[RefusedLine]]
"""For each line the event, or None; and why."""


def read_lines(lines: Sequence[bytes], may_publish: Callable[[Event], bool] | None = None) -> Reading:
    """The events of a batch. With `may_publish` they come from a client, who must not publish what others own."""
    events: list[Event | None] = []
    refusals: list[RefusedLine] = []
    for row, line in enumerate(lines):
        found = decode(line)
        refusal = _objection(row, found, may_publish)
        if refusal is None and isinstance(found, Event):
            events.append(found)
        else:
            events.append(None)
            refusals += [refusal] if refusal is not None else []
    return events, refusals


def _objection(row: int, event: Event | Rejected, may_publish: Callable[[Event], bool] | None) -> RefusedLine | None:
    if isinstance(event, Rejected):
        fault = event.faults[0]
        return RefusedLine(row, fault.code, f"{fault.path}: {fault.reason}"[:200])
    if may_publish is None:
        return None
    if event.type.startswith(RESERVED):
        return RefusedLine(row, code="reserved-type", text=f"only brokers publish {event.type}"[:200])
    if not may_publish(event):
        return RefusedLine(row, code="not-advertised", text="the event matches nothing that its producer advertises")
    return None
