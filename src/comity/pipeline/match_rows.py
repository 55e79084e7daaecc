"""Profiles over the rows of a DataFrame: each row with the names of the profiles that it matches.

Workers decode a row and match it as the in-process matcher does; only the parts of events cross.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode
from comity.event.formats.parquet import batch_lines
from comity.event.taxonomy import Taxonomy
from comity.expression.tree import attributes
from comity.limits import Limits, limits
from comity.match.match import BoundProfile, Matcher, bind_profiles, read_bound_profiles
from comity.meaning.units import check_unit
from comity.pipeline.given import TEXT_PARTS, GivenEvents
from comity.pipeline.in_worker import in_worker
from comity.pipeline.rows import arrow_column
from comity.pipeline.wrap import decode_line
from comity.profile.profile import Profile

ProfilesLike = str | Path | Mapping[str, str | Mapping[str, str]] | Iterable[Profile]
"""A file of profiles, filters by name (or `{"on": TYPE, "where": FILTER}`), or profiles."""
_NAMES = T.ArrayType(T.StringType())
_OF_ANY_ROW = {"id": "row", "source": "/", "type": "Row"}
"""What must be there in an event, if the rows of a table have none of it."""


def bound_profiles(given: ProfilesLike, taxonomy: Taxonomy | None) -> list[BoundProfile]:
    """The profiles, over the types if there are any."""
    if isinstance(given, str | Path):
        return bind_profiles(read_bound_profiles(given, taxonomy), taxonomy)
    if isinstance(given, Mapping):
        texts = {name: {"where": one} if isinstance(one, str) else one for name, one in given.items()}
        given = [Profile.of(name, one["where"], on=one.get("on")) for name, one in texts.items()]
    return bind_profiles(given, taxonomy)


def read_taxonomy(given: str | Path | Taxonomy | None) -> Taxonomy | None:
    """The types, read if they are in a file."""
    if given is None or isinstance(given, Taxonomy):
        return given
    return Taxonomy.read(given, ignore=("description", "sources", "deliver"), check_unit=check_unit)


def with_names(given: GivenEvents, profiles: list[BoundProfile], taxonomy: Taxonomy | None, into: str) -> DataFrame:
    """The rows, with a column of the names of their profiles; null for a row that is no event."""
    if into in given.columns:
        raise Misuse(f"there is a column {into!r} already", code="bad-usage", hint="name another one with `into`")
    matching = RowMatching(profiles, taxonomy, limits())
    if given.line is not None:
        names = arrow_column(matching.lines, _NAMES, given.line.cast("binary"))
    else:
        names = arrow_column(matching.rows, _NAMES, _event(given, profiles, taxonomy))
    return given.table.withColumn(into, names).drop(*given.added)


def _event(given: GivenEvents, profiles: list[BoundProfile], taxonomy: Taxonomy | None) -> Column:
    """What crosses of a row: the envelope, and the attributes that are checked or looked at."""
    looked_at = {path[0] for one in profiles for path in attributes(one.tree)}
    parts = given.parts(None if taxonomy is not None else looked_at)
    if taxonomy is not None:
        given.check_parts(["type"])
    constants = {name: F.lit(value) for name, value in _OF_ANY_ROW.items()}
    texts = {name: column.cast("string") for name, column in parts.items() if name in TEXT_PARTS}
    return F.struct(*(column.alias(name) for name, column in {**constants, **parts, **texts}.items()))


@dataclass(slots=True)
class RowMatching:
    """The worker's side."""

    profiles: list[BoundProfile]
    taxonomy: Taxonomy | None
    bounds: Limits
    _matcher: Matcher | None = field(default=None, init=False)

    def rows(self, events: pa.Array) -> pa.Array:
        """For each row the names of its profiles."""
        found = batch_lines(pa.RecordBatch.from_struct_array(events), 1, "")
        return self._names(one if isinstance(one, Rejected) else decode(one, self.taxonomy) for one in found)

    def lines(self, lines: pa.Array) -> pa.Array:
        """The same for lines of JSON."""
        return self._names(self._decoded(line) for line in lines.to_pylist())

    def _decoded(self, line: bytes | None) -> Event | Rejected | None:
        if line is None or not line or line.isspace():
            return None
        return decode_line(line, len(line), None, self.taxonomy, self.bounds)

    def _names(self, records: Iterator[Any]) -> pa.Array:
        if self._matcher is None:
            self._matcher = Matcher.of(self.profiles)
        match = self._matcher.match
        with in_worker(self.bounds):
            return pa.array([match(one) if isinstance(one, Event) else None for one in records], pa.list_(pa.string()))
