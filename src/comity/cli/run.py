"""`comity run`: a federation over stored events."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption, Session

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
    format: FormatOption = Format.TEXT,
) -> None:
    """Deliver events to the subscribers of a federation.

    Writes DIR/SUBSCRIBER/part-*.jsonl, each event in the subscriber's own type and units, and DIR/rejected with every
    record that does not fit, and why.
    """
    from comity.connect.folder import prepare_folder
    from comity.event.files import event_files
    from comity.federation import load
    from comity.plan import compile_plan

    found = load(federation)
    plan = compile_plan(found)
    files = [str(path) for path in event_files(events)]
    prepare_folder(out, overwrite=overwrite)
    started = time.monotonic()
    if engine is Engine.SPARK:
        summary = _on_spark(plan, files, out, master, context.ensure_object(Session))
    else:
        from comity.engine import run_into_folder
        from comity.event.files import read_events

        summary = run_into_folder(plan, read_events(events, found.find_type, require_time=True), out)
    show_summary(summary, plan, out, time.monotonic() - started, format)


def _on_spark(plan: Plan, files: list[str], out: Path, master: str | None, session: Session) -> Summary:
    from comity.pipeline.run import run_on_spark
    from comity.pipeline.session import spark_session

    with console(stderr=True).status("starting Spark") as status:
        spark = spark_session(master, verbose=session.verbose)
        status.update(f"running on {spark.sparkContext.master}")
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
