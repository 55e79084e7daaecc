"""Frames of events as they came from a socket, as batches: many small ones of one turn become one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from comity.wire import EventBatch, Events, Frame, decode_message
from comity.wire.faults import ProtocolFault

_SMALL = 64
"""Events of a batch up to which it is worth to put it together with the next one."""
_TOGETHER = 2_048


class Incoming(NamedTuple):
    """Events that came together: the batch, the position of the last frame that has one, and the size of all frames."""

    batch: EventBatch
    position: int
    size: int
    is_repeat: bool = False
    """Whether the position is not above the last one."""


def incoming(frames: list[Frame], last: int | None = None) -> Iterator[Incoming]:
    """The batches of some frames, in their order; with the last position that came before, repeats are told."""
    together: list[Incoming] = []
    count = 0
    for one in _read(frames, last):
        if together and not (count < _TOGETHER and _fits(together[-1], one)):
            yield _joined(together)
            together, count = [], 0
        together.append(one)
        count += len(one.batch)
    if together:
        yield _joined(together)


def _read(frames: list[Frame], last: int | None) -> Iterator[Incoming]:
    for frame in frames:
        message = decode_message(frame)
        if not isinstance(message, Events):
            raise ProtocolFault("deliveries go to clients only", code="out-of-turn")
        position = message.position
        is_repeat = last is not None and 0 < position <= last
        last = max(last, position) if last is not None else None
        yield Incoming(message.batch, position, len(frame.whole), is_repeat)


def _fits(before: Incoming, one: Incoming) -> bool:
    """Whether two go together."""
    return (
        before.is_repeat == one.is_repeat
        and (before.position > 0) == (one.position > 0)
        and len(one.batch) <= _SMALL
        and len(before.batch) <= _SMALL
    )


def _joined(together: list[Incoming]) -> Incoming:
    if len(together) == 1:
        return together[0]
    batch = EventBatch.of([line for one in together for line in one.batch.lines()])
    return Incoming(batch, together[-1].position, sum(one.size for one in together), together[-1].is_repeat)
