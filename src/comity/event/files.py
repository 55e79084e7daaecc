"""Reading events from files and streams in bounded memory, whatever the length of a line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, assert_never

from comity.errors import Misuse, Place
from comity.event.event import Event
from comity.event.expansion import LEAST_BYTES, UNPACKING_ERRORS, broken_gzip, open_file
from comity.event.formats.csv import Header, decode_row, read_header, row_as_json
from comity.event.formats.jsonlines import Rejected, TypeLookup, decode, rejected, too_long
from comity.event.formats.table import SUFFIXES, UNREADABLE, FileFormat, Form, format_of, is_event_file
from comity.event.isolation import decoded_apart
from comity.event.taxonomy import Taxonomy
from comity.event.validate import Fault
from comity.event.window import Window
from comity.limits import limits

_BOM = b"\xef\xbb\xbf"
_SKIP_BYTES = 65_536


def read_events(
    source: str | Path | BinaryIO,
    types: Taxonomy | TypeLookup | None = None,
    *,
    require_time: bool = False,
    name: str | None = None,
    window: Window | None = None,
) -> Iterator[Event | Rejected]:
    """The events of a file, of a directory, of a binary stream, or of standard input (`-`).

    Files are JSON Lines, CSV, XML (all perhaps with `.gz`), Parquet or Avro; those of a directory come in the order of
    their names, and one of them that cannot be read is rejected as one record. What is not an event comes as
    `Rejected`, in its place; empty lines are skipped. `name` is what rejected records have as file; a
    stream is JSON Lines. Events with a time outside of the `window` are rejected, if there is one.

    >>> import io
    >>> [event.id for event in read_events(io.BytesIO(b'{"id": "1", "source": "/a", "type": "T"}'))]
    ['1']
    """
    wanted = _Wanted(types, require_time, window)
    if source == "-":
        return _stream_events(sys.stdin.buffer, wanted, name or "-")
    if isinstance(source, str | Path):
        files = event_files(Path(source))
        return _events_of_each(files, wanted) if Path(source).is_dir() else _file_events(files[0], wanted, name)
    if isinstance(source.read(0), str):
        raise Misuse("events are read from binary streams, this one is text", code="text-stream")
    return _stream_events(source, wanted, name)


def unreadable(file: str, reason: str) -> Rejected:
    """The record that stands for a file that nobody can read, or for the rest of it."""
    return rejected(b"", [Fault("", "", f"the file {reason}", UNREADABLE)], None, file)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a record must be to be taken as an event."""

    types: Taxonomy | TypeLookup | None
    require_time: bool
    window: Window | None

    def decode(self, line: bytes, number: int, name: str | None) -> Event | Rejected:
        return decode(
            line,
            self.types,
            require_time=self.require_time,
            window=self.window,
            line_number=number,
            source_file=name,
        )

    def decode_row(self, line: bytes, header: Header, number: int, name: str | None) -> Event | Rejected:
        return decode_row(
            line,
            header,
            self.types,
            require_time=self.require_time,
            window=self.window,
            line_number=number,
            source_file=name,
        )


def read_json_lines(
    path: Path, types: Taxonomy | TypeLookup | None = None, *, name: str | None = None, after: int = 0
) -> Iterator[tuple[int, bytes | Rejected]]:
    """Each record of a file as a line of CloudEvents JSON that nobody checked yet, with its number from 1.

    The number is that of its line, or of its row in Parquet or Avro; those up to `after` are left out. Rows of CSV and
    elements of XML need the types to become JSON. What cannot become JSON comes as `Rejected`.
    """
    format = format_of(path)
    with _readable(path):
        match format.form:
            case Form.DECODED:
                yield from decoded_apart(format.reader, path, types, name=name, after=after)
            case Form.LINES | Form.CSV:
                yield from _text_lines(path, name or str(path), format, types, after)
            case _:
                assert_never(format.form)


def event_files(path: Path) -> list[Path]:
    """The files of events at a path: those of a directory in the order of their names, or the one file.

    Names in a directory that begin with `.` or `_` are not read: they are files that somebody is still writing.
    """
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if is_event_file(one))
        if not found:
            raise Misuse(
                f"no files {' or '.join('*' + one for one in SUFFIXES)} in it",
                code="no-event-files",
                place=Place(str(path)),
            )
        return found
    if not path.exists():
        raise Misuse("no such file", code="no-such-file", place=Place(str(path)))
    return [path]


def _events_of_each(files: Iterable[Path], wanted: _Wanted) -> Iterator[Event | Rejected]:
    """Of the files in a directory one that cannot be read costs itself only."""
    for path in files:
        yield from _or_rejected(_file_events(path, wanted), path)


def _or_rejected(records: Iterator[Event | Rejected], path: str | Path) -> Iterator[Event | Rejected]:
    try:
        yield from records
    except Misuse as error:
        if error.code != UNREADABLE:
            raise
        yield unreadable(str(path), error.message)


def _file_events(path: Path, wanted: _Wanted, name: str | None = None) -> Iterator[Event | Rejected]:
    format, told = format_of(path), name or str(path)
    with _readable(path):
        match format.form:
            case Form.DECODED:
                lines = decoded_apart(format.reader, path, wanted.types, name=told)
                yield from _decoded(lines, wanted, told)
            case Form.LINES | Form.CSV:
                with open_file(path, least_line=LEAST_BYTES) as stream:
                    yield from _stream_events(stream, wanted, told, format.form is Form.CSV)
            case _:
                assert_never(format.form)


def _decoded(lines: Iterable[tuple[int, bytes | Rejected]], wanted: _Wanted, name: str) -> Iterator[Event | Rejected]:
    for number, line in lines:
        yield line if isinstance(line, Rejected) else wanted.decode(line, number, name)


def _text_lines(
    path: Path, name: str, format: FileFormat, types: Taxonomy | TypeLookup | None, after: int
) -> Iterator[tuple[int, bytes | Rejected]]:
    with open_file(path, least_line=LEAST_BYTES) as stream:
        for number, line, header in _numbered(stream, name, format.form is Form.CSV):
            if number <= after:
                continue
            if header is None or isinstance(line, Rejected):
                yield number, line
            else:
                yield number, row_as_json(line, header, types, line_number=number, source_file=name)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise Misuse(reason, code=UNREADABLE, place=Place(str(path))) from error


def _stream_events(
    stream: IO[bytes], wanted: _Wanted, name: str | None, is_csv: bool = False
) -> Iterator[Event | Rejected]:
    for number, line, header in _numbered(stream, name, is_csv):
        if isinstance(line, Rejected):
            yield line
        elif header is not None:
            yield wanted.decode_row(line, header, number, name)
        else:
            yield wanted.decode(line, number, name)


def _numbered(
    stream: IO[bytes], name: str | None, is_csv: bool
) -> Iterator[tuple[int, bytes | Rejected, Header | None]]:
    """The lines that are not empty, with their numbers, below the header of CSV."""
    number = 0
    header = None
    try:
        for number, (line, is_whole) in enumerate(_lines(stream), start=1):
            if is_csv and header is None:
                header = read_header(line if is_whole else line + b" ") if line and not line.isspace() else None
            elif not is_whole:
                yield number, rejected(line, [too_long(f"more than {len(line)} bytes")], number, name), header
            elif line and not line.isspace():
                yield number, line, header
    except UNPACKING_ERRORS as error:
        yield number + 1, rejected(b"", [broken_gzip(error)], number + 1, name), header


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
