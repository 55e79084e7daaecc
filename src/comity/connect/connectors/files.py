"""Files as a source: JSON Lines, CSV, Parquet, XML and Avro; one file, a directory, or a directory that grows.

A directory is read in the order of the names. One that is followed may get new files, whose names must sort after those
that were read; a file is complete when it appears, and names that begin with `.` or `_` are not looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from comity.connect.port import Batch, Capability, Connector, Position, Record, Setting
from comity.errors import Misuse, Place
from comity.event.files import event_files, read_json_lines
from comity.event.formats.jsonlines import Rejected, TypeLookup, rejected
from comity.event.formats.table import is_event_file
from comity.event.taxonomy import Taxonomy
from comity.event.validate import Fault


class FilesOptions(BaseModel):
    """The options of `files`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: str = Field(min_length=1)
    """A file or a directory, from the folder of the federation."""
    follow: bool = False
    """Whether to wait for new files in the directory."""
    poll_s: float = Field(default=0.2, gt=0, le=3600)
    """Seconds between two looks for new files."""


class FilesSource:
    """Records of files. The position is the name of a file and the line, or row of Parquet, that was read last."""

    def __init__(
        self,
        path: Path,
        *,
        follow: bool = False,
        poll_s: float = 0.2,
        types: Taxonomy | TypeLookup | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.capability = Capability(can_replay=True, ordered=True, live=follow, durable=True)
        self._path, self._follow, self._poll_s = path, follow, poll_s
        self._types, self._clock = types, clock
        self._records: Iterator[tuple[int, bytes | Rejected]] | None = None
        self._name: str | None = None
        self._line = 0
        self._waiting: list[Path] = []
        self._seen: set[str] = set()

    def open(self, position: Position = None) -> None:
        if self._follow and not self._path.is_dir():
            reason = "only a directory can be followed" if self._path.exists() else "no such directory"
            raise Misuse(reason, code="no-such-directory", place=Place(str(self._path)))
        self._name, self._line, self._records = None, 0, None
        files = self._files()
        if position is not None:
            self._resume(position, files)
            files = [one for one in files if one.name > position["file"]]
        self._waiting = files

    def next_batch(self, max_records: int) -> Batch | None:
        records: list[Record] = []
        while len(records) < max_records:
            record = self._next_record()
            if record is not None:
                records.append(record)
            elif not self._next_file(records):
                break
        if records:
            return Batch(tuple(records), self._position())
        return Batch((), self._position(), self._clock() + self._poll_s) if self._follow else None

    def acknowledge(self, position: Position) -> None:
        """Nothing to do: files stay where they are."""

    def close(self) -> None:
        self._records, self._waiting = None, []

    def _position(self) -> Position:
        return {"file": self._name, "line": self._line} if self._name is not None else None

    def _files(self) -> list[Path]:
        if not self._follow:
            return event_files(self._path)
        found = sorted(one for one in self._path.iterdir() if is_event_file(one))
        self._seen.update(one.name for one in found)
        return found

    def _resume(self, position: Position, files: list[Path]) -> None:
        self._name, self._line = position["file"], position["line"]
        current = next((one for one in files if one.name == self._name), None)
        if current is not None:
            self._records = read_json_lines(current, self._types, after=self._line)

    def _next_record(self) -> Record | None:
        number, found = next(self._records, (0, None)) if self._records is not None else (0, None)
        if found is None:
            self._records = None
            return None
        self._line = number
        return _record(found, self._file_name(), number)

    def _file_name(self) -> str:
        return str(self._path / (self._name or "")) if self._path.is_dir() else str(self._path)

    def _next_file(self, records: list[Record]) -> bool:
        """Go on to the next file, if there is one; what came too late is told among the records."""
        if not self._waiting and self._follow:
            known = set(self._seen)
            fresh = [one for one in self._files() if one.name not in known]
            self._waiting = [one for one in fresh if self._name is None or one.name > self._name]
            records += [_too_late(one) for one in fresh if self._name is not None and one.name < self._name]
        if not self._waiting:
            return False
        current = self._waiting.pop(0)
        self._name, self._line = current.name, 0
        self._records = read_json_lines(current, self._types)
        return True


def _record(found: bytes | Rejected, file: str, number: int) -> Record:
    if isinstance(found, Rejected):
        return Record(found.raw.encode(), file, number, found)
    return Record(found, file, number)


def _too_late(path: Path) -> Record:
    reason = "the name of the file sorts before one that was read already, so the file is not read"
    return Record(b"", str(path), None, rejected(b"", [Fault("", path.name, reason, "late-file")], None, str(path)))


def _source(options: FilesOptions, setting: Setting) -> FilesSource:
    path = setting.base / options.path
    return FilesSource(path, follow=options.follow, poll_s=options.poll_s, types=setting.types)


CONNECTOR = Connector(
    kind="files",
    capability=Capability(can_replay=True, ordered=True, durable=True),
    options=FilesOptions,
    main_option="path",
    source=_source,
)
