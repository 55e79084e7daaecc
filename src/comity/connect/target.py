"""Where results of a stream go: a folder whose files are published by renaming, or tables to which they are committed.

Both are used alike. Workers write parts, which nobody sees; the driver lets a batch of them count, together with the
keys of what is in it. What differs is what a batch does that is done again: in a folder it takes the place of its
earlier attempt; in tables, where it is seen as soon as it counts, it is left out.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import pyarrow as pa

from comity.connect.commits import FOLDER as FILE_NOTES
from comity.connect.commits import Commit, Commits, check_on_start
from comity.connect.delivered import DeliveredSize
from comity.connect.folder import PROFILES, TOPICS_NOTE, Results, StagedFile, publish_batch
from comity.connect.published import stored_keys
from comity.connect.staged import StagedResults
from comity.connect.tables.notes import FOLDER as TABLE_NOTES
from comity.connect.tables.notes import TableCommits, TableNote
from comity.connect.tables.parts import TableFile, TableLayout, TableParts
from comity.connect.typed_files import TypedResults
from comity.errors import Misuse, Place
from comity.event.types import AttributeType
from comity.limits import limits
from comity.storage.place import LocalStorage, Storage

WrittenFile = StagedFile | TableFile


class OpenPart(Protocol):
    """A part of a batch, while it is written."""

    def put(self, to: str, line: bytes) -> None:
        """Take one line, for a subscriber or one of the other targets."""

    def put_all(self, to: str, lines: pa.BinaryArray) -> None:
        """Take several."""

    def close(self) -> None:
        """Write what is left."""

    @property
    def files(self) -> Sequence[WrittenFile]:
        """What was written, when it is closed."""


class ResultParts(Protocol):
    """Opens parts in workers, to which it is sent."""

    def open(self, bucket: int = 0, step: int = 0) -> OpenPart:
        """A part of its own, under names that occur once: of a bucket, in one of the writings of a batch."""

    def path(self, file: WrittenFile) -> Path | None:
        """Where a file must be found on this machine; None if it is in a store."""


@dataclass(frozen=True, slots=True)
class FolderParts:
    """Parts of results in a folder, which stand in another one until they are published."""

    folder: str
    results: Results
    layout: TableLayout | None = None
    """The columns of typed results."""

    def open(self, bucket: int = 0, step: int = 0) -> StagedResults | TypedResults:
        name = f"part-{uuid4().hex}"
        if self.layout is not None:
            return TypedResults(Path(self.folder), self.layout, name)
        return StagedResults(Path(self.folder), self.results, name)

    def path(self, file: WrittenFile) -> Path | None:
        return file.path if isinstance(file, StagedFile) else None


class Target(ABC):
    """Where the results of one stream go."""

    @property
    @abstractmethod
    def keys(self) -> Storage:
        """Where files of keys are."""

    @abstractmethod
    def check(self) -> int | None:
        """The last batch that counts; raises if the stream cannot go on. What a crash left undone is done first."""

    @abstractmethod
    def is_counted(self, number: int) -> bool:
        """Whether a batch counts already, so that doing it again must be left out."""

    @abstractmethod
    def before(self, number: int) -> Commit:
        """What counted when a batch began that is done now."""

    def spread(self, buckets: int) -> int:
        """Over how many buckets the keys of a stream are spread; as many as given, if it has just begun."""
        return buckets

    @abstractmethod
    def parts(self, work: Path, number: int) -> ResultParts:
        """What writes a batch; `work` is a folder for it."""

    @abstractmethod
    def publish(
        self,
        number: int,
        files: Iterable[WrittenFile],
        names: Iterable[str],
        after: Commit,
        *,
        is_again: bool,
    ) -> None:
        """Let a batch count: its files, in folders of these names, and the keys of what is in them."""

    @abstractmethod
    def publish_end(self, number: int, files: Iterable[StagedFile], names: Sequence[str]) -> None:
        """Publish what is reported because a stream ended after a batch, which stands in files of lines or rows."""

    @abstractmethod
    def take_profiles(self, types: Callable[[], Mapping[str, Mapping[str, AttributeType]]]) -> None:
        """Told of the attributes that notifications of profiles have from now on."""

    @abstractmethod
    def remembered(self) -> DeliveredSize:
        """How much is remembered of what was delivered."""

    @abstractmethod
    def let_go(self) -> None:
        """Forget what is known, since others may change it from now on."""


@dataclass(slots=True)
class FolderTarget(Target):
    """A folder of JSON Lines or Parquet, which may be typed."""

    out: Path
    results: Results = Results.JSONL
    subscribers: Callable[[], Iterable[str]] = tuple
    """Who may have results from before the stream."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    layout: TableLayout | None = None
    """The columns of typed results."""
    _commits: Commits | None = field(default=None, init=False)

    @property
    def commits(self) -> Commits:
        """What counts; of results that were there before the stream, what is in them."""
        if self._commits is None:
            commits = Commits(self.out)
            if commits.needs_begin:
                earlier = (key for key, _ in stored_keys(self.out, self.subscribers()))
                commits.begin(earlier, self.clock().date().isoformat())
            self._commits = commits
        return self._commits

    @property
    def keys(self) -> Storage:
        return self.commits.place

    def check(self) -> int | None:
        if (self.out / TABLE_NOTES).exists():
            raise other_form(self.out, "tables")
        if (self.out / TOPICS_NOTE).exists():
            raise other_form(self.out, "topics")
        if self.layout is None and (self.out / PROFILES).is_dir() and any((self.out / PROFILES).glob("*/day=*")):
            raise other_form(self.out, "typed")
        return check_on_start(self.out)

    def is_counted(self, number: int) -> bool:
        return False

    def before(self, number: int) -> Commit:
        return self.commits.before(number)

    def take_profiles(self, types: Callable[[], Mapping[str, Mapping[str, AttributeType]]]) -> None:
        if self.layout is not None:
            self.layout = TableLayout.of(types())

    def parts(self, work: Path, number: int) -> FolderParts:
        return FolderParts(str(work / "results"), self.results, self.layout)

    def publish(
        self,
        number: int,
        files: Iterable[WrittenFile],
        names: Iterable[str],
        after: Commit,
        *,
        is_again: bool,
    ) -> None:
        staged = [one for one in files if isinstance(one, StagedFile)]
        publish_batch(staged, self.out, names, self.results, number, is_again=is_again)
        self.commits.commit(number, after)

    def publish_end(self, number: int, files: Iterable[StagedFile], names: Sequence[str]) -> None:
        if self.layout is None:
            publish_batch(files, self.out, names, self.results, number, is_again=True, at_end=True)
            return
        work = self.out / f".work-end-{uuid4().hex[:12]}"
        part = TypedResults(work, self.layout, "part")
        for file in files:
            if lines := file.path.read_bytes().splitlines():
                part.put_all(file.to, pa.array(lines, pa.binary()))
        part.close()
        publish_batch(part.files, self.out, names, self.results, number, is_again=True, at_end=True)
        shutil.rmtree(work, ignore_errors=True)

    def remembered(self) -> DeliveredSize:
        return self.commits.remembered()

    def let_go(self) -> None:
        self._commits = None


@dataclass(slots=True)
class TableTarget(Target):
    """Delta tables below a place."""

    place: Storage
    layout: TableLayout = field(default_factory=TableLayout)
    """Which tables there are now."""
    stream: Callable[[], str | None] = lambda: None
    """What tells this stream from others; None until it has begun."""
    plan: Callable[[int], str | None] = lambda number: None
    """What tells the input of a batch from any other."""

    _commits: TableCommits | None = field(default=None, init=False)

    @property
    def commits(self) -> TableCommits:
        """What counts."""
        if self._commits is None:
            self._commits = TableCommits(self.place, self.layout)
        self._commits.layout = self.layout
        return self._commits

    @property
    def keys(self) -> Storage:
        return self.commits.notes

    def check(self) -> int | None:
        if isinstance(self.place, LocalStorage) and (self.place.folder / FILE_NOTES).exists():
            raise other_form(self.place.folder, "files")
        return self.commits.check(self.stream(), limits().max_checked_notes_bytes)

    def is_counted(self, number: int) -> bool:
        return self.commits.is_counted(number, self.stream(), self.plan(number))

    def before(self, number: int) -> Commit:
        return self.commits.before()

    def parts(self, work: Path, number: int) -> TableParts:
        return TableParts(self.place, self.layout, number)

    def take_profiles(self, types: Callable[[], Mapping[str, Mapping[str, AttributeType]]]) -> None:
        if self.layout.is_typed:
            self.layout = TableLayout.of(types())

    def publish(
        self,
        number: int,
        files: Iterable[WrittenFile],
        names: Iterable[str],
        after: Commit,
        *,
        is_again: bool,
    ) -> None:
        written = tuple(one for one in files if isinstance(one, TableFile))
        self.commits.commit(number, TableNote(after, written, self.stream(), self.plan(number)))

    def publish_end(self, number: int, files: Iterable[StagedFile], names: Sequence[str]) -> None:
        part, digest = self.parts(Path(), number).open(), 0
        for file in files:
            lines = file.path.read_bytes().splitlines()
            for line in lines:  # the same reports have the same number, in whatever order they come
                digest ^= int.from_bytes(blake2b(line, digest_size=8).digest()) >> 1
            if lines:
                part.put_all(file.to, pa.array(lines, pa.binary()))
        part.close()
        self.commits.commit_end(number, digest, part.files)

    def remembered(self) -> DeliveredSize:
        return self.commits.remembered()

    def let_go(self) -> None:
        self._commits = None


def other_form(folder: Path, form: str) -> Misuse:
    """What is said of a stream that is to go on in another form than before."""
    hint = "go on with the same --results, or begin anew with --overwrite or in another folder"
    return Misuse(f"the results here are {form}", code="other-layout", place=Place(str(folder)), hint=hint)
