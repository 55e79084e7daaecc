"""Records that are no events: counted by reason, one of each shown, all of them kept on demand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.failure import FAILED
from comity.cli.output import console, result_stream, write_json
from comity.cli.session import Format
from comity.event.reasons import ReasonCounts

if TYPE_CHECKING:
    from rich.console import Console


class FailOn(StrEnum):
    """When rejected records are a failure."""

    ALL = "all"
    ANY = "any"
    NEVER = "never"


FailOnOption = Annotated[
    FailOn,
    typer.Option("--fail-on-rejected", help="Exit with 1 if all records were rejected, or if any was, or never."),
]


def leave_if_rejected(fail_on: FailOn, *, rejected: int, is_all: bool) -> None:
    """End the command with exit code 1 when so much was rejected that it counts as failed."""
    if fail_on is FailOn.NEVER or not rejected or (fail_on is FailOn.ALL and not is_all):
        return
    reason = "every record was rejected" if is_all else "some records were rejected"
    hint = "--fail-on-rejected never lets this pass"
    console(stderr=True).print(f"{reason}, so the exit code is {FAILED}; {hint}", style="red")
    raise typer.Exit(FAILED)


def print_reasons(out: Console, reasons: ReasonCounts, lead: str = "rejected ", style: str | None = "yellow") -> None:
    """A line for each reason: how many records it has, and one of them."""
    for code, count in reasons.ranked():
        example = reasons.examples.get(code)
        out.print(f"  {lead}{count:,} × {describe(example) if example else f'[{code}]'}", style=style)


class RejectedRecords:
    """Takes rejected records in the shape of `Rejected.as_dict`."""

    def __init__(self, stream: IO[bytes] | None = None, path: Path | None = None) -> None:
        self.reasons = ReasonCounts()
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

    @property
    def count(self) -> int:
        return self.reasons.total

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in one record."""
        self.reasons.take(record)
        if self._stream is not None:
            self._stream.write(json.dumps(record, ensure_ascii=False).encode(errors="backslashreplace") + b"\n")

    def report(self, accepted: int, form: Format) -> None:
        """Say on standard error how many there are, and why; nothing if there are none."""
        if not self.count:
            return
        if form is Format.JSON:
            write_json({"rejected": self.count, "reasons": self.reasons.as_list()}, stderr=True)
            return
        out = console(stderr=True)
        out.print(f"{self.count:,} of {self.count + accepted:,} records were rejected", style="yellow")
        print_reasons(out, self.reasons, lead="", style=None)
        hint = f"all of them are in {self._path}" if self._path else "keep them with --rejected FILE"
        out.print(f"  {hint}")

    def leave(self, accepted: int, fail_on: FailOn) -> None:
        """End the command when so much was rejected that it counts as failed."""
        leave_if_rejected(fail_on, rejected=self.count, is_all=not accepted)


def describe(record: Mapping[str, Any]) -> str:
    """Where a rejected record stands, and its first fault."""
    first, *others = record["faults"]
    line = record.get("line")
    parts = (record.get("file"), line, first.get("column") if line is not None else None)
    place = ":".join(str(part) for part in parts if part is not None)
    if record.get("origin"):  # the file that it landed in is gone by now
        place = f"source {record['origin']}"
    contract = f"contract {record['contract']}" if record.get("contract") else ""
    where = ", ".join(part for part in (place, contract, _identity(record) if contract else "") if part)
    subject = f"{first['path']} " if first["path"] else ""
    more = f" (and {len(others)} more)" if others else ""
    return f"{f'{where}: ' if where else ''}{subject}{first['reason']} [{first['code']}]{more}"


def _identity(record: Mapping[str, Any]) -> str:
    """The id of an event that was one, until a mapping refused it."""
    try:
        return f"event {json.loads(record['raw'])['id']}"
    except (ValueError, LookupError, TypeError):
        return ""
