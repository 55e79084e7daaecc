"""Events as rows of Parquet.

The columns `id`, `source`, `type`, `time`, `subject`, `sequence`, `mode` and `typeversion` are the envelope. The
attributes are in a column `data` (a struct, a map, or JSON text), or else they are all the other columns. Each row is
turned into CloudEvents JSON, so that the faults are those of JSON Lines. Null is missing. Timestamps without a zone are
in UTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comity.event.expansion import LEAST_BYTES, Expansion
from comity.event.formats.jsonlines import Rejected, TypeLookup, rejected
from comity.event.formats.rows import DATA, UnfitCell, row_line
from comity.event.taxonomy import Taxonomy
from comity.event.validate import Fault

if TYPE_CHECKING:  # it takes a while to import
    import pyarrow
    import pyarrow.parquet

LOADED_LATE = ("pyarrow.parquet", "pandas")
"""What is loaded only when a file is read: by us, and by Arrow for columns of time."""

_BATCH_ROWS = 1_024


def read_parquet_lines(
    path: str | Path, types: Taxonomy | TypeLookup | None = None, *, name: str | None = None, after: int = 0
) -> Iterator[tuple[int, bytes | Rejected]]:
    """The number of each row and the line of CloudEvents JSON that it stands for, or why it stands for none.

    Columns have kinds, so the types are not asked. Rows count from 1. What a hostile file does to this is not bounded:
    see `comity.event.isolation`.
    """
    import pyarrow as pa

    row = after
    file = name or str(path)
    try:
        for batch in _batches(path, after):
            for line in batch_lines(batch, row + 1, file):
                row += 1
                yield row, line
    except pa.ArrowMemoryError as error:
        raise MemoryError(str(error)) from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not that of a broken file
            raise
        yield row + 1, broken_parquet(error, file, row + 1)


def trusted_footer(
    path: str | Path, *, file: Any = None, size: int | None = None
) -> pyarrow.parquet.FileMetaData | None:
    """The footer of a file that may be read by columns; None if it is broken, or claims more than a file of its size
    can hold: `read_parquet_lines` says what is wrong with it, and in isolation. A file that is elsewhere is handed in,
    opened, with its size.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        footer = parquet.read_metadata(path if file is None else file)
    except (pa.ArrowException, OSError):
        return None
    sizes = (footer.row_group(at).total_byte_size for at in range(footer.num_row_groups))
    return footer if Expansion(path, size).allows(max(LEAST_BYTES * footer.num_rows, sum(sizes))) else None


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
        for batch in file.iter_batches(_BATCH_ROWS, row_groups=range(first, len(sizes)), use_threads=False):
            kept = batch.slice(min(after_row, batch.num_rows))
            after_row -= batch.num_rows - kept.num_rows
            if kept.num_rows:
                yield kept


def batch_lines(batch: pyarrow.RecordBatch, first_row: int, file: str) -> Iterator[bytes | Rejected]:
    """The lines of CloudEvents JSON that the rows of a batch stand for; rows count from `first_row`."""
    columns = {name: _values(column) for name, column in zip(batch.schema.names, batch.columns)}
    for at in range(batch.num_rows):
        row = {name: values[at] for name, values in columns.items() if values[at] is not None}
        yield row_line(row, DATA in columns, first_row + at, file)


def _values(column: pyarrow.Array) -> list[Any]:
    """The values of a column as Python has them; one that Python cannot hold is an `UnfitCell`."""
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
        return UnfitCell(f"cannot be read: {error}")


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
