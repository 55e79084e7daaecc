"""The worker's side of a run: from lines to hits, in one crossing into Python.

A batch of lines is decoded, checked and matched in one go, and only what somebody wants, what is rejected and a count
go back. Large batches are scanned as columns and matched by the index; a line that the scanner does not vouch for, and
every line of a small batch, goes through the decoder and the tests one by one, with the same result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.files import read_events, read_json_lines, unreadable
from comity.event.formats.jsonlines import Rejected, TypeLookup, decode
from comity.event.formats.parquet import batch_lines
from comity.event.formats.table import Form, format_of
from comity.event.owners import ANYBODY, Domains, Owners, OwnTypes
from comity.event.places import readable_file
from comity.event.types import ENVELOPE, EventType
from comity.event.window import Window
from comity.expression.tree import TRUE
from comity.limits import Limits, limits
from comity.match.typed import TypedMatcher
from comity.pipeline.deliver import hits_schema
from comity.pipeline.doubts import reading
from comity.pipeline.files import file_table, files_in
from comity.pipeline.in_worker import in_worker
from comity.pipeline.line_numbers import LineNumbers, NumberOf
from comity.pipeline.stores import plain_name, spark_name
from comity.pipeline.wrap import cut_lines, decode_line, placed, rejected_fields, struct_converter
from comity.plan.stages import Plan
from comity.plan.ways import Ways, ways_of
from comity.storage.access import NO_ACCESS, StorageAccess

if TYPE_CHECKING:
    from comity.event.scan.scanner import LineScanner, Scanned
    from comity.match.channels import Ints
    from comity.match.index import Matches

_LINES_AT_ONCE = 16_384
SCANNED = 2_048
"""Lines in a batch from which on columns pay for the second that their kernels take to load."""


def hits_in_lines(
    lines: DataFrame, work: Work, window: Window, shared: HasValue, owners: Owners = ANYBODY
) -> DataFrame:
    """The hits among lines of JSON: a column `value`, and maybe `file`."""
    worker = LineWorker(shared, window, limits(), owners)
    return cut_lines(lines, limits()).mapInArrow(worker.batches, hits_schema(work.types))


def hits_in_files(
    files: Sequence[tuple[str, str | None]],
    work: Work,
    window: Window,
    shared: HasValue,
    spark: SparkSession,
    owners: Owners = ANYBODY,
    access: StorageAccess = NO_ACCESS,
) -> DataFrame:
    """The hits in files that the workers read themselves, each file in one piece.

    With a file comes the reason if nobody can read it; then one rejected record stands for it.
    """
    return file_table(files, spark).mapInArrow(
        FileWorker(shared, window, limits(), owners, access=access).batches, hits_schema(work.types)
    )


ALL_TIMES = (-(2**63), 2**63 - 1)


@dataclass(slots=True)
class Work:
    """What the workers must know of a plan, the same for every batch; what they prepare stays with them."""

    types: tuple[EventType, ...]
    ways: Ways
    matchers: dict[str, TypedMatcher]
    named: dict[str, EventType]
    """Every local type by its qualified name, the abstract ones too."""
    seen: tuple[int, int] = ALL_TIMES
    """From when, and until before when, events count for silences, in microseconds."""
    _pairs: dict[str, pa.StructArray] = field(default_factory=dict, init=False)

    def found(self, name: str, offsets: npt.NDArray[np.int64], ids: Ints) -> pa.Array:
        """For each event of a type, by the numbers of its tests, the profiles that want it and their ways."""
        pairs = self._pairs.get(name)
        if pairs is None:
            tests = self.ways.tests[name]
            profiles = pa.array([test.profile for test in tests], pa.string())
            ways = pa.array([test.way for test in tests], pa.int32())
            pairs = self._pairs[name] = pa.StructArray.from_arrays([profiles, ways], names=["profile", "way"])
        # In the order of the tests: of two ways to a profile all runners take the first.
        events = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        ordered = ids[np.lexsort((ids, events))]
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pairs.take(pa.array(ordered)))

    def types_of(self, domains: Domains | None) -> TypeLookup:
        """The types that events of these domains may have; of all domains for None."""
        every = self.named.get
        return every if domains is None else OwnTypes(every, domains)

    def take(self, checked: Event | Rejected, rows: RecordRows) -> None:
        """Adds the row of a record, if it is worth one."""
        if isinstance(checked, Rejected):
            rows.reject(checked)
            return
        assert checked.time is not None, "events without a time are rejected"
        time = _microseconds(checked.time)
        if self.seen[0] <= time < self.seen[1]:
            rows.see(time, time)
        matcher = self.matchers.get(checked.type)
        hits = matcher.match_one(checked) if matcher else []
        if hits:
            tests = self.ways.tests[checked.type]
            rows.add(checked, [(tests[hit].profile, tests[hit].way) for hit in hits])

    def __getstate__(self) -> tuple[Any, ...]:
        # The matchers have the conditions; the workers need to know only whose they are.
        tests = {name: tuple(replace(test, condition=TRUE) for test in own) for name, own in self.ways.tests.items()}
        return self.types, Ways(self.ways.ways, tests), self.matchers, self.named, self.seen

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.types, self.ways, self.matchers, self.named, self.seen = state
        self._pairs = {}

    @classmethod
    def of(cls, plan: Plan) -> Work:
        """The work of a plan."""
        ways = ways_of(plan)
        by_name = {one.qualified_name: one for one in plan.types}
        matchers = {
            name: TypedMatcher(by_name[name], [test.condition for test in tests]) for name, tests in ways.tests.items()
        }
        named = by_name | {one.qualified_name: one for one in plan.abstract_types}
        ends = [limit if end is None else _microseconds(end) for end, limit in zip(plan.seen, ALL_TIMES, strict=True)]
        return cls(plan.types, ways, matchers, named, (ends[0], ends[1]))


class RecordRows(Protocol):
    """Takes what is worth a row, record by record."""

    def add(self, event: Event, found: list[tuple[str | None, int]]) -> None:
        """An event, and who wants it on which ways."""

    def reject(self, record: Rejected) -> None:
        """A record that is no event."""

    def see(self, earliest: int, latest: int) -> None:
        """Note that there were events between these times."""


class HasValue(Protocol):
    """A broadcast, or anything else that holds the work."""

    @property
    def value(self) -> Work: ...


@dataclass(slots=True)
class Worker(ABC):
    """Decodes and matches."""

    shared: HasValue
    window: Window
    bounds: Limits
    owners: Owners = ANYBODY

    @property
    def work(self) -> Work:
        return self.shared.value

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The hits of each batch."""
        schema = to_arrow_schema(hits_schema(self.work.types), timezone="UTC")
        with in_worker(self.bounds):
            for batch in batches:
                yield from self.batch(batch, schema)

    @abstractmethod
    def batch(self, batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The hits of one batch."""


PLACE = ("comity file", "comity row")
"""Columns that no file has: where a row stands."""


@dataclass(slots=True)
class RowWorker(Worker):
    """Takes rows as the in-process reader of Parquet does; the columns `PLACE` say where they stand."""

    domains: Domains | None = None
    """Whose events they may be; None for all domains."""

    def batch(self, batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        rows = _Rows(self.work.types, schema)
        types = self.work.types_of(self.domains)
        files, numbers = (batch.column(name).to_pylist() for name in PLACE)
        lines = batch_lines(batch.drop_columns(list(PLACE)), 1, "")
        for line, file, number in zip(lines, files, numbers, strict=True):
            if isinstance(line, Rejected):
                found: Event | Rejected = line
            else:
                found = decode(line, types, require_time=True, window=self.window)
            if isinstance(found, Rejected):
                found = replace(found, line_number=number, source_file=file)
            self.work.take(found, rows)
        rows.count(batch.num_rows)
        yield rows.batch()


@dataclass(slots=True)
class LineWorker(Worker):
    """Takes lines of JSON or CSV."""

    scanned: int = SCANNED
    _scanners: dict[Domains | None, LineScanner] = field(default_factory=dict, init=False)

    _numbers: LineNumbers = field(default_factory=LineNumbers, init=False)

    def batch(self, batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        places = pa.array(np.arange(batch.num_rows))
        lines = pa.RecordBatch.from_arrays([*batch.columns[:3], places], names=_LINE_COLUMNS)
        yield from self.take_lines(lines, schema, self._numbers.of(batch))

    def take_lines(self, batch: pa.RecordBatch, schema: pa.Schema, number_of: NumberOf) -> Iterator[pa.RecordBatch]:
        """The hits among lines with their sizes, their files and their places, which stand for numbers."""
        for domains, part in self._by_owner(batch):
            yield from self._batch_of(domains, part, schema, number_of)

    def _by_owner(self, batch: pa.RecordBatch) -> Iterator[tuple[Domains | None, pa.RecordBatch]]:
        """The lines of one domain at a time; a batch may have those of several files."""
        if self.owners.by_path is None:
            yield None, batch
            return
        files = batch.column(2).dictionary_encode("encode")
        owners = [self.owners.domains(plain_name(file) or "") for file in files.dictionary.to_pylist()]
        for domains in dict.fromkeys(owners):
            numbers = pa.array([number for number, one in enumerate(owners) if one == domains], files.indices.type)
            yield domains, batch if len(set(owners)) == 1 else batch.filter(pc.is_in(files.indices, numbers))

    def _batch_of(
        self, domains: Domains | None, batch: pa.RecordBatch, schema: pa.Schema, number_of: NumberOf
    ) -> Iterator[pa.RecordBatch]:
        rows = _Rows(self.work.types, schema)
        counted = 0
        if self._can_scan(batch):
            scanned = self._scan(domains, batch)
            for events, hits in self._groups(scanned, schema):
                counted += events.num_rows
                times = self._seen(events.column("event.time").cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
                if len(times):
                    ends = pc.min_max(times)
                    rows.see(ends["min"].as_py(), ends["max"].as_py())
                if hits is not None:
                    yield hits
            batch = batch.take(pa.array(scanned.doubtful))
        types = self.work.types_of(domains)
        for line, size, file, at in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if line and not line.isspace():
                counted += 1
                found = decode_line(line, size, file, types, self.bounds, require_time=True, window=self.window)
                self.work.take(placed(found, number_of(at)) if isinstance(found, Rejected) else found, rows)
        rows.count(counted)
        yield rows.batch()

    # As columns

    def _seen(self, times: pa.Array) -> pa.Array:
        """Those that count for silences."""
        begin, end = self.work.seen
        if (begin, end) == ALL_TIMES:
            return times
        return times.filter(pc.and_(pc.greater_equal(times, begin), pc.less(times, end)))

    def _can_scan(self, batch: pa.RecordBatch) -> bool:
        """Whether it pays, and every line is whole: a line that was cut could pass for one that was not."""
        if batch.num_rows < self.scanned:
            return False
        longest = pc.max(batch.column(1)).as_py()
        return bool(longest <= self.bounds.max_record_bytes)

    def _scan(self, domains: Domains | None, batch: pa.RecordBatch) -> Scanned:
        if domains not in self._scanners:
            # Its kernels are compiled code that takes a second to load, and small batches do without it.
            from comity.event.scan.scanner import LineScanner

            earliest, latest = (_microseconds(moment) for moment in (self.window.earliest, self.window.latest))
            own = [one for one in self.work.types if domains is None or one.namespace in domains]
            self._scanners[domains] = LineScanner(
                own, require_time=True, earliest_us=earliest, latest_us=latest, simple_names=False
            )
        return self._scanners[domains].scan(batch.column(0))

    def _groups(self, scanned: Scanned, schema: pa.Schema) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch | None]]:
        """For each type: its events, and the hits among them."""
        for type, _, batch in scanned.groups:
            matcher = self.work.matchers.get(type.qualified_name)
            if matcher is None:
                yield batch, None
                continue
            matches = matcher.match_batch(batch)
            hit = np.flatnonzero(np.diff(matches.offsets))
            yield batch, self._hit_rows(type, batch.take(pa.array(hit)), matches, hit, schema)

    def _hit_rows(
        self, type: EventType, batch: pa.RecordBatch, matches: Matches, hit: npt.NDArray[np.int64], schema: pa.Schema
    ) -> pa.RecordBatch:
        # Events without a hit have no ids, so the ids are those of the hits, in order.
        offsets = np.append(matches.offsets[hit], matches.offsets[-1])
        return _assemble(schema, type, batch, self.work.found(type.qualified_name, offsets, matches.ids))


@dataclass(slots=True)
class FileWorker(LineWorker):
    """Takes whole files, as the in-process reader reads them: CSV, compressed ones, and what is not Spark's to read."""

    access: StorageAccess = field(default=NO_ACCESS, repr=False)
    """How files of stores are fetched."""

    def batch(self, batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for file, reason in files_in(batch):
            with reading(file), ExitStack() as stack:
                try:
                    path = None if reason else stack.enter_context(readable_file(file, self.access))
                except Misuse as error:
                    path, reason = None, error.message
                if path is None:
                    yield from self._records([unreadable(spark_name(file), reason or "")], schema)
                else:
                    yield from self._in_file(file, path, schema)

    def _in_file(self, file: str, path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """What is in a file, which is at this path of this machine."""
        if format_of(file).form is Form.LINES:
            yield from self._lines(file, path, schema)
            return
        types = self.work.types_of(self.owners.domains(file))
        records = read_events(path, types, require_time=True, name=spark_name(file), window=self.window)
        yield from self._records(records, schema)

    def _records(self, records: Iterable[Event | Rejected], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for some in batched(records, _LINES_AT_ONCE):
            rows = _Rows(self.work.types, schema)
            for record in some:
                self.work.take(record, rows)
            rows.count(len(some))
            yield rows.batch()

    def _lines(self, file: str, path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        name = spark_name(file)
        for some in batched(read_json_lines(path, name=name), _LINES_AT_ONCE):
            rows = _Rows(self.work.types, schema)
            refused = [one for _, one in some if isinstance(one, Rejected)]
            for one in refused:
                rows.reject(one)
            rows.count(len(refused))
            yield rows.batch()
            lines = pa.array([one for _, one in some if isinstance(one, bytes)], pa.binary())
            numbers = pa.array([number for number, one in some if isinstance(one, bytes)], pa.int64())
            names = pa.array([name] * len(lines), pa.string())
            columns = [lines, pc.binary_length(lines), names, numbers]
            batch = pa.RecordBatch.from_arrays(columns, names=_LINE_COLUMNS)
            yield from self.take_lines(batch, schema, lambda number: number)


_LINE_COLUMNS = ["line", "size", "file", "at"]
_T = TypeVar("_T")


def batched(items: Iterable[_T], most: int) -> Iterator[list[_T]]:
    given = iter(items)
    while some := list(islice(given, most)):
        yield some


def _assemble(schema: pa.Schema, type: EventType, batch: pa.RecordBatch, found: pa.Array) -> pa.RecordBatch:
    """A batch of hits from scanned columns."""

    def column(field: pa.Field) -> pa.Array:
        if field.name == "found":
            return found.cast(field.type)
        if field.name in ENVELOPE:
            return batch.column(f"event.{field.name}").cast(field.type)
        if field.name == type.qualified_name:
            return _struct(batch, field.type, "")
        return pa.nulls(batch.num_rows, field.type)

    return pa.RecordBatch.from_arrays([column(field) for field in schema], schema=schema)


def _struct(batch: pa.RecordBatch, kind: pa.StructType, prefix: str) -> pa.Array:
    fields = [kind.field(at) for at in range(kind.num_fields)]
    columns = [_attribute(batch, prefix + field.name, field.type) for field in fields]
    if not fields:
        return pa.array([{}] * batch.num_rows, kind)
    return pa.StructArray.from_arrays(columns, fields=fields)


def _attribute(batch: pa.RecordBatch, name: str, kind: pa.DataType) -> pa.Array:
    return batch.column(name).cast(kind) if name in batch.schema.names else pa.nulls(batch.num_rows, kind)


def _microseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


class _Rows:
    """Rows that are put together one by one."""

    def __init__(self, types: Sequence[EventType], schema: pa.Schema) -> None:
        self.schema = schema
        self._converters = {one.qualified_name: struct_converter(one.attributes) for one in types}
        self._rows: list[dict[str, Any]] = []
        self._earliest: int | None = None
        self._latest: int | None = None

    def add(self, event: Event, found: list[tuple[str | None, int]]) -> None:
        """An event, and who wants it."""
        row = {name: getattr(event, name) for name in ENVELOPE}
        row[event.type] = self._converters[event.type](event.data)
        row["found"] = [{"profile": profile, "way": way} for profile, way in found]
        self._rows.append(row)

    def reject(self, record: Rejected) -> None:
        self._rows.append({"rejected": rejected_fields(record)})

    def see(self, earliest: int, latest: int) -> None:
        """Note that there were events between these times."""
        self._earliest = earliest if self._earliest is None else min(self._earliest, earliest)
        self._latest = latest if self._latest is None else max(self._latest, latest)

    def count(self, records: int) -> None:
        """How many records there were."""
        self._rows.append({"counted": records, "earliest": self._earliest, "latest": self._latest})

    def batch(self) -> pa.RecordBatch:
        columns = [pa.array([row.get(field.name) for row in self._rows], field.type) for field in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)
