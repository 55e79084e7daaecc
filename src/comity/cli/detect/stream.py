"""`comity detect --engine spark --stream`: composite profiles on growing folders of events."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from comity.cli.detect.request import DetectRequest
from comity.cli.failure import show
from comity.cli.output import console, write_json
from comity.cli.progress import StreamLine
from comity.cli.rejected import leave_if_rejected, print_reasons
from comity.cli.session import Format
from comity.cli.spark import start_spark, wait_for
from comity.cli.stream import StreamPace, tell_set_aside, tell_unknown
from comity.errors import ComityError, Misuse, Place
from comity.event.reasons import Reasons

if TYPE_CHECKING:
    from comity.event.taxonomy import Taxonomy
    from comity.federation.watch import Signature
    from comity.pattern.bound import BoundPattern
    from comity.plan.stages import Summary


@dataclass(slots=True)
class WatchedPatterns:
    """The patterns of a file as it is now; a change of it that is not valid changes nothing."""

    path: Path
    taxonomy: Taxonomy | None
    format: Format
    _signature: Signature | None = field(default=None, init=False)
    _known: list[BoundPattern] = field(default_factory=list, init=False)

    def current(self) -> list[BoundPattern]:
        """The patterns of now."""
        from comity.federation.watch import marks, settled
        from comity.profile.patterns import read_bound_patterns

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
                show([error if isinstance(error, ComityError) else _unreadable(error, self.path)], self.format)
        return self._known


def _unreadable(error: OSError, path: Path) -> Misuse:
    return Misuse(error.strerror or str(error), code="unreadable-file", place=Place(str(path)))


def run_detect_stream(request: DetectRequest, pace: StreamPace) -> None:
    """Detect until interrupted, or until nothing new is there. The next call on the same folder goes on from here."""
    if request.out is None:
        hint = "name it with --out DIR; reports go to DIR/reports, late events to DIR/late"
        raise Misuse("a stream on Spark needs a folder for its results", code="no-out", hint=hint)
    from comity.pipeline.detect.stream import DetectStream

    watched = WatchedPatterns(request.profiles, request.taxonomy, request.format)
    watched.current()
    with ExitStack() as stack:
        spark = start_spark(request.session, request.master, config=request.spark_config)
        figures = _Figures(request.format, stack.enter_context(StreamLine("stream", format=request.format)))
        stream = DetectStream(
            watched.current,
            request.out.resolve(),
            request.lateness_us or 0,
            request.taxonomy,
            figures.take,
            request.start_us,
            on_unknown=tell_unknown,
            on_set_aside=tell_set_aside,
            on_end=figures.end,
        )
        stack.callback(stream.close)
        query = stream.start(
            spark,
            [Path(request.events).resolve()],
            trigger_s=pace.trigger_s,
            until_empty=pace.until_empty,
            files_per_batch=pace.files_per_batch,
        )
        ended = wait_for(query, stream, request.format, meanwhile=stream.look_around, stopping=lambda: None)
        if ended and pace.until_empty:
            stream.finish(spark)
    figures.close(request.out)
    if pace.until_empty:
        leave_if_rejected(request.fail_on, rejected=figures.rejected, is_all=figures.records <= figures.rejected)


@dataclass(slots=True)
class _Figures:
    """Tells of each batch, and adds up."""

    format: Format
    line: StreamLine
    started: float = field(default_factory=time.monotonic)
    batches: int = 0
    records: int = 0
    rejected: int = 0
    late: int = 0
    reported: Counter[str] = field(default_factory=Counter)
    reasons: Reasons = field(default_factory=Reasons)

    def take(self, number: int, summary: Summary) -> None:
        self.batches += 1
        self.records += summary.records
        self.rejected += summary.rejected
        self.late += summary.late
        self.reported.update(summary.delivered)
        self.reasons.add(summary.rejected_by_code, summary.rejected_examples)
        told = {name: count for name, count in sorted(summary.delivered.items()) if count}
        if self.format is Format.JSON:
            figures = {"records": summary.records, "rejected": summary.rejected, "late": summary.late}
            write_json({"batch": number, **figures, "reports": told})
            return
        shown = ", ".join(f"{name} {count:,}" for name, count in list(told.items())[:_MOST_SHOWN])
        rest = f", {summary.late:,} late" if summary.late else ""
        console().print(f"batch {number}: {shown or 'nothing new'}{rest}")
        sys.stdout.flush()

    def end(self, number: int, summary: Summary) -> None:
        """Say what was reported because the stream ended."""
        self.reported.update(summary.delivered)
        told = {name: count for name, count in sorted(summary.delivered.items()) if count}
        if told and self.format is Format.JSON:
            write_json({"end": True, "reports": told})
        elif told:
            shown = ", ".join(f"{name} {count:,}" for name, count in list(told.items())[:_MOST_SHOWN])
            console().print(f"end: {shown}")

    def close(self, out: Path) -> None:
        """Say what it did in all."""
        seconds = time.monotonic() - self.started
        if self.format is Format.JSON:
            figures = {"batches": self.batches, "records": self.records, "rejected": self.rejected, "late": self.late}
            more = {"reasons": self.reasons.as_list(), "seconds": round(seconds, 3)}
            write_json({**figures, "reports": dict(self.reported), **more})
            return
        console().print(
            f"{self.batches:,} batches, {self.records:,} records, {self.reported.total():,} reports, "
            f"{self.rejected:,} rejected, {self.late:,} late, {seconds:.1f} s"
        )
        print_reasons(console(), self.reasons)
        console().print(f"reports are in {out / 'reports'}")


_MOST_SHOWN = 20
