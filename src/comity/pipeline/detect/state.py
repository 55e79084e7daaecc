"""What is kept of patterns between the batches of a stream: files beside its results, in versions.

A batch reads the versions of the batch before, and writes its own. A batch that is done again finds what it found the
first time, and replaces what it wrote; so every report is made in one batch, whatever is killed in between.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from comity.connect.batch_notes import BatchNotes
from comity.connect.sealed import read_note, read_sealed, sealed, sealed_note
from comity.pattern.bank import BankState
from comity.pipeline.detect.ends import STATE, Ends
from comity.pipeline.detect.seen import Extracted
from comity.storage.durable import write_whole

_ENDS = "ends"
_NOTHING = ".none"


@dataclass(frozen=True, slots=True)
class BucketStates:
    """What is kept of buckets, in files that are written once: those that counted before a batch are read, and those of
    one attempt at the batch are written. A task that runs twice writes the same.
    """

    folder: str
    before: Mapping[int, str]
    """By bucket, the file of what is kept; of others nothing is."""
    attempt: str | None = None
    """What the names of the files begin with that are written; None if nothing is to be."""

    def read(self, bucket: int) -> BankState | None:
        """What was kept of a bucket."""
        name = self.before.get(bucket)
        return None if name is None else BankState.decode(read_sealed(Path(self.folder, name), STATE))

    def write(self, bucket: int, state: BankState | None) -> None:
        """Keep this of a bucket."""
        if self.attempt is None:
            return
        if state is not None:
            write_whole(Path(self.folder, f"{self.attempt}-{bucket}"), sealed(state.encode()))
        elif bucket in self.before:
            write_whole(Path(self.folder, f"{self.attempt}-{bucket}{_NOTHING}"), b"")

    def after(self) -> dict[int, str]:
        """By bucket, the file of what is kept now that all tasks are done."""
        assert self.attempt is not None, "something is written"
        found = dict(self.before)
        within, start = self.attempt.split("/")
        for path in Path(self.folder, within).glob(f"{start}-*"):
            bucket = int(path.name.removesuffix(_NOTHING).removeprefix(f"{start}-"))
            found.pop(bucket, None)
            if not path.name.endswith(_NOTHING):
                found[bucket] = f"{within}/{path.name}"
        return found


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
    files: Mapping[int, str] = field(default_factory=dict)
    """By bucket, the file of what is kept of it; nothing is kept of the others."""
    versions: Mapping[int, int] = field(default_factory=dict)
    """The same as it was noted before files had names of their own: the batch that wrote it."""

    def __post_init__(self) -> None:
        earlier = {bucket: f"{version:08d}/{bucket}" for bucket, version in self.versions.items()}
        object.__setattr__(self, "files", {**earlier, **self.files})
        object.__setattr__(self, "versions", {})

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
class PatternStates:
    """The versions in a results folder."""

    folder: Path

    def before(self, batch: int) -> Progress | None:
        """The progress after the last batch before this one; None when there was none."""
        earlier = self._notes.before(batch)
        return None if earlier is None else self._notes.read(earlier)

    @property
    def last_batch(self) -> int | None:
        """The last batch that noted anything."""
        return max(self._notes.numbers(), default=None)

    def reading(self, files: Mapping[int, str]) -> BucketStates:
        """What is kept, for tasks that only read it."""
        return BucketStates(str(self.folder), files)

    def attempt(self, batch: int, files: Mapping[int, str]) -> BucketStates:
        """What is kept, for the tasks of an attempt at a batch."""
        return BucketStates(str(self.folder), files, f"{batch:08d}/{uuid.uuid4().hex[:12]}")

    def save(self, batch: int, progress: Progress) -> None:
        """Note that a batch has written its versions."""
        self._notes.save(batch, progress)

    @property
    def ends(self) -> Ends:
        """What was reported at ends."""
        return read_note(self.folder / _ENDS, Ends, STATE) or Ends()

    def save_ends(self, ends: Ends) -> None:
        """Note what is reported at an end; before it is published, and again after it."""
        write_whole(self.folder / _ENDS, sealed_note(ends))

    def after(self, batch: int) -> Progress:
        """The progress after a batch."""
        return self._notes.read(batch)

    def forget_before(self, batch: int) -> None:
        """Remove what no batch from this one on can ask for, now that it is published."""
        files = [name for kept in self._notes.keep_two(batch) for name in kept.files.values()]
        needed = {str(self.folder / name) for name in (*files, *(one.name for one in self.ends.files))}
        for folder in self.folder.glob("[0-9]*/"):
            for file in folder.iterdir():
                if str(file) not in needed:
                    file.unlink()
            if not any(folder.iterdir()):
                folder.rmdir()

    def check(self) -> None:
        """Raise `Permanent` for a file that is damaged or missing, before a stream relies on it."""
        for file in self.ends.files:
            read_sealed(self.folder / file.name, STATE)
        for number in self._notes.numbers()[-2:]:  # no batch asks for those before
            for name in self._notes.read(number).files.values():
                read_sealed(self.folder / name, STATE)

    @property
    def _notes(self) -> BatchNotes[Progress]:
        return BatchNotes(self.folder, Progress, STATE)
