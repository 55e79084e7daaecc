"""`comity detect`: composite profiles over events."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer

from comity.cli.counts import print_counts
from comity.cli.detect.request import DetectRequest
from comity.cli.detect.stream import run_detect_stream
from comity.cli.match import Engine
from comity.cli.output import console, refuse_overwriting, result_stream
from comity.cli.rejected import FailOn, FailOnOption, RejectedRecords
from comity.cli.session import Format, FormatOption, Session, TypesOption, read_types
from comity.cli.spark import SparkConfigOption, on_spark, read_spark_config, spark_progress, start_spark
from comity.cli.stream import StreamPace
from comity.errors import Misuse

if TYPE_CHECKING:
    from comity.event.taxonomy import Taxonomy
    from comity.pattern.bound import BoundPattern
    from comity.pattern.rows import Found

EXAMPLE = "Example:  comity detect profiles.txt events.jsonl --until 2026-05-01T12:00:00Z"

_IDLE_S = 0.2


class Reports(Protocol):
    """What an engine finds. The figures are complete once the last report was taken."""

    @property
    def events(self) -> int:
        """Events that were looked at, without the rejected records."""

    @property
    def late(self) -> int:
        """Events that came too late to take part."""

    def found(self) -> Iterator[Found]:
        """The reports."""


def detect(
    context: typer.Context,
    profiles: Annotated[
        Path,
        typer.Argument(
            metavar="PROFILES",
            help="Composite profiles: text, RDL or YAML. Simple profiles with a type are taken, too.",
            show_default=False,
        ),
    ],
    events: Annotated[
        str,
        typer.Argument(
            metavar="EVENTS",
            help="Events with times: JSON Lines, CSV, Parquet, XML or Avro, a file, a folder, or - for standard input.",
            show_default=False,
        ),
    ],
    types: TypesOption = None,
    engine: Annotated[Engine, typer.Option(help="In this process, or on Spark.")] = Engine.LOCAL,
    stream: Annotated[
        bool, typer.Option("--stream", help="Report while events come: - with the local engine, a folder on Spark.")
    ] = False,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Silences start there.", show_default=False)
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How far the input was observed; nothing after it.", show_default=False),
    ] = None,
    lateness: Annotated[
        str, typer.Option(metavar="DURATION", help="With --stream: how far events may be out of order.")
    ] = "0 s",
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Of Spark; without it, on this machine.", show_default=False)
    ] = None,
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
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Write reports to a file; of a stream on Spark, a folder.", show_default=False
        ),
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Print reports per profile and in total.")] = False,
    rejected: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write records that are no events there.", show_default=False)
    ] = None,
    fail_on: FailOnOption = FailOn.ALL,
    format: FormatOption = Format.TEXT,
) -> None:
    """Detect composite events.

    Prints a line for each report: `{"profile": …, "id": …, "start": …, "end": …, "events": {operand: event id}}`.
    Stored events are complete: absences that reach past the last one are reported, unless --until says how far the
    input was observed.
    """
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
        out,
        master,
        read_spark_config(spark_config),
        format,
        context.ensure_object(Session),
        fail_on,
    )
    if stream and engine is Engine.SPARK:
        _refuse({"--until": until, "--count": count, "--rejected": rejected, "--clock": clock})
        run_detect_stream(request, StreamPace(trigger, until_empty, files_per_batch))
    else:
        _run(request, engine, rejected, count=count)


def _run(request: DetectRequest, engine: Engine, rejected: Path | None, *, count: bool) -> None:
    """Print the reports, and what there was beside them."""
    with ExitStack() as stack:
        sink = None if count and request.out is None else stack.enter_context(result_stream(request.out))
        refused = stack.enter_context(RejectedRecords.into(rejected))
        reports: Reports
        reports = _SparkReports(request, refused) if engine is Engine.SPARK else _LocalReports(request, refused)
        counts = _write(reports.found(), sink, flush=request.lateness_us is not None)
    refused.report(reports.events, request.format)
    if reports.late:
        came = "1 event" if reports.late == 1 else f"{reports.late:,} events"
        console(stderr=True).print(f"{came} came too late, see --lateness", style="yellow")
    if count:
        figures = {"events": reports.events, "late": reports.late, "rejected": refused.count}
        print_counts(counts, [one.name for one in request.patterns], figures, request.format)
    refused.leave(reports.events, request.fail_on)


def _patterns(path: Path, taxonomy: Taxonomy | None, *, stream: bool) -> list[BoundPattern]:
    """The composite profiles of a file, bound; of a stream, such as can run for ever."""
    from comity.pattern.bounds import check_bounded
    from comity.profile.patterns import read_bound_patterns

    found = read_bound_patterns(path, taxonomy)
    if stream:
        check_bounded(found)
    return found


def _refuse(given: Mapping[str, object]) -> None:
    """Refuse options that say nothing to a stream on Spark, rather than pass over them."""
    for option, value in given.items():
        if value:
            hint = "its reports, rejected records and late events are in the folder that --out names"
            raise Misuse(f"a stream on Spark has no {option}", code="bad-usage", hint=hint)


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


class _LocalReports:
    """Detection in this process."""

    def __init__(self, request: DetectRequest, refused: RejectedRecords) -> None:
        from comity.engine.detect import Detection

        self._request = request
        self._detection = Detection(
            request.patterns,
            request.taxonomy,
            lambda record: refused.add(record.as_dict()),
            request.start_us,
            request.until_us,
        )

    @property
    def events(self) -> int:
        return self._detection.events

    @property
    def late(self) -> int:
        return self._detection.late

    def found(self) -> Iterator[Found]:
        from comity.event.files import read_events

        request = self._request
        records = read_events(request.events, request.taxonomy, require_time=True)
        if request.lateness_us is not None:
            clock = _clock_us if request.clock else None
            return self._detection.over_stream(as_they_come(records), request.lateness_us, clock)
        return self._scanned() or self._detection.over_stored(records)

    def _scanned(self) -> Iterator[Found] | None:
        """The reports over files that are better scanned; None when these are not such."""
        from comity.engine.detect_files import ScannedDetection, can_scan
        from comity.event.files import event_files

        files = [] if self._request.events == "-" else event_files(Path(self._request.events))
        if self._request.taxonomy is None or not files or not can_scan(files):
            return None
        return ScannedDetection(self._detection, self._request.taxonomy).over_files(files)


def _clock_us() -> int:
    return time.time_ns() // 1000


T = TypeVar("T")


def as_they_come(items: Iterable[T]) -> Iterator[T | None]:
    """The items, and None whenever there is none for a moment."""
    waiting: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=10_000)

    def read() -> None:
        try:
            for item in items:
                waiting.put(("item", item))
            waiting.put(("end", None))
        except Exception as error:  # it is raised again where the items are taken
            waiting.put(("error", error))

    threading.Thread(target=read, name="comity-reader", daemon=True).start()
    while True:
        try:
            what, item = waiting.get(timeout=_IDLE_S)
        except queue.Empty:
            yield None
            continue
        if what == "end":
            return
        if what == "error":
            raise item
        yield item


class _SparkReports:
    """Detection on Spark."""

    def __init__(self, request: DetectRequest, refused: RejectedRecords) -> None:
        from comity.event.files import event_files
        from comity.pipeline.detect.run import detect_on_spark

        if request.events == "-":
            hint = "put the events into a file, or use --engine local"
            raise Misuse("Spark does not read standard input", code="no-standard-input", hint=hint)
        self._files = [str(path.resolve()) for path in event_files(Path(request.events))]
        self._spark = start_spark(request.session, request.master, files=self._files, config=request.spark_config)
        self._reports = detect_on_spark(
            request.patterns,
            self._files,
            request.taxonomy,
            self._spark,
            until=request.until_us,
            start=request.start_us,
        )
        self._refused, self._format = refused, request.format

    @property
    def events(self) -> int:
        return self._reports.events

    @property
    def late(self) -> int:
        return self._reports.late

    def found(self) -> Iterator[Found]:
        with spark_progress(self._spark, self._files, self._format):
            found = on_spark(self._spark, lambda: list(self._reports.found()))
        found.sort(key=lambda one: (one.end, one.profile, one.start, one.id))
        for record in self._reports.rejected:
            self._refused.add(record)
        yield from found


def _write(found: Iterable[Found], sink: IO[bytes] | None, *, flush: bool) -> Counter[str]:
    """Write a line for each report; gives how many each profile has."""
    counts: Counter[str] = Counter()
    for report in found:
        counts[report.profile] += 1
        if sink is not None:
            sink.write(report.as_json() + b"\n")
            if flush:
                sink.flush()
    return counts
