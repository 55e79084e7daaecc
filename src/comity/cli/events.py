"""`comity events`: files of events in another form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from comity.cli.failure import BAD_INPUT
from comity.cli.options import RejectedOption, argument, group
from comity.cli.output import console, refuse_overwriting, result_stream
from comity.cli.rejected import RejectedRecords
from comity.cli.session import Format, FormatOption, TypesOption, read_types
from comity.errors import Misuse

if TYPE_CHECKING:
    from comity.event.event import Event
    from comity.event.taxonomy import Taxonomy

EXAMPLE = "Example:  comity events convert events.xml --types types.yaml --as jsonl --out events.jsonl"

app = group("Write files of events in another form.")


class EventForm(StrEnum):
    """The forms of event files that can be written."""

    JSONL = "jsonl"
    XML = "xml"
    AVRO = "avro"
    CSV = "csv"


@app.callback()
def events() -> None:
    """Write files of events in another form."""


@app.command(epilog=EXAMPLE)
def convert(
    source: Annotated[
        str, argument("EVENTS", "JSON Lines, CSV, XML, Parquet or Avro: a file, a directory, or - for standard input.")
    ],
    form: Annotated[EventForm, typer.Option("--as", help="The form to write.", show_default=False)],
    types: TypesOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there.", show_default="standard output")
    ] = None,
    rejected: RejectedOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Write events in another form.

    Texts of XML and CSV become numbers and times by the types; Avro and CSV can be written with types only. Records
    that are no events are left out and counted; then the exit code is 2.
    """
    from comity.event.files import read_events

    taxonomy = read_types(types) if types is not None else None
    refuse_overwriting(out, source, *([types] if types else []))
    with RejectedRecords.into(rejected) as refused:
        with result_stream(out) as stream:
            count = _write(_events(read_events(source, taxonomy), refused), form, taxonomy, stream)
        refused.report(count, format)
    if out is not None and format is Format.TEXT:
        console(stderr=True).print(f"{count:,} events written to {out}", style="dim")
    if refused.count:
        raise typer.Exit(BAD_INPUT)


def _events(records: Iterable[object], refused: RejectedRecords) -> Iterator[Event]:
    from comity.event.event import Event
    from comity.event.formats.jsonlines import Rejected

    for one in records:
        if isinstance(one, Event):
            yield one
        elif isinstance(one, Rejected):
            refused.add(one.as_dict())


def _write(events: Iterator[Event], form: EventForm, taxonomy: Taxonomy | None, stream: IO[bytes]) -> int:
    if form is EventForm.JSONL:
        from comity.event.formats.jsonlines import write_events

        return write_events(events, stream)  # type: ignore[arg-type]
    if form is EventForm.XML:
        return _write_xml(events, taxonomy, stream)
    if taxonomy is None:
        raise Misuse(f"{form.value} is written with types", code="bad-usage", hint="give them with --types FILE")
    return _write_avro(events, taxonomy, stream) if form is EventForm.AVRO else _write_csv(events, taxonomy, stream)


def _write_xml(events: Iterator[Event], taxonomy: Taxonomy | None, stream: IO[bytes]) -> int:
    from comity.event.formats.xml.write import HEAD, TAIL, encode_xml

    count = 0
    stream.write(HEAD)
    for event in events:
        count += 1
        stream.write(encode_xml(event, taxonomy.find(event.type) if taxonomy else None) + b"\n")
    stream.write(TAIL)
    return count


def _write_avro(events: Iterator[Event], taxonomy: Taxonomy, stream: IO[bytes]) -> int:
    from comity.event.formats.avro import write_avro_events

    return write_avro_events(events, taxonomy.types, stream)


def _write_csv(events: Iterator[Event], taxonomy: Taxonomy, stream: IO[bytes]) -> int:
    """A column for each attribute of any type; those named like the envelope have `data.` in front."""
    from comity.event.formats.csv import ENVELOPE_COLUMNS, encode_header, encode_row, read_header

    names = dict.fromkeys(name for one in taxonomy.types for name in one.attributes)
    columns = [*ENVELOPE_COLUMNS, *(f"data.{name}" if name in (*ENVELOPE_COLUMNS, "data") else name for name in names)]
    written = encode_header(columns)
    header = read_header(written)
    count = 0
    stream.write(written + b"\n")
    for event in events:
        count += 1
        stream.write(encode_row(event, header) + b"\n")
    return count
