"""Composite profiles over events, without a federation: in this process, on Spark, and as a stream on Spark."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from comity.engine.detect import Detection
from comity.engine.detect_files import ScannedDetection, can_scan
from comity.event.files import event_files, read_events
from comity.run.ending import on_spark
from comity.run.observer import Observer
from comity.run.request import HERE, SparkOptions
from comity.run.sources import STDIN, check_here, files_for_spark
from comity.run.spark import start_spark, tasks_told

if TYPE_CHECKING:
    from comity.event.taxonomy import Taxonomy
    from comity.pattern.bound import BoundPattern
    from comity.pattern.rows import ReportRow

_IDLE_S = 0.2


@dataclass(frozen=True, slots=True)
class DetectRequest:
    """Profiles, events, and how they are to be looked at; times are microseconds."""

    profiles: Path
    patterns: Sequence[BoundPattern]
    events: str
    taxonomy: Taxonomy | None
    start_us: int | None = None
    until_us: int | None = None
    lateness_us: int | None = None
    """How far events of a stream may be out of order; None for stored events."""
    clock: bool = False
    """Whether time passes by the clock, too."""
    spark: SparkOptions = HERE


class Reports(Protocol):
    """What an engine finds. The figures are complete once the last report was told."""

    @property
    def events(self) -> int:
        """Events that were looked at, without the rejected records."""

    @property
    def late(self) -> int:
        """Events that came too late to take part."""

    def told(self) -> Iterator[tuple[Mapping[str, int], bytes]]:
        """The lines of some reports at a time, in the order in which they occur, and how many each profile has."""


class LocalReports:
    """Detection in this process."""

    def __init__(self, request: DetectRequest, on_rejected: Callable[[Mapping[str, Any]], None]) -> None:
        self._request = request
        self._detection = Detection(
            request.patterns,
            request.taxonomy,
            lambda record: on_rejected(record.as_dict()),
            request.start_us,
            request.until_us,
        )

    @property
    def events(self) -> int:
        return self._detection.events

    @property
    def late(self) -> int:
        return self._detection.late

    def told(self) -> Iterator[tuple[Mapping[str, int], bytes]]:
        return (({one.profile: 1}, one.as_json() + b"\n") for one in self._found())

    def _found(self) -> Iterator[ReportRow]:
        request = self._request
        check_here(request.events)
        records = read_events(request.events, request.taxonomy, require_time=True)
        if request.lateness_us is not None:
            clock = _clock_us if request.clock else None
            return self._detection.over_stream(as_they_come(records), request.lateness_us, clock)
        return self._scanned() or self._detection.over_stored(records)

    def _scanned(self) -> Iterator[ReportRow] | None:
        """The reports over files that are better scanned; None when these are not such."""
        files = [] if self._request.events == STDIN else event_files(Path(self._request.events))
        if self._request.taxonomy is None or not files or not can_scan(files):
            return None
        return ScannedDetection(self._detection, self._request.taxonomy).over_files(files)


def _clock_us() -> int:
    return time.time_ns() // 1000


T = TypeVar("T")


def as_they_come(items: Iterable[T]) -> Iterator[T | None]:
    """The items, and None whenever there is none for a moment."""
    waiting: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=10_000)

    def read() -> None:
        try:
            for item in items:
                waiting.put(("item", item))
            waiting.put(("end", None))
        except Exception as error:  # it is raised again where the items are taken
            waiting.put(("error", error))

    threading.Thread(target=read, name="comity-reader", daemon=True).start()
    while True:
        try:
            what, item = waiting.get(timeout=_IDLE_S)
        except queue.Empty:
            yield None
            continue
        if what == "end":
            return
        if what == "error":
            raise item
        yield item


class SparkDetection:
    """Detection on Spark."""

    def __init__(
        self, request: DetectRequest, on_rejected: Callable[[Mapping[str, Any]], None], observer: Observer
    ) -> None:
        from comity.pipeline.detect.run import detect_on_spark

        self._files = files_for_spark(request.events)
        self._spark = start_spark(request.spark, observer, files=self._files)
        self._reports = detect_on_spark(
            request.patterns,
            self._files.paths,
            request.taxonomy,
            self._spark,
            until=request.until_us,
            start=request.start_us,
        )
        self._on_rejected, self._observer = on_rejected, observer

    @property
    def events(self) -> int:
        return self._reports.events

    @property
    def late(self) -> int:
        return self._reports.late

    def told(self) -> Iterator[tuple[Mapping[str, int], bytes]]:
        with tasks_told(self._spark, self._files, self._observer):
            on_spark(self._spark, self._reports.find)
        for record in self._reports.rejected:
            self._on_rejected(record)
        yield self._reports.counts, b""
        for lines in self._reports.lines():
            yield {}, lines
