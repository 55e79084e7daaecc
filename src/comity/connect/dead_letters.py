"""What a sink did not take, with the reason: one file of JSON Lines for each sink, which `comity replay` empties.

A record is `{"key", "reason", "code", "attempts", "first_tried", "last_tried", "message"}`; `message` is the
CloudEvents object as it was published.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from comity.connect.folder import DEAD_LETTERS
from comity.connect.port import Message
from comity.connect.private import open_private
from comity.errors import Misuse, Place
from comity.storage.durable import make_folder, sync, sync_stream

NO_NOTIFICATION = "not-a-notification"
"""The code of a published line that is no CloudEvents object with profile, source and id."""


class DeadLetter(msgspec.Struct, frozen=True):
    """One message that a sink did not take. `attempts` is 0 if it was put aside because the sink was down."""

    key: str
    reason: str
    code: str
    attempts: int
    first_tried: str | None
    last_tried: str | None
    message: msgspec.Raw

    def as_message(self, subscriber: str) -> Message:
        """The message as it was first offered."""
        return Message(subscriber, profile_of(self.key), self.key, bytes(self.message))


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(DeadLetter)


def dead_letter_path(out: Path, subscriber: str, sink: str) -> Path:
    """Where the dead letters of a sink stand.

    >>> dead_letter_path(Path("out"), "house_a", "control_room").as_posix()
    'out/dead-letters/house_a/control_room.jsonl'
    """
    return out / DEAD_LETTERS / subscriber / f"{sink}.jsonl"


def dead_letter_files(out: Path) -> list[tuple[str, str, Path]]:
    """Subscriber, sink and file of all sinks that have dead letters."""
    found = sorted((out / DEAD_LETTERS).glob("*/*.jsonl"))
    return [(path.parent.name, path.stem, path) for path in found if not path.name.startswith(".")]


def profile_of(key: str) -> str:
    """The profile in the key of a message; empty if it has none.

    >>> profile_of('["fires","/a","1"]')
    'fires'
    """
    try:
        first = msgspec.json.decode(key)[0]
    except (msgspec.DecodeError, LookupError, TypeError):
        return ""
    return first if isinstance(first, str) else ""


def read_dead_letters(path: Path) -> Iterator[DeadLetter]:
    """The dead letters of a file, none if there is no file. A line that a crash cut off was never promised: it is left.

    Raises `Misuse` for a complete line that is no dead letter.
    """
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return
    with stream:
        for number, line in enumerate(stream, start=1):
            if line.endswith(b"\n"):
                yield _decoded(line, path, number)


def _decoded(line: bytes, path: Path, number: int) -> DeadLetter:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        hint = "mend or remove the line"
        place = Place(str(path), number)
        raise Misuse(f"this is no dead letter: {error}", code="bad-dead-letter", place=place, hint=hint) from None


def append_dead_letters(path: Path, letters: Iterable[DeadLetter]) -> None:
    """Add dead letters to a file; they are on the disk when this returns."""
    make_folder(path.parent)
    is_new = not path.exists()
    with open_private(path, "ab") as stream:
        _cut_torn_line(path, stream)
        stream.writelines(_encoder.encode(letter) + b"\n" for letter in letters)
        sync_stream(stream)
    if is_new:
        sync(path.parent)


def _cut_torn_line(path: Path, stream: BinaryIO) -> None:
    """Remove what a crash left of a line, because the next line would be glued to it."""
    end = stream.seek(0, os.SEEK_END)
    with path.open("rb") as reader:
        at = end
        while at > 0:
            start = max(0, at - 65_536)
            reader.seek(start)
            found = reader.read(at - start).rfind(b"\n")
            if found >= 0:
                at = start + found + 1
                break
            at = start
    if at < end:
        stream.truncate(at)


@contextmanager
def replacing(path: Path) -> Iterator[RewrittenLetters]:
    """Writes the dead letters that stay; at the end of the block they are the file, which goes if there are none.

    When the block fails, the file is as it was.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        with open_private(partial, "wb") as stream:
            kept = RewrittenLetters(stream)
            yield kept
            sync_stream(stream)
        if kept.count:
            partial.replace(path)
        else:
            path.unlink(missing_ok=True)
        sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


class RewrittenLetters:
    """Takes the dead letters that stay."""

    def __init__(self, stream: BinaryIO) -> None:
        self.count = 0
        self._stream = stream

    def keep(self, letter: DeadLetter) -> None:
        """Write one."""
        self.count += 1
        self._stream.write(_encoder.encode(letter) + b"\n")
