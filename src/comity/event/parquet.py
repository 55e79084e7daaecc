"""Events as rows of Parquet.

The columns `id`, `source`, `type`, `time`, `subject`, `sequence`, `mode` and `typeversion` are the envelope. The
attributes are in a column `data` (a struct, a map, or JSON text), or else they are all the other columns. Each row is
turned into CloudEvents JSON, so that the faults are those of JSON Lines. Null is missing. Timestamps without a zone are
in UTC.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from comity.event.csvlines import ENVELOPE_COLUMNS
from comity.event.event import Event
from comity.event.jsonlines import Rejected, TypeLookup, decode, rejected
from comity.event.taxonomy import Taxonomy
from comity.event.times import format_duration, format_timestamp
from comity.event.validate import Fault, fault

if TYPE_CHECKING:  # it takes a while to import
    import pyarrow

_DATA = "data"
_BATCH_ROWS = 1_024


def read_parquet_events(
    path: str | Path,
    types: Taxonomy | TypeLookup | None = None,
    *,
    require_time: bool = False,
    after_row: int = 0,
) -> Iterator[Event | Rejected]:
    """The events of a file, or why a row is none; `after_row` rows are left out. Rows count from 1."""
    for number, line in read_parquet_lines(path, after_row=after_row):
        if isinstance(line, Rejected):
            yield line
        else:
            yield decode(line, types, require_time=require_time, line_number=number, source_file=str(path))


def read_parquet_lines(path: str | Path, *, after_row: int = 0) -> Iterator[tuple[int, bytes | Rejected]]:
    """The number of each row and the line of CloudEvents JSON that it stands for, or why it stands for none."""
    import pyarrow as pa

    row = after_row
    try:
        for batch in _batches(path, after_row):
            for line in batch_lines(batch, row + 1, str(path)):
                row += 1
                yield row, line
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not that of a broken file
            raise
        yield row + 1, broken_parquet(error, str(path), row + 1)


def broken_parquet(error: Exception, file: str, row: int = 1) -> Rejected:
    """What stands for the rows of a file that cannot be read, from one row on."""
    reason = f"the Parquet file is broken: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    return rejected(b"", [Fault("", "", reason, "broken-parquet")], row, file)


def _batches(path: str | Path, after_row: int) -> Iterator[pyarrow.RecordBatch]:
    """The rows after the first few, which are left out by whole groups where that is possible."""
    import pyarrow.parquet as parquet

    with Path(path).open("rb") as stream, parquet.ParquetFile(stream) as file:
        sizes = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
        first = 0
        while first < len(sizes) and after_row >= sizes[first]:
            after_row -= sizes[first]
            first += 1
        if first == len(sizes):
            return
        for batch in file.iter_batches(_BATCH_ROWS, row_groups=range(first, len(sizes))):
            kept = batch.slice(min(after_row, batch.num_rows))
            after_row -= batch.num_rows - kept.num_rows
            if kept.num_rows:
                yield kept


def batch_lines(batch: pyarrow.RecordBatch, first_row: int, file: str) -> Iterator[bytes | Rejected]:
    """The lines of CloudEvents JSON that the rows of a batch stand for; rows count from `first_row`."""
    columns = {name: _values(column) for name, column in zip(batch.schema.names, batch.columns)}
    for at in range(batch.num_rows):
        row = {name: values[at] for name, values in columns.items() if values[at] is not None}
        yield _line(row, _DATA in columns, first_row + at, file)


def _line(row: dict[str, Any], has_data: bool, number: int, file: str) -> bytes | Rejected:
    faults: list[Fault] = []
    record = {name: _json(row[name], f"event.{name}", faults) for name in ENVELOPE_COLUMNS if name in row}
    if not has_data:
        attributes = {name: value for name, value in row.items() if name not in ENVELOPE_COLUMNS}
        record[_DATA] = _json(attributes, "", faults)
    elif _DATA in row:
        record[_DATA] = _all_attributes(row[_DATA], faults)
    return rejected(_shown(record), faults, number, file) if faults else msgspec.json.encode(record)


def _all_attributes(data: Any, faults: list[Fault]) -> Any:
    if not isinstance(data, str):
        return _json(data, "", faults)
    try:
        msgspec.json.decode(data, type=dict)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        faults.append(fault("data", data, f"the column is not a JSON object: {error}", "bad-json"))
    return msgspec.Raw(data.encode(errors="replace"))


def _shown(record: dict[str, Any]) -> bytes:
    return msgspec.json.encode({name: value for name, value in record.items() if value is not None})


def _values(column: pyarrow.Array) -> list[Any]:
    """The values of a column as Python has them; one that Python cannot hold is an `_Unfit`."""
    import pyarrow as pa

    fitting = column.cast(_in_microseconds(column.type), safe=False)
    try:
        return fitting.to_pylist(maps_as_pydicts="strict")  # type: ignore[no-any-return]
    except (ValueError, OverflowError, KeyError, pa.ArrowException):
        return [_value(scalar) for scalar in fitting]


def _value(scalar: pyarrow.Scalar) -> Any:
    import pyarrow as pa

    try:
        return scalar.as_py(maps_as_pydicts="strict")
    except (ValueError, OverflowError, KeyError, pa.ArrowException) as error:
        return _Unfit(f"cannot be read: {error}")


def _in_microseconds(type: pyarrow.DataType) -> pyarrow.DataType:
    """The same type with every time in microseconds, which is what Python and events can hold."""
    import pyarrow as pa

    if pa.types.is_timestamp(type):
        return pa.timestamp("us", type.tz)
    if pa.types.is_duration(type):
        return pa.duration("us")
    if pa.types.is_struct(type):
        return pa.struct([one.with_type(_in_microseconds(one.type)) for one in type])
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        inner = type.value_field.with_type(_in_microseconds(type.value_type))
        return pa.list_(inner) if pa.types.is_list(type) else pa.large_list(inner)
    return type


class _Unfit:
    """A value that Python cannot hold, such as a time in the year 12000."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def _json(value: Any, path: str, faults: list[Fault]) -> Any:
    """The value in terms of JSON. What JSON cannot say is left to its decoder, or is a fault here."""
    if isinstance(value, float) and not math.isfinite(value):
        return msgspec.Raw(b"NaN" if math.isnan(value) else b"Infinity" if value > 0 else b"-Infinity")
    if isinstance(value, dict):
        return {str(name): _json(item, f"{path}.{name}" if path else name, faults) for name, item in value.items()}
    if isinstance(value, list):
        return [_json(item, f"{path}[{at}]", faults) for at, item in enumerate(value)]
    if isinstance(value, datetime):
        return format_timestamp(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return msgspec.Raw(str(value).encode())
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    reason = value.reason if isinstance(value, _Unfit) else f"a {type(value).__name__} has no form in an event"
    faults.append(Fault(path, "", reason, "out-of-range" if isinstance(value, _Unfit) else "wrong-kind"))
    return None
