"""Spark for a run: fit for the size of the job, watched while it works, and ended by signals without a mess."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any, Protocol, TypeVar

from comity.errors import ComityError
from comity.run.observer import Advance, Observer
from comity.run.request import SparkOptions

_BRIEF_BYTES = 32_000_000
"""With less than this to read, starting up is most of the work."""


def start_spark(options: SparkOptions, observer: Observer, *, files: Sequence[str] | None = None) -> Any:
    """The Spark session, whose class only the pipeline knows; for a few small files one that starts quickly."""
    from comity.pipeline.session import spark_session

    brief = files is not None and sum(Path(file).stat().st_size for file in files) < _BRIEF_BYTES
    if not options.verbose:  # the bridge to Java logs a traceback for whatever interrupts it
        logging.getLogger().addHandler(logging.NullHandler())
    with observer.working("starting Spark"):
        spark = spark_session(options.master, config=options.config, brief=brief, verbose=options.verbose)
    if not options.verbose:
        _silence_the_end_of_java(spark)
    if _gets_signals():  # Spark's own handler of Ctrl-C talks to Java in the middle of another call.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return spark


def _gets_signals() -> bool:
    """Whether Python hands signals to this thread."""
    return threading.current_thread() is threading.main_thread()


def _silence_the_end_of_java(spark: Any) -> None:
    """A thread of PySpark prints a traceback when Java dies; we say what happened ourselves."""
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, address: None


class HasFault(Protocol):
    """A stream, which knows why a batch failed."""

    @property
    def fault(self) -> ComityError | None: ...


def wait_for(query: Any, stream: HasFault, *, meanwhile: Callable[[], None], stopping: Callable[[], None]) -> bool:
    """Wait until a streaming query ends, or Ctrl-C ends it; every second there is time for something else.

    Gives whether it ended by itself.
    """
    try:
        return _wait_for(query, meanwhile, stopping)
    except ComityError:
        if stream.fault is not None:
            raise stream.fault from None
        raise


def _wait_for(query: Any, meanwhile: Callable[[], None], stopping: Callable[[], None]) -> bool:
    from comity.pipeline.failure import spark_failures

    with asked_to_stop() as asked, spark_failures():
        while not asked.is_set() and not query.awaitTermination(1):
            meanwhile()
        if asked.is_set():
            stopping()
            query.stop()
        return not asked.is_set()


class _Asked(threading.Event):
    """Set by the first signal that asks us to end."""

    signal_number = 0

    def note(self, number: int, frame: object) -> None:
        self.signal_number = number
        self.set()


@contextmanager
def asked_to_stop() -> Iterator[_Asked]:
    """Set by the first Ctrl-C or SIGTERM, which as an exception would leave half an answer in the bridge to Java."""
    asked = _Asked()
    if not _gets_signals():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: object) -> None:
        asked.note(number, frame)
        put_back()

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, note)
    try:
        yield asked
    finally:
        put_back()


def on_spark(spark: Any, work: Callable[[], _T]) -> _T:
    """What the work gives, done in a thread of its own, so that a signal never comes into a call to Java.

    A signal to end cancels what Spark is doing; where that does not help within seconds, Java is ended. In both cases
    the work comes to its own end, and cleans up, before the signal takes effect here.
    """
    found: Future[_T] = Future()
    context = copy_context()

    def do() -> None:
        try:
            found.set_result(context.run(work))
        except BaseException as error:
            found.set_exception(error)

    with asked_to_stop() as asked:
        threading.Thread(target=do, name="comity-work", daemon=True).start()
        while not (found.done() or asked.is_set()):
            asked.wait(_NAP_S)
        if not found.done():
            _cancel(spark, found)
    if asked.is_set():
        signal.raise_signal(asked.signal_number)
    return found.result()


def _cancel(spark: Any, work: Future[Any]) -> None:
    """Wait until the work has ended, without its jobs, or without Java."""
    from comity.pipeline.session import abandon_session

    # In a thread, since Java may be too busy to answer.
    threading.Thread(target=_cancel_jobs, args=(spark,), name="comity-cancel", daemon=True).start()
    if not wait([work], timeout=_CANCEL_S).done:
        abandon_session()
        wait([work], timeout=_CANCEL_S)


def _cancel_jobs(spark: Any) -> None:
    with suppress(Exception):  # a Spark that has gone has no jobs
        spark.sparkContext.cancelAllJobs()


_T = TypeVar("_T")
_NAP_S = 0.2
_CANCEL_S = 5


@contextmanager
def tasks_told(spark: Any, files: Sequence[str], observer: Observer) -> Iterator[None]:
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


def _estimated_rows(files: Sequence[str]) -> int:
    """About how many records there are, from the sizes of the files and the length of the first lines."""
    if not files:
        return 0
    size = sum(Path(file).stat().st_size for file in files)
    with open(files[0], "rb") as stream:
        sample = stream.read(_SAMPLE_BYTES)
    return size * max(sample.count(b"\n"), 1) // max(len(sample), 1)
