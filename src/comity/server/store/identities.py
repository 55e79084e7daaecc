"""Which events were stored already, by digests of source and id in memory, as many of the last ones as a bound says.

An index of them on the disk would be a tree with keys in random order, each commit of which writes as many pages as it
has events: it takes five to ten times as long as the events themselves. So the digests stand on the disk in the order
of their events, a row for each commit, and are read into memory when the store is opened.
"""

from __future__ import annotations

from hashlib import blake2b

DIGEST_BYTES = 16


def event_digest(source: str, id: str) -> bytes:
    """16 bytes that stand for the identity of an event.

    >>> event_digest("/a", "1") == event_digest("/a1", "")
    False
    """
    identity = f"{len(source)} {source}{id}"
    return blake2b(identity.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES).digest()


class Identities:
    """Digests with the numbers of their events, in two generations: when the younger is half of all, the older goes.

    >>> known = Identities(most=4)
    >>> for number in range(5):
    ...     known.add(event_digest("/a", str(number)), number)
    >>> [known.find(event_digest("/a", str(number))) for number in range(5)]
    [None, None, 2, 3, 4]
    """

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}
        self._tried: list[bytes] = []

    def find(self, digest: bytes) -> int | None:
        """The number of the event, None if it is not known."""
        found = self._young.get(digest)
        return self._old.get(digest) if found is None else found

    def add(self, digest: bytes, sequence: int) -> None:
        """Know an event from now on."""
        self.settle()
        self._young[digest] = sequence

    def try_out(self, digest: bytes, sequence: int) -> None:
        """Know an event until `undo`, or for good from `settle` on."""
        self._young[digest] = sequence
        self._tried.append(digest)

    def settle(self) -> None:
        """What was tried out counts."""
        self._tried.clear()
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}

    def undo(self) -> None:
        """What was tried out since `settle` was not stored."""
        for digest in self._tried:
            del self._young[digest]
        self._tried.clear()
