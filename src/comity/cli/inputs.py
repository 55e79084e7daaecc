"""Where a run's events come from: `--events`, or else the sources that the federation's domains name."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from comity.cli.output import console
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from comity.connect.specs import SourceSpec
    from comity.federation import Federation

STDIN = "-"
LANDING = ".landing"


@dataclass(frozen=True, slots=True)
class EventSources:
    """Paths of event files, and the sources that are live."""

    paths: tuple[Path, ...]
    live: tuple[SourceSpec, ...]


def event_sources(federation: Federation, folder: Path, events: list[str] | None) -> EventSources:
    """What is read: what was named, or what the domains name."""
    from comity.connect.registry import read_options
    from comity.connect.specs import SourceSpec

    if events:
        named = tuple(Path(one) for one in events if one != STDIN)
        return EventSources(named, (SourceSpec("stdin", "", "stdin", {}),) if STDIN in events else ())
    files = [spec for spec in federation.sources if spec.kind == "files"]
    paths = tuple(folder / read_options("files", spec.options).path for spec in files)  # type: ignore[attr-defined]
    live = tuple(spec for spec in federation.sources if spec.kind != "files")
    if not paths and not live:
        hint = "name them with --events PATH, or as `sources:` in the file of a domain"
        raise Misuse("there are no events to read", code="no-events", place=Place(str(folder)), hint=hint)
    return EventSources(paths, live)


def stored_files(sources: EventSources, out: Path) -> list[str]:
    """The files for a run over stored events; standard input is one of them, once it is kept in `out`."""
    from comity.event.files import event_files

    not_stored = ", ".join(f"{spec.domain}/{spec.name}" for spec in sources.live if spec.kind != "stdin")
    if not_stored and not sources.paths:
        raise Misuse(f"these sources are live: {not_stored}", code="live-source", hint="run it with --stream")
    if not_stored:
        console(stderr=True).print(f"left out, since they are read by streams only: {not_stored}", style="yellow")
    files = [str(file.resolve()) for path in sources.paths for file in event_files(path)]
    return files + [str(_kept_input(out)) for spec in sources.live if spec.kind == "stdin"]


def _kept_input(out: Path) -> Path:
    """Standard input as a file, so that every worker can read its part of it."""
    kept = out / LANDING / "stdin.jsonl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    return kept.resolve()
