"""Matching one event at a time, from a record of Python values: the way for a broker, without Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from comity.compiled import entry
from comity.event.event import Event
from comity.event.kinds import Value
from comity.event.types import ENVELOPE_NAME
from comity.expression.evaluate import AttributeReader
from comity.match.access import LEVELS
from comity.match.channels import Ints
from comity.match.finish import Conditions, finish_one
from comity.match.kernels.arrays import Postings, PythonObjects, Scratch
from comity.match.kernels.packed import packed_words
from comity.match.kernels.single import BELOW, FULL, UNRANKED, match_event
from comity.match.ranks import Ranking
from comity.match.residual import Tests

_SPARE = 1 << 12
"""Targets that there is room for at first."""
_INTS = list(range(1 << 16))
"""Ints that need not be made for every event: with a thousand matches that is most of the time."""
_OBJECTS = PythonObjects(
    none=id(None),
    true=id(True),
    boolean=id(bool),
    whole=id(int),
    real=id(float),
    text=id(str),
    ints=np.fromiter(map(id, _INTS), np.int64, len(_INTS)),
)


class SingleEvents:
    """One thread's way to match single events: what a kernel needs to know, and its buffers, at one address."""

    def __init__(self, rankings: Sequence[Ranking], postings: Postings, conditions: Conditions, tests: Tests) -> None:
        self._kernel = entry(match_event, 5)
        self._rankings, self._postings = rankings, postings
        self._conditions, self._tests = conditions, tests
        read = [ranking for ranking in rankings if ranking.path]
        self._paths = [ranking.path for ranking in read]
        self._names = [path[0] for path in self._paths]
        # An event has most attributes at hand by their name; what stands elsewhere is asked for by its path.
        self._deeper = [(at, path) for at, path in enumerate(self._paths) if len(path) > 1 or path[0] == ENVELOPE_NAME]
        places = {id(ranking): at for at, ranking in enumerate(read)}
        self._places = [places.get(id(ranking), -1) for ranking in rankings]
        channels = len(rankings)
        self._scratch = Scratch(
            own=np.zeros(channels, np.int32),
            buckets=np.zeros(max(channels, 32), np.uint32),
            begins=np.zeros(channels * (LEVELS + 1), np.uint32),
            ends=np.zeros(channels * (LEVELS + 1), np.uint32),
            out=np.empty(_SPARE, np.int32),
            needed=np.zeros(1, np.int64),
        )
        self._pack()

    def match(self, record: AttributeReader) -> list[int]:
        """The profiles that match an event, in no particular order."""
        holder: list[Any] = [None]
        count = self._matched(record, id(holder))
        if count < BELOW:
            found: list[int] = holder[0]
            return found
        return finish_one(self._out[: count - BELOW].tolist(), self._conditions, self._tests, record)

    def ids(self, record: AttributeReader) -> Ints:
        """The same as an array, which is faster when there are many."""
        count = self._matched(record, 0)
        if count < BELOW:
            return self._out[:count].copy()
        targets = self._out[: count - BELOW].tolist()
        return np.array(finish_one(targets, self._conditions, self._tests, record), np.int32)

    def _matched(self, record: AttributeReader, holder: int) -> int:
        """The number of targets, which stand in `out`, as the kernel gives it."""
        kind: type = type(record)
        if kind is Event and not self._deeper and type(record.data) is dict:  # type: ignore[attr-defined]
            count = self._kernel(self._call, id(record.data), self._names_id, holder, 0)  # type: ignore[attr-defined]
        elif kind is dict:
            count = self._kernel(self._call, id(record), self._paths_id, holder, 0)
        else:
            values = self._values(record)
            count = self._kernel(self._call, id(values), 0, holder, 0)
        return count if count >= 0 else self._go_on(count, record, holder)

    def _values(self, record: AttributeReader) -> list[Value | None]:
        if type(record) is not Event:
            return list(map(record.get, self._paths))
        values = list(map(record.data.get, self._names))
        for at, path in self._deeper:
            values[at] = record.get(path)
        return values

    def _go_on(self, left: int, record: AttributeReader, holder: int) -> int:
        """Does what the kernel leaves to Python, and calls it again."""
        while left < 0:
            if left == UNRANKED:
                self._rank_rest(self._values(record))
            elif left == FULL:
                self._scratch = self._scratch._replace(out=np.empty(2 * int(self._scratch.needed[0]), np.int32))
                self._pack()
            left = self._kernel(self._call, 0, 0, holder, 1)
        return left

    def _rank_rest(self, values: list[Value | None]) -> None:
        own = self._scratch.own
        for channel in np.flatnonzero(own == UNRANKED).tolist():
            own[channel] = self._rankings[channel].of_value(values[self._places[channel]])

    def _pack(self) -> None:
        """Writes down where everything is; the arrays are kept beside it, for they must stay there."""
        self._out = self._scratch.out
        self._paths_id, self._names_id = id(self._paths), id(self._names)
        self._kept: list[Any] = []
        words = [*packed_words(_OBJECTS), *packed_words(self._scratch), *packed_words(self._postings)]
        for ranking, place in zip(self._rankings, self._places, strict=True):
            for part in ranking.single_reading(place):
                words += packed_words(part)
                self._kept.append(part)
        self._words = np.array(words, np.int64)
        self._call: int = self._words.ctypes.data
