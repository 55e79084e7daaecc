"""Batches of events: how many, where each begins, and their lines, one behind the other.

    count      four bytes
    offsets    count + 1 times four bytes: where each line begins behind the offsets, and where the last one ends
    lines      each an event in CloudEvents JSON, without a line end

All numbers are little-endian. A batch is passed on as it came when whoever gets it wants all of it; so nothing in it is
about who sent it, or to whom.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from comity.limits import limits
from comity.wire.faults import malformed

Offsets = NDArray[np.uint32]
_FIRST = np.dtype("<u4").itemsize


class EventBatch:
    """Events as lines of JSON, in their written form, of which single lines are cut when they are asked for.

    >>> batch = EventBatch.of([b'{"id": "1"}', b'{"id": "2"}', b'{"id": "3"}'])
    >>> len(batch), batch[1], EventBatch.read(bytes(batch.written)).lines() == batch.lines()
    (3, b'{"id": "2"}', True)
    >>> batch.take([0, 2]).lines()
    [b'{"id": "1"}', b'{"id": "3"}']
    """

    __slots__ = ("_places", "_written", "offsets", "text")

    def __init__(self, offsets: Offsets, text: bytes, written: bytes | memoryview | None = None) -> None:
        self.offsets = offsets
        """Where each line begins in the text, and where the last one ends."""
        self.text = text
        """The lines, one behind the other."""
        self._written = written
        self._places: list[int] | None = None

    @classmethod
    def of(cls, lines: Sequence[bytes]) -> EventBatch:
        """A batch of these lines."""
        offsets = np.fromiter(accumulate(map(len, lines), initial=0), "<u4", len(lines) + 1)
        return cls(offsets, b"".join(lines))

    @classmethod
    def read(cls, written: bytes | memoryview) -> EventBatch:
        """The batch that was written so; raises `ProtocolFault` if it was not, or has too much in it."""
        view = memoryview(written)
        count = int.from_bytes(view[:_FIRST], "little")
        begin = _FIRST * (count + 2)
        if not 0 < count <= limits().max_batch_events or begin > len(view):
            raise malformed("a batch of events without an event, with too many, or cut off")
        offsets = np.frombuffer(view, "<u4", count + 1, _FIRST)
        batch = cls(offsets, bytes(view[begin:]), written)
        _check(batch)
        return batch

    @property
    def written(self) -> bytes | memoryview:
        """All of it."""
        if self._written is None:
            self._written = b"".join(self.pieces)
        return self._written

    @property
    def pieces(self) -> tuple[bytes | memoryview, ...]:
        """What is written, perhaps in pieces, so that nothing is copied twice."""
        if self._written is not None:
            return (self._written,)
        return len(self).to_bytes(_FIRST, "little"), self.offsets.tobytes(), self.text

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> bytes:
        return self.text[int(self.offsets[row]) : int(self.offsets[row + 1])]

    def lines(self) -> list[bytes]:
        """Every line."""
        text = self.text
        return [text[begin:end] for begin, end in pairwise(self._begins())]

    def take(self, rows: Iterable[int]) -> EventBatch:
        """A batch of some of the lines, in the order of the rows."""
        text, begins = self.text, self._begins()
        return EventBatch.of([text[begins[row] : begins[row + 1]] for row in rows])

    def _begins(self) -> list[int]:
        if self._places is None:  # several receivers may get parts of one batch
            self._places = self.offsets.tolist()
        return self._places


def _check(batch: EventBatch) -> None:
    offsets = batch.offsets
    # Of unsigned numbers: one that goes down gives a very large length.
    longest = int((offsets[1:] - offsets[:-1]).max())
    if offsets[0] != 0 or int(offsets[-1]) != len(batch.text) or longest > limits().max_record_bytes:
        raise malformed("the offsets of a batch of events do not fit its lines, or a line is too long")
    if b"\n" in batch.text:
        raise malformed("an event has a line end in it")
