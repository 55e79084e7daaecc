"""What is kept of patterns between the batches of a stream: files beside its results, in versions.

A batch reads the versions of the batch before, and writes its own. A batch that is done again finds what it found the
first time, and replaces what it wrote; so every report is made in one batch, whatever is killed in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from comity.connect.durable import write_whole
from comity.connect.sealed import read_note, read_sealed, sealed_note
from comity.pipeline.detect.buckets import STATE
from comity.pipeline.detect.extract import Extracted

_ENDS = "ends"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stream has come after a batch."""

    buckets: int
    compiled: bool
    newest: int | None = None
    """The time of the newest event, of whatever type."""
    start: int | None = None
    """The time of the first one."""
    watermark: int | None = None
    """Where the time begins that is not complete yet."""
    bodies: str = ""
    """Stands for the patterns of the batch."""
    silences: frozenset[str] = frozenset()
    """Stands for each of them that has a silence: those that come later begin later."""
    versions: Mapping[int, int] = field(default_factory=dict)
    """By bucket, the batch that wrote what is kept of it; nothing is kept of the others."""

    def after(self, seen: Extracted, lateness_us: int) -> Progress:
        """The times when another batch was seen."""
        newest = _of(max, self.newest, seen.latest)
        watermark = _of(max, self.watermark, None if newest is None else newest - lateness_us)
        # Events that came too late do not make traces start earlier.
        earliest = None if seen.earliest is None else _of(max, self.watermark, seen.earliest)
        return replace(self, newest=newest, start=_of(min, self.start, earliest), watermark=watermark)

    @property
    def done(self) -> int | None:
        """The last time that is complete."""
        return None if self.watermark is None else self.watermark - 1


def _of(choose: Callable[[list[int]], int], one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return choose(known) if known else None


@dataclass(frozen=True, slots=True)
class EndReport:
    """A report that was made because the stream ended."""

    end: int
    """The time at which it occurs."""
    batch: int
    """The last batch before that end."""


@dataclass(frozen=True, slots=True)
class Ends:
    """What was reported at the ends of a stream, which may have gone on after them."""

    unpublished: int | None = None
    """The last batch before an end of which the reports are noted, and perhaps not published."""
    reports: Mapping[str, EndReport] = field(default_factory=dict)
    """By identity; those that could be found again."""

    def before(self, batch: int, since: int | None = None) -> Ends:
        """Those of ends before a batch, as far as they can be found again when the time up to `since` is done."""
        left = {
            name: one for name, one in self.reports.items() if one.batch < batch and (since is None or one.end > since)
        }
        return Ends(self.unpublished if self.unpublished is not None and self.unpublished < batch else None, left)


@dataclass(frozen=True, slots=True)
class PatternStates:
    """The versions in a results folder."""

    folder: Path

    def before(self, batch: int) -> Progress | None:
        """The progress after the last batch before this one; None when there was none."""
        earlier = self._earlier(batch)
        return None if earlier is None else self._read(earlier)

    @property
    def last_batch(self) -> int | None:
        """The last batch that noted anything."""
        return max(self._batches(), default=None)

    def file(self, bucket: int, version: int) -> str:
        """Where a version of a bucket is kept."""
        return str(self.folder / f"{version:08d}" / str(bucket))

    def save(self, batch: int, progress: Progress) -> None:
        """Note that a batch has written its versions."""
        write_whole(self._note(batch), sealed_note(progress))

    @property
    def ends(self) -> Ends:
        """What was reported at ends."""
        return read_note(self.folder / _ENDS, Ends, STATE) or Ends()

    def save_ends(self, ends: Ends) -> None:
        """Note what is reported at an end; before it is published, and again after it."""
        write_whole(self.folder / _ENDS, sealed_note(ends))

    def after(self, batch: int) -> Progress:
        """The progress after a batch."""
        return self._read(batch)

    def forget_before(self, batch: int) -> None:
        """Remove what no batch from this one on can ask for, now that it is published."""
        kept = [number for number in self._batches() if number in (self._earlier(batch), batch)]
        versions = (pair for number in kept for pair in self._read(number).versions.items())
        needed = {self.file(bucket, version) for bucket, version in versions}
        for number in self._batches():
            if number not in kept:
                self._note(number).unlink()
        for folder in self.folder.glob("[0-9]*/"):
            for file in folder.iterdir():
                if str(file) not in needed:
                    file.unlink()
            if not any(folder.iterdir()):
                folder.rmdir()

    def _earlier(self, batch: int) -> int | None:
        return max((number for number in self._batches() if number < batch), default=None)

    def check(self) -> None:
        """Raise `Permanent` for a file that is damaged or missing, before a stream relies on it."""
        read_note(self.folder / _ENDS, Ends, STATE)
        for number in sorted(self._batches())[-2:]:  # no batch asks for those before
            for bucket, version in self._read(number).versions.items():
                read_sealed(Path(self.file(bucket, version)), STATE)

    def _read(self, batch: int) -> Progress:
        found = read_note(self._note(batch), Progress, STATE)
        if found is None:
            raise STATE.broken(self._note(batch), "the file is missing")
        return found

    def _batches(self) -> list[int]:
        return [int(path.stem) for path in self.folder.glob("*.json")]

    def _note(self, batch: int) -> Path:
        return self.folder / f"{batch:08d}.json"
