"""Copies of files of a store on a disk of this machine, so that files which never change are fetched once.

A file is known by its address and its size. Copies of all programs of one user are in one folder, up to a bound; those
that were not used for the longest time go first. One that is removed while it is mapped into memory stays there.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

from comity.limits import limits


@dataclass(frozen=True, slots=True)
class LocalCopies:
    """Copies in a folder."""

    folder: Path

    @classmethod
    def of_user(cls) -> LocalCopies:
        """Those of the user who asks."""
        return cls(folder_of_user("copies"))

    def get(self, address: str, size: int, fetch: Callable[[], bytes]) -> Path:
        """The copy of a file, which is fetched if it is not there; it may be of another size if the file is."""
        path = self.folder / blake2b(f"{size} {address}".encode(), digest_size=20).hexdigest()
        if _size_of(path) == size:
            with suppress(FileNotFoundError):
                os.utime(path)
            return path
        content = fetch()
        self._make_room(len(content))
        partial = path.with_name(f"{path.name}.{uuid4().hex}.partial")
        try:
            partial.write_bytes(content)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        return path

    def _make_room(self, size: int) -> None:
        found: list[tuple[float, int, Path]] = []
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):
                known = path.stat()
                found.append((known.st_mtime, known.st_size, path))
        left = limits().max_copies_bytes - size - sum(one[1] for one in found)
        for _, own, path in sorted(found):
            if left >= 0:
                break
            path.unlink(missing_ok=True)
            left += own


def folder_of_user(purpose: str) -> Path:
    """A folder of the user who asks, the same one each time, that nobody else can look into."""
    folder = Path(tempfile.gettempdir()) / f"comity-{os.getuid()}-{purpose}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not _is_ours(folder):  # somebody else took the name, and may change what is there
        folder = Path(tempfile.mkdtemp(prefix=f"comity-{purpose}-"))
    return folder


def _is_ours(folder: Path) -> bool:
    known = folder.lstat()
    return stat.S_ISDIR(known.st_mode) and known.st_uid == os.getuid() and not known.st_mode & 0o077


def _size_of(path: Path) -> int | None:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return None
