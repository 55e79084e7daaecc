"""Files that a run writes beside its results."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from comity.errors import Misuse, Place


@contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears when it is complete, so that nobody reads half of it."""
    target = path.resolve()
    if target.exists() and not target.is_file():  # a device or a pipe is written as it comes
        with _opened(target, target) as stream:
            yield stream
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with _opened(partial, path) as stream:
            yield stream
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _opened(path: Path, shown: Path) -> IO[bytes]:
    try:
        return path.open("wb")
    except OSError as error:
        reason = f"cannot be written: {error.strerror}"
        raise Misuse(reason, code="unwritable-file", place=Place(str(shown))) from error
