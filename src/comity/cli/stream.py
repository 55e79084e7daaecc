"""`comity run --stream`: a federation over events as they come."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from logging import WARNING
from pathlib import Path
from typing import TYPE_CHECKING

from comity.cli.failure import show
from comity.cli.inputs import landing_of, look_after, wait_for_ends
from comity.cli.output import console, write_json
from comity.cli.progress import StreamLine
from comity.cli.rejected import leave_if_rejected, print_reasons
from comity.cli.request import RunRequest, log_summary, sent
from comity.cli.session import Format
from comity.cli.spark import start_spark, wait_for
from comity.connect.claim import claimed_folder
from comity.errors import ComityError
from comity.event.formats.table import SUFFIXES
from comity.event.reasons import Reasons
from comity.logs import log

if TYPE_CHECKING:
    from comity.cli.metrics import MetricsOutput
    from comity.connect.landing import Landing
    from comity.federation.watch import Removed
    from comity.pipeline.quarantine import SetAside
    from comity.plan import Summary


@dataclass(frozen=True, slots=True)
class StreamPace:
    """How a stream is cut into batches, and when it ends."""

    trigger_s: float
    until_empty: bool
    files_per_batch: int


@dataclass(slots=True)
class StreamFigures:
    """What a stream did so far."""

    request: RunRequest
    line: StreamLine
    started: float = field(default_factory=time.monotonic)
    batches: int = 0
    records: int = 0
    rejected: int = 0
    late: int = 0
    matched: int = 0
    delivered: dict[str, int] = field(default_factory=dict)
    reasons: Reasons = field(default_factory=Reasons)

    def take(self, number: int, summary: Summary) -> None:
        """Count a batch, and say what it did."""
        self.batches += 1
        self.records += summary.records
        self.rejected += summary.rejected
        self.late += summary.late
        self.matched += summary.matched
        self.reasons.add(summary.rejected_by_code, summary.rejected_examples)
        for name, count in summary.delivered.items():
            self.delivered[name] = self.delivered.get(name, 0) + count
        self.line.update(
            batch=number,
            records=self.records,
            rate=summary.records / max(sum(summary.seconds.values()), 1e-3),
            delivered=sum(self.delivered.values()),
            rejected=self.rejected,
            lag_s=summary.lag_s,
        )
        self._say(number, summary)

    def end(self, summary: Summary) -> None:
        """Say what was reported because the stream ended."""
        told = {name: count for name, count in sorted(summary.delivered.items()) if count}
        for name, count in told.items():
            self.delivered[name] = self.delivered.get(name, 0) + count
        to_stderr = self.request.print_lines
        if told and self.request.format is Format.JSON:
            write_json({"end": True, "delivered": told}, stderr=to_stderr)
        elif told:
            shown = ", ".join(f"{name} {count:,}" for name, count in list(told.items())[:_MOST_SHOWN])
            console(stderr=to_stderr).print(f"end: {shown}")

    @property
    def is_all_rejected(self) -> bool:
        """Whether there were records, and every one was rejected."""
        return 0 < self.records <= self.rejected and not self.matched

    def _say(self, number: int, summary: Summary) -> None:
        to_stderr = self.request.print_lines
        told = {name: count for name, count in sorted(summary.delivered.items()) if count}
        if self.request.format is Format.JSON:
            figures = {"records": summary.records, "rejected": summary.rejected, "late": summary.late}
            write_json({"batch": number, **figures, "delivered": told}, stderr=to_stderr)
        else:
            shown = ", ".join(f"{name} {count:,}" for name, count in list(told.items())[:_MOST_SHOWN])
            more = f", and {len(told) - _MOST_SHOWN} more profiles" if len(told) > _MOST_SHOWN else ""
            rejected = f", {summary.rejected:,} rejected" if summary.rejected else ""
            console(stderr=to_stderr).print(f"batch {number}: {shown or 'nothing new'}{more}{rejected}")
            sys.stdout.flush()

    def close(self) -> None:
        """Say what it did in all."""
        seconds = time.monotonic() - self.started
        to_stderr = self.request.print_lines
        if self.request.format is Format.JSON:
            totals = {"batches": self.batches, "records": self.records, "rejected": self.rejected, "late": self.late}
            more = {"reasons": self.reasons.as_list(), "seconds": round(seconds, 3)}
            write_json({**totals, "delivered": self.delivered, **more}, stderr=to_stderr)
        else:
            total = sum(self.delivered.values())
            shown = console(stderr=to_stderr)
            shown.print(
                f"{self.batches:,} batches, {self.records:,} records, {total:,} notifications, "
                f"{self.rejected:,} rejected, {seconds:.1f} s"
            )
            print_reasons(shown, self.reasons)


_MOST_SHOWN = 20


def run_stream(request: RunRequest, pace: StreamPace, measured: MetricsOutput, *, overwrite: bool = False) -> None:
    """Deliver until interrupted, or until nothing new is there. The next call on the same folder goes on from here."""
    from comity.federation.watch import WatchedFederation
    from comity.pipeline.batches import check_folders
    from comity.pipeline.stream import StreamRun

    def report_fault(error: ComityError) -> None:
        log("federation not changed", error=str(error))
        show([error], request.format)

    def report_removed(removed: Removed) -> None:
        names = {"domains": removed.domains, "contracts": removed.contracts, "profiles": removed.profiles}
        log("federation files removed", level=WARNING, files=[str(path) for path in removed.files], **names)
        if request.format is Format.JSON:
            write_json({"warning": str(removed), "code": "files-removed"}, stderr=True)
        else:
            console(stderr=True).print(f"warning: {removed}", style="yellow")

    watched = WatchedFederation(request.folder, report_fault, report_removed)
    watched.current()
    folders = [path.resolve() for path in request.sources.paths]
    check_folders(folders)
    with ExitStack() as stack:
        outbox = stack.enter_context(request.sending())
        stack.enter_context(claimed_folder(request.out, overwrite=overwrite, goes_on=True))
        if outbox is not None:
            stack.callback(outbox.finish)  # before others may have the folder

        def take(number: int, summary: Summary) -> None:
            if outbox is not None:
                outbox.priorities = watched.current().priorities()
            done = sent(outbox, summary)
            log_summary("batch done", done, batch=number, seconds=round(sum(done.seconds.values()), 3))
            measured.take(done, lag_s=done.lag_s, remembered=stream.delivered.remembered)
            figures.take(number, done)

        owners = request.sources.owners(request.out)

        def take_end(number: int, summary: Summary) -> None:
            done = sent(outbox, summary)
            log_summary("stream ended", done, batch=number)
            figures.end(done)

        stream = StreamRun(
            watched,
            request.out,
            take,
            request.results,
            on_unknown=tell_unknown,
            owners=owners,
            on_set_aside=tell_set_aside,
            on_end=take_end,
        )
        stack.callback(stream.close)
        stream.check_notes()
        landed = stack.enter_context(_landing(request))
        spark = start_spark(request.session, request.master, config=request.spark_config)
        figures = StreamFigures(request, stack.enter_context(StreamLine("stream", format=request.format)))
        if outbox is not None:
            outbox.send()  # what a run that was killed had published but not sent
        if pace.until_empty:
            wait_for_ends(landed)
        query = stream.start(
            spark,
            folders,
            landed=[one.folder for one in landed],
            trigger_s=pace.trigger_s,
            until_empty=pace.until_empty,
            files_per_batch=pace.files_per_batch,
        )
        request.remember()
        log("stream started", federation=request.federation.name, sources=len(request.sources.paths) + len(landed))

        def stop_sending() -> None:
            if outbox is not None:
                outbox.stop()  # a sink that is down would hold the stop until its retries are over

        def look() -> None:
            look_after(landed)
            stream.look_around()

        if wait_for(query, stream, request.format, meanwhile=look, stopping=stop_sending) and pace.until_empty:
            stream.finish(spark)
    log("stream stopped", batches=figures.batches, records=figures.records)
    figures.close()
    if pace.until_empty:  # one that goes on for ever is stopped by somebody, which is no failure
        leave_if_rejected(request.fail_on, rejected=figures.rejected, is_all=figures.is_all_rejected)


def tell_unknown(files: list[Path]) -> None:
    """Say which files in the folders of a stream are not read."""
    names = ", ".join(file.name for file in files[:_MOST_NAMED])
    more = f" and {len(files) - _MOST_NAMED:,} more" if len(files) > _MOST_NAMED else ""
    known = f"read are files {', '.join(SUFFIXES)} that are not empty"
    console(stderr=True).print(f"not read: {names}{more} in {files[0].parent} ({known})", style="yellow")


_MOST_NAMED = 3


def tell_set_aside(file: SetAside) -> None:
    """Say which file could not be read to its end."""
    where = "" if file.line is None else f" from {file.line:,} on"
    console(stderr=True).print(f"set aside: {file.file}{where}: {file.reason} [{file.code}]", style="yellow")


@contextmanager
def _landing(request: RunRequest) -> Iterator[list[Landing]]:
    """Live sources, kept in folders that the stream reads, while the block runs."""
    with ExitStack() as stack:
        landings = [landing_of(spec, request.folder, request.out) for spec in request.sources.live]
        for one in landings:
            stack.enter_context(one)
        yield landings
