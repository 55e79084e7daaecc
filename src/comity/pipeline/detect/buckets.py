"""Detection on Spark: traces are spread over buckets, and each bucket is detected by one task.

A task gets the candidates of its bucket as parcels, and with them what passed by in all tasks before. What is kept of a
bucket between batches is read and written by the task itself.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comity.event.event import Event
from comity.event.formats.jsonlines import decode
from comity.event.types import EventType
from comity.limits import Limits
from comity.pattern.bank import Bank, BankState, LaterPatterns
from comity.pattern.bound import BoundPattern
from comity.pattern.correlation import key_text
from comity.pattern.rows import REPORTS
from comity.pattern.told import ids_of
from comity.pattern.tree import Silence, walk
from comity.pipeline.detect.parcels import Parcel, by_bucket, parcel, table_parcels
from comity.pipeline.detect.seen import Extracted
from comity.pipeline.detect.state import BucketStates
from comity.pipeline.in_worker import in_worker

NO_KEY = key_text(())
"""The correlation key of a pattern that has none."""
_COMPILED = 20_000
"""Candidates of a bucket from which on compiled code pays for the seconds that it takes to load."""


def bucket_of(salt: str, key: str, buckets: int) -> int:
    """Where a trace is detected; `candidates.bucket_column` says the same in Spark.

    >>> bucket_of("", '["attic"]', 8)
    6
    """
    return zlib.crc32(f"{salt} {key}".encode()) % buckets


def salts_of(bank: Bank) -> tuple[str, ...]:
    """By pattern, what its traces are spread by beside their keys.

    Traces of one key are together, since patterns share candidates; those of patterns without keys are apart.
    """
    return tuple("" if one.key else body for one, body in zip(bank.patterns, bank.bodies, strict=True))


@dataclass(slots=True)
class PatternWork:
    """What the workers must know of patterns; what they prepare stays with them."""

    patterns: tuple[BoundPattern, ...]
    types: Mapping[str, EventType] | None = None
    """By qualified name, the types in which lines of candidates are written; None when there are no types."""
    compiled: bool | None = None
    """Whether compiled code detects what it can; None when that depends on how much there is."""
    _bank: Bank | None = field(default=None, init=False)
    _silent: frozenset[int] | None = field(default=None, init=False)
    _owned: dict[tuple[bool, tuple[int, ...]], Bank] = field(default_factory=dict, init=False)

    @property
    def bank(self) -> Bank:
        """All the patterns."""
        if self._bank is None:
            self._bank = self._bank_of(range(len(self.patterns)), compiled=False)
        return self._bank

    def owned(self, bucket: int, buckets: int) -> tuple[int, ...]:
        """The numbers of the patterns that can have traces in a bucket."""
        return tuple(
            number
            for number, salt in enumerate(salts_of(self.bank))
            if not salt or bucket_of(salt, NO_KEY, buckets) == bucket
        )

    def has_silence(self, bucket: int, buckets: int) -> bool:
        """Whether something can be reported in a bucket without any candidate."""
        return any(number in self.silent for number in self.owned(bucket, buckets))

    @property
    def silent(self) -> frozenset[int]:
        """The numbers of the patterns that have a silence."""
        if self._silent is None:
            numbered = enumerate(one.pattern for one in self.patterns)
            found = (number for number, one in numbered if any(isinstance(part, Silence) for part in walk(one)))
            self._silent = frozenset(found)
        return self._silent

    def bank_of(self, owned: tuple[int, ...], candidates: int) -> Bank:
        """The patterns of these numbers for so many candidates; there their numbers are their positions."""
        compiled = candidates >= _COMPILED if self.compiled is None else self.compiled
        if (compiled, owned) not in self._owned:
            self._owned[compiled, owned] = self._bank_of(owned, compiled=compiled)
        return self._owned[compiled, owned]

    def _bank_of(self, numbers: Sequence[int], *, compiled: bool) -> Bank:
        patterns = [self.patterns[number] for number in numbers]
        return Bank(patterns, [self.decode] * len(patterns), compiled)

    def decode(self, line: str) -> Event:
        """The event in a line that was staged with a candidate."""
        found = decode(line.encode(), None if self.types is None else self.types.get)
        assert isinstance(found, Event), "only events are staged"
        return found

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(_bare(one) for one in self.patterns), self.types, self.compiled

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.patterns, self.types, self.compiled = state
        self._bank, self._silent, self._owned = None, None, {}


def _bare(bound: BoundPattern) -> BoundPattern:
    """The pattern without what was compiled of it, which cannot be sent."""
    joins, against = (
        {part: tuple(replace(join) for join in own) for part, own in joins.items()}
        for joins in (bound.joins, bound.against)
    )
    return replace(bound, joins=joins, against=against)


class HasPatterns(Protocol):
    """A broadcast, or anything else that holds the work."""

    @property
    def value(self) -> PatternWork: ...


@dataclass(frozen=True, slots=True)
class Times:
    """From where to where time is complete, as `Bank.detect` wants it."""

    done: int | None = None
    upto: int | None = None
    start: int | None = None
    last: int | None = None
    came: LaterPatterns | None = None


class Moving(Protocol):
    """How far time comes with a batch, which every bucket works out by itself."""

    def times(self, seen: Extracted, work: PatternWork) -> Times:
        """From where to where time is complete, when it is known what passed by."""

    def is_moved(self, seen: Extracted, work: PatternWork) -> bool:
        """Whether anything can have become due by it."""


@dataclass(frozen=True, slots=True)
class StoredTime:
    """All is there: nothing happens after it."""

    until: int | None = None
    start: int | None = None
    """Where traces start; without it, with the first event."""

    def times(self, seen: Extracted, work: PatternWork) -> Times:
        return Times(None, self.until, seen.earliest if self.start is None else self.start, seen.latest)

    def is_moved(self, seen: Extracted, work: PatternWork) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class BucketDetection:
    """Detects buckets, in a worker."""

    shared: HasPatterns
    buckets: int
    moving: Moving
    states: BucketStates | None = None
    """What is kept of a stream; None when nothing is."""

    @property
    def work(self) -> PatternWork:
        return self.shared.value

    def reports(self, bucket: int, candidates: pa.Table, seen: Extracted) -> pa.Table:
        """The reports on the candidates of a bucket and on what was kept of it; what is kept then is written."""
        is_waiting = self.work.has_silence(bucket, self.buckets) or bucket in (
            self.states.before if self.states else ()
        )
        if not candidates.num_rows and not (is_waiting and self.moving.is_moved(seen, self.work)):
            return REPORTS.empty_table()
        before = None if self.states is None else self.states.read(bucket)
        times = self.moving.times(seen, self.work)
        reports, after = detect_bucket(self.work, bucket, self.buckets, candidates, times, before)
        if self.states is not None:
            self.states.write(bucket, None if _is_empty(after) else after)
        return reports


Tell = Callable[[pa.Table, Sequence[BoundPattern]], pa.Table]
"""From reports to their identities and lines, as columns (`comity.pattern.told`)."""


@dataclass(frozen=True, slots=True)
class BucketWorker:
    """Detects the buckets whose parcels come, and sends reports on by their identities."""

    detection: BucketDetection
    tell: Tell
    bounds: Limits

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Parcels of reports and of lines, and from one bucket what passed by in all of them."""
        with in_worker(self.bounds):
            for bucket, came in by_bucket(batches).items():
                yield from came.lines(bucket)
                if bucket == 0:
                    yield parcel(bucket, Parcel.SEEN, msgspec.json.encode(came.seen))
                found = self.detection.reports(bucket, came.candidates, came.seen)
                told = self.tell(found, self.detection.work.patterns)
                yield from table_parcels(Parcel.REPORTS, told, _places(told, self.detection.buckets))


def _places(told: pa.Table, buckets: int) -> npt.NDArray[np.int64]:
    """By report, a bucket that its identity decides."""
    digests = np.frombuffer(ids_of(told), np.uint64)
    return (digests[::2] % buckets).astype(np.int64)


def detect_bucket(
    work: PatternWork,
    bucket: int,
    buckets: int,
    candidates: pa.Table,
    times: Times,
    state: BankState | None = None,
) -> tuple[pa.Table, BankState]:
    """The reports on the candidates of a bucket and on what was kept of it, and what is kept then."""
    owned = work.owned(bucket, buckets)
    own = _renumbered(candidates, _positions(owned, len(work.patterns)))
    times = _with_last(times, candidates)
    came = None if times.came is None else times.came.among(owned)
    reports, state = work.bank_of(owned, own.num_rows).detect(
        own, state, done=times.done, upto=times.upto, start=times.start, last=times.last, came=came
    )
    return _renumbered(reports, np.array(owned, np.int32)), state


def _with_last(times: Times, candidates: pa.Table) -> Times:
    """Without silences it is enough to know that there was an event."""
    if times.last is not None or times.upto is not None or not candidates.num_rows:
        return times
    return replace(times, last=int(np.max(candidates.column("time").to_numpy())))


def _positions(owned: Sequence[int], count: int) -> np.ndarray[Any, Any]:
    places = np.full(count + 1, -1, np.int32)
    places[list(owned)] = np.arange(len(owned))
    return places


def _renumbered(table: pa.Table, numbers: np.ndarray[Any, Any]) -> pa.Table:
    """The table, in which patterns have other numbers."""
    if not table.num_rows:
        return table
    return table.set_column(0, table.schema.field(0), pa.array(numbers[table.column("pattern").to_numpy()]))


def _is_empty(state: BankState) -> bool:
    """Whether it says no more than no state does."""
    if state.rows.num_rows or len(state.traces) > _LONGEST_WITHOUT_TRACES:
        return False
    return not state.traces or not msgspec.msgpack.decode(state.traces)[2]


_LONGEST_WITHOUT_TRACES = 20
"""Bytes of two ints and of an empty list."""
