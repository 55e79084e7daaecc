"""Detection on Spark: traces are spread over buckets, and each bucket is detected by one task.

What an earlier job staged of a bucket's candidates is read by the task itself, together with what is kept of the
bucket; its reports and what it keeps are files, too. All of them are made anew when a task is done again, and become
visible only when they are whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.connect.durable import write_whole
from comity.connect.sealed import Purpose, read_sealed, sealed
from comity.event.event import Event
from comity.event.formats.jsonlines import decode
from comity.event.types import EventType
from comity.limits import Limits, limited, limits
from comity.pattern.bank import Bank, BankState, LaterPatterns
from comity.pattern.bound import BoundPattern
from comity.pattern.correlation import key_text
from comity.pattern.rows import CANDIDATES, REPORTS, ReportRow, found_reports
from comity.pattern.tree import Silence, walk

STATE = Purpose(
    "what is kept of patterns between batches",
    "put back a copy of the results folder, or remove `.patterns` in it while no stream runs: patterns then begin "
    "anew, and what had begun is not reported",
    code="broken-state",
)

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


@dataclass(frozen=True, slots=True)
class BucketJob:
    """What one task does: the candidates that it reads, and the files that it writes."""

    bucket: int
    candidates: tuple[str, ...]
    before: str | None
    """The file of what is kept; None when that is nothing."""
    reports: str
    after: str | None
    """The file of what is kept then; None when that is not asked for."""


@dataclass(frozen=True, slots=True)
class BucketDone:
    """What became of a bucket."""

    bucket: int
    reports: int
    kept: bool
    """Whether anything is kept, so that there is a file of it."""


def detect_buckets(
    jobs: Sequence[BucketJob], shared: HasPatterns, buckets: int, times: Times, spark: SparkSession
) -> list[BucketDone]:
    """Detect these buckets, each in a task."""
    if not jobs:
        return []
    worker = BucketWorker(shared, tuple(jobs), buckets, times, limits())
    tasks = spark.range(0, len(jobs), 1, len(jobs))
    done = tasks.mapInArrow(worker.batches, "bucket int, reports long, kept boolean").collect()
    return [BucketDone(row["bucket"], row["reports"], row["kept"]) for row in done]


@dataclass(frozen=True, slots=True)
class BucketWorker:
    """The worker's side."""

    shared: HasPatterns
    jobs: tuple[BucketJob, ...]
    buckets: int
    times: Times
    bounds: Limits

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What became of each job, whose number comes in."""
        with limited(**asdict(self.bounds)):
            for batch in batches:
                done = [self.detect(self.jobs[number]) for number in batch.column(0).to_pylist()]
                yield pa.RecordBatch.from_pylist([asdict(one) for one in done], schema=_DONE)

    def detect(self, job: BucketJob) -> BucketDone:
        """Detect a bucket, and write what was found and what is kept."""
        state = None if job.before is None else BankState.decode(read_sealed(Path(job.before), STATE))
        candidates = read_candidates(job.candidates)
        reports, state = detect_bucket(self.shared.value, job.bucket, self.buckets, candidates, self.times, state)
        write_whole(Path(job.reports), _as_bytes(reports))
        kept = job.after is not None and not _is_empty(state)
        if kept:
            assert job.after is not None
            write_whole(Path(job.after), sealed(state.encode()))
        return BucketDone(job.bucket, reports.num_rows, kept)


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
    own = _renumbered(candidates, _places(owned, len(work.patterns)))
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


_DONE = pa.schema([("bucket", pa.int32()), ("reports", pa.int64()), ("kept", pa.bool_())])


def read_candidates(files: Sequence[str]) -> pa.Table:
    """The candidates that were staged in files."""
    tables = [parquet.read_table(file, columns=CANDIDATES.names, partitioning=None) for file in files]
    return pa.concat_tables([table.cast(CANDIDATES) for table in tables] or [CANDIDATES.empty_table()])


def read_found(files: Sequence[str], patterns: Sequence[BoundPattern]) -> Iterator[ReportRow]:
    """The reports in files that the tasks wrote, one by one, each once."""
    told: set[str] = set()
    for file in files:
        with pa.ipc.open_stream(file) as reader:
            for batch in reader:
                yield from found_reports(pa.Table.from_batches([batch]), patterns, told)


def _places(owned: Sequence[int], count: int) -> np.ndarray[Any, Any]:
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


def _as_bytes(reports: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, REPORTS) as writer:
        writer.write_table(reports, max_chunksize=10_000)
    return bytes(sink.getvalue().to_pybytes())
