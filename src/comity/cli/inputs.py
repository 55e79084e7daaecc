"""Where a run's events come from: `--events`, or else the sources that the federation's domains name."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from comity.cli.output import console
from comity.connect.claim import KEPT_INPUT
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from comity.connect.specs import SourceSpec
    from comity.event.owners import Owners
    from comity.federation import Federation

STDIN = "-"
LANDING = ".landing"


@dataclass(frozen=True, slots=True)
class EventSources:
    """Paths of event files, and the sources that are live."""

    paths: tuple[Path, ...]
    live: tuple[SourceSpec, ...]
    domains: tuple[tuple[Path, str], ...] | None = None
    """The paths with the domains that name them; None when they are named for the run, by whoever runs it."""

    def owners(self, out: Path) -> Owners:
        """Whose sources the folders are that a stream reads: those of files, and those where live ones are kept."""
        from comity.event.owners import ANYBODY, Owners

        if self.domains is None:
            return ANYBODY
        named = [(path.resolve(), domain) for path, domain in self.domains]
        return Owners.of([*named, *((landing_folder(out, spec), spec.domain) for spec in self.live)])


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The files of a run over stored events, and whose they are."""

    paths: list[str]
    owners: Owners


def landing_folder(out: Path, spec: SourceSpec) -> Path:
    """Where a stream keeps what a live source sends."""
    return out / LANDING / f"{spec.domain or 'events'}-{spec.name}"


def event_sources(federation: Federation, folder: Path, events: list[str] | None) -> EventSources:
    """What is read: what was named, or what the domains name."""
    from comity.connect.registry import read_options
    from comity.connect.specs import SourceSpec

    if events:
        named = tuple(Path(one) for one in events if one != STDIN)
        return EventSources(named, (SourceSpec("stdin", "", "stdin", {}),) if STDIN in events else ())
    files = [spec for spec in federation.sources if spec.kind == "files"]
    domains = tuple((folder / read_options("files", one.options).path, one.domain) for one in files)  # type: ignore[attr-defined]
    paths = tuple(dict.fromkeys(path for path, _ in domains))  # several domains may name one
    live = tuple(spec for spec in federation.sources if spec.kind != "files")
    if not paths and not live:
        hint = "name them with --events PATH, or as `sources:` in the file of a domain"
        raise Misuse("there are no events to read", code="no-events", place=Place(str(folder)), hint=hint)
    return EventSources(paths, live, domains)


def stored_files(sources: EventSources) -> StoredFiles:
    """The files for a run over stored events; standard input becomes one of them when it is kept."""
    from comity.event.files import event_files
    from comity.event.owners import ANYBODY, Owners

    not_stored = ", ".join(f"{spec.domain}/{spec.name}" for spec in sources.live if spec.kind != "stdin")
    if not_stored and not sources.paths:
        raise Misuse(f"these sources are live: {not_stored}", code="live-source", hint="run it with --stream")
    if not_stored:
        console(stderr=True).print(f"left out, since they are read by streams only: {not_stored}", style="yellow")
    files = {path: [file.resolve() for file in event_files(path)] for path in sources.paths}
    found = list(dict.fromkeys(str(file) for file in chain.from_iterable(files.values())))
    if sources.domains is None:
        return StoredFiles(found, ANYBODY)
    return StoredFiles(found, Owners.of([(file, domain) for path, domain in sources.domains for file in files[path]]))


def with_input(files: StoredFiles, sources: EventSources, out: Path) -> StoredFiles:
    """The files, and one more if standard input is read: it is kept in `out`, where every worker can read its part."""
    from comity.event.owners import Owners

    domains = [spec.domain for spec in sources.live if spec.kind == "stdin"]
    if not domains:
        return files
    kept = _kept_input(out)
    if files.owners.by_path is None:
        return StoredFiles([*files.paths, kept], files.owners)
    owned = [(path, domain) for path, own in files.owners.by_path.items() for domain in own]
    return StoredFiles([*files.paths, kept], Owners.of([*owned, *((kept, domain) for domain in domains)]))


def _kept_input(out: Path) -> str:
    kept = out / LANDING / KEPT_INPUT
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    return str(kept.resolve())
