"""A federation whose files may change while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from comity.errors import ComityError
from comity.federation.files import federation_files, load
from comity.federation.model import Federation
from comity.federation.text_profiles import text_profile_files
from comity.pattern.bounds import check_bounded

Signature = tuple[tuple[str, int, int, int, int], ...]


@dataclass(slots=True)
class WatchedFederation:
    """The federation of a folder, read anew when one of its files changed.

    A change that cannot be read, or not be run for ever, is reported to `on_fault`, and the last good state stays in
    force.
    """

    folder: Path
    on_fault: Callable[[ComityError], None] = lambda error: None
    _federation: Federation | None = field(default=None, init=False)
    _signature: Signature = field(default=(), init=False)
    _beside: Signature = field(default=(), init=False)
    """The same of tables, rates, functions and stylesheets, which the files name."""

    def current(self) -> Federation:
        """The federation as its files say now."""
        signature = _marks([*federation_files(self.folder), *text_profile_files(self.folder)])
        if self._federation is None:
            self._federation, self._signature = self._load(), signature
            self._beside = _marks(self._federation.files)
        elif signature != self._signature or _marks(self._federation.files) != self._beside:
            self._signature, self._beside = signature, _marks(self._federation.files)
            try:
                self._federation = self._load()
            except ComityError as error:
                self.on_fault(error)
        return self._federation

    def _load(self) -> Federation:
        found = load(self.folder)
        check_bounded(one.bound for one in found.composites.values())
        return found


def _marks(paths: Iterable[Path]) -> Signature:
    return tuple(_mark(path) for path in paths)


def _mark(path: Path) -> tuple[str, int, int, int, int]:
    """What changes when a file does, even by an edit that keeps its size and its time."""
    try:
        stat = path.stat()
    except FileNotFoundError:  # removed since the folder was listed
        return str(path), 0, 0, 0, 0
    return str(path), stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_ctime_ns
