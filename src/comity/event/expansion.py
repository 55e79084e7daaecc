"""How far a file may grow when it is read: a small one that stands for very much is meant to do harm."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path
from typing import IO, cast

from comity.event.validate import Fault
from comity.limits import limits

UNPACKING_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)
"""What reading a compressed file raises because of what is in it."""


class ExpandsTooFarError(EOFError):
    """A file stands for more than `max_expansion` allows; what follows in it is not read."""


LEAST_BYTES = 100
"""What a record weighs at least: one that says nothing costs a rejected record."""


class Expansion:
    """Counts what a file of some size gives."""

    def __init__(self, path: str | Path, size: int | None = None) -> None:
        bounds, own = limits(), os.path.getsize(path) if size is None else size
        self._most = max(bounds.free_expansion_bytes, bounds.max_expansion * own)
        self._given = 0

    def allows(self, size: int) -> bool:
        """Whether so many bytes are within the bound."""
        return size <= self._most

    def add(self, size: int) -> None:
        """Some more bytes; raises `ExpandsTooFarError` when it is too much."""
        self._given += size
        if not self.allows(self._given):
            raise ExpandsTooFarError(
                f"a small file stands for more than {self._most} bytes, so the rest of it is not read"
            )


def broken_gzip(error: Exception) -> Fault:
    """Why a compressed file cannot be read on."""
    if isinstance(error, ExpandsTooFarError):
        return Fault("", "", str(error), "expands-too-far")
    return Fault("", "", f"the compressed file is broken: {error}", "broken-gzip")


def open_file(path: Path, *, least_line: int = 0) -> IO[bytes]:
    """A file, unpacked if it is compressed; reading raises `ExpandsTooFarError` where it expands too far.

    A line counts for `least_line` bytes at least: an empty one takes its time, too.
    """
    if path.suffix != ".gz":
        return path.open("rb")
    return cast(IO[bytes], io.BufferedReader(_Unpacked(path, least_line), 65_536))


class _Unpacked(io.RawIOBase):
    """The content of a compressed file, counted."""

    def __init__(self, path: Path, least_line: int) -> None:
        self._file = gzip.GzipFile(path, "rb")
        self._least_line = least_line
        self._expansion = Expansion(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        content = self._file.read1(len(buffer))
        self._expansion.add(max(len(content), self._least_line * content.count(b"\n")))
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._file.close()
        super().close()
