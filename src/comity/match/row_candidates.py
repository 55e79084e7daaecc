"""From rows of Parquet to candidates of patterns, as columns; a row that is not plainly an event is decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from comity.event.kinds import Kind
from comity.event.types import AttributeType, EventType

Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]

MICROSECONDS = pa.timestamp("us", "UTC")
_DOUBTFUL_ENVELOPE = ("subject", "mode", "typeversion")
"""Columns of the envelope that are seldom there, and looked at by the decoder."""
_PLAIN: dict[Kind, Callable[[pa.DataType], bool]] = {
    Kind.STRING: lambda kind: kind in (pa.string(), pa.large_string()),
    Kind.INT: lambda kind: pa.types.is_signed_integer(kind),
    Kind.FLOAT: lambda kind: pa.types.is_signed_integer(kind) or kind in (pa.float32(), pa.float64()),
    Kind.BOOL: pa.types.is_boolean,
    Kind.TIMESTAMP: lambda kind: pa.types.is_timestamp(kind) and kind.unit != "ns",
}
_ARROW = {
    Kind.STRING: pa.string(),
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.BOOL: pa.bool_(),
    Kind.TIMESTAMP: MICROSECONDS,
}


@dataclass(frozen=True, slots=True)
class CandidateRows:
    """What came of some rows: events of one type each, as columns, and the numbers of those that are in doubt."""

    events: list[tuple[EventType, pa.RecordBatch]]
    """Those of the types that are asked for."""
    doubtful: Longs
    count: int = 0
    """Events of all types."""
    times: tuple[int, ...] = ()
    """The first and the last time among them, if there are any."""


@dataclass(slots=True)
class RowReader:
    """Reads events of known types from rows with a column for each attribute."""

    types: Sequence[EventType]
    earliest_us: int
    latest_us: int
    asked_for: Callable[[EventType], bool] = lambda type: True
    _by_name: dict[str, EventType] = field(init=False)

    def __post_init__(self) -> None:
        self._by_name = {one.qualified_name: one for one in self.types}

    def read(self, batch: pa.RecordBatch) -> CandidateRows:
        """The events of a batch, and what the decoder has to look at."""
        columns = dict(zip(batch.schema.names, batch.columns))
        envelope = _envelope(columns)
        if "data" in columns or envelope is None:
            return CandidateRows([], np.arange(batch.num_rows))
        fine = self._fine(columns, envelope["event.time"])
        types = _encoded(columns["type"])
        codes = types.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        events, taken = [], np.zeros(batch.num_rows, bool)
        for code, name in enumerate(types.dictionary.to_pylist()):
            type = self._by_name.get(name)
            attributes = None if type is None else list(_attributes(type, columns))
            if type is None or attributes is None or None in attributes:
                continue
            rows = np.flatnonzero(fine & (codes == code) & _are_there(attributes, batch.num_rows))  # type: ignore[arg-type]
            taken[rows] = True
            if not self.asked_for(type):
                continue
            parts = {**envelope, **{column.name: column.values for column in attributes if column is not None}}
            events.append((type, _taken(parts, rows, name)))
        doubtful = np.flatnonzero(~taken)
        times = envelope["event.time"].cast(pa.int64()).to_numpy(zero_copy_only=False)
        times = times[taken] if len(doubtful) else times
        bounds = (int(times.min()), int(times.max())) if len(times) else ()
        return CandidateRows(events, doubtful, len(times), bounds)

    def _fine(self, columns: dict[str, pa.Array], time: pa.Array) -> Bools:
        """Which rows have an envelope that needs no further look."""
        micros = time.cast(pa.int64())
        tests = (
            []
            if self._is_within(micros)
            else [pc.and_(pc.greater_equal(micros, self.earliest_us), pc.less_equal(micros, self.latest_us))]
        )
        tests += [_is_there(columns[name]) for name in ("id", "source")]
        tests += [pc.is_null(columns[name]) for name in _DOUBTFUL_ENVELOPE if name in columns]
        fine = np.ones(len(time), bool)
        for test in tests:
            fine &= test.fill_null(False).to_numpy(zero_copy_only=False)
        return fine

    def _is_within(self, micros: pa.Array) -> bool:
        """Whether all times are in the range, which is seen at once."""
        if micros.null_count or not len(micros):
            return False
        bounds = pc.min_max(micros).as_py()
        return bool(self.earliest_us <= bounds["min"] and bounds["max"] <= self.latest_us)


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _is_there(column: pa.Array) -> pa.Array:
    """Which texts are not empty."""
    if pa.types.is_dictionary(column.type):
        return pc.not_equal(column.dictionary, "").take(column.indices)
    return pc.greater(pc.binary_length(column), 0)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds texts, as they are or by their numbers in a dictionary."""
    return (kind.value_type if pa.types.is_dictionary(kind) else kind) in (pa.string(), pa.large_string())


def _taken(parts: dict[str, pa.Array], rows: Longs, type_name: str) -> pa.RecordBatch:
    """Some rows of columns, all of one type."""
    numbers = pa.array(rows)
    taken = {name: values.take(numbers) for name, values in parts.items()}
    plain = {name: one.cast(pa.string()) if pa.types.is_dictionary(one.type) else one for name, one in taken.items()}
    plain["event.type"] = pa.repeat(pa.scalar(type_name), len(rows))
    return pa.RecordBatch.from_arrays(list(plain.values()), names=list(plain))


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    values: pa.Array
    there: Bools | None
    """Which rows have a value that fits; None when all do."""


def _envelope(columns: dict[str, pa.Array]) -> dict[str, pa.Array] | None:
    """The envelope as columns; None when it is not plain."""
    if any(name not in columns for name in ("id", "source", "type", "time")):
        return None
    texts = [is_text(columns[name].type) for name in ("id", "source", "type")]
    sequence = columns.get("sequence")
    is_plain = all(texts) and _PLAIN[Kind.TIMESTAMP](columns["time"].type)
    if not is_plain or (sequence is not None and not _PLAIN[Kind.INT](sequence.type)):
        return None
    found = {f"event.{name}": _text(columns[name]) for name in ("id", "source")}
    found["event.time"] = columns["time"].cast(MICROSECONDS)
    if sequence is not None:
        found["event.sequence"] = sequence.cast(pa.int64())
    return found


def _text(column: pa.Array) -> pa.Array:
    """A column of texts; one with a dictionary keeps it until rows are taken."""
    return column if pa.types.is_dictionary(column.type) else column.cast(pa.string())


def _attributes(type: EventType, columns: dict[str, pa.Array]) -> Iterator[_Column | None]:
    """The attributes of a type; None for one that the decoder has to look at."""
    for name, declared in type.attributes.items():
        values = columns.get(name)
        if values is None:
            count = len(columns["id"])
            nothing = pa.nulls(count, _ARROW.get(declared.kind, pa.string()))
            yield _Column(name, nothing, None if declared.optional else np.zeros(count, bool))
        elif declared.kind not in _PLAIN or not _PLAIN[declared.kind](values.type):
            yield None
        else:
            yield _column(name, declared, values.cast(_ARROW[declared.kind]))


def _column(name: str, declared: AttributeType, values: pa.Array) -> _Column:
    there = None
    if not declared.optional and values.null_count:
        there = _numpy(pc.is_valid(values))
    if declared.kind is Kind.FLOAT:
        finite = _numpy(pc.or_kleene(pc.is_finite(values), pc.is_null(values)).fill_null(True))
        there = finite if there is None else there & finite
    return _Column(name, values, there)


def _are_there(attributes: Sequence[_Column], count: int) -> Bools:
    found = np.ones(count, bool)
    for column in attributes:
        if column.there is not None:
            found &= column.there
    return found


def _numpy(column: Any) -> Bools:
    return np.asarray(column.to_numpy(zero_copy_only=False), bool)
