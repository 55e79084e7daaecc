"""`comity demo`: the Active City, told as a story."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.output import console
from comity.cli.run import Engine
from comity.cli.session import Session
from comity.cli.spark import start_spark

if TYPE_CHECKING:
    from rich.console import Console

    from comity.event.types import EventType
    from comity.federation import Federation
    from comity.plan import Plan

EXAMPLE = "Example:  comity demo --engine local"


def demo(
    context: typer.Context,
    engine: Annotated[Engine, typer.Option(help="Spark, or this process.")] = Engine.SPARK,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the results in this folder.", show_default=False)
    ] = None,
) -> None:
    """Run the Active City: two houses, one contract, a fire station.

    Shows what each house sent in its own terms, and what the fire station received in its own.
    """
    from comity.connect.folder import prepare_folder
    from comity.federation import load
    from comity.plan import compile_plan

    example = example_folder()
    federation = load(example)
    plan = compile_plan(federation)
    results = out or Path(tempfile.mkdtemp(prefix="comity-demo-"))
    try:
        prepare_folder(results, overwrite=True)
        shown = console()
        _tell_what_was_sent(shown, federation, example)
        _tell_what_was_asked(shown, federation)
        started = time.monotonic()
        where = _deliver(federation, plan, example / "events", results, engine, context.ensure_object(Session))
        _tell_what_arrived(shown, federation, plan, results)
        shown.print(f"\nThis ran on {where} in {time.monotonic() - started:.1f} s.", style="dim")
        next_step = f"Results: {out}" if out else "What now?  comity run --help,  docs/tutorial/active-city.md"
        shown.print(next_step, style="dim")
    finally:
        if out is None:
            shutil.rmtree(results, ignore_errors=True)


def example_folder() -> Path:
    """The example that comes with the package, or with its source tree."""
    package = Path(__file__).parents[1]
    inside, beside = package / "examples" / "active_city", package.parents[1] / "examples" / "active_city"
    return inside if inside.is_dir() else beside


def _deliver(federation: Federation, plan: Plan, events: Path, results: Path, engine: Engine, session: Session) -> str:
    """Run the plan; gives the name of what ran it."""
    if engine is Engine.LOCAL:
        from comity.engine import run_into_folder
        from comity.event.files import read_events

        run_into_folder(plan, read_events(events, federation.find_type, require_time=True), results)
        return "the in-process engine"
    from comity.event.files import event_files
    from comity.pipeline.run import run_on_spark

    files = [str(file) for file in event_files(events)]
    spark = start_spark(session, files=files)
    with console(stderr=True).status("delivering"):
        run_on_spark(plan, files, results, spark)
    return f"Spark {spark.version} ({spark.sparkContext.master})"


def _tell_what_was_sent(shown: Console, federation: Federation, example: Path) -> None:
    shown.print("The Active City\n", style="bold")
    for file in sorted((example / "events").glob("*.jsonl")):
        shown.print(f"{file.stem} sent, in its own types and units:", style="bold cyan")
        for record in _lines(file):
            shown.print(f"  {_told(record, federation.find_type(record.get('type', '')))}")


def _tell_what_was_asked(shown: Console, federation: Federation) -> None:
    for contract in federation.contracts.values():
        members, observers = ", ".join(contract.members), ", ".join(contract.observers)
        shown.print(f"\nThe contract `{contract.name}` joins {members}; {observers} observes it.", style="bold")
    for profile in federation.profiles.values():
        shown.print(f"  {profile.domain} wants {profile.name}: {profile.type.name} where {profile.text}")


def _tell_what_arrived(shown: Console, federation: Federation, plan: Plan, results: Path) -> None:
    for subscriber in plan.subscribers:
        shown.print(f"\n{subscriber} received, in its own types and units:", style="bold green")
        received = [record for file in sorted((results / subscriber).glob("*.jsonl")) for record in _lines(file)]
        for record in sorted(received, key=lambda one: (one["time"], one["profile"])):
            shown.print(f"  {record['profile']:<14} {_told(record, federation.find_type(record['type']))}")
    shown.print("\nNothing is lost silently. Rejected, with the reason:", style="bold yellow")
    for file in sorted((results / "rejected").glob("*.jsonl")):
        for record in _lines(file):
            reasons = "; ".join(f"{one['path']} {one['reason']}".strip() for one in record["faults"])
            shown.print(f"  {reasons}: {record['raw'][:60]}…")


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            yield {"raw": line}


def _told(record: dict[str, Any], type: EventType | None) -> str:
    """An event in a line."""
    if "raw" in record:
        return f"(a damaged line) {record['raw'][:60]}…"
    name = record["type"].rpartition(".")[2]
    values = ", ".join(f"{key} {_value(value)}{_unit(type, key)}" for key, value in record["data"].items())
    return f"{record['time'][11:19]}  {name} {record['id']}: {values}"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return (
        ", ".join(f"{key} {_value(inner)}" for key, inner in value.items()) if isinstance(value, dict) else str(value)
    )


def _unit(type: EventType | None, key: str) -> str:
    declared = type.attribute_at((key,)) if type else None
    return f" {declared.unit}" if declared and declared.unit else ""
