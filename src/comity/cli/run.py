"""`comity run`: a federation over stored events."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption, Session
from comity.cli.spark import start_spark
from comity.errors import Misuse

if TYPE_CHECKING:
    from comity.plan import Plan, Summary

EXAMPLE = "Example:  comity run examples/active_city --events examples/active_city/events --out results"


class Engine(StrEnum):
    """What runs the plan."""

    SPARK = "spark"
    LOCAL = "local"


def run(
    context: typer.Context,
    federation: Annotated[
        Path, typer.Argument(metavar="FEDERATION_DIR", help="Folder of YAML files.", show_default=False)
    ],
    events: Annotated[
        Path,
        typer.Option(metavar="PATH", help="JSON Lines of CloudEvents: a file, .gz or a directory.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.", show_default=False)],
    engine: Annotated[Engine, typer.Option(help="Spark, or this process.")] = Engine.SPARK,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark master; default: this machine.", show_default=False)
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Go on with files that are added to PATH.")] = False,
    until_empty: Annotated[bool, typer.Option("--until-empty", help="With --stream: end when all is read.")] = False,
    trigger: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="With --stream: time between batches.")
    ] = 1.0,
    files_per_batch: Annotated[int, typer.Option(min=1, help="With --stream: files in a batch at the most.")] = 100,
    format: FormatOption = Format.TEXT,
) -> None:
    """Deliver events to the subscribers of a federation.

    Writes DIR/SUBSCRIBER/part-*.jsonl, each event in the subscriber's own type and units, and DIR/rejected with every
    record that does not fit, and why. A stream writes DIR/SUBSCRIBER/batch-*.jsonl, goes on where it was stopped or
    killed, delivers each event once, and takes up changes of the federation's files.
    """
    if stream:
        _run_stream(
            context, federation, events, out, engine, master, overwrite, trigger, until_empty, files_per_batch, format
        )
        return
    from comity.connect.folder import prepare_folder
    from comity.event.files import event_files
    from comity.federation import load
    from comity.plan import compile_plan

    found = load(federation)
    plan = compile_plan(found)
    files = [str(path.resolve()) for path in event_files(events)]
    out = out.resolve()
    prepare_folder(out, overwrite=overwrite)
    started = time.monotonic()
    if engine is Engine.SPARK:
        summary = _on_spark(plan, files, out, master, context.ensure_object(Session))
    else:
        from comity.engine import run_into_folder
        from comity.event.files import read_events

        summary = run_into_folder(plan, read_events(events, found.find_type, require_time=True), out)
    show_summary(summary, plan, out, time.monotonic() - started, format)


def _run_stream(
    context: typer.Context,
    federation: Path,
    events: Path,
    out: Path,
    engine: Engine,
    master: str | None,
    overwrite: bool,
    trigger: float,
    until_empty: bool,
    files_per_batch: int,
    format: Format,
) -> None:
    from comity.cli.stream import run_stream
    from comity.connect.folder import prepare_folder

    if engine is not Engine.SPARK:
        raise Misuse("streams run on Spark", code="no-local-stream", hint="leave out --engine")
    if overwrite or not (out / ".checkpoint").is_dir():
        prepare_folder(out, overwrite=overwrite)
    run_stream(
        federation,
        events.resolve(),
        out.resolve(),
        master=master,
        trigger_s=trigger,
        until_empty=until_empty,
        files_per_batch=files_per_batch,
        format=format,
        session=context.ensure_object(Session),
    )


def _on_spark(plan: Plan, files: list[str], out: Path, master: str | None, session: Session) -> Summary:
    from comity.pipeline.run import run_on_spark

    spark = start_spark(session, master, files=files)
    with console(stderr=True).status(f"running on {spark.sparkContext.master}"):
        return run_on_spark(plan, files, out, spark)


def show_summary(summary: Summary, plan: Plan, out: Path, seconds: float, format: Format) -> None:
    """What a run did, for people or for programs."""
    if format is Format.JSON:
        figures = {"records": summary.records, "rejected": summary.rejected, "delivered": summary.delivered}
        write_json({**figures, "out": str(out), "seconds": round(seconds, 3)})
        return
    shown = console()
    shown.print(f"{summary.records:,} records read, {summary.rejected:,} rejected, in {seconds:.1f} s")
    subscribers = {one.profile: one.subscriber for route in plan.routes for one in route.deliveries}
    for name, count in summary.delivered.items():
        shown.print(f"  {subscribers[name]}  {name}: {count:,}")
    shown.print(f"results are in {out}")
