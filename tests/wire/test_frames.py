"""Frames come out as they went in, however the bytes are cut; what is no frame is refused, and costs little memory."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.limits import limited
from comity.wire import Frame, FrameKind, FrameReader, framed
from comity.wire.faults import ProtocolFault
from comity.wire.frames import FIRST_FRAME_BYTES

_frames = st.builds(
    lambda kind, body, flags: Frame(kind, flags, framed(kind, body, flags=flags)),
    st.sampled_from(FrameKind),
    st.binary(max_size=200),
    st.integers(0, 255),
)


@given(st.lists(_frames, max_size=8), st.lists(st.integers(1, 60), max_size=30))
def test_frames_come_out_as_they_went_in_however_they_are_cut(frames: list[Frame], cuts: list[int]) -> None:
    stream = b"".join(frame.whole for frame in frames)
    reader, found = FrameReader(), list[Frame]()
    for cut in cuts:
        found += reader.read(stream[:cut])
        stream = stream[cut:]
    found += reader.read(stream)
    assert found == frames
    assert [bytes(frame.body) for frame in found] == [frame.whole[8:] for frame in frames]


def test_half_a_frame_is_waited_for() -> None:
    reader, whole = FrameReader(), framed(FrameKind.BYE, b"{}")
    for at in range(len(whole) - 1):
        assert list(reader.read(whole[at : at + 1])) == []
    assert [frame.whole for frame in reader.read(whole[-1:])] == [whole]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "malformed-frame"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "malformed-frame"),
        (b"\0" * 8, "malformed-frame"),
        (b"\x02\0\0\0\xff\0\0\0{}", "malformed-frame"),
        (b"\x02\0\0\0\x01\0\x01\0{}", "malformed-frame"),
        ((FIRST_FRAME_BYTES + 1).to_bytes(4, "little") + b"\x01\0\0\0", "frame-too-long"),
    ],
    ids=["http", "tls", "zeros", "kind", "not zero", "long"],
)
def test_what_is_no_frame_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(ProtocolFault) as refused:
        list(FrameReader().read(data))
    assert refused.value.code == code


def test_good_frames_before_a_bad_one_are_read_and_none_behind_it() -> None:
    reader, good = FrameReader(), framed(FrameKind.BYE, b"{}")
    frames = reader.read(good + b"nonsense" + good)
    assert next(frames).whole == good
    with pytest.raises(ProtocolFault):
        next(frames)
    with pytest.raises(ProtocolFault):
        list(reader.read(good))


def test_a_longer_frame_is_read_of_whom_we_know() -> None:
    long = framed(FrameKind.EVENTS, bytes(FIRST_FRAME_BYTES + 1))
    with pytest.raises(ProtocolFault):
        list(FrameReader().read(long))
    reader = FrameReader()
    reader.trust()
    assert [frame.whole for frame in reader.read(long)] == [long]
    with limited(max_frame_bytes=FIRST_FRAME_BYTES):
        reader = FrameReader()
        reader.trust()
    with pytest.raises(ProtocolFault):
        list(reader.read(long))


def test_a_length_without_bytes_takes_no_memory() -> None:
    reader = FrameReader()
    reader.trust()
    tracemalloc.start()
    try:
        assert list(reader.read((8_000_000).to_bytes(4, "little") + bytes([FrameKind.EVENTS, 0, 0, 0]))) == []
        for _ in range(1_000):
            assert list(reader.read(b"x")) == []
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


def test_after_a_fault_nothing_is_kept() -> None:
    reader = FrameReader()
    with pytest.raises(ProtocolFault):
        list(reader.read(b"nonsense"))
    tracemalloc.start()
    try:
        for _ in range(100):
            with pytest.raises(ProtocolFault):
                list(reader.read(bytes(100_000)))
        assert tracemalloc.get_traced_memory()[0] < 200_000
    finally:
        tracemalloc.stop()
