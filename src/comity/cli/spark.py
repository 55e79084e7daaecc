"""Spark for a command: started with a word to the user, and fit for the size of the job."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from comity.cli.output import console
from comity.cli.session import Format, Session
from comity.errors import ComityError, Misuse

_BRIEF_BYTES = 32_000_000
"""With less than this to read, starting up is most of the work."""


SparkConfigOption = Annotated[
    list[str] | None,
    typer.Option(
        "--spark-config", metavar="KEY=VALUE", help="A setting of Spark. May be repeated.", show_default=False
    ),
]


def read_spark_config(given: Sequence[str] | None) -> dict[str, str]:
    """The settings in `KEY=VALUE` texts; of one that is given twice the last.

    >>> read_spark_config(["spark.executor.memory=4g", "spark.executorEnv.OPTIONS=a=b"])
    {'spark.executor.memory': '4g', 'spark.executorEnv.OPTIONS': 'a=b'}
    """
    parts = [(text, *text.partition("=")) for text in given or ()]
    for text, key, equals, _ in parts:
        if not equals or not key.startswith("spark."):
            hint = "write --spark-config spark.executor.memory=4g"
            raise Misuse(f"this is no setting of Spark: {text}", code="spark-config", hint=hint)
    return {key: value for _, key, _, value in parts}


def start_spark(
    session: Session,
    master: str | None = None,
    *,
    files: Sequence[str] | None = None,
    config: Mapping[str, str] | None = None,
) -> Any:
    """The Spark session, whose class only the pipeline knows; for a few small files one that starts quickly."""
    from comity.pipeline.session import spark_session

    brief = files is not None and sum(Path(file).stat().st_size for file in files) < _BRIEF_BYTES
    if not session.verbose:  # the bridge to Java logs a traceback for whatever interrupts it
        logging.getLogger().addHandler(logging.NullHandler())
    with console(stderr=True).status("starting Spark"):
        spark = spark_session(master, config=config, brief=brief, verbose=session.verbose)
    # Spark's own handler of Ctrl-C talks to Java in the middle of another call.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return spark


class HasFault(Protocol):
    """A stream, which knows why a batch failed."""

    @property
    def fault(self) -> ComityError | None: ...


def wait_for(
    query: Any, stream: HasFault, format: Format, *, meanwhile: Callable[[], None], stopping: Callable[[], None]
) -> bool:
    """Wait until a streaming query ends, or Ctrl-C ends it; every second there is time for something else.

    Gives whether it ended by itself.
    """
    try:
        return _wait_for(query, format, meanwhile, stopping)
    except ComityError:
        if stream.fault is not None:
            raise stream.fault from None
        raise


def _wait_for(query: Any, format: Format, meanwhile: Callable[[], None], stopping: Callable[[], None]) -> bool:
    from comity.pipeline.failure import spark_failures

    with _asked_to_stop() as asked, spark_failures():
        while not asked.is_set() and not query.awaitTermination(1):
            meanwhile()
        if asked.is_set():
            stopping()
            query.stop()
            if format is Format.TEXT:
                console(stderr=True).print("stopped; the same command goes on from here", style="dim")
        return not asked.is_set()


@contextmanager
def _asked_to_stop() -> Iterator[threading.Event]:
    """Set by the first Ctrl-C, which as an exception would leave half an answer in the bridge to Java."""
    asked = threading.Event()

    def note(number: int, frame: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def spark_progress(spark: Any, files: Sequence[str], format: Format) -> Iterator[None]:
    """Show how far Spark is with the files while the block runs: rows (as far as they can be told), rate, time left."""
    from comity.cli.progress import BatchProgress, is_shown

    if not is_shown(format):
        yield
        return
    rows = _estimated_rows(files)
    over = threading.Event()
    with BatchProgress(f"running on {spark.sparkContext.master}") as progress:

        def look() -> None:
            while not over.wait(_LOOK_S):
                fraction = _fraction_done(spark)
                if fraction is not None:
                    progress.update(round(rows * fraction), fraction)

        watching = threading.Thread(target=look, name="comity-progress", daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join(timeout=5)


_LOOK_S = 0.5
_SAMPLE_BYTES = 65_536


def _fraction_done(spark: Any) -> float | None:
    """The part of the tasks of the first active stage that is done: the stage that reads the events."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(one) for one in sorted(tracker.getActiveStageIds())]
    known = [one for one in stages if one is not None and one.numTasks]
    return known[0].numCompletedTasks / known[0].numTasks if known else None


def _estimated_rows(files: Sequence[str]) -> int:
    """About how many records there are, from the sizes of the files and the length of the first lines."""
    size = sum(Path(file).stat().st_size for file in files)
    with open(files[0], "rb") as stream:
        sample = stream.read(_SAMPLE_BYTES)
    return size * max(sample.count(b"\n"), 1) // max(len(sample), 1)
