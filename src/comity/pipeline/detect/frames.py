"""Composite profiles over the events of a DataFrame, on a session that the caller has: one job, and no files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Unpack

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from comity.errors import ComityError, Faults
from comity.event.taxonomy import Taxonomy
from comity.expression.tree import And, Attribute, Compare
from comity.language.files import line_of, scan_profiles, types_of
from comity.limits import Limits, limits
from comity.pattern.bound import BoundPattern
from comity.pattern.composite import Composite
from comity.pattern.occurrence import microseconds
from comity.pattern.told import told_reports
from comity.pattern.tree import operands
from comity.pipeline.detect.buckets import BucketDetection, HasPatterns, PatternWork, StoredTime
from comity.pipeline.detect.parcels import PARCELS, by_bucket, seen_parcels
from comity.pipeline.detect.patterns import bucket_count
from comity.pipeline.detect.taking import Extracting, Taking
from comity.pipeline.given import EventColumns, GivenEvents
from comity.pipeline.guest import our_settings, share
from comity.pipeline.in_worker import in_worker
from comity.pipeline.line_numbers import unknown
from comity.pipeline.match_rows import read_taxonomy
from comity.plan.period import read_instant
from comity.profile.blocks import parse_composites
from comity.profile.patterns import as_composite, bind_patterns
from comity.profile.profile import Profile

PatternsLike = str | Path | Iterable[Profile]
"""A file of composite profiles, the text of some (`profile … on …`), or profiles."""
_REPORTS = pa.schema(
    [
        ("profile", pa.string()),
        ("id", pa.string()),
        ("start", pa.timestamp("us", "UTC")),
        ("end", pa.timestamp("us", "UTC")),
        ("report", pa.string()),
    ]
)


def detect(
    events: DataFrame,
    patterns: PatternsLike,
    *,
    key: str | Sequence[str] = (),
    types: str | Path | Taxonomy | None = None,
    start: str | datetime | None = None,
    until: str | datetime | None = None,
    **columns: Unpack[EventColumns],
) -> DataFrame:
    """What composite profiles report of events that are complete: a row for each report, and each once.

    The columns are `profile`, `id`, `start`, `end` and `report`, the line that `comity detect` prints. With `key` these
    attributes must be equal in all events of a report, as if each `where` said so. Silences begin at `start`, else with
    the first event; nothing after `until` counts. A row that is no event (of the types) takes no part.
    """
    taxonomy = read_taxonomy(types)
    bound = _bound(patterns, taxonomy, (key,) if isinstance(key, str) else tuple(key))
    given = GivenEvents.of(events, columns)
    known = None if taxonomy is None else {one.qualified_name: one for one in taxonomy.types}
    spark = events.sparkSession
    with our_settings(spark, () if taxonomy is None else taxonomy.types):
        shared = share(PatternWork(tuple(bound), known), spark)
        how = Extracting(bucket_count(spark))
        moving = StoredTime(_micros(until), _micros(start))
        reading = FrameParcels(shared, how, given.line is not None, limits())
        parcels = _rows(given).mapInArrow(reading.batches, PARCELS)
        # By Spark's own hash, and not by id: of few events Spark puts many buckets into one task.
        together = parcels.repartition(how.buckets, F.col("bucket"))
        worker = FrameReports(BucketDetection(shared, how.buckets, moving), limits())
        found = together.mapInArrow(worker.batches, from_arrow_schema(_REPORTS))
        return found.dropDuplicates(["profile", "id"])


def _rows(given: GivenEvents) -> DataFrame:
    """What crosses into Python: lines, or the parts of events."""
    if given.line is not None:
        return given.table.select(given.line.cast("binary").alias("line"))
    given.check_parts(["id", "source", "type", "time"])
    return given.table.select(*(column.alias(name) for name, column in given.parts().items()))


def _bound(given: PatternsLike, taxonomy: Taxonomy | None, key: tuple[str, ...]) -> list[BoundPattern]:
    profiles, faults = _profiles(given, taxonomy)
    bound, more = bind_patterns((_with_key(one, key) for one in profiles), taxonomy)
    if faults or more:
        raise Faults(sorted([*faults, *more], key=line_of))
    return bound


def _profiles(given: PatternsLike, taxonomy: Taxonomy | None) -> tuple[list[Profile], list[ComityError]]:
    if isinstance(given, str) and "profile " in given:
        return parse_composites(given), []
    if isinstance(given, str | Path):
        return scan_profiles(given, types_of(taxonomy))
    return list(given), []


def _with_key(profile: Profile, key: tuple[str, ...]) -> Profile:
    """The profile with the condition that these attributes are equal in all its events."""
    found = as_composite(profile)
    assert found.composite is not None, "it is composite now"
    names = [one.name for one in operands(found.composite.pattern)]
    equal = [
        Compare("=", Attribute((one, *name.split("."))), Attribute((other, *name.split("."))))
        for name in key
        for one, other in pairwise(names)
    ]
    return replace(found, composite=_and(found.composite, equal)) if equal else found


def _and(composite: Composite, more: list[Compare]) -> Composite:
    where = replace(composite.where, tree=And((composite.where.tree, *more)))
    return replace(composite, where=where)


def _micros(moment: str | datetime | None) -> int | None:
    if moment is None:
        return None
    return microseconds(read_instant(moment) if isinstance(moment, str) else moment)


@dataclass(frozen=True, slots=True)
class FrameParcels:
    """The worker's side: from rows or lines to parcels."""

    shared: HasPatterns
    how: Extracting
    is_lines: bool
    bounds: Limits

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parcels of the events that come."""
        with in_worker(self.bounds):
            taking = Taking(self.shared.value, self.how)
            for batch in batches:
                if self.is_lines:
                    taking.lines(batch.column(0), None, unknown)
                else:
                    taking.rows(batch, None, unknown)
                yield from taking.parcels()
            yield from seen_parcels(taking.seen, self.how.buckets)


@dataclass(frozen=True, slots=True)
class FrameReports:
    """The worker's side: from the parcels of buckets to reports."""

    detection: BucketDetection
    bounds: Limits

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The reports of the buckets whose parcels come."""
        with in_worker(self.bounds):
            patterns = self.detection.work.patterns
            for bucket, came in by_bucket(batches).items():
                told = told_reports(self.detection.reports(bucket, came.candidates, came.seen), patterns)
                for batch in told.to_batches(_REPORTS_AT_ONCE):
                    yield _as_rows(batch, [one.name for one in patterns])


_REPORTS_AT_ONCE = 10_000


def _as_rows(told: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    instant = pa.timestamp("us", "UTC")
    columns = [
        pa.array(names, pa.string()).take(told.column("pattern")),
        pa.array([one.hex() for one in told.column("id").to_pylist()], pa.string()),
        told.column("start").cast(instant),
        told.column("end").cast(instant),
        pc.utf8_rtrim(told.column("line").cast(pa.large_string()), "\n").cast(pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_REPORTS)
