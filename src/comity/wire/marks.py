"""Which subscriptions of a client each event of a delivery is for.

    count      four bytes
    numbers    count times four bytes

If all events are for the same subscriptions (flag 1) the numbers stand once. Else there stand behind the count, for
each event and the end, four bytes each: where its numbers begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        first = tuple(marks[0])
        if all(tuple(one) == first for one in marks):
            return cls(first, None, len(marks))
        return cls(list(chain.from_iterable(marks)), list(accumulate(map(len, marks), initial=0)), len(marks))

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

    def written(self) -> bytes:
        head = [len(self._numbers), *(self._begins or ()), *self._numbers]
        return np.array(head, "<u4").tobytes()

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
