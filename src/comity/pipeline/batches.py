"""New files in growing folders, as numbered batches; the same batch comes again after a crash."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial, reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from comity.connect.claim import FolderLock, lock_folder
from comity.connect.growing import PassedOver, check_folders
from comity.errors import ComityError, Misuse, Place
from comity.event.formats.table import SUFFIXES
from comity.limits import Limits, limited, limits
from comity.pipeline.checkpoint import check_checkpoint, sync_checkpoint
from comity.pipeline.doubts import Attempts, Doubts
from comity.pipeline.failure import spark_failures
from comity.pipeline.line_numbers import plain_path
from comity.pipeline.quarantine import Quarantine

CHECKPOINT = ".checkpoint"
_WORK = ".work-"
_EVENT_FILES = "*{" + ",".join(SUFFIXES) + "}"
_BINARY_FILE = "path string, modificationTime timestamp, length bigint, content binary"


@dataclass(slots=True)
class FileBatches:
    """Hands each batch of files to `take`, for results in a folder that belongs to this stream alone.

    A batch that Spark fails at because of a file is handed over again, with doubts about that file.
    """

    out: Path
    take: Callable[[SparkSession, list[str], int, Doubts], None]
    last_batch: Callable[[], int | None]
    """The last batch of which there are results; asked when the folder is ours."""
    on_unknown: Callable[[list[Path]], None] = lambda files: None
    """Told once of files in the folders that nobody reads, since their names say nothing that is known."""
    on_ready: Callable[[SparkSession], None] = lambda spark: None
    """Called when the folder is ours, before the first batch."""
    fault: ComityError | None = field(default=None, init=False)
    """What made a batch fail, if that was not Spark."""
    _lock: FolderLock | None = field(default=None, init=False)
    _bounds: Limits = field(default_factory=limits, init=False)
    _folders: tuple[Path, ...] = field(default=(), init=False)
    _passed_over: PassedOver = field(init=False)

    def __post_init__(self) -> None:
        self._passed_over = PassedOver(self.on_unknown)

    def start(
        self,
        spark: SparkSession,
        folders: Sequence[Path],
        *,
        landed: Sequence[Path] = (),
        trigger_s: float,
        until_empty: bool,
        files_per_batch: int,
    ) -> StreamingQuery:
        """Begin, or go on where an earlier run on the same results folder ended.

        Files in `landed` folders are ours: they are removed when they are done with.
        """
        check_folders(folders)
        self._check_folder()
        self._folders = tuple(folders)
        self.look_around()
        self.on_ready(spark)
        with spark_failures():
            new = [_new_files(spark, folder, files_per_batch) for folder in folders]
            new += [_new_files(spark, folder, files_per_batch, cleanSource="delete") for folder in landed]
            writer = reduce(DataFrame.union, new).writeStream.foreachBatch(self._take_files)
            trigger = {"availableNow": True} if until_empty else {"processingTime": f"{trigger_s} seconds"}
            return writer.option("checkpointLocation", str(self.out / CHECKPOINT)).trigger(**trigger).start()

    def look_around(self) -> None:
        """Tell of files that are passed over."""
        self._passed_over.look(self._folders)

    def close(self) -> None:
        """Leave the folder to others."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _check_folder(self) -> None:
        """Nobody else may be working on the results, and what they say about batches must fit the checkpoint."""
        self._lock = lock_folder(self.out)
        if self.last_batch() is not None and not (self.out / CHECKPOINT).is_dir():
            hint = "put it back, or begin anew with --overwrite or in another folder"
            reason = "there are results of a stream, but not its checkpoint"
            raise Misuse(reason, code="no-checkpoint", place=Place(str(self.out)), hint=hint)
        check_checkpoint(self.out / CHECKPOINT)

    def _take_files(self, paths: DataFrame, number: int) -> None:
        self.look_around()
        files = [plain_path(row["path"]) for row in paths.collect()]
        sync_checkpoint(self.out / CHECKPOINT, number)
        with limited(**asdict(self._bounds)):  # Spark calls from a thread of its own
            self._attempt(paths.sparkSession, [file for file in files if file is not None], number)

    def _attempt(self, spark: SparkSession, files: list[str], number: int) -> None:
        quarantine = Quarantine(self.out)
        doubts, note = quarantine.doubts(number), partial(quarantine.note, number)
        attempts = Attempts(files, spark, doubts, note, crashes=True)
        try:
            attempts.run(lambda doubts: self.take(spark, files, number, doubts))
        except ComityError as error:
            self.fault = error
            raise
        quarantine.forget(number)


def _new_files(spark: SparkSession, folder: Path, files_per_batch: int, **options: str) -> DataFrame:
    """The paths of new files, of whatever form; their content is read by the batch."""
    reader = spark.readStream.format("binaryFile").schema(_BINARY_FILE).option("maxFilesPerTrigger", files_per_batch)
    # Spark passes over files that are a week older than the newest one it saw, without a word.
    reader = reader.option("maxFileAge", f"{limits().max_age_days + 1}d")
    return reader.option("pathGlobFilter", _EVENT_FILES).options(**options).load(str(folder)).select("path")


def attempt_folder(out: Path, number: int) -> Path:
    """Where one attempt at a batch stages its work; what is left of other attempts is removed.

    Each has a name of its own, because a Spark whose program was killed may still be writing for an earlier one, and
    what it writes must not be taken for ours.
    """
    for stale in out.glob(f"{_WORK}*"):
        shutil.rmtree(stale, ignore_errors=True)
    return out / f"{_WORK}{number}-{uuid.uuid4().hex[:12]}"
