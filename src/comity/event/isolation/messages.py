"""What this process and a decoder say to each other: pieces of bytes, each after its length.

The answers are plain data, because a decoder has read what strangers wrote. The requests hold types, and come from us.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

import msgspec

from comity.event.formats.jsonlines import Rejected

_LENGTH = struct.Struct("<I")
_MOST_BYTES = 268_435_456
"""Of one piece; a decoder that announces more has lost its mind."""


@dataclass(frozen=True, slots=True)
class Request:
    """A file to decode: by which reader, after which number, within which bounds."""

    reader: str
    path: str
    name: str
    """How the file is called in rejected records."""
    after: int
    bounds: Mapping[str, int]
    one_by_one: bool
    """Whether every record is handed over at once, so that none is lost when the next one is fatal."""
    typed: bool
    """Whether there are types to ask for."""


class Records(msgspec.Struct, tag=True, array_like=True):
    """Some records, each with its number."""

    records: list[tuple[int, bytes | Rejected]]


class TypeQuestion(msgspec.Struct, tag=True, array_like=True):
    """A question for the type of this name."""

    name: str


class Failed(msgspec.Struct, tag=True, array_like=True):
    """The file cannot be read from here on, because of what is in it."""

    code: str
    reason: str


class Unreadable(msgspec.Struct, tag=True, array_like=True):
    """The system does not let the file be read."""

    errno: int
    reason: str


class Done(msgspec.Struct, tag=True, array_like=True):
    """That was the whole file."""


Answer = Records | TypeQuestion | Failed | Unreadable | Done
_decoder: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)
_encoder = msgspec.msgpack.Encoder()


def send(stream: IO[bytes], content: bytes) -> None:
    """Write one piece, and let it go."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next piece; None if there will be no more."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = stream.read(length) if length <= _MOST_BYTES else b""
    return content if len(content) == length else None


def encode_answer(answer: Answer) -> bytes:
    return _encoder.encode(answer)


def decode_answer(content: bytes) -> Answer:
    """The answer in a piece; raises `msgspec.ValidationError` or `msgspec.DecodeError` if it is none."""
    return _decoder.decode(content)
