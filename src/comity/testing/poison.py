"""Files of events that are broken in one way or another, for tests of what they cost."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping, Sequence
from typing import Any

_FILLER = "so on and "


def parquet_with_broken_page(rows: Sequence[Mapping[str, Any]], column: str) -> bytes:
    """A file of rows whose footer is well; what stands in one column, a text, cannot be unpacked."""
    import pyarrow as pa
    from pyarrow import parquet

    stream = io.BytesIO()
    table = pa.Table.from_pylist([{**row, column: f"{number} {_FILLER * 50}"} for number, row in enumerate(rows)])
    parquet.write_table(table, stream, compression="snappy", use_dictionary=False)
    content = stream.getvalue()
    chunk = parquet.read_metadata(io.BytesIO(content)).row_group(0).column(table.schema.get_field_index(column))
    end = chunk.data_page_offset + chunk.total_compressed_size
    for at in range(chunk.data_page_offset, end - 4):
        broken = content[:at] + b"\xff" * 4 + content[at + 4 :]
        if _cannot_be_unpacked(broken):
            return broken
    raise AssertionError("no page is left that can be broken")


def _cannot_be_unpacked(content: bytes) -> bool:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        parquet.read_table(io.BytesIO(content))
    except (pa.ArrowException, OSError) as error:
        return "snappy" in str(error).lower()
    return False


def truncated(content: bytes) -> bytes:
    """What is left of a file when its last third is missing."""
    return content[: len(content) * 2 // 3]


def truncated_gzip(content: bytes) -> bytes:
    """A compressed file of which the last bytes are missing, but none of its content."""
    return gzip.compress(content)[:-8]
