"""`comity run`: a federation over stored events, or over a stream of them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.inputs import StoredFiles, event_sources, stored_files, with_kept
from comity.cli.logs import LogFormat, LogFormatOption, LogOption, logging_to
from comity.cli.metrics import LOOPBACK, MetricsFileOption, MetricsHostOption, MetricsOutput, MetricsPortOption
from comity.cli.output import console, write_json
from comity.cli.rejected import FailOn, FailOnOption, leave_if_rejected, print_reasons
from comity.cli.request import RunRequest, log_summary, sent
from comity.cli.session import Format, FormatOption, Session
from comity.cli.spark import SparkConfigOption, on_spark, read_spark_config, spark_progress, start_spark
from comity.cli.stream import StreamPace, run_stream
from comity.connect.claim import claimed_folder
from comity.connect.folder import Results
from comity.errors import Misuse
from comity.logs import log

if TYPE_CHECKING:
    from comity.federation import Federation
    from comity.plan import Plan, Summary
    from comity.plan.period import Period

EXAMPLE = "Example:  comity run examples/two_houses --events examples/two_houses/events --out results"


class Engine(StrEnum):
    """What runs the plan."""

    SPARK = "spark"
    LOCAL = "local"


def run(
    context: typer.Context,
    federation: Annotated[
        Path, typer.Argument(metavar="FEDERATION_DIR", help="Folder of YAML files.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.", show_default=False)],
    events: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Events: JSON Lines, CSV, Parquet, XML or Avro, a file or a directory, or - for standard input. "
            "May be repeated. "
            "Default: the sources of the domains.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="Spark, or this process.")] = Engine.SPARK,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark master; default: this machine.", show_default=False)
    ] = None,
    spark_config: SparkConfigOption = None,
    results: Annotated[Results, typer.Option(help="The form of the results.")] = Results.JSONL,
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Only events from this time on.", show_default=False)
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Only events before this time.", show_default=False)
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")] = False,
    print_lines: Annotated[
        bool, typer.Option("--print", help="Print notifications on standard output, too, a line each.")
    ] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Go on with events that come later.")] = False,
    until_empty: Annotated[bool, typer.Option("--until-empty", help="With --stream: end when all is read.")] = False,
    trigger: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="With --stream: time between batches.")
    ] = 1.0,
    files_per_batch: Annotated[int, typer.Option(min=1, help="With --stream: files in a batch at the most.")] = 100,
    metrics: MetricsFileOption = None,
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = LOOPBACK,
    log_file: LogOption = None,
    log_format: LogFormatOption = LogFormat.TEXT,
    fail_on: FailOnOption = FailOn.ALL,
    format: FormatOption = Format.TEXT,
) -> None:
    """Deliver events to the subscribers of a federation.

    Writes DIR/SUBSCRIBER/part-*.jsonl, each event in the subscriber's own type and units, and DIR/rejected with every
    record that does not fit, and why. Then sends them to the sinks that the subscribers' domains name. A stream writes
    DIR/SUBSCRIBER/batch-*.jsonl, goes on where it was stopped or killed, delivers each event once, also what an earlier
    run on the same folder delivered, and takes up changes of the federation's files.
    """
    from comity.federation import load
    from comity.plan.period import read_period

    found = load(federation)
    session = context.ensure_object(Session)
    request = RunRequest(
        federation,
        found,
        event_sources(found, federation, events),
        out.resolve(),
        master,
        read_spark_config(spark_config),
        results,
        print_lines,
        format,
        session,
        fail_on,
    )
    with (
        logging_to(log_file, log_format, verbose=session.verbose),
        MetricsOutput.into(found.name, file=metrics, port=metrics_port, host=metrics_host) as measured,
    ):
        if stream:
            _check_stream(engine, since, until)
            run_stream(request, StreamPace(trigger, until_empty, files_per_batch), measured, overwrite=overwrite)
        else:
            _run_stored(request, engine, read_period(since, until), measured, overwrite=overwrite)


def _check_stream(engine: Engine, since: str | None, until: str | None) -> None:
    if engine is not Engine.SPARK:
        raise Misuse("streams run on Spark", code="no-local-stream", hint="leave out --engine")
    if since or until:
        hint = "run the past first, without --stream; the stream then goes on in the same folder"
        raise Misuse("a stream has no --from and --to", code="no-stream-period", hint=hint)


def _run_stored(
    request: RunRequest, engine: Engine, period: Period, measured: MetricsOutput, *, overwrite: bool
) -> None:
    """Run over stored events. What can be refused is refused before the folder for results is touched."""
    from comity.plan import compile_plan
    from comity.plan.period import during

    federation, out = request.federation, request.out
    plan = during(compile_plan(federation), period)
    files = stored_files(request.sources, request.folder)
    with request.sending() as outbox, claimed_folder(out, overwrite=overwrite):
        files = with_kept(files, request.sources, request.folder, out)
        counted = {"files": len(files.paths), "profiles": len(plan.profiles)}
        log("run started", federation=federation.name, engine=engine.value, **counted)
        started = time.monotonic()
        if engine is Engine.SPARK:
            summary = _on_spark(plan, files, request)
        else:
            summary = _in_process(federation, plan, files, out, request.results)
        request.remember()
        summary = sent(outbox, summary)
    seconds = time.monotonic() - started
    log_summary("run done", summary, seconds=round(seconds, 3))
    measured.take(summary)
    show_summary(summary, plan, out, seconds, request.format, to_stderr=request.print_lines)
    leave_if_rejected(request.fail_on, rejected=summary.rejected, is_all=summary.is_all_rejected)


def _in_process(federation: Federation, plan: Plan, files: StoredFiles, out: Path, results: Results) -> Summary:
    from comity.engine import run_into_folder
    from comity.event.files import read_or_reject
    from comity.event.window import Window

    window = Window.of_history(datetime.now(UTC))
    types = {file: files.owners.types(file, federation.find_type) for file in files.paths}
    events = (one for file, own in types.items() for one in read_or_reject(file, own, window=window))
    return run_into_folder(plan, events, out, results=results)


def _on_spark(plan: Plan, files: StoredFiles, request: RunRequest) -> Summary:
    from comity.pipeline.run import run_on_spark

    spark = start_spark(request.session, request.master, files=files.paths, config=request.spark_config)
    with spark_progress(spark, files.paths, request.format):
        return on_spark(
            spark,
            lambda: run_on_spark(plan, files.paths, request.out, spark, results=request.results, owners=files.owners),
        )


def show_summary(
    summary: Summary, plan: Plan, out: Path, seconds: float, format: Format, *, to_stderr: bool = False
) -> None:
    """What a run did, for people or for programs."""
    if format is Format.JSON:
        figures = {"records": summary.records, "rejected": summary.rejected, "delivered": summary.delivered}
        more = {"matched": summary.matched, "rejected_by_code": summary.rejected_by_code, "dead_letters": summary.dead}
        why = {"reasons": summary.reasons.as_list()}
        write_json({**figures, **more, **why, "out": str(out), "seconds": round(seconds, 3)}, stderr=to_stderr)
        return
    shown = console(stderr=to_stderr)
    rate = f", {summary.records / seconds:,.0f} a second" if seconds > 0 and summary.records >= 100_000 else ""
    shown.print(f"{summary.records:,} records read, {summary.rejected:,} rejected, in {seconds:.1f} s{rate}")
    subscribers = plan.subscriber_of()
    told = sorted(summary.delivered.items(), key=lambda one: -one[1])[:_MOST_SHOWN]
    for name, count in told if len(summary.delivered) > _MOST_SHOWN else summary.delivered.items():
        shown.print(f"  {subscribers[name]}  {name}: {count:,}")
    if len(summary.delivered) > _MOST_SHOWN:
        rest = sum(summary.delivered.values()) - sum(count for _, count in told)
        shown.print(f"  … and {rest:,} for {len(summary.delivered) - _MOST_SHOWN:,} other profiles")
    print_reasons(shown, summary.reasons)
    for sink, count in summary.dead.items():
        shown.print(f"  {count:,} were not taken by {sink}: comity replay {out}", style="yellow")
    shown.print(f"results are in {out}")


_MOST_SHOWN = 50
"""Profiles that a summary shows; the busiest of them when there are more."""
