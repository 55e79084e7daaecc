"""What a loss of power would leave: a strict disk, which keeps what was synced and nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock


@dataclass(slots=True)
class StrictDisk:
    """Knows of every sync in this process since it was made.

    A file's content is as it was when the file was synced, the names in a folder as they were when the folder was.
    """

    contents: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By file, its size and its time of change when it was synced."""
    names: dict[int, dict[str, int]] = field(default_factory=dict)
    """By folder, the files that it named when it was synced."""
    _lock: Lock = field(default_factory=Lock)

    def take(self, handle: int) -> None:
        """Note that a file or a folder was synced."""
        status = os.fstat(handle)
        with self._lock:
            if stat.S_ISDIR(status.st_mode):
                self.names[status.st_ino] = {entry.name: entry.inode() for entry in os.scandir(handle)}
            else:
                self.contents[status.st_ino] = (status.st_size, status.st_mtime_ns)

    def lost(self, files: Iterator[Path], root: Path) -> list[str]:
        """Those of the files that would be gone, or not what they are now; `root` itself stays."""
        return sorted(str(path.relative_to(root)) for path in files if not self._keeps(path, root))

    def _keeps(self, path: Path, root: Path) -> bool:
        status = path.stat()
        if path.is_file() and self.contents.get(status.st_ino) != (status.st_size, status.st_mtime_ns):
            return False
        if path == root:
            return True
        named = self.names.get(path.parent.stat().st_ino, {})
        return named.get(path.name) == status.st_ino and self._keeps(path.parent, root)


@contextmanager
def strict_disk() -> Iterator[StrictDisk]:
    """Watches over the syncs of this process while the block runs.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, strict_disk() as disk:
    ...     file = Path(folder, "x")
    ...     _ = file.write_text("hello")
    ...     disk.lost(iter([file]), Path(folder))
    ['x']
    """
    disk, real = StrictDisk(), os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        disk.take(handle)

    os.fsync = fsync  # type: ignore[assignment]
    try:
        yield disk
    finally:
        os.fsync = real
