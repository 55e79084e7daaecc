"""Frames of events as they came from a socket, as batches: many small ones of one turn become one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from comity.wire import EventBatch, Events, Frame, decode_message, single_event
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


class _Piece(NamedTuple):
    """What one frame brings: one line, or a batch."""

    brought: bytes | EventBatch
    events: int
    position: int
    size: int
    is_repeat: bool

    def lines(self) -> list[bytes]:
        return [self.brought] if isinstance(self.brought, bytes) else self.brought.lines()


def incoming(frames: list[Frame], last: int | None = None) -> Iterator[Incoming]:
    """The batches of some frames, in their order; with the last position that came before, repeats are told."""
    together: list[_Piece] = []
    count = 0
    for one in _read(frames, last):
        if together and not (count < _TOGETHER and _fits(together[-1], one)):
            yield _joined(together)
            together, count = [], 0
        together.append(one)
        count += one.events
    if together:
        yield _joined(together)


def _read(frames: list[Frame], last: int | None) -> Iterator[_Piece]:
    for frame in frames:
        position, brought = single_event(frame) or _batch(frame)
        is_repeat = last is not None and 0 < position <= last
        last = max(last, position) if last is not None else None
        events = 1 if isinstance(brought, bytes) else len(brought)
        yield _Piece(brought, events, position, len(frame.whole), is_repeat)


def _batch(frame: Frame) -> tuple[int, EventBatch]:
    message = decode_message(frame)
    if not isinstance(message, Events):
        raise ProtocolFault("deliveries go to clients only", code="out-of-turn")
    return message.position, message.batch


def _fits(before: _Piece, one: _Piece) -> bool:
    """Whether two go together."""
    return (
        before.is_repeat == one.is_repeat
        and (before.position > 0) == (one.position > 0)
        and one.events <= _SMALL
        and before.events <= _SMALL
    )


def _joined(together: list[_Piece]) -> Incoming:
    last = together[-1]
    if len(together) == 1 and isinstance(last.brought, EventBatch):
        batch = last.brought
    else:
        batch = EventBatch.of([line for one in together for line in one.lines()])
    return Incoming(batch, last.position, sum(one.size for one in together), last.is_repeat)
