"""A federation over events as they come, in this process."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path

from comity.errors import Misuse, Place
from comity.event.places import stands_for_several
from comity.logs import log
from comity.run.accounts import Accounts
from comity.run.asked import AskedSources
from comity.run.ending import asked_to_stop
from comity.run.frames import refuse_frames
from comity.run.live_stream import LiveStream
from comity.run.metrics import MetricsOutput
from comity.run.observer import Observer, Silent
from comity.run.request import RunRequest, StreamPace
from comity.run.stream import landing, not_read, opened, set_aside
from comity.run.tables import check_tables
from comity.run.totals import StreamTotals
from comity.storage.place import is_address


def run_live(
    request: RunRequest, pace: StreamPace, observer: Observer | None = None, measured: MetricsOutput | None = None
) -> StreamTotals:
    """Deliver until interrupted, or until nothing new is there. The next call on the same folder goes on from here."""
    observer = observer or Silent()
    check_tables(request, on_spark=False)
    refuse_frames(request.sources.frames)
    with ExitStack() as stack:
        check_followed(request.sources.folders)
        watched, named, accounts = stack.enter_context(opened(request, observer, measured))
        folders = [Path(folder) for folder in named]
        landed = stack.enter_context(landing(request, watched, accounts.measured))
        stream = LiveStream(
            watched,
            request.out,
            folders,
            landed.folders,
            request.results,
            request.sources.owners(request.out),
            pace.files_per_batch,
            accounts.take,
            accounts.end,
            on_unknown=lambda files: observer.warning(not_read(files)),
            on_set_aside=lambda file: observer.warning(set_aside(file)),
        )
        stack.enter_context(closing(stream))
        accounts.remembered = stream.delivered.remembered
        accounts.start()
        request.remember()
        log("stream started", federation=request.federation.name, sources=len(folders) + len(landed.landings))
        if not _read_on(stream, landed, pace, accounts):
            observer.stopped()
    log("stream stopped", batches=accounts.totals.batches, records=accounts.totals.records)
    return accounts.totals


def check_followed(folders: Iterable[str]) -> None:
    """Raise `Misuse` for what only Spark follows."""
    for folder in folders:
        if is_address(folder) or stands_for_several(folder):
            hint = "leave out --engine local, or name each folder"
            reason = "a stream in this process is read from folders of this machine"
            raise Misuse(reason, code="not-followed", place=Place(folder), hint=hint)


def _read_on(stream: LiveStream, landed: AskedSources, pace: StreamPace, accounts: Accounts) -> bool:
    """Take what is new, again and again; gives whether it came to its end by itself."""
    with asked_to_stop(accounts.stop) as asked:
        if pace.until_empty:
            landed.wait_for_ends()
        waiting = stream.new_files()
        while not asked.is_set():
            landed.look_after()
            landed.follow(stream.federation.current)  # also when nothing comes, since nothing was asked for
            if waiting:
                waiting = stream.take_next(waiting)
            elif pace.until_empty:
                stream.finish()
                return True
            else:
                stream.idle()
                asked.wait(pace.trigger_s)
            if not waiting and not pace.until_empty:
                waiting = stream.new_files()
    return False
