"""`comity match`: many profiles over events."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Protocol

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
from comity.run.ending import on_spark
from comity.run.spark import start_spark

if TYPE_CHECKING:
    from comity.event.taxonomy import Taxonomy
    from comity.profile.profile import Profile

EXAMPLE = "Example:  comity match profiles.txt events.jsonl --count"

_PROGRESS_EVERY_S = 0.2


class MatchEngine(StrEnum):
    """What evaluates the profiles."""

    LOCAL = "local"
    SPARK = "spark"


MatchEngineOption = Annotated[MatchEngine, typer.Option(help="In this process, or on Spark.")]


class EngineMatches(Protocol):
    """What an engine finds. The figures are complete once the last pair was taken."""

    @property
    def events(self) -> int:
        """Events that were evaluated, without the rejected records."""

    @property
    def rejected(self) -> Iterable[Mapping[str, Any]]:
        """Records that are no events, in the shape of `Rejected.as_dict`."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Name of a profile and id of an event that it matches."""


def match(
    context: typer.Context,
    profiles: Annotated[Path, argument("PROFILES", "Text, one `name: filter` a line, or YAML.")],
    events: Annotated[
        str, argument("EVENTS", "JSON Lines of CloudEvents: a file, .gz, a directory, or - for standard input.")
    ],
    types: TypesOption = None,
    engine: MatchEngineOption = MatchEngine.LOCAL,
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
    for output in (out, rejected):
        refuse_overwriting(output, profiles, events)
    taxonomy = read_types(types) if types else None
    found, bad = _read(profiles, taxonomy, skip_bad=skip_bad)
    _tell_bad(bad, len(found), format)
    with ExitStack() as stack:
        sink = stack.enter_context(nullcontext() if count and out is None else result_stream(out))
        refused = stack.enter_context(RejectedRecords.into(rejected))
        matches: EngineMatches
        if engine is MatchEngine.SPARK:
            matches = _on_spark(found, events, taxonomy, context.ensure_object(Session))
        else:
            matches = _LocalMatches(found, events, taxonomy, refused)
        counts = _write(_with_progress(matches, quiet=out is None and not count), sink)
        for record in matches.rejected:
            refused.add(record)
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


def _on_spark(profiles: list[Profile], events: str, taxonomy: Taxonomy | None, session: Session) -> EngineMatches:
    from comity.match.match import bind_profiles
    from comity.pipeline.match import match_on_spark
    from comity.run.sources import files_for_spark

    files = files_for_spark(events)
    bound = bind_profiles(profiles, taxonomy)
    spark = start_spark(spark_options(session), Screen(session.format), files=files)
    return _SparkMatches(spark, on_spark(spark, lambda: match_on_spark(bound, files, taxonomy, spark)))


@dataclass(frozen=True, slots=True)
class _SparkMatches:
    """Matching on Spark, which has done all of it when the first pair comes."""

    spark: Any
    matches: EngineMatches

    @property
    def events(self) -> int:
        return self.matches.events

    @property
    def rejected(self) -> Iterable[Mapping[str, Any]]:
        return self.matches.rejected

    def pairs(self) -> Iterator[tuple[str, str]]:
        pairs = self.matches.pairs()
        first = on_spark(self.spark, lambda: next(pairs, None))
        yield from () if first is None else chain([first], pairs)


class _LocalMatches:
    """Matching in this process. Rejected records are handed on as they come, so that none has to be kept."""

    rejected: Iterable[Mapping[str, Any]] = ()

    def __init__(
        self, profiles: list[Profile], events: str, taxonomy: Taxonomy | None, refused: RejectedRecords
    ) -> None:
        from comity.event.files import read_events
        from comity.match.match import Matcher

        self.events = 0
        self._refused = refused
        self._matcher = Matcher(profiles, taxonomy)
        self._records = read_events(events, taxonomy)

    def pairs(self) -> Iterator[tuple[str, str]]:
        from comity.event.formats.jsonlines import Rejected

        match = self._matcher.match
        for record in self._records:
            if isinstance(record, Rejected):
                self._refused.add(record.as_dict())
                continue
            self.events += 1
            for name in match(record):
                yield name, record.id


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
