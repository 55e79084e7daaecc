"""Reading events from files and streams in bounded memory, whatever the length of a line."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, cast

from comity.errors import Misuse, Place
from comity.event.event import Event
from comity.event.jsonlines import Rejected, TypeLookup, decode, rejected, too_long
from comity.event.taxonomy import Taxonomy
from comity.event.validate import Fault
from comity.limits import limits

_SUFFIXES = (".jsonl", ".jsonl.gz")
_BOM = b"\xef\xbb\xbf"
_SKIP_BYTES = 65_536


def read_events(
    source: str | Path | BinaryIO,
    types: Taxonomy | TypeLookup | None = None,
    *,
    require_time: bool = False,
    name: str | None = None,
) -> Iterator[Event | Rejected]:
    """The events of a file, of a directory, of a binary stream, or of standard input (`-`).

    Files are `.jsonl` or `.jsonl.gz`; those of a directory come in the order of their names. What is not an event comes
    as `Rejected`, in its place; empty lines are skipped. `name` is what rejected records of a stream have as file.

    >>> import io
    >>> [event.id for event in read_events(io.BytesIO(b'{"id": "1", "source": "/a", "type": "T"}'))]
    ['1']
    """
    if source == "-":
        return _stream_events(sys.stdin.buffer, types, require_time, name or "-")
    if isinstance(source, str | Path):
        return _path_events(event_files(Path(source)), types, require_time)
    if isinstance(source.read(0), str):
        raise Misuse("events are read from binary streams, this one is text", code="text-stream")
    return _stream_events(source, types, require_time, name)


def event_files(path: Path) -> list[Path]:
    """The files of events at a path: those of a directory in the order of their names, or the one file."""
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if one.name.endswith(_SUFFIXES) and one.is_file())
        if not found:
            raise Misuse(
                f"no files {' or '.join('*' + one for one in _SUFFIXES)} in it",
                code="no-event-files",
                place=Place(str(path)),
            )
        return found
    if not path.exists():
        raise Misuse("no such file", code="no-such-file", place=Place(str(path)))
    return [path]


def _path_events(
    files: list[Path], types: Taxonomy | TypeLookup | None, require_time: bool
) -> Iterator[Event | Rejected]:
    for path in files:
        try:
            with _open(path) as stream:
                yield from _stream_events(stream, types, require_time, str(path))
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            raise Misuse(reason, code="unreadable-file", place=Place(str(path))) from error


def _open(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _stream_events(
    stream: IO[bytes], types: Taxonomy | TypeLookup | None, require_time: bool, name: str | None
) -> Iterator[Event | Rejected]:
    number = 0
    try:
        for number, (line, is_whole) in enumerate(_lines(stream), start=1):
            if not is_whole:
                yield rejected(line, [too_long(f"more than {len(line)} bytes")], number, name)
            elif line and not line.isspace():
                yield decode(line, types, require_time=require_time, line_number=number, source_file=name)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield rejected(b"", [Fault("", "", f"the compressed file is broken: {error}", "broken-gzip")], number + 1, name)


def _lines(stream: IO[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each line without its end, and whether it is whole; of a longer one only the beginning is ever held."""
    bound = limits().max_record_bytes
    first = True
    while line := stream.readline(bound + 2):  # room for the line end
        if first:
            line, first = line.removeprefix(_BOM), False
        content = line.removesuffix(b"\n").removesuffix(b"\r")
        if len(content) <= bound:
            yield content, True
            continue
        if not line.endswith(b"\n"):
            _skip_rest(stream)
        yield content[:bound], False


def _skip_rest(stream: IO[bytes]) -> None:
    while rest := stream.readline(_SKIP_BYTES):
        if rest.endswith(b"\n"):
            return
