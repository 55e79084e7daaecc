"""A federation whose files are at an address: copied into a folder of this machine, and looked at again.

The copy is that of the user and the address, so commands that follow one another fetch only what changed. Files that
surely hold events are left where they are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from comity.errors import ComityError, Faults, Misuse, Place
from comity.limits import limits
from comity.storage.access import StorageAccess
from comity.storage.copies import folder_of_user
from comity.storage.durable import write_whole
from comity.storage.lookup import full_name
from comity.storage.place import FolderEntry, Storage, storage_at

_HIDDEN = (".", "_")
_OF_EVENTS = (".jsonl", ".parquet", ".avro", ".gz")
_MOST_LEVELS = 16
_MAY_CHANGE_NS = 60_000_000_000
"""Stores tell times in seconds, by clocks of their own: a file that is so young is fetched again each time."""
Marks = dict[str, tuple[int, int]]
"""By name, the size of a file and when it changed."""


@dataclass(slots=True)
class RemoteFederation:
    """The files of a federation in a store, and their copies."""

    address: str
    access: StorageAccess = field(repr=False)
    folder: Path = field(init=False)
    _known: Marks = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.address = full_name(self.address)
        digest = blake2b(self.address.encode(), digest_size=12).hexdigest()
        self.folder = folder_of_user("federations") / digest

    def refresh(self) -> None:
        """Let the copies be what is there now."""
        storage = storage_at(self.address, self.access)
        there = dict(_files_in(storage))
        if not there:
            raise Misuse("there is no file in it", code="no-federation-files", place=Place(self.address))
        self._check_size(there)
        settled = time.time_ns() - _MAY_CHANGE_NS
        for name, mark in there.items():
            if self._known.get(name) != mark:
                self._copy(name, storage.read(name))
        for path in [path for path in self.folder.rglob("*") if path.is_file()]:
            if str(path.relative_to(self.folder)) not in there:
                path.unlink(missing_ok=True)
        self._known = {name: mark for name, mark in there.items() if mark[1] < settled}

    def _copy(self, name: str, content: bytes) -> None:
        """Write a copy, unless it says the same: whoever watches it would take it for a change."""
        path = self.folder / name
        if not path.is_file() or path.read_bytes() != content:
            write_whole(path, content)

    @contextmanager
    def told(self) -> Iterator[None]:
        """What is wrong with a copy is told of the file that it is a copy of."""
        try:
            yield
        except Faults as found:
            raise Faults([self._placed(one) for one in found.errors]) from None
        except ComityError as error:
            raise self._placed(error) from None

    def _placed(self, error: ComityError) -> ComityError:
        place = error.place
        if place is None or place.file is None or not Path(place.file).is_relative_to(self.folder):
            return error
        name = str(Path(place.file).relative_to(self.folder))
        told = Place(self.address if name == "." else f"{self.address}/{name}", place.line, place.column, place.path)
        return type(error)(error.message, code=error.code, place=told, hint=error.hint, excerpt=error.excerpt)

    def _check_size(self, there: Marks) -> None:
        size = sum(one for one, _ in there.values())
        if size > limits().max_federation_bytes:
            hint = "keep events elsewhere, or set COMITY_MAX_FEDERATION_BYTES"
            reason = f"the files of a federation are more than {limits().max_federation_bytes:,} bytes together"
            raise Misuse(reason, code="too-large-federation", place=Place(self.address), hint=hint)


def _files_in(storage: Storage, folder: str = "", level: int = 0) -> Iterator[tuple[str, tuple[int, int]]]:
    for one in storage.entries(folder):
        name = f"{folder}/{one.name}" if folder else one.name
        if one.name.startswith(_HIDDEN) or one.name == "..":
            continue
        if not one.is_folder and _may_belong(one):
            yield name, (one.size, one.changed_ns)
        elif one.is_folder and level < _MOST_LEVELS:
            yield from _files_in(storage, name, level + 1)


def _may_belong(file: FolderEntry) -> bool:
    return not file.name.endswith(_OF_EVENTS)
