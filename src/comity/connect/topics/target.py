"""Topics as the target of a stream: what counts is in the folder of its state, and in the marks of its transactions.

A bucket is delivered for good when its task ends, before the batch counts here. A batch that is done again therefore
begins with what its buckets have said in their marks: only what is not among those keys is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import msgspec

from comity.connect.commits import Commit, Commits, WrittenKeys, after_batch, check_on_start
from comity.connect.delivered import DeliveredSize
from comity.connect.folder import TOPICS_NOTE, StagedFile
from comity.connect.sealed import Purpose
from comity.connect.target import Target, WrittenFile, other_form
from comity.connect.topics.marks import BucketMarks
from comity.connect.topics.parts import TopicParts
from comity.connect.topics.place import Topics
from comity.event.types import AttributeType
from comity.storage.durable import make_folder, write_whole
from comity.storage.place import Storage

TOPICS_STATE = Purpose(
    "which topics the stream writes",
    "put back a copy of the folder, or begin anew with another one",
    code="broken-state",
)
_END = -1
"""The bucket of what is reported because a stream ended."""


class _Note(msgspec.Struct):
    address: str
    stream: str
    buckets: int


@dataclass(slots=True)
class TopicTarget(Target):
    """Topics, and the folder with the state of a stream into them."""

    out: Path
    topics: Topics
    targets: Callable[[], Iterable[str]] = tuple
    """Everything that may be written."""
    plan: Callable[[int], str | None] = lambda number: None
    """What tells the input of a batch from any other."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _commits: Commits | None = field(default=None, init=False)
    _stream: str = field(default_factory=lambda: uuid4().hex, init=False)
    """What tells its transactions from those of others."""
    _last_begun: int | None = field(default=None, init=False)

    @property
    def commits(self) -> Commits:
        """What counts."""
        if self._commits is None:
            commits = Commits(self.out)
            if commits.needs_begin:
                commits.begin((), self.clock().date().isoformat())
            self._commits = commits
        return self._commits

    @property
    def keys(self) -> Storage:
        return self.commits.place

    def check(self) -> int | None:
        note = self._noted()
        if note is None and Commits(self.out).is_begun:
            raise other_form(self.out, "no topics")
        if note is not None and note.address != self.topics.address:
            raise other_form(self.out, f"topics at {note.address}")
        self.topics.check(self.targets())
        return check_on_start(self.out)

    def is_counted(self, number: int) -> bool:
        last = self.commits.last_batch
        return last is not None and number <= last

    def spread(self, buckets: int) -> int:
        """Noted before anything is sent, since the marks of a bucket are found by its number."""
        note = self._noted()
        if note is None:
            note = _Note(self.topics.address, self._stream, buckets)
            make_folder(self.out)
            write_whole(self.out / TOPICS_NOTE, msgspec.json.encode(note))
        self._stream = note.stream
        return note.buckets

    def before(self, number: int) -> Commit:
        before = self.commits.before(number)
        is_next = self._last_begun is not None and number > self._last_begun
        self._last_begun = number
        note = self._noted()
        if note is None or is_next:
            return before
        self._stream = note.stream
        delivered = [one for bucket in range(note.buckets) for one in self._marked(bucket, number)]
        return after_batch(before, note.buckets, delivered) if delivered else before

    def parts(self, work: Path, number: int) -> TopicParts:
        return TopicParts(self.topics, self._stream, number, self.plan(number))

    def publish(
        self,
        number: int,
        files: Iterable[WrittenFile],
        names: Iterable[str],
        after: Commit,
        *,
        is_again: bool,
    ) -> None:
        self.commits.commit(number, after)

    def publish_end(self, number: int, files: Iterable[StagedFile], names: Sequence[str]) -> None:
        lines = [(file.to, line) for file in files for line in file.path.read_bytes().splitlines()]
        if not lines:
            return
        part = replace(self.parts(Path(), number), plan=None).open(_END, _number_of(lines))
        if part.is_again:
            part.close()
            return
        for to, line in lines:
            part.put(to, line)
        part.commit(())

    def take_profiles(self, types: Callable[[], Mapping[str, Mapping[str, AttributeType]]]) -> None:
        """Lines have no types."""

    def remembered(self) -> DeliveredSize:
        return self.commits.remembered()

    def let_go(self) -> None:
        self._commits = None

    def _marked(self, bucket: int, number: int) -> list[WrittenKeys]:
        marks = BucketMarks(self.topics, self._stream, bucket)
        with marks.reader() as reader:
            return marks.last(reader, number, self.plan(number)).keys

    def _noted(self) -> _Note | None:
        path = self.out / TOPICS_NOTE
        if not path.exists():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=_Note)
        except msgspec.DecodeError as error:
            raise TOPICS_STATE.broken(path, str(error)) from error


def _number_of(lines: Iterable[tuple[str, bytes]]) -> int:
    """What tells the reports of one end from those of another; the same whatever their order."""
    found = 0
    for to, line in lines:
        found ^= int.from_bytes(blake2b(line, digest_size=6, key=to.encode()[:64]).digest())
    return found
