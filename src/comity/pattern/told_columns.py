"""Many reports, told as columns by compiled code: what `told_as` makes one by one, in a tenth of the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from comity.pattern.bound import BoundPattern
from comity.pattern.kernels.digest import BLOCK_BYTES, WORDS
from comity.pattern.kernels.lines import Lines, Members, ReportTexts, write_lines
from comity.pattern.told import ID_BYTES, TOLD

_KEYS = (b'{"profile":', b',"id":"', b'","start":', b',"end":', b',"events":{')
_LEAST_US, _MOST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first and the last moment of the calendar."""
_FEW = 64
"""Events of a report up to which they are sorted by inserting them."""
_NUMBERS, _MOMENTS = 80, 60
"""Bytes that the numbers in an identity and the times in a line take at most, with what stands between them."""

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]


def columns_told(reports: pa.Table, patterns: Sequence[BoundPattern]) -> pa.Table | None:
    """The reports with their identities and lines; None if some are such as compiled code does not write."""
    numbers, starts, ends = (_numbers(reports, name) for name in ("pattern", "start", "end"))
    offsets = np.r_[0, np.cumsum(_numpy(pc.list_value_length(reports.column("operand"))))].astype(np.int64)
    sources, source_at = _texts(reports, "source")
    ids, id_at = _texts(reports, "id")
    moments = (starts, ends)
    is_in_calendar = all(len(one) == 0 or (one.min() >= _LEAST_US and one.max() <= _MOST_US) for one in moments)
    is_plain = _is_plain(sources) and _is_plain(ids)
    most = int(np.max(np.diff(offsets), initial=0))
    if not (is_in_calendar and is_plain) or most > _FEW:
        return None
    operand = _numpy(pc.list_flatten(reports.column("operand"))).astype(np.int64)
    names = _names(patterns)
    members = Members(offsets, operand, sources, source_at, ids, id_at)
    lines = _room(numbers, names, members)
    keys = np.frombuffer(b"".join(_KEYS), np.uint8), np.array([0, *accumulate(map(len, _KEYS))], np.int64)
    size = write_lines(keys, names, members, numbers, starts, ends, lines)
    texts = pa.py_buffer(lines.texts[:size])
    columns = [
        pa.array(numbers.astype(np.int32)),
        pa.array(starts),
        pa.array(ends),
        pa.Array.from_buffers(pa.binary(ID_BYTES), len(numbers), [None, pa.py_buffer(lines.ids)]),
        pa.Array.from_buffers(pa.large_binary(), len(numbers), [None, pa.py_buffer(lines.places), texts]),
    ]
    return pa.Table.from_arrays(columns, schema=TOLD)


def _names(patterns: Sequence[BoundPattern]) -> ReportTexts:
    """What the patterns and their operands are called, as JSON."""
    widest = max((len(one.operand_names) for one in patterns), default=0)
    shape = (len(patterns), widest)
    texts: list[bytes] = []
    profile, operand = np.zeros((len(patterns), 2), np.int64), np.zeros((*shape, 2), np.int64)
    by_rank, is_collected = np.full(shape, -1, np.int64), np.zeros(shape, np.int64)
    at = 0

    def place(text: bytes) -> tuple[int, int]:
        nonlocal at
        texts.append(text)
        at += len(text)
        return at - len(text), at

    for number, one in enumerate(patterns):
        profile[number] = place(msgspec.json.encode(one.name))
        for rank, name in enumerate(sorted(one.operand_names)):
            by_rank[number, rank] = one.operand_names.index(name)
            operand[number, rank] = place(msgspec.json.encode(name) + b":")
            is_collected[number, rank] = one.parameters.of(name).collect
    versions = np.array([one.parameters.version for one in patterns], np.int64)
    return ReportTexts(np.frombuffer(b"".join(texts), np.uint8), profile, versions, by_rank, operand, is_collected)


def _room(numbers: Longs, names: ReportTexts, members: Members) -> Lines:
    """Buffers that are large enough for the identities and lines."""
    counts = np.diff(members.offsets)
    widths = np.diff(names.profile, axis=1)[:, 0]
    operands = np.diff(names.operand, axis=2).sum(axis=(1, 2)) + 3 * names.by_rank.shape[1]
    of_ids = members.id_at[members.offsets[1:]] - members.id_at[members.offsets[:-1]]
    of_sources = members.source_at[members.offsets[1:]] - members.source_at[members.offsets[:-1]]
    fixed = sum(map(len, _KEYS)) + 2 * ID_BYTES + _MOMENTS + 8
    size = int(np.sum(fixed + widths[numbers] + operands[numbers] + of_ids + 4 * counts))
    content = int(np.max(_NUMBERS + widths[numbers] + of_ids + of_sources + 8 * counts, initial=0))
    return Lines(
        np.empty(ID_BYTES * len(numbers), np.uint8),
        np.empty(size, np.uint8),
        np.empty(len(numbers) + 1, np.int64),
        np.empty(content + 2 * BLOCK_BYTES, np.uint8),
        np.zeros(WORDS, np.uint64),
        np.empty(_FEW, np.int64),
    )


def _texts(reports: pa.Table, name: str) -> tuple[Bytes, Longs]:
    """The texts of all events, one behind the other, and where each begins."""
    parts = list(_parts(reports.column(name)))
    begins = np.cumsum([0, *(len(content) for content, _ in parts)])
    places = [offsets[:-1] + begin for (_, offsets), begin in zip(parts, begins)]
    content = np.concatenate([np.zeros(0, np.uint8), *(content for content, _ in parts)])
    return content, np.concatenate([*places, begins[-1:]]).astype(np.int64)


def _parts(lists: pa.ChunkedArray) -> Iterator[tuple[Bytes, Longs]]:
    for chunk in lists.chunks:
        values = chunk.flatten()
        _, places, content = values.buffers()
        offsets = np.frombuffer(places, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
        own = np.frombuffer(content or b"", np.uint8)[offsets[0] : offsets[-1]]
        yield own, offsets - offsets[0]


def _is_plain(texts: Bytes) -> bool:
    """Whether texts are in JSON as they are."""
    return not bool(np.any((texts < ord(" ")) | (texts == ord('"')) | (texts == ord("\\"))))


def _numbers(reports: pa.Table, name: str) -> Longs:
    return _numpy(reports.column(name)).astype(np.int64)


def _numpy(column: Any) -> npt.NDArray[Any]:
    return np.asarray(column.to_numpy())
