"""Records that are no events: counted, the first of them shown, all of them kept on demand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from comity.cli.output import console, result_stream, write_json
from comity.cli.session import Format

_SHOWN = 5


class RejectedRecords:
    """Takes rejected records in the shape of `Rejected.as_dict`."""

    def __init__(self, stream: IO[bytes] | None = None, path: Path | None = None) -> None:
        self.count = 0
        self._first: list[Mapping[str, Any]] = []
        self._stream, self._path = stream, path

    @classmethod
    @contextmanager
    def into(cls, path: Path | None) -> Iterator[RejectedRecords]:
        """One that writes them as JSON Lines to a file, if there is a path."""
        if path is None:
            yield cls()
            return
        with result_stream(path) as stream:
            yield cls(stream, path)

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in one record."""
        self.count += 1
        if len(self._first) < _SHOWN:
            self._first.append(record)
        if self._stream is not None:
            self._stream.write(json.dumps(record, ensure_ascii=False).encode(errors="backslashreplace") + b"\n")

    def report(self, accepted: int, form: Format) -> None:
        """Say on standard error how many there are, and why; nothing if there are none."""
        if not self.count:
            return
        if form is Format.JSON:
            write_json({"rejected": self.count, "first": self._first}, stderr=True)
            return
        out = console(stderr=True)
        out.print(f"{self.count:,} of {self.count + accepted:,} records were rejected", style="yellow")
        for record in self._first:
            out.print(f"  {_reason(record)}")
        if self.count > len(self._first):
            out.print(f"  … and {self.count - len(self._first):,} more")
        hint = f"all of them are in {self._path}" if self._path else "keep them with --rejected FILE"
        out.print(f"  {hint}")


def _reason(record: Mapping[str, Any]) -> str:
    first, *others = record["faults"]
    line = record["line"]
    parts = (record["file"], line, first.get("column") if line is not None else None)
    place = ":".join(str(part) for part in parts if part is not None)
    subject = f"{first['path']} " if first["path"] else ""
    more = f" (and {len(others)} more)" if others else ""
    return f"{place}: {subject}{first['reason']} [{first['code']}]{more}"
