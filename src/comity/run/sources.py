"""Where a run's events come from: what is named for it, or else the sources that the federation's domains name."""

from __future__ import annotations

import io
import posixpath
import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from comity.connect.claim import KEPT_INPUT
from comity.connect.folder import LANDING
from comity.connect.registry import is_read_by_spark, open_source, read_options
from comity.connect.specs import SourceSpec
from comity.errors import Misuse, Place
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, line_of
from comity.event.owners import ANYBODY, Owners
from comity.event.places import event_files_at, stands_for_several
from comity.run.asked import asked_sources, landing_folder
from comity.run.observer import Notice, Observer
from comity.storage.access import NO_ACCESS, StorageAccess
from comity.storage.lookup import FoundPlace, full_name
from comity.storage.place import is_address, local_path

if TYPE_CHECKING:
    from comity.federation import Federation
    from comity.plan import Plan

STDIN = "-"
Given = Event | Rejected | Mapping[str, Any] | str | bytes
"""An event, a record that somebody else rejected, a record of CloudEvents, or the text of one."""


@dataclass(frozen=True, slots=True)
class EventSources:
    """Where files of events are (paths, addresses and patterns of such), and the other sources: those that are live,
    and those that come to an end.
    """

    paths: tuple[str, ...]
    live: tuple[SourceSpec, ...]
    domains: tuple[tuple[str, str], ...] | None = None
    """The paths with the domains that name them; None when they are named for the run, by whoever runs it."""
    given: Iterable[Given] = ()
    """Events that whoever runs it has at hand."""
    frames: tuple[SourceSpec, ...] = ()
    """The sources that Spark reads by itself."""
    access: StorageAccess = field(default=NO_ACCESS, repr=False)
    """How stores are reached."""

    @property
    def frame_owners(self) -> list[tuple[str, str]]:
        """Under which names lines of sources that Spark reads come, and whose they are."""
        return [(f"{spec.domain}.{spec.name}", spec.domain) for spec in self.frames]

    @property
    def folders(self) -> list[str]:
        """The same places as a stream reads them, as absolute paths, addresses and patterns."""
        return [full_name(path) for path in self.paths]

    def owners(self, out: Path) -> Owners:
        """Whose sources the folders are that a stream reads: those of files, and those where live ones are kept."""
        if self.domains is None:
            return ANYBODY
        named = [(full_name(path), domain) for path, domain in self.domains]
        patterns = [(path, domain) for path, domain in named if stands_for_several(path)]
        landed = [(landing_folder(out, spec), spec.domain) for spec in self.live]
        return Owners.of([*named, *landed, *self.frame_owners], patterns)


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The files of a run over stored events, and whose they are."""

    paths: list[str]
    owners: Owners = ANYBODY
    sizes: Mapping[str, int] = field(default_factory=dict, repr=False)
    """How many bytes are in those that were found."""
    access: StorageAccess = field(default=NO_ACCESS, repr=False)

    @classmethod
    def of(
        cls, found: Iterable[FoundPlace], owners: Owners = ANYBODY, access: StorageAccess = NO_ACCESS
    ) -> StoredFiles:
        """Files that were found, each once."""
        sizes = {file.name: file.size for file in found}
        return cls(list(sizes), owners, sizes, access)

    def size(self, path: str) -> int:
        """How many bytes are in a file; none if that cannot be seen, since whoever reads it says what is wrong."""
        known = self.sizes.get(path)
        if known is None:
            with suppress(OSError):
                return Path(path).stat().st_size
        return known or 0

    @property
    def bytes(self) -> int:
        """How many are in all files."""
        return sum(self.size(path) for path in self.paths)


def event_sources(
    federation: Federation, folder: Path, events: list[str] | None, access: StorageAccess = NO_ACCESS
) -> EventSources:
    """What is read: what was named, or what the domains name."""
    if events:
        named = tuple(one for one in events if one != STDIN)
        stdin = (SourceSpec("stdin", "", "stdin", {}),) if STDIN in events else ()
        return EventSources(named, stdin, access=access)
    files = [spec for spec in federation.sources if spec.kind == "files"]
    begin = federation.address or folder
    domains = tuple((_beside(begin, read_options("files", one.options).path), one.domain) for one in files)  # type: ignore[attr-defined]
    paths = tuple(dict.fromkeys(path for path, _ in domains))  # several domains may name one
    frames = tuple(spec for spec in federation.sources if is_read_by_spark(spec.kind))
    live = tuple(spec for spec in federation.sources if spec.kind != "files" and spec not in frames)
    if not paths and not live and not frames:
        hint = "name them with --events PATH, or as `sources:` in the file of a domain"
        raise Misuse("there are no events to read", code="no-events", place=Place(str(folder)), hint=hint)
    return EventSources(paths, live, domains, frames=frames, access=access)


def _beside(folder: Path | str, path: str) -> str:
    """What a federation in a folder, or at an address, means by a path."""
    if is_address(path):
        return path
    if isinstance(folder, Path):
        return str(folder / local_path(path))
    scheme, _, inside = folder.partition("://")
    own = local_path(path)
    return str(own) if own.is_absolute() else f"{scheme}://{posixpath.normpath(f'{inside}/{own}')}"


def stored_files(sources: EventSources, folder: Path, observer: Observer) -> StoredFiles:
    """The files for a run over stored events, without what has yet to be kept (`with_kept`).

    Raises `Misuse` when all sources are live.
    """
    live = [spec for spec in sources.live if not _is_bounded(spec, folder)]
    names = ", ".join(f"{spec.domain}/{spec.name}" for spec in live)
    if live and len(live) == len(sources.live) and not (sources.paths or sources.frames):
        raise Misuse(f"these sources are live: {names}", code="live-source", hint="run it with --stream")
    if live:
        observer.warning(Notice(f"left out, since they are read by streams only: {names}", "live-sources-left-out"))
    files = {path: event_files_at(path, sources.access) for path in sources.paths}
    owners = ANYBODY
    if sources.domains is not None:
        named = [(file.name, domain) for path, domain in sources.domains for file in files[path]]
        owners = Owners.of([*named, *sources.frame_owners])
    return StoredFiles.of(chain.from_iterable(files.values()), owners, sources.access)


def files_for_spark(events: str) -> StoredFiles:
    """The files of stored events, as Spark finds them wherever it was started."""
    if events == STDIN:
        hint = "put the events into a file, or use --engine local"
        raise Misuse("Spark does not read standard input", code="no-standard-input", hint=hint)
    check_here(events)
    return StoredFiles.of(event_files_at(events))


def check_here(events: str) -> None:
    """Raise `Misuse` for events that are not on this machine, where only such can be read."""
    if is_address(events):
        hint = "comity run reads from stores; or copy the files onto this machine"
        raise Misuse("this command reads files of this machine", code="only-files", place=Place(events), hint=hint)


def with_kept(files: StoredFiles, sources: EventSources, folder: Path, out: Path, plan: Plan) -> StoredFiles:
    """The files, and those in which sources that come to an end are kept, in `out`: every worker can read its part.

    Sources that filter are asked for what the plan wants.
    """
    bounded = [spec for spec in sources.live if _is_bounded(spec, folder)]
    asked = [spec for spec in bounded if spec.kind != "stdin"]
    with asked_sources(asked, folder, out, lambda: plan) as landed:
        landed.wait_for_ends()
    kept = [(_kept(out, sys.stdin.buffer), spec.domain) for spec in bounded if spec.kind == "stdin"]
    kept += [(path, spec.domain) for spec in asked for path in _landed_files(landing_folder(out, spec))]
    paths = [*files.paths, *(path for path, _ in kept)]
    if files.owners.by_path is None:
        return replace(files, paths=paths)
    owned = [(path, domain) for path, own in files.owners.by_path.items() for domain in own]
    return replace(files, paths=paths, owners=Owners.of([*owned, *kept]))


def _landed_files(folder: Path) -> list[str]:
    return [str(path.resolve()) for path in sorted(folder.glob("*.jsonl"))]


def kept_events(given: Iterable[Given], out: Path) -> list[str]:
    """The file in which events at hand are kept, so that every worker can read its part; none for no events."""
    lines = [_line(one) for one in given]
    return [_kept(out, io.BytesIO(b"\n".join(lines)))] if lines else []


def _line(given: Given) -> bytes:
    if isinstance(given, Rejected):
        return given.raw.encode(errors="backslashreplace")
    if not isinstance(given, str | bytes):
        return line_of(given)
    text = given.encode(errors="surrogatepass") if isinstance(given, str) else given
    return text.replace(b"\r", b" ").replace(b"\n", b" ")  # between the parts of JSON one is as good as the other


def _is_bounded(spec: SourceSpec, folder: Path) -> bool:
    """Whether a source comes to an end, so that a run over stored events can read it."""
    return spec.kind == "stdin" or not open_source(spec, folder).capability.live


def _kept(out: Path, records: BinaryIO) -> str:
    kept = out / LANDING / KEPT_INPUT
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("wb") as stream:
        shutil.copyfileobj(records, stream)
    return str(kept.resolve())
