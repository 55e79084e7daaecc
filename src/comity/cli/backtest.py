"""`comity backtest`: what a profile would have sent over stored events."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.options import FederationArgument, MasterOption, OverwriteOption, SinceOption, UntilOption, option
from comity.cli.output import console, write_json
from comity.cli.rejected import FailOn, FailOnOption, leave_if_rejected, print_reasons
from comity.cli.screen import Screen
from comity.cli.session import Format, FormatOption, Session
from comity.cli.spark import spark_options
from comity.run.request import Engine

if TYPE_CHECKING:
    from rich.console import Console

    from comity.plan.backtest import BacktestReport

EXAMPLE = "Example:  comity backtest examples/two_houses --profile serious_fires --events examples/two_houses/events"

ASCII_BLOCKS = " .:#"
"""For a terminal that has no ▁ to █."""
_PLAIN_COLUMNS = 72


def backtest(
    context: typer.Context,
    federation: FederationArgument,
    profile: Annotated[str, option("NAME", "The profile.")],
    events: Annotated[str, option("PATH", "Stored events, as for `run`.")],
    since: SinceOption = None,
    until: UntilOption = None,
    domain: Annotated[str | None, option("NAME", "For a profile that is in no file: whose.")] = None,
    on: Annotated[str | None, option("TYPE", "The type that it is about, or a pattern.")] = None,
    where: Annotated[str | None, option("FILTER", "Try this filter; no file changes.")] = None,
    engine: Annotated[Engine, typer.Option(help="Spark, or this process.")] = Engine.SPARK,
    master: MasterOption = None,
    out: Annotated[Path | None, option("DIR", "Keep the notifications in a folder.")] = None,
    overwrite: OverwriteOption = False,
    bucket: Annotated[str | None, option("LENGTH", "Interval of the chart, for example 1h.")] = None,
    fail_on: FailOnOption = FailOn.ALL,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show what a profile would have sent over stored events.

    The profile is one of the federation's, perhaps with another filter (--where), or a new one (--domain, --on and
    --where). TIME is 2026-01-31 or 2026-01-31T12:00:00Z. With --out the notifications are kept as
    `run` keeps them, and `run --stream` on the same folder does not send them again.
    """
    from comity.plan.backtest import read_bucket
    from comity.plan.period import read_period
    from comity.run.backtest import BacktestRequest, run_backtest, with_profile

    period = read_period(since, until)
    request = BacktestRequest(
        federation=with_profile(federation, profile, domain, on, where),
        profile=profile,
        events=events,
        period=period,
        bucket_s=read_bucket(bucket) if bucket is not None else None,
        out=out,
        overwrite=overwrite,
        spark=spark_options(context.ensure_object(Session), master),
    )
    tally, summary = run_backtest(request, engine, Screen(format))
    width = _columns()
    report = tally.report(records=summary.records, reasons=summary.reasons, period=period, columns=width)
    if format is Format.JSON:
        write_json({**report.as_dict(), "out": str(out) if out else None}, indent=2)
    else:
        _print(console(), report, width)
        _print_next(federation, events, out, is_new=where is not None)
    leave_if_rejected(fail_on, rejected=summary.rejected, is_all=summary.is_all_rejected)


def _columns() -> int:
    """The width of the terminal, or a plain one."""
    shown = console()
    return max(20, shown.width - 2) if shown.is_terminal else _PLAIN_COLUMNS


def _print(shown: Console, report: BacktestReport, width: int) -> None:
    from comity.event.times import format_timestamp
    from comity.plan.backtest import BLOCKS, length

    rejected = f", {report.rejected:,} rejected" if report.rejected else ""
    shown.print(f"{report.profile} would have sent {report.sent:,} notifications", style="bold")
    shown.print(f"{report.records:,} records read{rejected}; {100 * report.share:.3g} % of them sent")
    for way in report.ways:
        by = f"by contract {way.contract}" if way.contract else "in its own domain"
        shown.print(f"  {way.source} {by}: {way.sent:,}")
    print_reasons(shown, report.reasons)
    if report.first is None or report.last is None or report.busiest is None:
        return
    shown.print(f"first {format_timestamp(report.first)}, last {format_timestamp(report.last)}")
    rate = f"{report.per_day:,.4g} a day, " if report.per_day is not None else ""
    begin, most = report.busiest
    shown.print(f"{rate}at most {most:,} in {length(report.bucket_s)}, from {format_timestamp(begin)} on")
    shown.print()
    for line in report.chart(width, BLOCKS if _speaks_unicode() else ASCII_BLOCKS):
        shown.print(line)
    shown.print()
    shown.print("for example")
    for example in report.examples:
        shown.print(f"  {json.dumps(example, ensure_ascii=False)}")


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


def _print_next(federation: Path, events: str, out: Path | None, *, is_new: bool) -> None:
    shown = console(stderr=True)
    if is_new:
        shown.print(f"next: add it to the files, `comity profiles add {federation} …`", style="dim")
    if out is not None:
        command = shlex.join(["comity", "run", str(federation), "--events", events, "--out", str(out), "--stream"])
        shown.print(
            f"the notifications are in {out}; `{command}` goes on live and sends none of them again", style="dim"
        )
    elif not is_new:
        shown.print("next: keep the notifications with --out DIR, then `comity run --stream --out DIR`", style="dim")
