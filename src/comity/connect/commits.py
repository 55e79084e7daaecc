"""Which batches of a stream on Spark count, and what was delivered up to each of them.

Workers write files of keys beside the results, under names that occur once. They count when a commit names them, which
is one small file, written when the batch is published. A batch that is done again begins with the commit before it, so
what its earlier attempts left is neither believed nor in the way, and is removed when a later one is committed.

Keys are kept by the day on which they came, in parts (buckets), each of which is one task's. Of a bucket and a day, so
many files as `FILES_A_LEVEL` are put together to one, and so many of those again: what is looked into grows with the
logarithm of the number of batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice
from pathlib import Path
from uuid import uuid4

from comity.connect.batch_notes import BatchNotes
from comity.connect.delivered import EARLIER, DeliveredSize, look_at_delivered, reading
from comity.connect.delivered import FILE as DATABASE
from comity.connect.identity import key_digest
from comity.connect.key_files import (
    KEYS,
    DeliveredKeys,
    KeyFile,
    Keys,
    as_keys,
    check_content,
    check_size,
    joined,
    map_keys,
    write_keys,
)
from comity.event.times import format_timestamp, parse_timestamp
from comity.limits import limits
from comity.storage.durable import make_folder, sync
from comity.storage.place import LocalStorage, Storage

FOLDER = ".delivered"
FILES_A_LEVEL = 8
_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class Commit:
    """What counts after a batch."""

    buckets: int | None = None
    """Over how many parts keys are spread; it stays so from the first batch on."""
    keys: tuple[KeyFile, ...] = ()
    newest: str | None = None
    """The time of the newest event that somebody wanted."""

    def of_bucket(self, bucket: int) -> tuple[KeyFile, ...]:
        """The files that may hold a key of a bucket."""
        return tuple(file for file in self.keys if file.bucket in (bucket, None))

    def remembering(self, since: str) -> Commit:
        """The same without what came before a day."""
        return replace(self, keys=tuple(file for file in self.keys if file.day >= since))

    def having_seen(self, newest: datetime | None) -> Commit:
        """The same when there was an event of this time."""
        known = parse_timestamp(self.newest or "")
        is_newer = newest is not None and (known is None or newest > known)
        return replace(self, newest=format_timestamp(newest)) if newest is not None and is_newer else self

    def late_before(self, late_after_s: int) -> datetime | None:
        """From when back an event is late."""
        newest = parse_timestamp(self.newest or "")
        return None if newest is None else newest - timedelta(seconds=late_after_s)


class Commits:
    """The commits in a results folder."""

    def __init__(self, out: Path) -> None:
        self.folder = out / FOLDER
        self.place = LocalStorage(self.folder)
        self.notes = BatchNotes(self.folder, Commit, KEYS)
        self._database = out / DATABASE

    @property
    def is_begun(self) -> bool:
        """Whether there is anything."""
        return bool(self.notes.numbers())

    @property
    def needs_begin(self) -> bool:
        """Whether `begin` was not called yet, or not to its end."""
        return not self.is_begun or self._database.exists()

    @property
    def last_batch(self) -> int | None:
        """The last batch that counts."""
        return max((number for number in self.notes.numbers() if number != EARLIER), default=None)

    def begin(self, earlier: Iterable[str], day: str) -> None:
        """Begin with keys of notifications that were delivered before the first batch, or with those of a stream
        that noted them in a database.
        """
        make_folder(self.folder)
        if self._database.exists():
            self._take_over(day)
        else:
            self.notes.save(EARLIER, Commit(keys=self._written(map(key_digest, earlier), day)))
        self._remove_database()

    def before(self, number: int) -> Commit:
        """What counted when a batch began, which is the next one, or the last one again."""
        earlier = self.notes.before(number)
        if earlier is None:
            reason = f"batch {number:,} was done long ago; the checkpoint of the stream is older than its results"
            raise KEYS.broken(self.folder, reason)
        return self.notes.read(earlier)

    def last(self) -> Commit:
        """What counts now."""
        return self.notes.read(max(self.notes.numbers()))

    def commit(self, number: int, after: Commit) -> None:
        """Let a batch count; what no batch from this one on can ask for is removed."""
        sync(self.folder)
        self.notes.save(number, after)
        named = {file.name for kept in self.notes.keep_two(number) for file in kept.keys}
        for path in self.folder.glob("*.keys"):
            if path.name not in named:
                path.unlink(missing_ok=True)

    def check(self, most_bytes: int | None = None) -> None:
        """Raise `Permanent` for what is damaged or missing; up to so many bytes are read for it."""
        for number in self.notes.numbers():
            for file in self.notes.read(number).keys:
                check_size(self.place, file)
                if most_bytes is None or file.size <= most_bytes:
                    check_content(self.place, file)

    def remembered(self) -> DeliveredSize:
        """How much it is."""
        files = self.last().keys if self.is_begun else ()
        size = sum(one.stat().st_size for one in self.folder.glob("*.keys"))
        return DeliveredSize(sum(file.count for file in files), size, min((file.day for file in files), default=None))

    def _take_over(self, day: str) -> None:
        """Take the notes of a stream from before there were commits."""
        with reading(self._database) as database:
            (last,) = database.execute("select max(batch) from delivered where batch >= 0").fetchone()
            last = EARLIER if last is None else int(last)
            newest = database.execute("select value from noted where name = 'newest'").fetchone()
            before = database.execute("select key from delivered where batch < ?", (last,))
            commit = Commit(keys=self._written((key for (key,) in before), day), newest=newest[0] if newest else None)
            self.notes.save(last - 1 if last > 0 else EARLIER, commit)
            own = database.execute("select key from delivered where batch = ?", (last,))
            files = self._written((key for (key,) in own), day)
            self.notes.save(last, replace(commit, keys=(*commit.keys, *files)))

    def _written(self, digests: Iterable[bytes], day: str) -> tuple[KeyFile, ...]:
        """Files of digests of any bucket."""
        files: list[KeyFile] = []
        given = iter(digests)
        while some := list(islice(given, _AT_ONCE)):
            known = DeliveredKeys([])
            known.take(as_keys(some))
            files.append(write_keys(self.place, new_name("earlier"), known.taken(), day))
        whole = self._put_together(files, day)
        sync(self.folder)
        return whole

    def _put_together(self, files: Sequence[KeyFile], day: str) -> tuple[KeyFile, ...]:
        if len(files) < 2:
            return tuple(files)
        keys = joined([map_keys(self.place, file) for file in files])
        return (write_keys(self.place, new_name("earlier"), keys, day),)

    def _remove_database(self) -> None:
        for name in (self._database.name, f"{self._database.name}-wal", f"{self._database.name}-shm"):
            with suppress(FileNotFoundError):
                self._database.with_name(name).unlink()


def look_at_commits(out: Path) -> DeliveredSize | None:
    """How much a results folder remembers, None if nothing; raises `Permanent` if something is damaged."""
    commits = Commits(out)
    if not commits.is_begun:
        return look_at_delivered(out)
    commits.check()
    return commits.remembered()


def new_name(batch: int | str) -> str:
    """The name of a file of keys, which occurs once."""
    return f"{batch}-{uuid4().hex}.keys"


def first_day(today: date, remember_days: int) -> str:
    """The first day of which keys are remembered.

    >>> first_day(date(2026, 3, 2), 30)
    '2026-01-31'
    """
    return (today - timedelta(days=remember_days)).isoformat()


@dataclass(frozen=True, slots=True)
class WrittenKeys:
    """What a task noted of a bucket: a file, and those that it takes the place of."""

    file: KeyFile
    replaced: tuple[str, ...] = ()


def note_keys(place: Storage, known: Sequence[KeyFile], new: Keys, batch: int, bucket: int, day: str) -> WrittenKeys:
    """Write the new keys of a bucket, together with those of a level and a day that is full."""
    replaced: list[KeyFile] = []
    level = 0
    while len(same := list(_of_level(known, bucket, day, level))) >= FILES_A_LEVEL - 1:
        replaced += same
        level += 1
    keys = joined([new, *(map_keys(place, file) for file in replaced)])
    file = write_keys(place, new_name(batch), keys, day, bucket=bucket, level=level)
    return WrittenKeys(file, tuple(one.name for one in replaced))


def _of_level(known: Sequence[KeyFile], bucket: int, day: str, level: int) -> Iterator[KeyFile]:
    return (file for file in known if (file.bucket, file.day, file.level) == (bucket, day, level))


def after_batch(before: Commit, buckets: int, written: Iterable[WrittenKeys]) -> Commit:
    """What counts when tasks have noted their keys."""
    done = list(written)
    gone = {name for one in done for name in one.replaced}
    kept = tuple(file for file in before.keys if file.name not in gone)
    return replace(before, buckets=buckets, keys=(*kept, *(one.file for one in done)))


def check_on_start(out: Path) -> int | None:
    """The last batch that counts; raises `Permanent` if something is damaged."""
    commits = Commits(out)
    if commits.needs_begin:
        look_at_delivered(out)
    commits.check(limits().max_checked_notes_bytes)
    return commits.last_batch
