"""Growing folders of event files, as streams read them: what is not read, and how far behind a stream is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from logging import WARNING
from pathlib import Path

from comity.errors import Misuse, Place
from comity.event.formats.table import unknown_files
from comity.logs import log
from comity.storage.access import NO_ACCESS, StorageAccess
from comity.storage.lookup import is_pattern, look_up
from comity.storage.place import is_address

_LOOK_S = 10.0
"""Seconds between two looks for files that nobody reads."""


@dataclass(slots=True)
class PassedOver:
    """Tells once of files in folders that nobody reads, since their names say nothing that is known."""

    on_unknown: Callable[[list[Path]], None]
    _told: set[Path] = field(default_factory=set, init=False)
    _looked_at: float = field(default=0.0, init=False)

    def look(self, folders: Iterable[str]) -> None:
        """Tell of new ones; calls that follow closely on one another do not look again.

        Folders of stores are not looked at: each look at one would be paid for.
        """
        if time.monotonic() - self._looked_at < _LOOK_S:
            return
        self._looked_at = time.monotonic()
        unknown = [file for folder in map(Path, folders) if folder.is_dir() for file in unknown_files(folder)]
        new = [file for file in unknown if file not in self._told]
        self._told = set(unknown)  # no more than is there, however many come and go
        if new:
            log("files passed over", level=WARNING, files=len(new), example=str(new[0]))
            self.on_unknown(new)


def check_folders(folders: Iterable[str], access: StorageAccess = NO_ACCESS) -> None:
    """Raise `Misuse` for what a stream cannot be read from. A folder of a store is there when a file is in it, and one
    for which a pattern stands may come later.
    """
    for folder in folders:
        found = look_up(folder, access)
        is_later = is_address(folder) or is_pattern(folder)
        if not (is_later if not found else all(one.is_folder for one in found)):
            raise Misuse("a stream is read from a folder", code="not-a-folder", place=Place(folder))


def lag_s(files: Sequence[str]) -> float | None:
    """How old the oldest of the files of this machine is now; None when there is none."""
    return max((time.time() - _changed_at(file) for file in files if not is_address(file)), default=None)


def _changed_at(file: str) -> float:
    try:
        return Path(file).stat().st_mtime
    except OSError:  # it may be on another machine's disk
        return time.time()
