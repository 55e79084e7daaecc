"""Reports as they are told: with their identities and their lines, as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from comity.pattern.bound import BoundPattern
from comity.pattern.rows import ReportRow, found_reports

ID_BYTES = 16
TOLD = pa.schema(
    [
        pa.field("pattern", pa.int32()),
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        pa.field("id", pa.binary(ID_BYTES)),
        pa.field("line", pa.large_binary()),
    ]
)
"""A report: the number of its pattern, its interval, its identity, and its line with the end of the line."""


COMPILED = 20_000
"""Reports of a table from which on compiled code pays for the seconds that it takes to load."""


def told_reports(reports: pa.Table, patterns: Sequence[BoundPattern]) -> pa.Table:
    """The reports of a table in the form in which they are printed; one that is in it twice may be told twice."""
    if reports.num_rows >= COMPILED:
        from comity.pattern.told_columns import columns_told  # compiled code takes a while to load

        told = columns_told(reports, patterns)
        if told is not None:
            return told
    return told_as(reports, patterns, ReportRow.as_json)


def told_as(reports: pa.Table, patterns: Sequence[BoundPattern], line: Callable[[ReportRow], bytes]) -> pa.Table:
    """The reports of a table, each once, with lines of some form."""
    numbers = {one.name: number for number, one in reversed(list(enumerate(patterns)))}
    rows = [
        (numbers[one.profile], one.start, one.end, bytes.fromhex(one.id), line(one) + b"\n")
        for one in found_reports(reports, patterns)
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(TOLD)
    return pa.table([pa.array(column, one.type) for column, one in zip(columns, TOLD)], schema=TOLD)


def ids_of(told: pa.Table) -> bytes:
    """The identities of reports, one behind the other."""
    ids = told.column("id").combine_chunks()
    begin = ID_BYTES * ids.offset
    found: bytes = ids.buffers()[1].to_pybytes()[begin : begin + ID_BYTES * len(ids)]
    return found


def lines_of(told: pa.Table) -> memoryview:
    """The lines of reports, one behind the other."""
    lines = told.column("line").combine_chunks()
    _, offsets, content = lines.buffers()
    ends = np.frombuffer(offsets, np.int64)
    return memoryview(content)[ends[lines.offset] : ends[lines.offset + len(lines)]]
