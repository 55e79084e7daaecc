"""Files that outlive a loss of power: content first, then the name, then whatever says that they are there.

A file's content is on the disk when the file was synced, its name when the folder was, and a folder's name when the
folder above it was. A note about a file (an identity, a position, a mark) may be written only behind all of that.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

_AT_ONCE = 8
"""Files that are synced at the same time: a disk takes several in one go."""


def sync(path: Path) -> None:
    """Make the content of a file, or the names in a folder, survive a loss of power."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(paths: Iterable[Path]) -> None:
    """The same for many files and folders."""
    several = list(paths)
    if len(several) <= 1:
        for path in several:
            sync(path)
        return
    with ThreadPoolExecutor(min(_AT_ONCE, len(several)), "comity-sync") as pool:
        for _ in pool.map(sync, several):
            pass


def make_folder(folder: Path) -> None:
    """A folder, and those above it, that survive."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in reversed(missing):
        sync(one.parent)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that nobody looks at yet; its name survives when its folder is synced."""
    with path.open("wb") as stream:
        stream.write(content)
        sync_stream(stream)


def write_whole(path: Path, write: bytes | Callable[[BinaryIO], Any]) -> None:
    """Write a file that is there as a whole or not at all, also when two processes write it; it is on the disk then."""
    make_folder(path.parent)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("wb") as stream:
            if isinstance(write, bytes):
                stream.write(write)
            else:
                write(stream)
            sync_stream(stream)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync_stream(stream: BinaryIO) -> None:
    """Make what was written so far survive."""
    stream.flush()
    os.fsync(stream.fileno())


def move_all(moves: Iterable[tuple[Path, Path]]) -> None:
    """Give files their names, each in a folder that is there; content and names are on the disk when this returns."""
    pairs = list(moves)
    sync_all(source for source, _ in pairs)
    for source, target in pairs:
        source.replace(target)
    sync_all({target.parent for _, target in pairs})
