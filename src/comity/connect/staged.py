"""Results written by this process: lines for each subscriber, staged, and published when all are there."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from comity.connect.folder import REJECTED, STAGING, Results, StagedFile, publish
from comity.event.times import parse_timestamp

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 10_000
_TEXTS = ("profile", "id", "source", "type", "subject", "sequence", "mode", "typeversion")


class StagedResults:
    """Takes lines, each for a subscriber or for the rejected set."""

    def __init__(self, staging: Path, results: Results, name: str = "part") -> None:
        self.staging, self.results, self.name = staging, results, name
        self.files: list[StagedFile] = []
        """Where it was put, when it is closed."""
        self._streams: dict[str, BinaryIO] = {}
        self._rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._parts = 0

    def put(self, to: str, line: bytes) -> None:
        """Take one line of CloudEvents JSON, or of a rejected record, without its end."""
        if self.results is Results.JSONL or to == REJECTED:
            self._stream(to).write(line + b"\n")
            return
        row = _row(line)
        rows = self._rows.setdefault((row["time"].date().isoformat(), to), [])
        rows.append(row)
        if len(rows) >= _ROWS_AT_ONCE:
            self._flush((row["time"].date().isoformat(), to))

    def put_all(self, to: str, lines: pa.BinaryArray) -> None:
        """Take several lines for one target, at least one, as Arrow has them."""
        if self.results is Results.JSONL or to == REJECTED:
            self._stream(to).write(_as_text(lines))
            return
        for line in lines.to_pylist():
            self.put(to, line)

    def close(self) -> None:
        """Write what is left."""
        for stream in self._streams.values():
            stream.close()
        for key in list(self._rows):
            self._flush(key)

    def _stream(self, to: str) -> BinaryIO:
        if to not in self._streams:
            file = StagedFile(to, self.staging / f"to={to}" / f"{self.name}-00000")
            file.path.parent.mkdir(parents=True, exist_ok=True)
            self._streams[to] = file.path.open("wb")
            self.files.append(file)
        return self._streams[to]

    def _flush(self, key: tuple[str, str]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        day, to = key
        file = StagedFile(to, self.staging / f"day={day}" / f"to={to}" / f"{self.name}-{self._parts:05d}.parquet", day)
        file.path.parent.mkdir(parents=True, exist_ok=True)
        times = pa.timestamp("us", tz="UTC")
        fields = [
            (name, times if name == "time" else pa.string()) for name in (*_TEXTS[:4], "time", *_TEXTS[4:], "data")
        ]
        table = pa.Table.from_pylist(self._rows.pop(key), schema=pa.schema(fields))
        parquet.write_table(table, file.path)
        self._parts += 1
        self.files.append(file)


def _as_text(lines: pa.BinaryArray) -> memoryview:
    """The lines with their ends, as they lie in memory: as objects of Python they cost five times as much."""
    import pyarrow.compute as pc

    _, offsets, content = pc.binary_join_element_wise(lines, b"\n", b"").buffers()
    (end,) = struct.unpack_from("=i", offsets, 4 * len(lines))
    return memoryview(content)[:end]


def _row(line: bytes) -> dict[str, Any]:
    """A notification as the columns of Parquet results."""
    found = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    row: dict[str, Any] = {name: msgspec.json.decode(found[name]) for name in _TEXTS if name in found}
    row["time"] = parse_timestamp(msgspec.json.decode(found["time"], type=str))
    row["data"] = bytes(found["data"]).decode() if "data" in found else None
    return row


@contextmanager
def staged_results(
    out: Path,
    names: Iterable[str],
    results: Results = Results.JSONL,
    batch: int | None = None,
    *,
    at_end: bool = False,
) -> Iterator[StagedResults]:
    """Results that are published at the end of the block, or dropped when it fails."""
    staging = out / (STAGING if batch is None else f".batch-{batch}")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    staged = StagedResults(staging, results)
    try:
        yield staged
        staged.close()
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    publish(staging, out, names, results, batch, at_end=at_end)
