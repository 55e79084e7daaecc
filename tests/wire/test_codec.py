"""Every message comes out as it went in, and bytes that are no message give a `ProtocolFault` and nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import get_args

import msgspec
import pytest
from tests.wire.messages import EVERY_MESSAGE

from comity.limits import limited
from comity.wire import (
    EventBatch,
    Events,
    Frame,
    FrameKind,
    FrameReader,
    Marks,
    Message,
    NodeStatus,
    decode_message,
    encode_message,
    framed,
    single_event,
)
from comity.wire.faults import ProtocolFault


def _frame(data: bytes) -> Frame:
    reader = FrameReader()
    reader.trust()
    (frame,) = reader.read(data)
    return frame


def _same(one: Message, other: Message) -> bool:
    def plain(message: Message) -> object:
        fields = {name: getattr(message, name) for name in message.__struct_fields__}
        return {name: value.lines() if isinstance(value, EventBatch) else value for name, value in fields.items()}

    return type(one) is type(other) and plain(one) == plain(other)


@pytest.mark.parametrize("message", EVERY_MESSAGE, ids=lambda message: type(message).__name__)
def test_a_message_comes_out_as_it_went_in(message: Message) -> None:
    assert _same(decode_message(_frame(encode_message(message))), message)


def test_there_is_an_example_of_every_message_and_every_kind_has_one() -> None:
    assert {type(message) for message in EVERY_MESSAGE} == set(get_args(Message))
    assert {_frame(encode_message(message)).kind for message in EVERY_MESSAGE} == set(FrameKind)


@pytest.mark.parametrize("message", EVERY_MESSAGE, ids=lambda message: type(message).__name__)
def test_a_message_that_is_cut_off_is_refused(message: Message) -> None:
    frame = _frame(encode_message(message))
    for size in range(len(frame.body)):
        with pytest.raises(ProtocolFault):
            decode_message(Frame(frame.kind, frame.flags, framed(frame.kind, frame.body[:size])))


def _changed(chance: random.Random) -> Iterator[Frame]:
    for message in EVERY_MESSAGE:
        frame = _frame(encode_message(message))
        for _ in range(60):
            body = bytearray(frame.body)
            for _ in range(chance.randint(1, 3)):
                body[chance.randrange(len(body))] = chance.randrange(256)
            yield Frame(frame.kind, chance.randrange(4), framed(frame.kind, bytes(body)))


def test_a_message_that_was_changed_is_read_or_refused() -> None:
    read = 0
    for frame in _changed(random.Random(7)):
        with suppress(ProtocolFault):
            decode_message(frame)
            read += 1
    assert read > 50, "many changes are only of what a text says"


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"\0\0\0\0",
        b"\0\0\0\0\0\0\0\0",
        b"\1\0\0\0\0\0\0\0\2\0\0\0{",
        b"\1\0\0\0\0\0\0\0\1\0\0\0{}",
        b"\1\0\0\0\1\0\0\0\2\0\0\0{}",
        b"\2\0\0\0\0\0\0\0\3\0\0\0\2\0\0\0{}",
        b"\1\0\0\0\0\0\0\0\3\0\0\0{\n}",
        b"\xff\xff\xff\xff" + bytes(60),
    ],
)
def test_a_batch_whose_numbers_do_not_fit_is_refused(written: bytes) -> None:
    with pytest.raises(ProtocolFault, match="malformed-frame"):
        EventBatch.read(written)


def test_a_batch_is_bounded() -> None:
    batch = EventBatch.of([b"{}"] * 5)
    assert len(EventBatch.read(batch.written)) == 5
    with limited(max_batch_events=4), pytest.raises(ProtocolFault):
        EventBatch.read(batch.written)
    with limited(max_record_bytes=1), pytest.raises(ProtocolFault):
        EventBatch.read(batch.written)


def test_taking_all_of_a_batch_gives_its_own_bytes() -> None:
    batch = EventBatch.of([b'{"a":1}', b"{}", b'{"b": 2}'])
    assert batch.take(range(3)).written == batch.written
    assert [batch[row] for row in range(3)] == batch.lines() == [b'{"a":1}', b"{}", b'{"b": 2}']


@pytest.mark.parametrize("marks", [[(1,), (1, 2), ()], [(3,)] * 4, [(), ()], [(1, 2, 3)]])
def test_marks_come_out_as_they_went_in(marks: list[tuple[int, ...]]) -> None:
    written = Marks.of(marks)
    read, size = Marks.read(memoryview(written.written() + b"rest"), count=len(marks), is_alike=written.is_alike)
    assert [*read] == marks
    assert size == len(written.written())


def test_a_message_of_a_later_version_may_say_more() -> None:
    told = framed(FrameKind.GRANTED, b'{"request": 3, "more": [1]}')
    assert decode_message(_frame(told)) == decode_message(_frame(framed(FrameKind.GRANTED, b'{"request": 3}')))


def test_deep_nonsense_is_refused() -> None:
    with pytest.raises(ProtocolFault):
        decode_message(_frame(framed(FrameKind.BYE, b'{"x":' * 50_000)))


def test_a_status_names_all_its_figures() -> None:
    """So that whoever shows it need not ask which version it is."""
    (status,) = (message for message in EVERY_MESSAGE if isinstance(message, NodeStatus))
    told = msgspec.json.decode(bytes(_frame(encode_message(status)).body))
    assert set(told) == set(NodeStatus.__struct_fields__)


@pytest.mark.parametrize("lines", [[b"{}"], [b""], [b"x" * 40], [b"a\nb"], [b"{}", b"{}"]])
@pytest.mark.parametrize("position", [0, 7, 2**63 - 1, 2**63])
def test_a_single_event_is_read_as_a_message_is(lines: list[bytes], position: int) -> None:
    whole = framed(FrameKind.EVENTS, position.to_bytes(8, "little"), EventBatch.of(lines).written)
    chance = random.Random(position)
    changed = [bytes((*whole[:at], chance.randrange(256), *whole[at + 1 :])) for at in range(8, len(whole))]
    cut = [framed(FrameKind.EVENTS, whole[8:end]) for end in range(8, len(whole))]
    with limited(max_record_bytes=39):
        for one in (whole, *changed, *cut):
            frame, single, message = Frame(FrameKind.EVENTS, 0, one), None, None
            with suppress(ProtocolFault):
                message = decode_message(frame)
            single = single_event(frame)
            if single is not None:
                assert isinstance(message, Events)
                assert (message.position, message.batch.lines()) == (single[0], [single[1]])
            else:
                assert message is None or len(message.batch) != 1  # type: ignore[union-attr]
