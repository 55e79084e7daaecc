"""A federation whose files may change while it runs.

Files are not changed at one stroke. Some editors remove a file and write it anew, others write it in pieces, and tools
that copy a folder do both. So a change counts when the files have stayed the same for a moment, and a file that is gone
or empty is waited for before its absence counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock

from comity.errors import ComityError, Misuse
from comity.federation.files import federation_files, load, load_remote
from comity.federation.model import Federation
from comity.federation.remote import RemoteFederation
from comity.federation.text_profiles import text_profile_files
from comity.limits import limits
from comity.pattern.bounds import check_bounded
from comity.storage.access import StorageAccess
from comity.storage.place import is_address, local_path

Mark = tuple[int, int, int, int]
Signature = Mapping[Path, Mark]
"""By file, what changes when the file does."""

_POLL_S = 0.02
_SIZE = 1


@dataclass(frozen=True, slots=True)
class Removed:
    """Files that are gone for good, and what the federation had of them."""

    files: tuple[Path, ...]
    domains: tuple[str, ...]
    contracts: tuple[str, ...]
    profiles: tuple[str, ...]

    def __str__(self) -> str:
        kinds = (("domain", self.domains), ("contract", self.contracts), ("profile", self.profiles))
        lost = [f"{kind} {name}" for kind, names in kinds for name in names]
        files = ", ".join(str(path) for path in self.files)
        return f"removed: {files}. " + (f"It goes on without {', '.join(lost)}" if lost else "Nothing is lost by it")


@dataclass(slots=True)
class WatchedFederation:
    """The federation of a folder, read anew when one of its files changed.

    A change that cannot be read, or not be run for ever, is reported to `on_fault`, and the last good state stays in
    force. Files that are gone, and not only replaced, are told to `on_removed`.
    """

    folder: Path | str
    """A folder, or the address of one in a store, which is looked at every `federation_poll_s` seconds."""
    on_fault: Callable[[ComityError], None] = lambda error: None
    on_removed: Callable[[Removed], None] = lambda removed: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    access: StorageAccess | None = field(default=None, repr=False)
    _remote: RemoteFederation | None = field(default=None, init=False)
    _looked_at: float = field(default=0.0, init=False)
    _federation: Federation | None = field(default=None, init=False)
    _signature: Signature = field(default_factory=dict, init=False)
    _lock: RLock = field(default_factory=RLock, init=False)

    def __post_init__(self) -> None:
        if is_address(str(self.folder)):
            self._remote = RemoteFederation(str(self.folder), self.access or StorageAccess.of({}))

    @property
    def _here(self) -> Path:
        """The folder of this machine."""
        return local_path(str(self.folder)) if self._remote is None else self._remote.folder

    def current(self) -> Federation:
        """The federation as its files say now; while they are being changed, it waits. Threads may share it."""
        with self._lock:
            return self._current()

    def _current(self) -> Federation:
        if self._federation is None:
            self._signature = self._look()
            self._federation = self._load()
            self._signature = {**marks(self._federation.files), **self._signature}
            return self._federation
        self._refresh()
        signature = settled(self._look, self._signature, self.clock, self.sleep)
        if signature != self._signature:
            self._federation = self._changed(self._federation, signature)
        return self._federation

    def _refresh(self) -> None:
        """Look at the store, now and then; while it fails, what was there last stays in force."""
        now = self.clock()
        if self._remote is None or now - self._looked_at < limits().federation_poll_s:
            return
        self._looked_at = now
        try:
            self._remote.refresh()
        except ComityError as error:
            self.on_fault(error)

    def _changed(self, before: Federation, signature: Signature) -> Federation:
        gone = tuple(path for path in self._signature if path not in signature)
        self._signature = signature
        try:
            found = self._load()
        except ComityError as error:
            self.on_fault(error)
            return before
        let_go = set(before.files).difference(found.files)  # a table that no contract names any more
        self._signature = {**marks(found.files), **{path: signature[path] for path in signature if path not in let_go}}
        if gone:
            self.on_removed(_removed(gone, before, found))
        return found

    def _look(self) -> Signature:
        """What is there: the files of the federation, and tables, rates, functions and stylesheets, which they name."""
        beside = self._federation.files if self._federation else ()
        try:
            return marks([*federation_files(self._here), *text_profile_files(self._here), *beside])
        except (Misuse, OSError):  # the folder is gone or empty; reading it says so
            return {}

    def _load(self) -> Federation:
        found = load(self._here) if self._remote is None else load_remote(self._remote)
        check_bounded(one.bound for one in found.composites.values())
        return found


def settled(
    look: Callable[[], Signature],
    known: Signature,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Signature:
    """What `look` sees, once it is at rest; at once if it is what was known.

    It is at rest when it was the same for `federation_settle_ms`, and no file that was known is gone or empty; such a
    file is waited for `federation_grace_ms`.
    """
    seen = look()
    since = began = clock()
    while seen != known:
        now = clock()
        if now - began >= limits().federation_grace_ms / 1_000:
            break
        if _is_whole(seen, known) and now - since >= limits().federation_settle_ms / 1_000:
            break
        sleep(_POLL_S)
        again = look()
        if again != seen:
            seen, since = again, clock()
    return seen


def _is_whole(seen: Signature, known: Signature) -> bool:
    return all(path in seen for path in known) and all(
        mark[_SIZE] or known.get(path) == mark for path, mark in seen.items()
    )


def marks(paths: Iterable[Path]) -> Signature:
    """The files that are there, each with what changes even by an edit that keeps its size and its time."""
    found: dict[Path, Mark] = {}
    for path in paths:
        try:
            stat = path.stat()
        except OSError:  # removed since the folder was listed, or not to be seen
            continue
        found[path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_ctime_ns)
    return found


def _removed(files: tuple[Path, ...], before: Federation, after: Federation) -> Removed:
    def lost(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
        kept = set(new)
        return tuple(name for name in old if name not in kept)

    return Removed(
        files,
        lost(before.domains, after.domains),
        lost(before.contracts, after.contracts),
        lost([*before.profiles, *before.composites], [*after.profiles, *after.composites]),
    )
