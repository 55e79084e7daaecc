"""Matching one event at a time, from a record of Python values: the way for a broker, without Arrow."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from comity.compiled import bound_entry, entry
from comity.event.event import Event
from comity.event.types import ENVELOPE, ENVELOPE_NAME
from comity.expression.evaluate import AttributeReader
from comity.match.access import LEVELS
from comity.match.channels import Ints, Path
from comity.match.finish import finish_one
from comity.match.kernels.arrays import (
    IN_DATA,
    IN_ENVELOPE,
    INSIDE,
    NOWHERE,
    Conditions,
    Postings,
    PythonObjects,
    Scratch,
    SingleWay,
)
from comity.match.kernels.packed import WORDS, packed_words
from comity.match.kernels.single import FULL, UNRANKED, UNREAD, match_record, match_values
from comity.match.ranks import Ranking
from comity.match.residual import Tests

_SPARE = 1 << 12
"""Targets that there is room for at first."""
_INTS = list(range(1 << 16))
"""Ints that need not be made for every event: with a thousand matches that is most of the time."""
_INT_ADDRESSES = np.fromiter(map(id, _INTS), np.int64, len(_INTS))


class SingleWays(NamedTuple):
    """The functions that take one event."""

    match_one: Callable[[AttributeReader], list[int]]
    """Gives the profiles that match an event, in no particular order."""
    ids_of: Callable[[AttributeReader], Ints]
    """Gives the same as an array, which is faster when there are many."""


class SingleEvents:
    """What a kernel needs to know to match single events, and its buffers, at one address."""

    def __init__(self, rankings: Sequence[Ranking], postings: Postings, conditions: Conditions, tests: Tests) -> None:
        self._rankings, self._postings = rankings, postings
        self._conditions, self._tests = conditions, tests
        self._rank = entry(match_values, 2)
        self._others = threading.local()
        self._paths = [ranking.path for ranking in rankings if ranking.path]
        self._names = [path[0] for path in self._paths]
        channels = len(rankings)
        self._scratch = Scratch(
            own=np.zeros(channels, np.int32),
            buckets=np.zeros(max(channels, 32), np.uint32),
            begins=np.zeros(channels * (LEVELS + 1), np.uint32),
            ends=np.zeros(channels * (LEVELS + 1), np.uint32),
            out=np.empty(_SPARE, np.int32),
            found=np.empty(_SPARE, np.int32),
            needed=np.zeros(1, np.int64),
            seen=np.zeros(max(conditions.slots, 1), np.int64),
            events=np.zeros(1, np.int64),
            left=np.zeros(1, np.int64),
            busy=np.zeros(1, np.int64),
        )
        self._pack()

    def ways(self) -> SingleWays:
        """The functions, which keep this object; it does not know them, so it goes when they go."""
        return SingleWays(self._way(SingleEvents._go_on, 0), self._way(SingleEvents._go_on_to_array, 1))

    def _way(self, go_on: Callable[[SingleEvents, AttributeReader], Any], makes_array: int) -> Callable[[Any], Any]:
        beside = SingleEvents._beside_to_array if makes_array else SingleEvents._beside
        packed = np.array(packed_words(SingleWay(self._call, makes_array, id(go_on), id(beside))), np.int64)
        return bound_entry(match_record, (packed.ctypes.data, self, packed))

    # What the kernel leaves to Python

    def _go_on(self, record: AttributeReader) -> list[int]:
        try:
            count = self._finished(record)  # before `out` is looked at, which may become another one
            targets: list[int] = self._scratch.out[:count].tolist()
        finally:
            self._scratch.busy[0] = 0
        return finish_one(targets, self._conditions, self._tests, record)

    def _go_on_to_array(self, record: AttributeReader) -> Ints:
        return np.array(self._go_on(record), np.int32)

    def _finished(self, record: AttributeReader) -> int:
        """The number of targets, which stand in `out` then."""
        left = int(self._scratch.left[0])
        while left < 0:
            values = 0
            if left == UNREAD:
                read = list(map(record.get, self._paths))
                values = id(read)
            elif left == UNRANKED:
                self._rank_rest(record)
            else:
                assert left == FULL
                self._enlarge(2 * int(self._scratch.needed[0]))
            left = self._rank(self._call, values)
        return left

    def _rank_rest(self, record: AttributeReader) -> None:
        own = self._scratch.own
        for channel in np.flatnonzero(own == UNRANKED).tolist():
            ranking = self._rankings[channel]
            own[channel] = ranking.of_value(record.get(ranking.path))

    def _beside(self, record: AttributeReader) -> list[int]:
        return self._other_ways().match_one(record)

    def _beside_to_array(self, record: AttributeReader) -> Ints:
        return self._other_ways().ids_of(record)

    def _other_ways(self) -> SingleWays:
        """Those of this thread for events that come while another one is in work."""
        try:
            found: SingleWays = self._others.ways
        except AttributeError:
            found = SingleEvents(self._rankings, self._postings, self._conditions, self._tests).ways()
            self._others.ways = found
        return found

    # Where everything is

    def _pack(self) -> None:
        """Writes down where everything is; the arrays are kept beside it, for they must stay there."""
        objects = self._objects()
        self._kept: list[Any] = [objects]
        parts = (objects, self._scratch, self._postings, self._conditions)
        words = [word for part in parts for word in packed_words(part)]
        self._out_at = len(packed_words(objects)) + len(packed_words(self._scratch[: Scratch._fields.index("out")]))
        place = 0
        for ranking in self._rankings:
            for part in ranking.single_reading(place if ranking.path else -1, *_where(ranking.path)):
                words += packed_words(part)
                self._kept.append(part)
            place += bool(ranking.path)
        self._words = np.array(words, np.int64)
        self._call: int = self._words.ctypes.data

    def _objects(self) -> PythonObjects:
        return PythonObjects(
            none=id(None),
            true=id(True),
            boolean=id(bool),
            whole=id(int),
            real=id(float),
            text=id(str),
            mapping=id(dict),
            event=id(Event),
            data=_OFFSETS["data"],
            names=id(self._names),
            paths=id(self._paths),
            make_array=_MAKE_ARRAY,
            array=id(np.ndarray),
            int32=np.dtype(np.int32).num,
            ints=_INT_ADDRESSES,
        )

    def _enlarge(self, size: int) -> None:
        """Gives `out` and `found` other places, which are written down in one step."""
        out, found = np.empty(size, np.int32), np.empty(size, np.int32)
        self._words[self._out_at : self._out_at + 2 * WORDS] = packed_words([out, found])
        self._scratch = self._scratch._replace(out=out, found=found)


def _where(path: Path) -> tuple[int, int]:
    """Where an event has an attribute, as `Event.get` reads it, and its place in the envelope."""
    if path[:1] == (ENVELOPE_NAME,):
        known = len(path) == 2 and path[1] in ENVELOPE
        return (IN_ENVELOPE, _OFFSETS[path[1]]) if known else (NOWHERE, 0)
    return (INSIDE if len(path) > 1 else IN_DATA), 0


def _offsets() -> dict[str, int]:
    """Where an event has its fields, found in one whose fields are known."""
    names = Event.__struct_fields__
    values = [object() for _ in names]
    event: Any = Event(*values)  # type: ignore[arg-type]
    words = list((ctypes.c_int64 * (Event.__basicsize__ // 8)).from_address(id(event)))
    return {name: 8 * words.index(id(value)) for name, value in zip(names, values, strict=True)}


_OFFSETS = _offsets()


def _make_array() -> int:
    """The address of NumPy's `PyArray_New`, which has had the same place in the table for programs in C ever since."""
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(address(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))  # type: ignore[attr-defined]
    return int(table[93] or 0)


_MAKE_ARRAY = _make_array()
