"""What a run or a stream published for a subscriber, batch by batch, as messages for its sinks.

Results are JSON Lines (`SUBSCRIBER/batch-00000007-00000.jsonl`) or Parquet (`day=…/subscriber=…/part-….parquet`). Files
of a run that is no stream are one batch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from comity.connect.courier import SendFailure, Settled
from comity.connect.dead_letters import NO_NOTIFICATION
from comity.connect.folder import PROFILES
from comity.connect.notification import Identity, identity_of
from comity.connect.port import Message
from comity.event.times import format_timestamp

_BATCH = re.compile(r"batch-(\d+)-")
_ROWS_AT_ONCE = 1_000


_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class PublishedBatch:
    """The files of one batch of a stream (series `batch`), or of a whole run (series `part`)."""

    series: str
    number: int
    files: tuple[Path, ...]

    def fingerprint(self) -> tuple[object, ...]:
        """Is another one when the batch was published again."""
        found = ((path, path.stat()) for path in self.files)
        return (
            self.series,
            self.number,
            *((path, stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in found),
        )


def published_batches(out: Path, subscriber: str) -> list[PublishedBatch]:
    """Each batch, in the order in which they were published.

    >>> published_batches(Path("no/such/folder"), "house_a")
    []
    """
    found: dict[tuple[str, int], list[Path]] = {}
    for path in (*out.glob(f"{subscriber}/*.jsonl"), *out.glob(f"day=*/subscriber={subscriber}/*.parquet")):
        if not path.name.startswith("."):
            found.setdefault(_batch_of(path.name), []).append(path)
    return [PublishedBatch(*batch, tuple(sorted(files))) for batch, files in sorted(found.items())]


def _batch_of(name: str) -> tuple[str, int]:
    matched = _BATCH.match(name)
    return ("batch", int(matched[1])) if matched else ("part", 0)


def read_messages(files: Iterable[Path], subscriber: str) -> Iterator[Message | Settled]:
    """The notifications in files, one after the other; a line that is none comes as a failure."""
    for path in files:
        lines = _parquet_lines(path) if path.suffix == ".parquet" else _text_lines(path)
        for line in lines:
            yield as_message(line, subscriber)


def as_message(line: bytes, subscriber: str) -> Message | Settled:
    """The message in a line of CloudEvents JSON.

    >>> as_message(b'{"profile":"fires","source":"/a","id":"1","time":"2026-01-02T03:04:05Z"}', "house_a").key
    '["fires","/a","1"]'
    """
    try:
        found = identity_of(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        text = line.decode(errors="replace")
        broken = Message(subscriber, "", _encoder.encode([None, None, text]).decode(), _encoder.encode(text))
        return Settled(broken, SendFailure(f"this is no notification: {error}", NO_NOTIFICATION))
    return Message(subscriber, found.profile, found.key, line)


def stored_keys(out: Path, subscribers: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The keys and days of the notifications that a run left in its results folder."""
    for subscriber in subscribers:
        for batch in published_batches(out, subscriber):
            if batch.series == "part":
                for message in read_messages(batch.files, subscriber):
                    if isinstance(message, Message):
                        found = identity_of(message.line)
                        yield found.key, found.day
    for path in sorted(out.glob(f"{PROFILES}/*/day=*/part-*.parquet")):
        yield from _typed_keys(path)


def _typed_keys(path: Path) -> Iterator[tuple[str, str]]:
    import pyarrow.parquet as pq

    profile, day = path.parent.parent.name, path.parent.name.removeprefix("day=")
    with pq.ParquetFile(path) as file:
        for rows in file.iter_batches(_ROWS_AT_ONCE, columns=["source", "id"]):
            for source, id in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                yield Identity(profile, source, id, day).key, day


def _text_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        for line in stream:
            stripped = line.strip()
            if stripped:
                yield stripped


def _parquet_lines(path: Path) -> Iterator[bytes]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        for rows in file.iter_batches(_ROWS_AT_ONCE):
            for row in rows.to_pylist():
                yield _line(row)


def _line(row: dict[str, Any]) -> bytes:
    """CloudEvents JSON from the columns of a row."""
    record: dict[str, Any] = {"specversion": "1.0"}
    for name in ("id", "source", "type", "time", "subject", "sequence", "mode", "typeversion", "profile"):
        value = row.get(name)
        if isinstance(value, datetime):
            record[name] = format_timestamp(value if value.tzinfo else value.replace(tzinfo=UTC))
        elif value is not None:
            record[name] = str(value)
    if row.get("data") is not None:
        record["data"] = msgspec.Raw(row["data"].encode())
    return _encoder.encode(record)
