"""Digests of what was delivered, in sorted files that never change, and are looked into without being read.

A file holds a mark, then the first halves of all digests in order, then the second halves: two arrays of 64-bit
numbers, little-endian, which are mapped into memory and searched by halves. A search touches as many pages as the
logarithm says, so what is known costs its bytes on the disk, and hardly any time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from comity.connect.identity import DIGEST_BYTES
from comity.connect.sealed import Purpose
from comity.storage.place import Storage

Numbers = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

_MARK = b"comity-keys-1\n\0\0"
_HALF = np.dtype("<u8")

KEYS = Purpose(
    "what a stream delivered",
    "put back a copy of the folder .delivered; without it, begin anew with --overwrite or in another folder",
    "delivered-notes",
)


class Keys(NamedTuple):
    """Digests as two halves each."""

    high: Numbers
    low: Numbers

    def __len__(self) -> int:
        return len(self.high)

    def at(self, which: npt.NDArray[np.intp] | Mask) -> Keys:
        """Some of them."""
        return Keys(self.high[which], self.low[which])

    def order(self) -> npt.NDArray[np.intp]:
        """Their numbers, sorted by halves."""
        order = np.argsort(self.high, kind="stable")
        high, low = self.high[order], self.low[order]
        # Two digests with one first half are as good as none; sorting by both costs twice as much.
        if np.any((high[1:] == high[:-1]) & (low[1:] != low[:-1])):
            return np.lexsort((self.low, self.high))
        return order


NO_KEYS = Keys(np.empty(0, np.uint64), np.empty(0, np.uint64))


def as_keys(digests: Iterable[bytes]) -> Keys:
    """Digests of 16 bytes as keys, in their order.

    >>> [int(half[0]) for half in as_keys([bytes(7) + b"1" + bytes(7) + b"2"])]
    [49, 50]
    """
    halves = np.frombuffer(b"".join(digests), ">u8").reshape(-1, DIGEST_BYTES // 8).astype(np.uint64)
    return Keys(np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1]))


def joined(several: Sequence[Keys]) -> Keys:
    """The keys of several, sorted."""
    if len(several) == 1:
        return several[0]
    whole = Keys(*(np.concatenate([one[half] for one in several]) for half in (0, 1))) if several else NO_KEYS
    return whole.at(whole.order())


def is_among(asked: Keys, known: Keys) -> Mask:
    """Which of these are among the known ones, which are sorted."""
    found = np.zeros(len(asked), np.bool_)
    if not len(known) or not len(asked):
        return found
    open_, places = np.arange(len(asked)), np.searchsorted(known.high, asked.high)
    while len(open_):
        is_there = places < len(known)
        open_, places = open_[is_there], places[is_there]
        is_alike = known.high[places] == asked.high[open_]
        open_, places = open_[is_alike], places[is_alike]
        is_same = known.low[places] == asked.low[open_]
        found[open_[is_same]] = True
        open_, places = open_[~is_same], places[~is_same] + 1
    return found


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A file of keys, as it is noted."""

    name: str
    count: int
    checksum: int
    day: str
    """The day on which the last of them came."""
    bucket: int | None = None
    """The part of all keys that it holds some of; None when they may be of any."""
    level: int = 0
    """How often its keys were put together with others."""

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(_MARK) + DIGEST_BYTES * self.count


def write_keys(
    place: Storage, name: str, keys: Keys, day: str, *, bucket: int | None = None, level: int = 0
) -> KeyFile:
    """Write sorted keys, which last when this returns."""
    parts = [_MARK, *(half.astype(_HALF, copy=False).tobytes() for half in keys)]
    checksum = 0
    with place.writing(name) as stream:
        for part in parts:
            stream.write(part)
            checksum = zlib.crc32(part, checksum)
    return KeyFile(name, len(keys), checksum, day, bucket, level)


def map_keys(place: Storage, file: KeyFile) -> Keys:
    """The keys of a file, which stay on the disk."""
    path = _checked_path(place, file)
    if not file.count:
        return NO_KEYS
    mapped = np.memmap(path, _HALF, "r", len(_MARK), (2, file.count))
    # A plain view: what a memory map does beside costs more than a search.
    halves = mapped.view(np.ndarray)
    return Keys(halves[0], halves[1])


def check_size(place: Storage, file: KeyFile) -> None:
    """Raise `Permanent` if a file is not as long as was noted, or not there."""
    _check_bytes(place, file, place.size(file.name))


def check_content(place: Storage, file: KeyFile) -> None:
    """Raise `Permanent` if a file is not what was written."""
    path = _checked_path(place, file)
    checksum = 0
    with path.open("rb") as stream:
        while part := stream.read(1 << 20):
            checksum = zlib.crc32(part, checksum)
    if checksum != file.checksum:
        raise KEYS.broken(_shown(place, file), "its checksum is wrong")


def _checked_path(place: Storage, file: KeyFile) -> Path:
    """Where the file, or a copy of it, is on a disk."""
    try:
        path = place.on_disk(file.name, file.size)
        size: int | None = path.stat().st_size
    except FileNotFoundError:
        size = None
    _check_bytes(place, file, size)
    return path


def _check_bytes(place: Storage, file: KeyFile, size: int | None) -> None:
    if size is None:
        raise KEYS.broken(_shown(place, file), "the file is missing")
    if size != file.size:
        raise KEYS.broken(_shown(place, file), f"it has {size:,} bytes, and not {file.size:,}")


def _shown(place: Storage, file: KeyFile) -> str:
    return f"{place.address}/{file.name}"


class DeliveredKeys:
    """Keys that were taken before, in files, and those that are taken now.

    >>> known = DeliveredKeys([])
    >>> known.take(as_keys([b"a" * 16, b"b" * 16, b"a" * 16])).tolist()
    [True, True, False]
    >>> known.take(as_keys([b"b" * 16, b"c" * 16])).tolist()
    [False, True]
    >>> len(known.taken())
    3
    """

    def __init__(self, before: Sequence[Keys]) -> None:
        self._before = before
        self._runs: list[Keys] = []
        """What was taken, sorted; each is more than twice as long as the next, so that they are few."""

    def take(self, asked: Keys) -> Mask:
        """Which of these are new, the first of those that are equal; from now on they are known."""
        order = asked.order()
        ordered = asked.at(order)
        is_new = np.ones(len(asked), np.bool_)
        is_new[1:] = (ordered.high[1:] != ordered.high[:-1]) | (ordered.low[1:] != ordered.low[:-1])
        for known in (*self._runs, *self._before):
            is_new[is_new] = ~is_among(ordered.at(is_new), known)
        self._remember(ordered.at(is_new))
        found = np.zeros(len(asked), np.bool_)
        found[order[is_new]] = True
        return found

    def taken(self) -> Keys:
        """What was taken, sorted."""
        self._runs = [joined(self._runs)]
        return self._runs[0]

    def _remember(self, keys: Keys) -> None:
        if not len(keys):
            return
        while self._runs and len(self._runs[-1]) <= 2 * len(keys):
            keys = joined([self._runs.pop(), keys])
        self._runs.append(keys)
