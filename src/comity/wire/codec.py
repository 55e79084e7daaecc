"""Messages as frames, and back."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import msgspec

from comity.limits import limits
from comity.wire.batches import EventBatch
from comity.wire.faults import malformed
from comity.wire.frames import HEADER, Frame, FrameKind, framed
from comity.wire.marks import ALIKE, PLACED, Marks
from comity.wire.messages import (
    Acknowledged,
    Advertise,
    AttachTree,
    Bye,
    Credit,
    Deliver,
    Dropped,
    Events,
    Granted,
    HandedOn,
    Hello,
    Inform,
    InTree,
    Message,
    Ping,
    Pong,
    Reach,
    RefuseEvents,
    RefuseRequest,
    RemovedType,
    Renew,
    SaidLinks,
    SaidType,
    SendAll,
    StatusRequest,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    Welcome,
)
from comity.wire.status import NodeStatus

_JSON: dict[FrameKind, type[Any]] = {
    FrameKind.HELLO: Hello,
    FrameKind.WELCOME: Welcome,
    FrameKind.BYE: Bye,
    FrameKind.REFUSE_EVENTS: RefuseEvents,
    FrameKind.REACH: Reach,
    FrameKind.INFORM: Inform,
    FrameKind.RENEW: Renew,
    FrameKind.SEND_ALL: SendAll,
    FrameKind.SAID_LINKS: SaidLinks,
    FrameKind.IN_TREE: InTree,
    FrameKind.ATTACH: AttachTree,
    FrameKind.SAID_TYPE: SaidType,
    FrameKind.HANDED_ON: HandedOn,
    FrameKind.TYPE_GONE: RemovedType,
    FrameKind.SUBSCRIBE: Subscribe,
    FrameKind.UNSUBSCRIBE: Unsubscribe,
    FrameKind.ADVERTISE: Advertise,
    FrameKind.UNADVERTISE: Unadvertise,
    FrameKind.GRANTED: Granted,
    FrameKind.REFUSE_REQUEST: RefuseRequest,
    FrameKind.STATUS_REQUEST: StatusRequest,
    FrameKind.STATUS: NodeStatus,
}
_NUMBERS: dict[FrameKind, tuple[Callable[..., Message], struct.Struct]] = {
    FrameKind.PING: (Ping, struct.Struct("<Q")),
    FrameKind.PONG: (Pong, struct.Struct("<Q")),
    FrameKind.CREDIT: (Credit, struct.Struct("<Q")),
    FrameKind.ACKNOWLEDGED: (Acknowledged, struct.Struct("<Q")),
    FrameKind.DROPPED: (Dropped, struct.Struct("<QQ")),
}
_DECODERS = {kind: msgspec.json.Decoder(type).decode for kind, type in _JSON.items()}
_KIND_OF = {type: kind for kind, type in _JSON.items()} | {made: kind for kind, (made, _) in _NUMBERS.items()}
_ENCODE = msgspec.json.Encoder().encode
_POSITION = struct.Struct("<Q")
_MOST_POSITION = 2**63 - 1
_SINGLE = struct.Struct("<QIII")
"""A position, and a batch of one event: one, and where its line begins and ends."""
_LINE_FROM = HEADER.size + _SINGLE.size


def encode_message(message: Message) -> bytes:
    """The frame of a message.

    >>> encode_message(Credit(4096)).hex(" ")
    '08 00 00 00 06 00 00 00 00 10 00 00 00 00 00 00'
    """
    if isinstance(message, Events):
        return framed(FrameKind.EVENTS, _POSITION.pack(message.position), *message.batch.pieces)
    if isinstance(message, Deliver):
        flags = (ALIKE if message.marks.is_alike else 0) | (PLACED if message.places else 0)
        places = struct.pack(f"<{len(message.places)}Q", *message.places)
        head, marks, batch = _POSITION.pack(message.position), message.marks.written(), message.batch
        return framed(FrameKind.DELIVER, head, _count(batch), marks, places, *batch.pieces, flags=flags)
    kind = _KIND_OF[type(message)]
    if kind in _NUMBERS:
        return framed(kind, _NUMBERS[kind][1].pack(*msgspec.structs.astuple(message)))
    return framed(kind, _ENCODE(message))


def _count(batch: EventBatch) -> bytes:
    return len(batch).to_bytes(4, "little")


def decode_message(frame: Frame) -> Message:
    """The message in a frame; raises `ProtocolFault` for one that has none.

    >>> decode_message(Frame(FrameKind.CREDIT, 0, encode_message(Credit(4096))))
    Credit(bytes=4096)
    """
    body = frame.body
    if frame.kind is FrameKind.EVENTS:
        return Events(_position(body), EventBatch.read(body[_POSITION.size :]))
    if frame.kind is FrameKind.DELIVER:
        return _delivery(body, frame.flags)
    if frame.kind in _NUMBERS:
        return _numbers(*_NUMBERS[frame.kind], body)
    try:
        found: Message = _DECODERS[frame.kind](body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise malformed(f"a message of the kind {frame.kind.name}: {error}"[:300]) from error
    return found


def single_event(frame: Frame) -> tuple[int, bytes] | None:
    """Of a frame of one event its position and its line, as `decode_message` reads them; None: that has to say.

    >>> from comity.wire.messages import Events
    >>> frame = encode_message(Events(7, EventBatch.of([b"{}"])))
    >>> single_event(Frame(FrameKind.EVENTS, 0, frame))
    (7, b'{}')
    """
    whole = frame.whole
    if frame.kind is not FrameKind.EVENTS or len(whole) < _LINE_FROM:
        return None
    position, count, begin, end = _SINGLE.unpack_from(whole, HEADER.size)
    line = whole[_LINE_FROM:]
    if count != 1 or begin or end != len(line) or end > limits().max_record_bytes or position > _MOST_POSITION:
        return None
    return None if b"\n" in line else (position, line)


def _position(body: memoryview) -> int:
    position = int.from_bytes(body[: _POSITION.size], "little")
    if len(body) < _POSITION.size or position > _MOST_POSITION:
        raise malformed("a position that is none")
    return position


def _delivery(body: memoryview, flags: int) -> Deliver:
    position, rest = _position(body), body[_POSITION.size :]
    count = int.from_bytes(rest[:4], "little")
    marks, size = Marks.read(rest[4:], count=count, is_alike=bool(flags & ALIKE))
    rest = rest[4 + size :]
    places = _places(rest, count) if flags & PLACED else ()
    batch = EventBatch.read(rest[_POSITION.size * len(places) :])
    if len(batch) != count:
        raise malformed("a delivery whose subscriptions are not for its events")
    return Deliver(position, marks, batch, places)


def _places(rest: memoryview, count: int) -> tuple[int, ...]:
    if len(rest) < _POSITION.size * count:
        raise malformed("the positions of the events of a delivery are cut off")
    places = struct.unpack_from(f"<{count}Q", rest)
    if max(places, default=0) > _MOST_POSITION:
        raise malformed("a position that is none")
    return places


def _numbers(made: Callable[..., Message], form: struct.Struct, body: memoryview) -> Message:
    if len(body) != form.size:
        raise malformed("numbers that are cut off")
    numbers = form.unpack(body)
    if max(numbers) > _MOST_POSITION:
        raise malformed("a number that is too large")
    return made(*numbers)
