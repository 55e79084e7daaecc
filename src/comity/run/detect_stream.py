"""Composite profiles over growing folders of events, on Spark, without a federation."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from comity.errors import ComityError, Misuse, Place
from comity.federation.watch import Signature, marks, settled
from comity.language.files import read_bound_patterns
from comity.run.detect import DetectRequest
from comity.run.ending import on_spark, wait_for
from comity.run.observer import Observer
from comity.run.request import StreamPace
from comity.run.spark import start_spark
from comity.run.stream import not_read, set_aside
from comity.run.totals import StreamTotals

if TYPE_CHECKING:
    from comity.event.taxonomy import Taxonomy
    from comity.pattern.bound import BoundPattern
    from comity.plan.stages import Summary


@dataclass(slots=True)
class WatchedPatterns:
    """The patterns of a file as it is now; a change of it that is not valid changes nothing."""

    path: Path
    taxonomy: Taxonomy | None
    observer: Observer
    _signature: Signature | None = field(default=None, init=False)
    _known: list[BoundPattern] = field(default_factory=list, init=False)

    def current(self) -> list[BoundPattern]:
        """The patterns of now."""
        if self._signature is None:
            signature = marks([self.path])
            self._known = read_bound_patterns(self.path, self.taxonomy)
            self._signature = signature
            return self._known
        signature = settled(lambda: marks([self.path]), self._signature)
        if signature != self._signature:
            self._signature = signature
            try:
                self._known = read_bound_patterns(self.path, self.taxonomy)
            except (ComityError, OSError) as error:
                self.observer.fault(error if isinstance(error, ComityError) else _unreadable(error, self.path))
        return self._known


def _unreadable(error: OSError, path: Path) -> Misuse:
    return Misuse(error.strerror or str(error), code="unreadable-file", place=Place(str(path)))


def run_detect_stream(request: DetectRequest, out: Path, pace: StreamPace, observer: Observer) -> StreamTotals:
    """Detect until interrupted, or until nothing new is there. The next call on the same folder goes on from here."""
    from comity.pipeline.detect.stream import DetectStream  # Spark's own library takes a second to load

    watched = WatchedPatterns(request.profiles, request.taxonomy, observer)
    watched.current()
    spark = start_spark(request.spark, observer)
    totals = StreamTotals()
    observer.started()

    def take(number: int, summary: Summary) -> None:
        totals.take(summary)
        observer.batch_done(number, summary, totals)

    def end(number: int, summary: Summary) -> None:
        totals.end(summary)
        observer.ended(summary)

    stream = DetectStream(
        watched.current,
        out=out.resolve(),
        lateness_us=request.lateness_us or 0,
        taxonomy=request.taxonomy,
        on_batch=take,
        start_us=request.start_us,
        on_unknown=lambda files: observer.warning(not_read(files)),
        on_set_aside=lambda file: observer.warning(set_aside(file)),
        on_end=end,
    )
    with closing(stream):
        begin = partial(
            stream.start,
            spark,
            [Path(request.events).resolve()],
            trigger_s=pace.trigger_s,
            until_empty=pace.until_empty,
            files_per_batch=pace.files_per_batch,
        )
        query = on_spark(spark, begin, observer.stopping)
        if not wait_for(query, stream, meanwhile=stream.look_around, stopping=observer.stopping):
            observer.stopped()
        elif pace.until_empty:
            on_spark(spark, partial(stream.finish, spark), observer.stopping)
    return totals
