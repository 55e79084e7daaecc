"""What one process leaves for the next one, with a checksum: positions, marks, and the state of patterns.

A file that a disk or a person has damaged is told, with what it was for and what to do, and never taken for another
state. Files from before there were checksums are read as they are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from comity.errors import Permanent, Place

T = TypeVar("T")
_MARK = b"comity-state-1 "
_DIGEST_CHARS = 32


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a file is for, and what to do when it is damaged."""

    text: str
    hint: str
    code: str

    def broken(self, path: Path | str, reason: str) -> Permanent:
        """The error for a damaged file."""
        return Permanent(
            f"{self.text} cannot be read: {reason}", code=self.code, place=Place(str(path)), hint=self.hint
        )


class _Note(msgspec.Struct):
    content: msgspec.Raw
    blake2b: str


def sealed_note(value: Any) -> bytes:
    """A value as JSON with its checksum.

    >>> sealed_note({"number": 7})
    b'{"content":{"number":7},"blake2b":"0018d09b9eab5cddac271acc061c59d8"}'
    """
    content = msgspec.json.encode(value)
    return msgspec.json.encode(_Note(msgspec.Raw(content), _digest(content)))


def read_note(path: Path, kind: type[T], purpose: Purpose) -> T | None:
    """The value in such a file, None if there is no file."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return None
    return note_in(found, path, kind, purpose)


def note_in(found: bytes, path: Path | str, kind: type[T], purpose: Purpose) -> T:
    """The value in the content of such a file."""
    try:
        return msgspec.json.decode(_content_of_note(found, path, purpose), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise purpose.broken(path, str(error)) from error


def _content_of_note(found: bytes, path: Path | str, purpose: Purpose) -> bytes:
    try:
        note = msgspec.json.decode(found, type=_Note)
    except msgspec.ValidationError:
        return found
    if _digest(bytes(note.content)) != note.blake2b:
        raise purpose.broken(path, "its checksum is wrong")
    return bytes(note.content)


def sealed(content: bytes) -> bytes:
    """Bytes with their checksum."""
    return _MARK + _digest(content).encode() + b"\n" + content


def read_sealed(path: Path, purpose: Purpose) -> bytes:
    """The bytes in such a file."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        raise purpose.broken(path, "the file is missing") from None
    if not found.startswith(_MARK):
        return found
    content = unsealed(found)
    if content is None:
        raise purpose.broken(path, "its checksum is wrong")
    return content


def unsealed(found: bytes) -> bytes | None:
    """What `sealed` was given; None when the checksum is wrong, or there is none.

    >>> unsealed(sealed(b"state")), unsealed(sealed(b"state")[:-1])
    (b'state', None)
    """
    head = len(_MARK) + _DIGEST_CHARS
    is_whole = found.startswith(_MARK) and found[len(_MARK) : head].decode(errors="replace") == _digest(
        found[head + 1 :]
    )
    return found[head + 1 :] if is_whole else None


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST_CHARS // 2).hexdigest()
