"""`comity demo`: the Active City, told as a story."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.examples import EXAMPLES
from comity.cli.options import OverwriteOption, option
from comity.cli.output import console
from comity.cli.screen import Screen
from comity.cli.session import Session
from comity.cli.spark import spark_options
from comity.run.request import Engine

if TYPE_CHECKING:
    from rich.console import Console

    from comity.event.types import EventType
    from comity.federation import Federation
    from comity.plan import Plan

EXAMPLE = "Example:  comity demo --engine local"


def demo(
    context: typer.Context,
    engine: Annotated[Engine, typer.Option(help="Spark, as a stream, or this process.")] = Engine.SPARK,
    out: Annotated[Path | None, option("DIR", "Keep the results in this folder.")] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Run the Active City: streets that are federations, contracts of the city, and who observes them.

    Houses and services send events in their own terms, police, fire station and neighbours receive in their own what
    they asked for, and a stream on Spark is between them. At the end it shows what runs where for one profile.
    """
    from comity.connect.claim import claimed_folder
    from comity.federation import load
    from comity.plan import compile_plan

    example = EXAMPLES / "active_city"
    federation = load(example)
    plan = compile_plan(federation)
    results = out or Path(tempfile.mkdtemp(prefix="comity-demo-"))
    try:
        with claimed_folder(results, overwrite=overwrite):
            shown = console()
            shown.print("The Active City", style="bold")
            shown.print()
            _tell_what_was_asked(shown, federation)
            started = time.monotonic()
            story = _Story(shown, federation, plan, example, results)
            where = story.in_process() if engine is Engine.LOCAL else story.on_spark(context.ensure_object(Session))
            _tell_rejected(shown, results)
            _tell_explained(shown, plan, federation)
            shown.print()
            shown.print(f"This ran on {where} in {time.monotonic() - started:.1f} s.", style="dim")
            next_step = f"Results: {out}" if out else "What now?  comity examples two_houses,  comity run --help"
            shown.print(next_step, style="dim")
    finally:
        if out is None:
            shutil.rmtree(results, ignore_errors=True)


@dataclass(slots=True)
class _Story:
    """Sends the example's events, a few at a time, and tells what arrives."""

    shown: Console
    federation: Federation
    plan: Plan
    example: Path
    results: Path
    _told: dict[str, int] = field(default_factory=dict)
    """How much of what each subscriber received was told."""

    def on_spark(self, session: Session) -> str:
        """As a stream; gives the name of what ran it."""
        from comity.run.watched import watched_stream

        options, screen = spark_options(session), Screen(session.format)
        with (
            tempfile.TemporaryDirectory(prefix="comity-demo-events-") as folder,
            watched_stream(self.example, Path(folder), self.results, options, screen) as stream,
        ):
            for number, wave in enumerate(self._waves()):
                self._send(wave, Path(folder), number)
                with console(stderr=True).status("delivering"):
                    stream.wait()
                self._tell_what_arrived()
        return f"{stream.runner}, as a stream"

    def in_process(self) -> str:
        """All at once; gives the name of what ran it."""
        from comity.run.sources import files_for_spark
        from comity.run.stored import files_here

        for wave in self._waves():
            self._tell_what_was_sent(wave)
        files = files_for_spark(str(self.example / "events"))
        files_here(self.plan, files, self.results, self.federation)
        self._tell_what_arrived()
        return "the in-process engine"

    def _waves(self) -> Iterator[dict[str, list[str]]]:
        """The events by sender, those of the morning first, then the others."""
        files = sorted((self.example / "events").glob("*.jsonl"))
        lines = {file.stem: file.read_text(encoding="utf-8").splitlines() for file in files}
        for is_morning in (True, False):
            wave = {sender: [line for line in own if _is_morning(line) is is_morning] for sender, own in lines.items()}
            yield {sender: own for sender, own in wave.items() if own}

    def _send(self, wave: dict[str, list[str]], folder: Path, number: int) -> None:
        self._tell_what_was_sent(wave)
        partial = folder / f".{number}"  # a file appears when it is complete
        partial.write_text("".join(f"{line}\n" for own in wave.values() for line in own), encoding="utf-8")
        partial.rename(folder / f"{number}.jsonl")

    def _tell_what_was_sent(self, wave: dict[str, list[str]]) -> None:
        for sender, lines in wave.items():
            self.shown.print()
            self.shown.print(f"{sender} sends, in its own types and units:", style="bold cyan")
            for record in map(_record, lines):
                self.shown.print(f"  {_told(record, self.federation.find_type(record.get('type', '')))}")

    def _tell_what_arrived(self) -> None:
        """What is new since the last time."""
        seen_as = {
            delivery.profile: delivery.observe.target if delivery.observe else route.meeting_type
            for route in self.plan.routes
            for delivery in route.deliveries
        }
        for subscriber in self.plan.subscribers:
            files = sorted((self.results / subscriber).glob("*.jsonl"))
            received = [record for file in files for record in _lines(file)]
            fresh = received[self._told.get(subscriber, 0) :]
            self._told[subscriber] = len(received)
            if not fresh:
                continue
            self.shown.print()
            self.shown.print(f"{subscriber} receives, in its own types and units:", style="bold green")
            for record in sorted(fresh, key=lambda one: (one["time"], one["profile"])):
                self.shown.print(f"  {record['profile']:<26} {_told(record, seen_as.get(record['profile']))}")


def _is_morning(line: str) -> bool:
    return str(_record(line).get("time", ""))[11:13] < "12"


def _tell_what_was_asked(shown: Console, federation: Federation) -> None:
    from comity.pattern.text.render import render_pattern

    streets = ", ".join(federation.inside)
    shown.print(f"{streets} are federations, and domains of the city.", style="bold")
    shown.print()
    for contract in federation.contracts.values():
        members, observers = ", ".join(contract.members) or "nobody", ", ".join(contract.observers) or "nobody"
        about = f"{contract.kind} contract {contract.name}: given by {members}; observed by {observers}"
        shown.print(f"  {about}")
    for profile in federation.profiles.values():
        where = f" where {profile.text}" if profile.text != "true" else ""
        shown.print(f"  {profile.domain} wants {profile.name}: {profile.type.name}{where}")
    for composite in federation.composites.values():
        shown.print(f"  {composite.domain} wants {composite.name}: {render_pattern(composite.bound.pattern)}")


def _tell_rejected(shown: Console, results: Path) -> None:
    shown.print()
    shown.print("Nothing is lost silently. Rejected, with the reason:", style="bold yellow")
    for file in sorted((results / "rejected").glob("*.jsonl")):
        for record in _lines(file):
            reasons = "; ".join(f"{one['path']} {one['reason']}".strip() for one in record["faults"])
            shown.print(f"  {reasons}: {record['raw'][:60]}…")


def _tell_explained(shown: Console, plan: Plan, federation: Federation) -> None:
    from comity.cli.explain import print_tree
    from comity.plan.explain import explain

    name = "next_bus"
    shown.print()
    shown.print(f"What runs where for {name} (comity explain --profile {name}):", style="bold")
    print_tree(shown, explain(plan, name, sources=federation.sources, sinks=federation.sinks).as_tree())


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    yield from map(_record, file.read_text(encoding="utf-8").splitlines())


def _record(line: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except ValueError:
        return {"raw": line}


def _told(record: dict[str, Any], type: EventType | None) -> str:
    """An event in a line."""
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
