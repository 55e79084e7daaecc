"""`comity backtest`: what a profile would have sent over stored events."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.options import FederationArgument, MasterOption, OverwriteOption, SinceOption, UntilOption, option
from comity.cli.output import console, write_json
from comity.cli.rejected import FailOn, FailOnOption, leave_if_rejected, print_reasons
from comity.cli.screen import Screen
from comity.cli.session import Format, FormatOption, Session
from comity.cli.spark import spark_options
from comity.errors import Misuse
from comity.run.request import Engine

if TYPE_CHECKING:
    from rich.console import Console

    from comity.federation import Federation
    from comity.plan.backtest import BacktestReport, Tally

EXAMPLE = "Example:  comity backtest examples/two_houses --profile serious_fires --events examples/two_houses/events"

ASCII_BLOCKS = " .:#"
"""For a terminal that has no ▁ to █."""
_PLAIN_COLUMNS = 72


def backtest(
    context: typer.Context,
    federation: FederationArgument,
    profile: Annotated[str, option("NAME", "The profile.")],
    events: Annotated[Path, option("PATH", "Stored events, as for `run`.")],
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
    from comity.connect.claim import claimed_folder
    from comity.engine import run_into_folder
    from comity.event.owners import ANYBODY
    from comity.plan import compile_plan
    from comity.plan.backtest import Tally, backtest_plan, read_bucket
    from comity.plan.period import read_period
    from comity.run.sources import StoredFiles, files_for_spark
    from comity.run.stored import events_of, files_on_spark

    period = read_period(since, until)
    length_s = read_bucket(bucket) if bucket is not None else None
    found = _federation(federation, profile, domain, on, where)
    plan = backtest_plan(compile_plan(found), profile, period)
    tally = Tally(plan, profile, length_s, period.until)
    files = StoredFiles(
        files_for_spark(str(events)), ANYBODY
    )  # refuses what is not there, before the folder is touched
    screen = Screen(format)
    with claimed_folder(out, overwrite=overwrite) if out else nullcontext(), _working_folder(out) as folder:
        if engine is Engine.LOCAL:
            with screen.working(f"reading {events}"):
                summary = run_into_folder(plan, events_of(files, found.find_type), folder)
        else:
            summary = files_on_spark(plan, files, folder, spark_options(context.ensure_object(Session), master), screen)
        _tally(tally, folder, out)
    width = _columns()
    report = tally.report(records=summary.records, reasons=summary.reasons, period=period, columns=width)
    if format is Format.JSON:
        write_json({**report.as_dict(), "out": str(out) if out else None}, indent=2)
    else:
        _print(console(), report, width)
        _print_next(federation, events, out, is_new=where is not None)
    leave_if_rejected(fail_on, rejected=summary.rejected, is_all=summary.is_all_rejected)


def _federation(folder: Path, profile: str, domain: str | None, on: str | None, where: str | None) -> Federation:
    """The federation, with the profile as the options say; its files stay as they are."""
    from comity.federation import load
    from comity.federation.change import add, written
    from comity.federation.new_profile import NewProfile

    if domain is None and on is None and where is None:
        return load(folder)
    known = written(folder, profile)
    if known is None:
        if domain is None or on is None:
            hint = "a profile that is in no file needs --domain and --on"
            raise Misuse(f"there is no profile {profile[:60]!r}", code="unknown-profile", hint=hint)
        known = NewProfile(profile, domain, on)
    parameters = known.parameters if on is None else {}  # they are about the operands of the pattern that there was
    tried = replace(
        known,
        domain=domain or known.domain,
        on=on or known.on,
        where=(known.where if where is None else where).strip(),
        parameters=parameters,
    )
    return add(folder, [tried], replacing=True).federation


def _tally(tally: Tally, folder: Path, out: Path | None) -> None:
    """Count what a runner wrote into a folder, and keep it in another one, if there is one."""
    from comity.connect.folder import REJECTED
    from comity.connect.staged import staged_results

    names = tally.plan.subscribers
    with nullcontext() if out is None else staged_results(out, [*names, REJECTED]) as kept:
        for name in names:
            for line in _lines(folder / name):
                sent = tally.take(line)
                if kept is not None and sent is not None:
                    kept.put(name, sent)
        if kept is not None:
            for line in _lines(folder / REJECTED):
                kept.put(REJECTED, line)


@contextmanager
def _working_folder(out: Path | None) -> Iterator[Path]:
    """A folder that is gone afterwards, on the disk of the results: the workers of a cluster have to see it, too."""
    folder = Path(tempfile.mkdtemp(prefix=".backtest-", dir=out.resolve() if out else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _lines(folder: Path) -> Iterator[bytes]:
    for path in sorted(folder.glob("part-*.jsonl")):
        with path.open("rb") as stream:
            yield from (line.rstrip(b"\n") for line in stream)


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


def _print_next(federation: Path, events: Path, out: Path | None, *, is_new: bool) -> None:
    shown = console(stderr=True)
    if is_new:
        shown.print(f"next: add it to the files, `comity profiles add {federation} …`", style="dim")
    if out is not None:
        command = shlex.join(["comity", "run", str(federation), "--events", str(events), "--out", str(out), "--stream"])
        shown.print(
            f"the notifications are in {out}; `{command}` goes on live and sends none of them again", style="dim"
        )
    elif not is_new:
        shown.print("next: keep the notifications with --out DIR, then `comity run --stream --out DIR`", style="dim")
