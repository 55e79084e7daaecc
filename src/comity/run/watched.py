"""A stream on Spark whose batches somebody waits for, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from comity.federation.watch import WatchedFederation
from comity.run.observer import Observer
from comity.run.request import SparkOptions
from comity.run.sources import StoredFiles
from comity.run.spark import start_spark

_LOOK_S = 0.5


@dataclass(slots=True)
class WatchedStream:
    """A stream that runs."""

    runner: str
    """What carries it out, and where."""
    _query: Any
    _done: Queue[int] = field(default_factory=Queue)

    def wait(self) -> None:
        """Wait for the next batch, or raise what ended the stream."""
        from comity.pipeline.failure import spark_failures

        while True:
            with suppress(Empty):
                self._done.get(timeout=_LOOK_S)
                return
            with spark_failures():
                if not self._query.isActive:
                    self._query.awaitTermination()
                    return


@contextmanager
def watched_stream(
    federation: Path, events: Path, out: Path, options: SparkOptions, observer: Observer
) -> Iterator[WatchedStream]:
    """A stream over the files of a folder, which ends with the block."""
    from comity.pipeline.stream import StreamRun

    spark = start_spark(options, observer, files=StoredFiles([]))
    done: Queue[int] = Queue()
    with closing(StreamRun(WatchedFederation(federation), out=out, on_batch=lambda number, _: done.put(number))) as run:
        query = run.start(spark, [events], trigger_s=0, until_empty=False, files_per_batch=100)
        try:
            yield WatchedStream(f"Spark {spark.version} ({spark.sparkContext.master})", query, done)
        finally:
            query.stop()
