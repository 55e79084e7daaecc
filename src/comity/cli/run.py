"""`comity run`: a federation over stored events, or over a stream of them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.logs import LogFormat, LogFormatOption, LogOption, logging_to
from comity.cli.metrics import MetricsFileOption, MetricsHostOption, MetricsPortOption
from comity.cli.options import FederationPlace, MasterOption, OverwriteOption, SinceOption, UntilOption, option
from comity.cli.output import console, write_json
from comity.cli.rejected import FailOn, FailOnOption, leave_if_rejected, print_reasons
from comity.cli.session import Format, FormatOption, Session
from comity.cli.spark import SparkConfigOption, spark_options
from comity.cli.stream import StreamScreen
from comity.connect.destination import Destination
from comity.connect.folder import Results
from comity.connect.topics.place import read_config
from comity.errors import Misuse
from comity.limits import limited, limits
from comity.run.choice import EngineChoice
from comity.run.metrics import LOOPBACK
from comity.run.request import Engine, RunRequest, StreamPace
from comity.storage.access import StorageAccess

if TYPE_CHECKING:
    from comity.run.stored import StoredRun

EXAMPLE = "Example:  comity run examples/two_houses --events examples/two_houses/events --out results"


def run(
    context: typer.Context,
    federation: FederationPlace,
    out: Annotated[
        str,
        option("PLACE", "Folder for the results; for tables also an address, such as s3a://…; kafka://… for topics."),
    ],
    events: Annotated[
        list[str] | None,
        option(
            "PATH",
            "Events: JSON Lines, CSV, Parquet, XML or Avro, a file or a directory, also by an address (s3a://…) or by "
            "a pattern, or - for standard input. May be repeated. Default: the sources of the domains.",
        ),
    ] = None,
    engine: Annotated[
        EngineChoice, typer.Option(help="Spark, this process, or what is quicker for so many stored events.")
    ] = EngineChoice.SPARK,
    master: MasterOption = None,
    spark_config: SparkConfigOption = None,
    results: Annotated[Results, typer.Option(help="The form of the results.")] = Results.JSONL,
    typed: Annotated[
        bool, typer.Option("--typed", help="With Parquet and tables: apart by profile, an attribute a column.")
    ] = False,
    state: Annotated[
        Path | None, option("DIR", "With tables in a store, or topics: folder in which a stream keeps its position.")
    ] = None,
    kafka_config: Annotated[
        Path | None, option("FILE", "With topics: settings of the client, a line NAME=VALUE each.")
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    overwrite: OverwriteOption = False,
    print_lines: Annotated[
        bool, typer.Option("--print", help="Print notifications on standard output, too, a line each.")
    ] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Go on with events that come later.")] = False,
    until_empty: Annotated[bool, typer.Option("--until-empty", help="With --stream: end when all is read.")] = False,
    trigger: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="With --stream: time between batches.")
    ] = 1.0,
    files_per_batch: Annotated[int, typer.Option(min=1, help="With --stream: files in a batch at the most.")] = 100,
    remember: Annotated[
        str | None,
        option("DURATION", "With --stream: how long it is remembered what was delivered, as '30 d' (the default)."),
    ] = None,
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

    With --results delta it writes tables: PLACE/notifications, PLACE/rejected and PLACE/late, or, with --typed,
    PLACE/profiles/PROFILE in place of the first. With --results kafka it writes the topic of --out kafka://HOST:PORT/TOPIC.
    """
    from comity.federation import load
    from comity.plan.period import read_period
    from comity.run.live import run_live
    from comity.run.metrics import MetricsOutput
    from comity.run.sources import event_sources
    from comity.run.stored import run_stored
    from comity.run.stream import run_stream

    session = context.ensure_object(Session)
    spark = spark_options(session, master, spark_config)
    access = StorageAccess.of(spark.config)
    found = load(federation, access=access)
    folder = found.folder or Path()
    to = Destination.of(
        out, results, access, typed=typed, state=state, is_stream=stream, kafka=read_config(kafka_config)
    )
    request = RunRequest(
        folder,
        found,
        event_sources(found, folder, events, access),
        to.folder,
        overwrite,
        results,
        print_lines,
        spark,
        to.tables,
        to.is_typed,
        to.is_passing,
        to.topics,
    )
    with (
        limited(remember_days=limits().remember_days if remember is None else _days(remember)),
        logging_to(log_file, log_format, verbose=session.verbose),
        StreamScreen(format, to_stderr=print_lines) as screen,
        MetricsOutput.into(found.name, file=metrics, port=metrics_port, host=metrics_host, observer=screen) as measured,
    ):
        if stream:
            _check_stream(engine, since, until)
            stream_on = run_live if engine is EngineChoice.LOCAL else run_stream
            totals = stream_on(request, StreamPace(trigger, until_empty, files_per_batch), screen, measured)
        else:
            chosen = None if engine is EngineChoice.AUTO else Engine(engine)
            done = run_stored(request, chosen, read_period(since, until), screen)
            measured.take(done.summary)
    if not stream:
        show_run(done, format, to_stderr=print_lines)
        leave_if_rejected(fail_on, rejected=done.summary.rejected, is_all=done.summary.is_all_rejected)
        return
    screen.show_totals(totals)
    if until_empty:  # one that goes on for ever is stopped by somebody, which is no failure
        leave_if_rejected(fail_on, rejected=totals.rejected, is_all=totals.is_all_rejected)


def _check_stream(engine: EngineChoice, since: str | None, until: str | None) -> None:
    if engine is EngineChoice.AUTO:
        hint = "say --engine spark, or --engine local; a results folder stays with the one that began it"
        raise Misuse("nobody knows how many events a stream will have", code="no-stream-choice", hint=hint)
    if since or until:
        hint = "run the past first, without --stream; the stream then goes on in the same folder"
        raise Misuse("a stream has no --from and --to", code="no-stream-period", hint=hint)


def _days(text: str) -> int:
    """Whole days, the last of which may be begun."""
    from comity.event.times import parse_duration

    found = parse_duration(text)
    if found is None or not timedelta(0) < found <= timedelta(days=limits().max_age_days):
        hint = f"write --remember '30 d'; it may be up to {limits().max_age_days:,} days"
        raise Misuse(f"{text[:40]!r} is no duration to remember for", code="bad-duration", hint=hint)
    return -(-found // timedelta(days=1))


def show_run(done: StoredRun, format: Format, *, to_stderr: bool = False) -> None:
    """What a run did, for people or for programs."""
    summary, out, seconds = done.summary, done.out, done.seconds
    if format is Format.JSON:
        figures = {"records": summary.records, "rejected": summary.rejected, "delivered": summary.delivered}
        more = {"matched": summary.matched, "rejected_by_code": summary.rejected_by_code, "dead_letters": summary.dead}
        why = {"reasons": summary.reasons.as_list()}
        how = {"engine": done.engine.value, "about_engine": done.about_engine}
        write_json({**figures, **more, **why, "out": str(out), "seconds": round(seconds, 3), **how}, stderr=to_stderr)
        return
    shown = console(stderr=to_stderr)
    rate = f", {summary.records / seconds:,.0f} a second" if seconds > 0 and summary.records >= 100_000 else ""
    shown.print(f"{summary.records:,} records read, {summary.rejected:,} rejected, in {seconds:.1f} s{rate}")
    subscribers = done.plan.subscriber_of()
    told = sorted(summary.delivered.items(), key=lambda one: -one[1])[:_MOST_SHOWN]
    for name, count in told if len(summary.delivered) > _MOST_SHOWN else summary.delivered.items():
        shown.print(f"  {subscribers[name]}  {name}: {count:,}")
    if len(summary.delivered) > _MOST_SHOWN:
        rest = sum(summary.delivered.values()) - sum(count for _, count in told)
        shown.print(f"  … and {rest:,} for {len(summary.delivered) - _MOST_SHOWN:,} other profiles")
    print_reasons(shown, summary.reasons)
    for sink, count in summary.dead.items():
        shown.print(f"  {count:,} were not taken by {sink}: comity replay {out}", style="yellow")
    if done.about_engine is not None:
        by = "this process" if done.engine is Engine.LOCAL else "Spark"
        shown.print(f"by {by}; {done.about_engine}", style="dim")
    shown.print(f"results are in {out}")


_MOST_SHOWN = 50
"""Profiles that a summary shows; the busiest of them when there are more."""
