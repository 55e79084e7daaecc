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


def incoming(frames: list[Frame], known: int = 0) -> Iterator[Incoming]:
    """The batches of some frames, in their order. What has a position up to the known one stays by itself."""
    together: list[Incoming] = []
    count = 0
    for frame in frames:
        message = decode_message(frame)
        if not isinstance(message, Events):
            raise ProtocolFault("deliveries go to clients only", code="out-of-turn")
        one = Incoming(message.batch, message.position, len(frame.whole))
        if together and not (count < _TOGETHER and _fits(together[-1], one, known)):
            yield _joined(together)
            together, count = [], 0
        together.append(one)
        count += len(one.batch)
    if together:
        yield _joined(together)


def _fits(last: Incoming, one: Incoming, known: int) -> bool:
    """Whether two go together; what may be a repeat goes with nothing else."""
    is_alike = (last.position > known) == (one.position > known)
    return is_alike and len(one.batch) <= _SMALL and len(last.batch) <= _SMALL


def _joined(together: list[Incoming]) -> Incoming:
    if len(together) == 1:
        return together[0]
    batch = EventBatch.of([line for one in together for line in one.batch.lines()])
    return Incoming(batch, together[-1].position, sum(one.size for one in together))
