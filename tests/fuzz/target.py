"""What a fuzzer runs, and three targets that it must catch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, and what it may be given at first."""

    read: Callable[[bytes], object]
    seeds: Callable[[], Iterator[bytes]]
    most_bytes: int = 2_000


def _hangs(data: bytes) -> None:
    while data[:1] == b"H":
        pass


def _crashes(data: bytes) -> None:
    if data[:1] == b"C":
        raise ValueError("a crash")


def _devours(data: bytes) -> None:
    if data[:1] == b"M":
        _hoard.append(bytearray(b"x") * 3_000_000_000)


_hoard: list[bytearray] = []


def _letters() -> Iterator[bytes]:
    yield from (b"a", b"b")


CANARIES = {
    "canary-crash": Target(_crashes, _letters),
    "canary-hang": Target(_hangs, _letters),
    "canary-memory": Target(_devours, _letters),
}
