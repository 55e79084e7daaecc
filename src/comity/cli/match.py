"""`comity match`: many profiles over events."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from comity.cli.counts import print_counts
from comity.cli.failure import BAD_INPUT, show
from comity.cli.options import RejectedOption, argument, option
from comity.cli.output import console, refuse_overwriting, result_stream
from comity.cli.rejected import FailOn, FailOnOption, RejectedRecords
from comity.cli.screen import Screen
from comity.cli.session import Format, FormatOption, Session, TypesOption, read_types
from comity.cli.spark import spark_options
from comity.errors import ComityError, Faults
from comity.run.request import Engine

if TYPE_CHECKING:
    from comity.event.taxonomy import Taxonomy
    from comity.profile.profile import Profile
    from comity.run.match import EngineMatches

EXAMPLE = "Example:  comity match profiles.txt events.jsonl --count"

_PROGRESS_EVERY_S = 0.2


EngineOption = Annotated[Engine, typer.Option(help="In this process, or on Spark.")]


def match(
    context: typer.Context,
    profiles: Annotated[Path, argument("PROFILES", "Text, one `name: filter` a line, or YAML.")],
    events: Annotated[
        str, argument("EVENTS", "JSON Lines of CloudEvents: a file, .gz, a directory, or - for standard input.")
    ],
    types: TypesOption = None,
    engine: EngineOption = Engine.LOCAL,
    out: Annotated[Path | None, option("FILE", "Write the matches there.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Print matches per profile and in total.")] = False,
    rejected: RejectedOption = None,
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad", help="Go on without profiles that are bad; they are listed, and the exit code is 2."
        ),
    ] = False,
    fail_on: FailOnOption = FailOn.ALL,
    format: FormatOption = Format.TEXT,
) -> None:
    """Evaluate many profiles over events.

    Prints a line `{"profile": …, "event": …}` for each match. Records that are no events are counted, and the others go
    on. Without types an attribute has the kind of its value.
    """
    from comity.run.match import MatchingHere, MatchingOnSpark, MatchRequest

    for output in (out, rejected):
        refuse_overwriting(output, profiles, events)
    taxonomy = read_types(types) if types else None
    found, bad = _read(profiles, taxonomy, skip_bad=skip_bad)
    _tell_bad(bad, len(found), format)
    session = context.ensure_object(Session)
    request = MatchRequest(found, events, taxonomy, spark_options(session))
    with ExitStack() as stack:
        sink = stack.enter_context(nullcontext() if count and out is None else result_stream(out))
        refused = stack.enter_context(RejectedRecords.into(rejected))
        matches: EngineMatches
        if engine is Engine.SPARK:
            matches = MatchingOnSpark(request, refused.add, Screen(session.format))
        else:
            matches = MatchingHere(request, refused.add)
        counts = _write(_with_progress(matches, quiet=out is None and not count), sink)
    refused.report(matches.events, format)
    if count:
        figures = {"events": matches.events, "rejected": refused.count}
        figures |= {"bad_profiles": len(bad)} if skip_bad else {}
        print_counts(counts, [one.name for one in found], figures, format)
    if bad:
        raise typer.Exit(BAD_INPUT)
    refused.leave(matches.events, fail_on)


def _read(profiles: Path, taxonomy: Taxonomy | None, *, skip_bad: bool) -> tuple[list[Profile], list[ComityError]]:
    """The profiles, and what is wrong with those that are left out; without `skip_bad` nothing may be wrong."""
    from comity.match.match import read_bound_profiles, read_good_profiles

    if not skip_bad:
        return read_bound_profiles(profiles, taxonomy), []
    found, bad = read_good_profiles(profiles, taxonomy)
    if bad and not found:
        raise Faults(bad)
    return found, bad


def _tell_bad(bad: list[ComityError], good: int, format: Format) -> None:
    if bad:
        show(bad, format)
    if bad and format is Format.TEXT:
        text = f"left out for {len(bad):,} fault{'s' * (len(bad) != 1)}; {good:,} profiles are good, and go on"
        console(stderr=True).print(text, style="yellow")


def _write(pairs: Iterable[tuple[str, str]], sink: IO[bytes] | None) -> Counter[str]:
    """Write a line for each match; gives how many each profile has."""
    from msgspec.json import encode

    counts: Counter[str] = Counter()
    for profile, event in pairs:
        counts[profile] += 1
        if sink is not None:
            sink.write(b'{"profile":%b,"event":%b}\n' % (encode(profile), encode(event)))
    return counts


def _with_progress(matches: EngineMatches, *, quiet: bool) -> Iterator[tuple[str, str]]:
    """The pairs, while a line on the terminal tells how far they are; not when the pairs themselves go there."""
    if not sys.stderr.isatty() or (quiet and sys.stdout.isatty()):
        yield from matches.pairs()
        return
    due = time.monotonic() + _PROGRESS_EVERY_S
    with console(stderr=True).status("reading events") as status:
        for number, pair in enumerate(matches.pairs(), start=1):
            yield pair
            if time.monotonic() >= due:
                due = time.monotonic() + _PROGRESS_EVERY_S
                status.update(f"{matches.events:,} events, {number:,} matches")
