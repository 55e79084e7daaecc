"""`comity trace`: a composite profile over a few events, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from comity.cli.options import RejectedOption, argument, option
from comity.cli.output import console, refuse_overwriting, result_stream, write_json
from comity.cli.rejected import RejectedRecords
from comity.cli.session import Format, FormatOption, TypesOption, read_types
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from rich.console import Console

    from comity.event.event import Event
    from comity.event.taxonomy import Taxonomy
    from comity.pattern.tracing.story import Moment, Words
    from comity.pattern.tracing.trace import KeyTrace, Trace
    from comity.profile.profile import Profile

EXAMPLE = "Example:  comity trace profiles.txt events.jsonl --profile hot_and_unventilated --svg hot.svg"

_STYLES = {
    "candidate": ("•", ""),
    "ignored": ("·", "bright_black"),
    "wait": ("…", "bright_black"),
    "held": ("✓", "green"),
    "broken": ("✗", "red"),
    "report": ("★", "bold green"),
    "dropped": ("-", "yellow"),
    "consumed": ("×", "magenta"),
    "near-miss": ("~", "bright_black"),
}


def trace(
    profiles: Annotated[Path, argument("PROFILES", "A file with composite profiles.")],
    events: Annotated[
        str,
        argument("EVENTS", "JSON Lines of CloudEvents with times: a file, .gz, a directory, or - for standard input."),
    ],
    profile: Annotated[str | None, option("NAME", "Which one, if there are several.", "--profile")] = None,
    types: TypesOption = None,
    key: Annotated[str | None, option("VALUE", "Only the trace of this correlation key.")] = None,
    begin: Annotated[str | None, option("TIME", "Leave out events before it; silences start there.", "--from")] = None,
    until: Annotated[str | None, option("TIME", "Leave out events and reports after it.")] = None,
    svg: Annotated[Path | None, option("FILE", "Draw a timeline there.", "--svg")] = None,
    rejected: RejectedOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show step by step what a composite profile makes of events.

    Which events are candidates, and why others are not; what could close, what was chosen, reported and consumed; what
    each `not` waited for, and what ended the wait; what nearly occurred. Meant for few events: cut longer input with
    --key, --from and --until. Times are as in `2026-05-01T10:00:00Z`.
    """
    from comity.pattern.tracing.trace import trace as make_trace

    for output in (svg, rejected):
        refuse_overwriting(output, profiles, events)
    start, end = _time("--from", begin), _time("--until", until)
    taxonomy = read_types(types) if types else None
    bound = _chosen(profiles, profile).bind_composite(taxonomy)
    with RejectedRecords.into(rejected) as refused:
        taken = _Events(events, taxonomy, refused, start)
        found = make_trace(bound, taken, _micros(start), _micros(end), key=key)
    if svg is not None:
        _draw(found, svg)
    _show(found, format)
    refused.report(taken.count, format)


def _time(option: str, text: str | None) -> datetime | None:
    from comity.event.times import parse_timestamp

    moment = parse_timestamp(text) if text is not None else None
    if text is not None and moment is None:
        hint = "write it as 2026-05-01T10:00:00Z"
        raise Misuse(f"{option} {text[:60]!r} is no time", code="bad-timestamp", hint=hint)
    return moment


def _micros(moment: datetime | None) -> int | None:
    from comity.pattern.occurrence import microseconds

    return None if moment is None else microseconds(moment)


def _chosen(path: Path, name: str | None) -> Profile:
    """The composite profile of that name, or the only one."""
    from comity.document import did_you_mean
    from comity.language.files import read_profiles

    profiles = read_profiles(path)
    composite = {one.name: one for one in profiles if one.composite is not None}
    place = Place(str(path))
    if name is None and len(composite) == 1:
        return next(iter(composite.values()))
    if name in composite:
        return composite[name]
    if not composite:
        hint = "a composite profile begins with `profile NAME` and `on PATTERN`"
        raise Misuse("no composite profile is in it", code="no-composite-profile", place=place, hint=hint)
    if name is None:
        hint = f"choose one with --profile: {_some(composite)}"
        raise Misuse(f"{len(composite)} composite profiles are in it", code="bad-usage", place=place, hint=hint)
    if any(one.name == name for one in profiles):
        hint = f"it is a filter; composite profiles: {_some(composite)}"
        raise Misuse(f"profile {name!r} has no pattern", code="no-composite-profile", place=place, hint=hint)
    hint = did_you_mean(name, composite) or f"known: {_some(composite)}"
    raise Misuse(f"there is no profile {name!r}", code="unknown-profile", place=place, hint=hint)


def _some(names: dict[str, Profile]) -> str:
    shown = ", ".join(list(names)[:8])
    return f"{shown}, …" if len(names) > 8 else shown


class _Events:
    """The events of a file from a time on; those without a time are rejected."""

    def __init__(self, path: str, taxonomy: Taxonomy | None, rejected: RejectedRecords, start: datetime | None) -> None:
        self.count = 0
        self._path, self._taxonomy, self._rejected, self._start = path, taxonomy, rejected, start

    def __iter__(self) -> Iterator[Event]:
        from comity.event.files import read_events
        from comity.event.formats.jsonlines import Rejected

        for record in read_events(self._path, self._taxonomy, require_time=True):
            if isinstance(record, Rejected):
                self._rejected.add(record.as_dict())
                continue
            self.count += 1
            if self._start is None or (record.time is not None and record.time >= self._start):
                yield record


def _draw(found: Trace, path: Path) -> None:
    from comity.pattern.tracing.timeline import timeline

    with result_stream(path) as stream:
        stream.write(timeline(found).encode())


def _show(found: Trace, format: Format) -> None:
    from comity.pattern.tracing.as_dict import trace_dict
    from comity.pattern.tracing.story import Words

    if format is Format.JSON:
        write_json(trace_dict(found), indent=2)
        return
    out, words = console(), Words(found)
    _print_heading(out, words)
    for own in found.keys:
        _print_trace(out, words, own)
    if found.others:
        out.print()
        out.print("in no trace", style="bold")
        width = max(len(found.label(one.event)) for one in found.others)
        for one in found.others:
            name = found.label(one.event).ljust(width)
            out.print(f"  {words.time(one.seen.time)}  {name}  {one.text()}", style="bright_black")
    out.print()
    out.print(f"{_counted(len(found.reports), 'report')} from {_counted(len(found.events), 'event')}", style="bold")


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _print_heading(out: Console, words: Words) -> None:
    out.print(f"profile {words.trace.bound.name}", style="bold")
    for clause in words.profile():
        out.print(f"  {clause}")
    out.print(f"  times are of {words.day}, in UTC" if words.day else "  times are in UTC", style="bright_black")


def _print_trace(out: Console, words: Words, own: KeyTrace) -> None:
    from comity.pattern.tracing.story import story

    title = f"key {own.name}" if words.trace.bound.key else "trace"
    out.print()
    out.print(title, style="bold")
    names = [words.trace.label(one.event) for one in own.events]
    width = max(map(len, names), default=0)
    for moment in story(words.trace, own):
        _print_moment(out, words, moment, width)


def _print_moment(out: Console, words: Words, moment: Moment, width: int) -> None:
    time = words.time(moment.time)
    for step in moment.steps:
        name = words.trace.label(step.event.event) if step.event else ""
        mark, style = _STYLES[step.kind.value]
        out.print(f"  {time}  {name:<{width}}  {mark} {step.text}", style=style or None)
        time = " " * len(time)
