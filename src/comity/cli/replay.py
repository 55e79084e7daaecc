"""`comity replay`: dead letters, sent again."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.failure import FAILED, INTERRUPTED
from comity.cli.options import argument, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption
from comity.connect.claim import RUN_FILE, shared_for_replay
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from comity.connect.port import Sink
    from comity.connect.replay import Replayed
    from comity.connect.specs import SinkSpec

EXAMPLE = "Example:  comity replay results --federation examples/two_houses --dry-run"
_NAP_S = 0.1
_LOCK_WAIT_S = 10.0


def replay(
    out: Annotated[Path, argument("OUT", "Folder of results.")],
    subscriber: Annotated[str | None, option("NAME", "Only what was meant for this domain.")] = None,
    sink: Annotated[str | None, option("NAME", "Only this sink.")] = None,
    federation: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The federation that has the sinks; default: that of the run."),
    ] = None,
    to: Annotated[str | None, option("URL", "Send to this webhook, and not to the sinks.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be sent.")] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Send again what sinks did not take.

    What is taken now leaves OUT/dead-letters, the rest stays there with its attempts counted. Exits with 1 if anything
    is left.
    """
    wanted = _wanted(out, subscriber, sink)
    if dry_run:
        _show_waiting(wanted, format)
        return
    specs = _specs(out, wanted, federation, to)
    with shared_for_replay(out):
        results, interrupted = _replay_all(out, specs)
    _show_results(results, format)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if any(one.left for one in results):
        raise typer.Exit(FAILED)


def _wanted(out: Path, subscriber: str | None, sink: str | None) -> list[tuple[str, str, Path]]:
    from comity.connect.dead_letters import dead_letter_files

    if not out.is_dir():
        raise Misuse("this is no folder of results", code="not-a-folder", place=Place(str(out)))
    found = dead_letter_files(out)
    wanted = [one for one in found if subscriber in (None, one[0]) and sink in (None, one[1])]
    if not wanted and (subscriber or sink):
        there = ", ".join(f"{who}/{name}" for who, name, _ in found) or "none at all"
        raise Misuse(
            "it has no dead letters", code="no-dead-letters", place=Place(str(out)), hint=f"there are: {there}"
        )
    return wanted


def _specs(
    out: Path, wanted: list[tuple[str, str, Path]], federation: Path | None, to: str | None
) -> list[tuple[SinkSpec, Path]]:
    """The sinks to send to, with the folder where their paths begin; raises `Misuse` if one is not there."""
    from comity.connect.specs import SinkSpec

    if to is not None:
        return [(SinkSpec(name, who, "webhook", {"url": to}), out) for who, name, _ in wanted]
    if not wanted:
        return []
    from comity.federation import load

    named = federation or _federation_of_run(out)
    found = load(named)
    known = {(spec.domain, spec.name): spec for spec in found.sinks}
    for who, name, path in wanted:
        if (who, name) not in known:
            hint = "choose others with --subscriber and --sink, or send them elsewhere with --to URL"
            message = f"domain {who} of {named} has no sink {name}"
            raise Misuse(message, code="unknown-sink", place=Place(str(path)), hint=hint)
    return [(known[who, name], found.folder or Path()) for who, name, _ in wanted]


def _federation_of_run(out: Path) -> str:
    try:
        return str(json.loads((out / RUN_FILE).read_bytes())["federation"])
    except (OSError, ValueError, LookupError, TypeError):
        hint = "pass --federation DIR, or --to URL"
        message = "the folder does not say which federation has the sinks"
        raise Misuse(message, code="no-federation", place=Place(str(out)), hint=hint) from None


def _replay_all(out: Path, specs: list[tuple[SinkSpec, Path]]) -> tuple[list[Replayed], bool]:
    from comity.connect.registry import open_sink

    opened = [(spec, open_sink(spec, base)) for spec, base in specs]
    results: list[Replayed] = []
    with _interruptible() as stop:
        for spec, sink in opened:
            results.append(_replay_one(out, spec, sink, stop))
            sink.close()
    return results, stop.wanted


def _replay_one(out: Path, spec: SinkSpec, sink: Sink, stop: _Stop) -> Replayed:
    from comity.connect.courier import Courier
    from comity.connect.replay import replay_sink
    from comity.connect.retry import RetryPolicy

    courier = Courier(sink, RetryPolicy.from_limits(), time.time, stop.sleep, stopped=lambda: stop.wanted)
    until_s = time.monotonic() + _LOCK_WAIT_S
    return replay_sink(out, spec.domain, spec.name, courier, give_up=lambda: stop.wanted or time.monotonic() > until_s)


class _Stop:
    """Whether the user wants to stop, and a sleep that ends then."""

    wanted = False

    def sleep(self, seconds: float) -> None:
        """Sleep so long, or until it should stop."""
        until = time.monotonic() + seconds
        while not self.wanted and (rest := until - time.monotonic()) > 0:
            time.sleep(min(rest, _NAP_S))


@contextmanager
def _interruptible() -> Iterator[_Stop]:
    """The first Ctrl-C asks to stop between two messages, the second one stops at once."""
    stop = _Stop()

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.wanted:
            raise KeyboardInterrupt
        stop.wanted = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _show_waiting(wanted: list[tuple[str, str, Path]], format: Format) -> None:
    from comity.connect.dead_letters import read_dead_letters

    found = [(who, name, Counter(letter.code for letter in read_dead_letters(path))) for who, name, path in wanted]
    if format is Format.JSON:
        rows = [
            {"subscriber": who, "sink": name, "waiting": codes.total(), "codes": codes} for who, name, codes in found
        ]
        write_json({"waiting": sum(codes.total() for _, _, codes in found), "sinks": rows})
        return
    for who, name, codes in found:
        reasons = ", ".join(f"{count:,} {code}" for code, count in codes.most_common())
        console().print(f"{who}/{name}: {codes.total():,} would be sent ({reasons})")
    if not found:
        console().print("there are no dead letters")


def _show_results(results: list[Replayed], format: Format) -> None:
    taken, left = sum(one.taken for one in results), sum(one.left for one in results)
    if format is Format.JSON:
        rows = [
            {"subscriber": one.subscriber, "sink": one.sink, "taken": one.taken, "left": one.left} for one in results
        ]
        write_json({"taken": taken, "left": left, "sinks": rows})
        return
    for one in results:
        console().print(f"{one.subscriber}/{one.sink}: {one.taken:,} taken, {one.left:,} left")
    if not results:
        console().print("there are no dead letters")
