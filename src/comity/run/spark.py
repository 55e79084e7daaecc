"""Spark for a run: fit for the size of the job, and watched while it works."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from comity.run.ending import gets_signals
from comity.run.observer import Advance, Observer
from comity.run.request import SparkOptions
from comity.run.sources import StoredFiles
from comity.storage.place import is_address

_BRIEF_BYTES = 32_000_000
"""With less than this to read, starting up is most of the work."""


def start_spark(options: SparkOptions, observer: Observer, *, files: StoredFiles | None = None) -> Any:
    """The Spark session, whose class only the pipeline knows; for a few small files one that starts quickly."""
    from comity.pipeline.session import spark_session

    brief = files is not None and files.bytes < _BRIEF_BYTES
    if not options.verbose:  # the bridge to Java logs a traceback for whatever interrupts it
        logging.getLogger().addHandler(logging.NullHandler())
    with observer.working("starting Spark"):
        spark = spark_session(options.master, config=options.config, brief=brief, verbose=options.verbose)
    if not options.verbose:
        _silence_the_end_of_java(spark)
    if gets_signals():  # Spark's own handler of Ctrl-C talks to Java in the middle of another call.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return spark


def _silence_the_end_of_java(spark: Any) -> None:
    """A thread of PySpark prints a traceback when Java dies; we say what happened ourselves."""
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, address: None


@contextmanager
def tasks_told(spark: Any, files: StoredFiles, observer: Observer) -> Iterator[None]:
    """Tell how far Spark is with the files while the block runs: rows, as far as they can be told, and the part."""
    with observer.advancing(f"running on {spark.sparkContext.master}") as advance:
        if advance is None:
            yield
            return
        with _looked_after(_Tasks(spark), _estimated_rows(files), advance):
            yield


@contextmanager
def _looked_after(tasks: _Tasks, rows: int, advance: Advance) -> Iterator[None]:
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_S):
            fraction = tasks.fraction_done()
            if fraction is not None:
                advance(round(rows * fraction), fraction)

    watching = threading.Thread(target=look, name="comity-progress", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join(timeout=5)


_LOOK_S = 0.5
_SAMPLE_BYTES = 65_536
_USUAL_LINE_BYTES = 250


class _Tasks:
    """The tasks of all stages that were seen so far."""

    def __init__(self, spark: Any) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._totals: dict[int, int] = {}

    def fraction_done(self) -> float | None:
        """The part of the tasks that is done; None before there are any. Jobs that are yet to come are not known."""
        jobs = [self._tracker.getJobInfo(job) for job in self._tracker.getActiveJobsIds()]
        active = {stage for job in jobs if job is not None for stage in job.stageIds}
        left = sum(self._left(stage) for stage in active)
        total = sum(self._totals.values())
        return _MOST_BEFORE_THE_END * (total - left) / total if total else None

    def _left(self, stage: int) -> int:
        info = self._tracker.getStageInfo(stage)
        if info is None:  # an earlier job has done it
            return 0
        self._totals[stage] = info.numTasks
        return int(info.numTasks - info.numCompletedTasks)


_MOST_BEFORE_THE_END = 0.95


def _estimated_rows(files: StoredFiles) -> int:
    """About how many records there are, from the sizes of the files and the length of the first lines."""
    sample = b"" if not files.paths or is_address(files.paths[0]) else _beginning(files.paths[0])
    return files.bytes * max(sample.count(b"\n"), 1) // max(len(sample), _USUAL_LINE_BYTES if not sample else 1)


def _beginning(file: str) -> bytes:
    with open(file, "rb") as stream:
        return stream.read(_SAMPLE_BYTES)
