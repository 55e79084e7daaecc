"""Streams on Spark: new files in growing folders, as numbered batches; the same batch comes again after a crash.

What all streams share is here: whose the results folder is, which files are in doubt, how a batch is published in the
place of an earlier attempt at it, and what patterns report when a stream ends.
"""

from __future__ import annotations

import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial, reduce
from pathlib import Path
from threading import RLock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from comity.connect.claim import FolderLock, lock_folder
from comity.connect.folder import CHECKPOINT, Results, StagedFile, publish_batch
from comity.connect.growing import PassedOver, check_folders, lag_s
from comity.connect.quarantine import Quarantine, SetAside
from comity.errors import ComityError, Misuse, Place
from comity.event.formats.table import SUFFIXES
from comity.limits import Limits, limited, limits
from comity.pipeline.checkpoint import check_checkpoint, sync_checkpoint
from comity.pipeline.detect.batches import PatternBatches
from comity.pipeline.detect.parcels import nothing_seen
from comity.pipeline.detect.patterns import SparkPatterns
from comity.pipeline.detect.telling import ReportWriter, tell
from comity.pipeline.doubt_notes import DoubtNotes
from comity.pipeline.doubts import NO_DOUBTS, Attempts, Doubts
from comity.pipeline.failure import spark_failures
from comity.pipeline.laps import Laps
from comity.pipeline.read import Inputs
from comity.pipeline.stores import check_readable_by_spark
from comity.plan.stages import Summary
from comity.storage.access import NO_ACCESS, StorageAccess
from comity.storage.lookup import is_pattern
from comity.storage.place import is_address

_WORK = ".work-"
_EVENT_FILES = "*{" + ",".join(SUFFIXES) + "}"
_BINARY_FILE = "path string, modificationTime timestamp, length bigint, content binary"


@dataclass(kw_only=True)
class FileStream(ABC):
    """A stream with results in a folder that belongs to it alone.

    A batch that Spark fails at because of a file is taken again, with doubts about that file.
    """

    out: Path
    on_batch: Callable[[int, Summary], None] = lambda number, summary: None
    """Told what each batch did, after it was published and before it counts."""
    on_end: Callable[[int, Summary], None] = lambda number, summary: None
    """Told what was reported because the stream ended after a batch, when it is published."""
    on_unknown: Callable[[list[Path]], None] = lambda files: None
    """Told once of files in the folders that nobody reads, since their names say nothing that is known."""
    on_set_aside: Callable[[SetAside], None] = lambda file: None
    """Told of files that could not be read to their ends."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    access: StorageAccess = field(default=NO_ACCESS, repr=False)
    """How stores are reached from which files are read."""
    results: Results = field(default=Results.JSONL, init=False)
    quarantine: Quarantine = field(init=False)
    fault: ComityError | None = field(default=None, init=False)
    """What made a batch fail, if that was not Spark, whose own failure says it only in a long text."""
    _lock: FolderLock | None = field(default=None, init=False)
    _bounds: Limits = field(default_factory=limits, init=False)
    _folders: tuple[str, ...] = field(default=(), init=False)
    _passed_over: PassedOver = field(init=False)
    _taking: RLock = field(default_factory=RLock, init=False)
    """Held while a batch is taken, which is in a thread of Spark's."""
    _attempted: int | None = field(default=None, init=False)
    """The last batch that this process has tried."""

    def __post_init__(self) -> None:
        self.quarantine = Quarantine(self.out, self.on_set_aside, self.access)
        self._passed_over = PassedOver(self.on_unknown)

    # What one stream does otherwise than another

    @abstractmethod
    def check_notes(self) -> int | None:
        """The last batch that there are notes of; raises if the stream cannot go on, as when notes are damaged."""

    @abstractmethod
    def _take(self, spark: SparkSession, inputs: Inputs, number: int, work: Path, laps: Laps) -> Summary:
        """Take a batch of files and publish what comes of it; `work` is a folder for it, which is removed then."""

    @property
    @abstractmethod
    def _pattern_batches(self) -> PatternBatches:
        """What is kept of patterns between batches."""

    @abstractmethod
    def _patterns_of_now(self, spark: SparkSession) -> SparkPatterns | None:
        """The patterns that count now; None if there are none."""

    @abstractmethod
    def _pattern_targets(self, patterns: SparkPatterns) -> tuple[str, ...]:
        """By pattern, the folder in which its reports are published."""

    @abstractmethod
    def _targets(self, at_end: bool) -> Sequence[str]:
        """The folders in which something may be published, with a batch or at the end."""

    @abstractmethod
    def _let_go(self) -> None:
        """Release what the stream holds beside its folder."""

    def _arriving(self, spark: SparkSession, paths: DataFrame | None) -> DataFrame:
        """What Spark's query reads: the paths of new files, and whatever else comes."""
        assert paths is not None, "there are folders"
        return paths

    @contextmanager
    def _files_of(self, batch: DataFrame) -> Iterator[list[str]]:
        """The new files of a batch, as long as it is taken."""
        yield named_files(batch)

    def _publish_end(self, number: int, files: Iterable[StagedFile]) -> None:
        """Publish what is reported because the stream ended after a batch, in the place of an earlier attempt."""
        publish_batch(files, self.out, self._targets(at_end=True), self.results, number, is_again=True, at_end=True)

    # What all do alike

    def start(
        self,
        spark: SparkSession,
        folders: Sequence[str | Path],
        *,
        landed: Sequence[Path] = (),
        trigger_s: float,
        until_empty: bool,
        files_per_batch: int,
    ) -> StreamingQuery:
        """Begin, or go on where an earlier run on the same results folder ended.

        Files in `landed` folders are ours: they are removed when they are done with.
        """
        self._folders = tuple(map(str, folders))
        check_folders(self._folders, self.access)
        check_readable_by_spark(self._folders, spark, self.access)
        self._check_folder()
        self.look_around()
        if self._pattern_batches.states.ends.unpublished is not None:
            self.finish(spark)  # a crash came between noting what is reported at an end and publishing it
        with spark_failures():
            new = [_new_files(spark, _followed(folder), files_per_batch) for folder in self._folders]
            new += [_new_files(spark, str(folder), files_per_batch, cleanSource="delete") for folder in landed]
            arriving = self._arriving(spark, reduce(DataFrame.union, new) if new else None)
            writer = arriving.writeStream.foreachBatch(self._take_arrived)
            trigger = {"availableNow": True} if until_empty else {"processingTime": f"{trigger_s} seconds"}
            return writer.option("checkpointLocation", str(self.out / CHECKPOINT)).trigger(**trigger).start()

    def look_around(self) -> None:
        """Tell of files in the folders that are passed over."""
        if self._folders:
            self._passed_over.look(self._folders)

    def take_batch(self, spark: SparkSession, files: Sequence[str], number: int, doubts: Doubts = NO_DOUBTS) -> None:
        """Take one batch of files; doing it again changes nothing."""
        laps, work = Laps(), attempt_folder(self.out, number)
        summary = self._take(spark, Inputs.of(files, doubts, self.access), number, work, laps)
        self._clear(work)
        self.on_batch(number, replace(summary, seconds=laps.seconds, lag_s=lag_s(files)))

    def finish(self, spark: SparkSession) -> None:
        """Report what closes because nothing more comes, as for stored events; `on_end` is told.

        Should the stream go on later, it does so as if it had not ended, and what was reported is not reported again.
        """
        batches, last = self._pattern_batches, self._pattern_batches.states.last_batch
        patterns = None if last is None else self._patterns_of_now(spark)
        if last is None or patterns is None:
            return
        work = attempt_folder(self.out, last)
        patterns.compiled = batches.states.after(last).compiled
        known, detection = batches.earlier_ends(), batches.end(patterns.shared)
        writer = ReportWriter(
            str(work),
            self.results,
            patterns.names,
            self._pattern_targets(patterns),
            known.told(batches.states.folder),
            (last, f"{last:08d}/end-{uuid.uuid4().hex[:12]}"),
        )
        with spark_failures():
            told = tell(nothing_seen(detection.buckets, spark), patterns.worker(detection), writer)
        with batches.ending(last, known, told.ends):
            self._publish_end(last, told.staged)
        shutil.rmtree(work, ignore_errors=True)
        self.on_end(last, Summary(0, 0, dict(told.delivered)))

    def close(self) -> None:
        """Leave the folder to others, and let go of what the stream holds.

        A batch that is still being taken, for a Java that has gone perhaps, has a while to come to its end: it may be
        writing, and a process must not end below what libraries do in a store.
        """
        if self._taking.acquire(timeout=limits().max_stop_s):
            self._taking.release()
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        self._let_go()

    def _clear(self, work: Path) -> None:
        """Remove what an attempt at a batch has left."""
        shutil.rmtree(work, ignore_errors=True)

    def _is_again(self, number: int) -> bool:
        """Whether there may be results of an earlier attempt at a batch."""
        is_again = self._attempted is None or number <= self._attempted
        self._attempted = number if self._attempted is None else max(self._attempted, number)
        return is_again

    def _check_folder(self) -> None:
        """Nobody else may be working on the results, and what they say about batches must fit the checkpoint."""
        self._lock = lock_folder(self.out)
        if self.check_notes() is not None and not (self.out / CHECKPOINT).is_dir():
            hint = "put it back, or begin anew with --overwrite or in another folder"
            reason = "there are results of a stream, but not its checkpoint"
            raise Misuse(reason, code="no-checkpoint", place=Place(str(self.out)), hint=hint)
        check_checkpoint(self.out / CHECKPOINT)

    def _take_arrived(self, batch: DataFrame, number: int) -> None:
        self.look_around()
        with self._taking, self._files_of(batch) as files:
            sync_checkpoint(self.out / CHECKPOINT, number)
            with limited(**asdict(self._bounds)):  # Spark calls from a thread of its own
                self._attempt(batch.sparkSession, files, number)

    def _attempt(self, spark: SparkSession, files: list[str], number: int) -> None:
        notes = DoubtNotes(self.out)
        known, note = notes.doubts(number), partial(notes.note, number)
        attempts = Attempts(files, spark, known, note, crashes=True, access=self.access)
        try:
            attempts.run(lambda doubts: self.take_batch(spark, files, number, doubts))
        except ComityError as error:
            self.fault = error
            raise
        notes.forget(number)
        self.quarantine.forget(number)


def _followed(folder: str) -> str:
    """A folder as Spark follows it. Of one in a store it would say that there is none, as long as no file is in it; of
    a pattern it does not, so a letter stands in brackets.

    >>> _followed("s3a://lake/.in"), _followed("s3a://lake"), _followed("/in")
    ('s3a://lake/.[i]n', 's3a://lake', '/in')
    """
    before, _, name = folder.rpartition("/")
    letter = next((at for at, one in enumerate(name) if one.isalnum()), None)
    if not is_address(folder) or is_pattern(folder) or before.endswith("/") or letter is None:
        return folder
    return f"{before}/{name[:letter]}[{name[letter]}]{name[letter + 1 :]}"


def _new_files(spark: SparkSession, folder: str, files_per_batch: int, **options: str) -> DataFrame:
    """The paths of new files, of whatever form; their content is read by the batch."""
    reader = spark.readStream.format("binaryFile").schema(_BINARY_FILE).option("maxFilesPerTrigger", files_per_batch)
    # Spark passes over files that are a week older than the newest one it saw, without a word.
    reader = reader.option("maxFileAge", f"{limits().max_age_days + 1}d")
    return reader.option("pathGlobFilter", _EVENT_FILES).options(**options).load(folder).select("path")


def named_files(paths: DataFrame) -> list[str]:
    """The files whose paths are given, each once: beside one whose name looks like a pattern Spark repeats others."""
    return list(dict.fromkeys(_named(row["path"]) for row in paths.collect()))


def _named(path: str) -> str:
    """A file of this machine by its path. Here Spark gives names as they are, so `%`, `#` and `?` are parts of them."""
    return f"/{path.removeprefix('file:').lstrip('/')}" if path.startswith("file:") else path


def attempt_folder(out: Path, number: int) -> Path:
    """Where one attempt at a batch stages its work; what is left of other attempts is removed.

    Each has a name of its own, because a Spark whose program was killed may still be writing for an earlier one, and
    what it writes must not be taken for ours.
    """
    for stale in out.glob(f"{_WORK}*"):
        shutil.rmtree(stale, ignore_errors=True)
    return out / f"{_WORK}{number}-{uuid.uuid4().hex[:12]}"
