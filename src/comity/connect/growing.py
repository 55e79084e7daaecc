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

_LOOK_S = 10.0
"""Seconds between two looks for files that nobody reads."""


@dataclass(slots=True)
class PassedOver:
    """Tells once of files in folders that nobody reads, since their names say nothing that is known."""

    on_unknown: Callable[[list[Path]], None]
    _told: set[Path] = field(default_factory=set, init=False)
    _looked_at: float = field(default=0.0, init=False)

    def look(self, folders: Iterable[Path]) -> None:
        """Tell of new ones; calls that follow closely on one another do not look again."""
        if time.monotonic() - self._looked_at < _LOOK_S:
            return
        self._looked_at = time.monotonic()
        unknown = [file for folder in folders if folder.is_dir() for file in unknown_files(folder)]
        new = [file for file in unknown if file not in self._told]
        self._told = set(unknown)  # no more than is there, however many come and go
        if new:
            log("files passed over", level=WARNING, files=len(new), example=str(new[0]))
            self.on_unknown(new)


def check_folders(folders: Iterable[Path]) -> None:
    """Raise `Misuse` for what a stream cannot be read from."""
    for folder in folders:
        if not folder.is_dir():
            raise Misuse("a stream is read from a folder", code="not-a-folder", place=Place(str(folder)))


def lag_s(files: Sequence[str]) -> float | None:
    """How old the oldest of the files is now; None when there is none."""
    return max((time.time() - _changed_at(file) for file in files), default=None)


def _changed_at(file: str) -> float:
    try:
        return Path(file).stat().st_mtime
    except OSError:  # it may be on another machine's disk
        return time.time()
