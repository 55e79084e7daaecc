"""Which subscriptions of a client each event of a delivery is for.

    count      four bytes
    numbers    count times four bytes

If all events are for the same subscriptions (flag 1) the numbers stand once. Else there stand behind the count, for
each event and the end, four bytes each: where its numbers begin.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from comity.wire.faults import malformed

ALIKE = 1
"""The flag of a delivery whose events are all for the same subscriptions."""
PLACED = 2
"""The flag of a delivery with the position of each event."""
_NUMBER = 4


class Marks:
    """The numbers of subscriptions for each event of a batch.

    >>> Marks.of([(1, 2), (2,)])[0], Marks.alike((3,), 2)[1]
    ((1, 2), (3,))
    """

    __slots__ = ("_begins", "_numbers", "count")

    def __init__(self, numbers: Sequence[int], begins: Sequence[int] | None, count: int) -> None:
        self._numbers, self._begins, self.count = tuple(numbers), begins, count

    @classmethod
    def alike(cls, numbers: Sequence[int], count: int) -> Marks:
        """The same for every one of so many events."""
        return cls(numbers, None, count)

    @classmethod
    def of(cls, marks: Sequence[Sequence[int]]) -> Marks:
        """For each event its own."""
        begins = list(accumulate(map(len, marks), initial=0))
        return cls.of_runs(list(chain.from_iterable(marks)), begins)

    @classmethod
    def of_runs(cls, numbers: list[int], begins: list[int] | None) -> Marks:
        """Of the numbers of all events, one behind the other: where those of each begin, and the end.

        Without begins each event has one.
        """
        count = len(numbers) if begins is None else len(begins) - 1
        each = 1 if begins is None else begins[min(1, count)]
        if numbers == numbers[:each] * count and (begins is None or begins == [at * each for at in range(count + 1)]):
            return cls(numbers[:each], None, count)
        return cls(numbers, range(count + 1) if begins is None else begins, count)

    @property
    def is_alike(self) -> bool:
        return self._begins is None

    def __getitem__(self, row: int) -> tuple[int, ...]:
        if self._begins is None:
            return self._numbers
        return self._numbers[self._begins[row] : self._begins[row + 1]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Marks) and [*self] == [*other]

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return map(self.__getitem__, range(self.count))

    def __repr__(self) -> str:
        return f"Marks.of({[*self]!r})"

    def take(self, rows: Iterable[int]) -> Marks:
        """Those of some of the events, in the order of the rows."""
        return Marks.of([self[row] for row in rows])

    def written(self) -> bytes:
        """The marks as they stand in a delivery."""
        begins = self._begins or ()
        return struct.pack(f"<{1 + len(begins) + len(self._numbers)}I", len(self._numbers), *begins, *self._numbers)

    @classmethod
    def read(cls, view: memoryview, *, count: int, is_alike: bool) -> tuple[Marks, int]:
        """The marks of so many events, and how many bytes they take."""
        begins = 0 if is_alike else count + 1
        total = int.from_bytes(view[:_NUMBER], "little")
        size = _NUMBER * (1 + begins + total)
        if len(view) < size:
            raise malformed("the subscriptions of a delivery are cut off")
        numbers = np.frombuffer(view, "<u4", begins + total, _NUMBER)
        places = numbers[:begins]
        if not is_alike:
            _check(places, total)
        return cls(numbers[begins:].tolist(), None if is_alike else places.tolist(), count), size


def _check(places: NDArray[np.uint32], total: int) -> None:
    if places[0] != 0 or places[-1] != total or (places[1:] < places[:-1]).any():
        raise malformed("the subscriptions of a delivery do not fit its events")
