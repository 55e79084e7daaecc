"""Which files and folders a path, an address or a pattern stands for, and how a file of a store comes here.

A pattern has `*`, `?` or `[…]` in parts of its path, each of which stands for one part: `s3a://lake/2026-*/events`.
What is there under just this name is meant literally.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from comity.errors import Misuse, Place
from comity.limits import limits
from comity.storage.access import NO_ACCESS, StorageAccess
from comity.storage.place import FolderEntry, RemoteStorage, Storage, is_address, local_path, storage_at

_PATTERN = frozenset("*?[")
_HIDDEN = (".", "_")
_ALIASES = {"s3": "s3a", "s3n": "s3a", "gcs": "gs"}
"""What a scheme is called where Spark, too, must know it."""
_MOST_NAME_CHARS = 40


class FoundPlace(NamedTuple):
    """A file or a folder that is there."""

    name: str
    """Its path, which is absolute, or its address."""
    is_folder: bool
    size: int


def is_pattern(text: str) -> bool:
    """Whether a text may stand for several places.

    >>> is_pattern("s3a://lake/2026-*"), is_pattern("events")
    (True, False)
    """
    return not _PATTERN.isdisjoint(text)


def matches(name: str, pattern: str) -> bool:
    """Whether a place is among those that a pattern stands for.

    >>> matches("s3a://lake/2026-01/a", "s3a://lake/*/a"), matches("s3a://lake/2026/01/a", "s3a://lake/*/a")
    (True, False)
    """
    parts, wanted = name.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def full_name(place: str) -> str:
    """A path as an absolute one, an address with the scheme that Spark, too, knows, and neither with an end of `/`.

    >>> full_name("s3://lake/events/"), full_name("file:/events")
    ('s3a://lake/events', '/events')
    """
    if not is_address(place):
        return str(local_path(place).resolve())
    scheme, _, rest = place.partition("://")
    return f"{_ALIASES.get(scheme.lower(), scheme.lower())}://{rest.rstrip('/')}"


def look_up(place: str, access: StorageAccess = NO_ACCESS) -> list[FoundPlace]:
    """What a path, an address or a pattern stands for, by name; nothing if nothing is there."""
    name = full_name(place)
    found = _there(name, access)
    if found is not None:
        return [found]
    return sorted(_matching(name, access)) if is_pattern(name) else []


def entries_in(folder: str, access: StorageAccess = NO_ACCESS) -> list[FolderEntry]:
    """What is right in a folder, by name."""
    return storage_at(folder, access).entries()


@contextmanager
def on_this_machine(file: str, access: StorageAccess = NO_ACCESS) -> Iterator[Path]:
    """A file, or a copy of one in a store, which is here while the block runs and whose name has the same end.

    Raises `Misuse` for one that is not there, or that has more than `max_fetched_bytes`.
    """
    if not is_address(file):
        yield Path(file)
        return
    storage, name = _parent(file, access)
    with tempfile.TemporaryDirectory(prefix="comity-fetched-") as folder:
        path = Path(folder) / f"x{name[-_MOST_NAME_CHARS:]}"
        try:
            storage.fetch(name, path, limits().max_fetched_bytes)
        except FileNotFoundError:
            raise Misuse("no such file", code="no-such-file", place=Place(file)) from None
        yield path


@contextmanager
def opened(address: str, access: StorageAccess = NO_ACCESS) -> Iterator[tuple[Any, int]]:
    """A file of a store, of which parts can be read, and its size."""
    storage, name = _parent(address, access)
    assert isinstance(storage, RemoteStorage), "it is an address"
    with storage.opened(name) as file:
        yield file, file.size()


def _there(name: str, access: StorageAccess) -> FoundPlace | None:
    if not is_address(name):
        path = Path(name)
        return FoundPlace(name, path.is_dir(), path.stat().st_size) if path.exists() else None
    storage, last = _parent(name, access)
    size = storage.size(last)
    if size is not None:
        return FoundPlace(name, False, size)
    return FoundPlace(name, True, 0) if storage_at(name, access).entries() else None


def _matching(pattern: str, access: StorageAccess) -> Iterator[FoundPlace]:
    """Part for part, so that nothing is listed that no match can be in."""
    parts = pattern.split("/")
    fixed = next(at for at, part in enumerate(parts) if is_pattern(part))
    folders = ["/".join(parts[:fixed]) or "/"]
    seen = 0
    for at, part in enumerate(parts[fixed:], start=fixed + 1):
        below: list[str] = []
        for folder in folders:
            for one in entries_in(folder, access):
                if not fnmatchcase(one.name, part) or (one.name.startswith(_HIDDEN) and not part.startswith(_HIDDEN)):
                    continue
                seen = _counted(seen + 1, pattern)
                name = f"{folder.rstrip('/')}/{one.name}"
                if at == len(parts):
                    yield FoundPlace(name, one.is_folder, one.size)
                elif one.is_folder:
                    below.append(name)
        folders = below


def _counted(seen: int, pattern: str) -> int:
    if seen > limits().max_matching_files:
        hint = "name folders in place of files, or fewer of them"
        reason = f"this stands for more than {limits().max_matching_files:,} files"
        raise Misuse(reason, code="too-many-files", place=Place(pattern), hint=hint)
    return seen


def _parent(address: str, access: StorageAccess) -> tuple[Storage, str]:
    folder, _, name = address.rpartition("/")
    if folder.endswith("/"):  # the bucket itself
        return storage_at(address, access), ""
    return storage_at(folder, access), name
