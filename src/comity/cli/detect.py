"""`comity detect`: composite profiles over events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from comity.cli.counts import print_counts
from comity.cli.match import EngineOption
from comity.cli.options import MasterOption, RejectedOption, argument, option
from comity.cli.output import console, refuse_overwriting, result_stream
from comity.cli.rejected import FailOn, FailOnOption, RejectedRecords, leave_if_rejected
from comity.cli.screen import Screen
from comity.cli.session import Format, FormatOption, Session, TypesOption, read_types
from comity.cli.spark import SparkConfigOption, spark_options
from comity.cli.stream import StreamScreen
from comity.errors import Misuse
from comity.run.request import Engine, StreamPace

if TYPE_CHECKING:
    from comity.event.taxonomy import Taxonomy
    from comity.pattern.bound import BoundPattern
    from comity.run.detect import DetectRequest, Reports

EXAMPLE = "Example:  comity detect profiles.txt events.jsonl --until 2026-05-01T12:00:00Z"


def detect(
    context: typer.Context,
    profiles: Annotated[
        Path, argument("PROFILES", "Composite profiles: text, RDL or YAML. Simple profiles with a type are taken, too.")
    ],
    events: Annotated[
        str,
        argument(
            "EVENTS",
            "Events with times: JSON Lines, CSV, Parquet, XML or Avro, a file, a folder, or - for standard input.",
        ),
    ],
    types: TypesOption = None,
    engine: EngineOption = Engine.LOCAL,
    stream: Annotated[
        bool, typer.Option("--stream", help="Report while events come: - with the local engine, a folder on Spark.")
    ] = False,
    begin: Annotated[str | None, option("TIME", "Silences start there.", "--from")] = None,
    until: Annotated[str | None, option("TIME", "How far the input was observed; nothing after it.")] = None,
    lateness: Annotated[
        str, typer.Option(metavar="DURATION", help="With --stream: how far events may be out of order.")
    ] = "0 s",
    master: MasterOption = None,
    spark_config: SparkConfigOption = None,
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="With --stream on Spark: end when all is read.")
    ] = False,
    trigger: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="With --stream on Spark: time between batches.")
    ] = 1.0,
    files_per_batch: Annotated[
        int, typer.Option(min=1, help="With --stream on Spark: files in a batch at the most.")
    ] = 100,
    clock: Annotated[
        bool, typer.Option("--clock", help="With --stream in this process: time passes by the clock, too.")
    ] = False,
    out: Annotated[Path | None, option("PATH", "Write reports to a file; of a stream on Spark, a folder.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Print reports per profile and in total.")] = False,
    rejected: RejectedOption = None,
    fail_on: FailOnOption = FailOn.ALL,
    format: FormatOption = Format.TEXT,
) -> None:
    """Detect composite events.

    Prints a line for each report: `{"profile": …, "id": …, "start": …, "end": …, "events": {operand: event id}}`.
    Stored events are complete: absences that reach past the last one are reported, unless --until says how far the
    input was observed.
    """
    from comity.run.detect import DetectRequest, LocalReports, SparkDetection

    for output in (out, rejected):
        refuse_overwriting(output, profiles, events)
    taxonomy = read_types(types) if types else None
    request = DetectRequest(
        profiles,
        _patterns(profiles, taxonomy, stream=stream),
        events,
        taxonomy,
        _micros(begin),
        _micros(until),
        _lateness(lateness) if stream else None,
        clock,
        spark_options(context.ensure_object(Session), master, spark_config),
    )
    if stream and engine is Engine.SPARK:
        _refuse({"--until": until, "--count": count, "--rejected": rejected, "--clock": clock})
        _run_stream(request, out, StreamPace(trigger, until_empty, files_per_batch), fail_on, format)
        return
    with ExitStack() as stack:
        sink = None if count and out is None else stack.enter_context(result_stream(out))
        refused = stack.enter_context(RejectedRecords.into(rejected))
        reports: Reports
        if engine is Engine.SPARK:
            reports = SparkDetection(request, refused.add, Screen(format))
        else:
            reports = LocalReports(request, refused.add)
        counts = _write(reports.told(), sink, flush=stream)
    refused.report(reports.events, format)
    if reports.late:
        came = "1 event" if reports.late == 1 else f"{reports.late:,} events"
        console(stderr=True).print(f"{came} came too late, see --lateness", style="yellow")
    if count:
        figures = {"events": reports.events, "late": reports.late, "rejected": refused.count}
        print_counts(counts, [one.name for one in request.patterns], figures, format)
    refused.leave(reports.events, fail_on)


def _run_stream(request: DetectRequest, out: Path | None, pace: StreamPace, fail_on: FailOn, format: Format) -> None:
    from comity.run.detect_stream import run_detect_stream

    if out is None:
        hint = "name it with --out DIR; reports go to DIR/reports, late events to DIR/late"
        raise Misuse("a stream on Spark needs a folder for its results", code="no-out", hint=hint)
    with StreamScreen(format, "reports") as screen:
        totals = run_detect_stream(request, out, pace, screen)
    screen.show_totals(totals)
    if format is Format.TEXT:
        console().print(f"reports are in {out / 'reports'}")
    if pace.until_empty:
        leave_if_rejected(fail_on, rejected=totals.rejected, is_all=totals.records <= totals.rejected)


def _patterns(path: Path, taxonomy: Taxonomy | None, *, stream: bool) -> list[BoundPattern]:
    """The composite profiles of a file, bound; of a stream, such as can run for ever."""
    from comity.language.files import read_bound_patterns
    from comity.pattern.bounds import check_bounded

    found = read_bound_patterns(path, taxonomy)
    if stream:
        check_bounded(found)
    return found


def _refuse(given: Mapping[str, object]) -> None:
    """Refuse options that say nothing to a stream on Spark, rather than pass over them."""
    for name, value in given.items():
        if value:
            hint = "its reports, rejected records and late events are in the folder that --out names"
            raise Misuse(f"a stream on Spark has no {name}", code="bad-usage", hint=hint)


def _micros(text: str | None) -> int | None:
    from comity.pattern.occurrence import microseconds
    from comity.plan.period import read_instant

    return None if text is None else microseconds(read_instant(text))


def _lateness(text: str) -> int:
    from comity.event.times import parse_duration

    found = parse_duration(text)
    if found is None or found.total_seconds() < 0:
        raise Misuse(f"{text[:40]!r} is no duration", code="bad-duration", hint="write --lateness '10 s'")
    return round(found.total_seconds() * 1_000_000)


def _write(told: Iterable[tuple[Mapping[str, int], bytes]], sink: IO[bytes] | None, *, flush: bool) -> Counter[str]:
    """Write a line for each report; gives how many each profile has."""
    counts: Counter[str] = Counter()
    for some, lines in told:
        counts.update(some)
        if sink is not None:
            sink.write(lines)
            if flush:
                sink.flush()
    return counts
