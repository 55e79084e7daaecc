"""Files that make Spark fail: such a file is read in other ways, then not at all, and the rest goes on without it.

A failure of Spark names the file that it could not read. After a few tries such a file is read by a worker, as the
engine reads it, which rejects what is broken and keeps what stands before it. A file that fails there, too, is left
out, and one rejected record stands for it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import quote

import pyarrow as pa
from py4j.protocol import Py4JError
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from comity.errors import Misuse
from comity.event.formats.table import OnSpark, format_of
from comity.event.places import readable_file
from comity.limits import limits
from comity.pipeline.failure import cause_of
from comity.storage.access import NO_ACCESS, StorageAccess

_CRASHED = "Python worker exited unexpectedly"
_MOST_PARTS = 1_000
_EXHAUSTED = (
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "Too many open files",
    "[storage-failed]",  # of what is fetched
)
"""What no file is to blame for."""
_PAUSE_S = 0.2
"""Before the first new try; it doubles with each."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Doubts:
    """What is known of files that made Spark fail."""

    whole: frozenset[str] = frozenset()
    """Workers read these by themselves."""
    unreadable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Nobody reads these; with the reason."""

    def about(self, files: set[str], reason: str) -> Doubts:
        """The same when these files failed, too."""
        again, reason = files & self.whole, f"cannot be read: {reason}"
        return Doubts(self.whole | files, {**self.unreadable, **dict.fromkeys(sorted(again), reason)})


NO_DOUBTS = Doubts()


@dataclass(slots=True)
class Attempts:
    """Tries to read files, again and again while a failure names one of them, but a bounded number of times."""

    files: Sequence[str]
    spark: SparkSession
    doubts: Doubts = NO_DOUBTS
    on_doubt: Callable[[Doubts], None] = lambda doubts: None
    """Told of more doubts before the next try."""
    crashes: bool = False
    """Whether to try again, too, when a worker died and nobody knows of what."""
    pause: Callable[[float], None] = time.sleep
    access: StorageAccess = field(default=NO_ACCESS, repr=False)
    _tries: Counter[str] = field(default_factory=Counter, init=False)

    def run(self, attempt: Callable[[Doubts], _T]) -> _T:
        """What an attempt gives that does not fail because of a file."""
        while True:
            try:
                return attempt(self.doubts)
            except (PySparkException, Py4JError) as error:
                blamed = self._blamed(error)
                if not blamed:
                    raise
                self._doubt(blamed, cause_of(error))

    def _doubt(self, blamed: set[str], reason: str) -> None:
        self._tries.update(blamed)
        most = limits().max_file_attempts
        failed = {file for file in blamed if self._tries[file] % most == 0}
        if failed:
            self.doubts = self.doubts.about(failed, reason)
            self.on_doubt(self.doubts)
        else:
            self.pause(_PAUSE_S * 2 ** min(max(self._tries.values()), 6))

    def _blamed(self, error: Exception) -> set[str]:
        """The files that a failure names; with one of Parquet, all that are as broken, or each would take its tries."""
        text = str(error)
        if any(exhausted in text for exhausted in _EXHAUSTED):
            return set()
        read = [file for file in self.files if file not in self.doubts.unreadable]
        blamed = {file for file in read if _names(text, file)}
        if not blamed and self.crashes and _CRASHED in text:
            return set(read) - self.doubts.whole  # a worker that reads a whole file decodes it in another process
        rows = [file for file in read if file not in self.doubts.whole and format_of(file).on_spark is OnSpark.ROWS]
        if len(rows) > 1 and blamed & set(rows):
            blamed |= _broken_parquet(rows, self.spark, self.access)
        return blamed


def _names(text: str, file: str) -> bool:
    """Whether a text names a file, as it is or as a URL, and not another one whose path holds its path."""
    return any(re.search(rf"(?<!\w){re.escape(path)}(?!\.?\w)", text) for path in (file, quote(file, safe="/:")))


def _broken_parquet(files: Sequence[str], spark: SparkSession, access: StorageAccess) -> set[str]:
    """Those of the files that cannot be read to their ends."""
    paths = spark.createDataFrame([(file,) for file in files], "path string").repartition(min(len(files), _MOST_PARTS))
    try:
        return {row["path"] for row in paths.mapInArrow(partial(_unreadable_paths, access), "path string").collect()}
    except (PySparkException, Py4JError):
        return set()  # then the failures name them one after the other


def _unreadable_paths(access: StorageAccess, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        broken = [path for path in batch.column(0).to_pylist() if not _is_readable(path, access)]
        yield pa.RecordBatch.from_pydict({"path": pa.array(broken, pa.string())})


def _is_readable(path: str, access: StorageAccess) -> bool:
    try:
        with readable_file(path, access) as here, parquet.ParquetFile(here) as file:
            for _ in file.iter_batches():
                pass
    except (pa.ArrowException, OSError, ValueError, Misuse):
        return False
    return True


@contextmanager
def reading(file: str) -> Iterator[None]:
    """Whatever goes wrong inside names the file."""
    try:
        yield
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise RuntimeError(f"{file} cannot be read: {reason}") from error
