"""A federation over events as they come, on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from logging import WARNING
from pathlib import Path
from typing import TYPE_CHECKING

from comity.connect.claim import claimed_folder
from comity.connect.delivered import noted_in
from comity.connect.folder import CHECKPOINT
from comity.connect.growing import check_folders
from comity.errors import Misuse, Place
from comity.event.formats.table import SUFFIXES
from comity.federation.watch import Removed, WatchedFederation
from comity.logs import log
from comity.plan import compile_plan
from comity.run.accounts import Accounts
from comity.run.asked import AskedSources, asked_sources
from comity.run.ending import on_spark, wait_for
from comity.run.frames import secrets_hidden, streamed_frames
from comity.run.live_stream import NEXT
from comity.run.metrics import MetricsOutput
from comity.run.observer import Notice, Observer, Silent
from comity.run.request import RunRequest, StreamPace
from comity.run.sinks import sending
from comity.run.spark import start_spark
from comity.run.tables import check_tables, target_of

if TYPE_CHECKING:
    from comity.connect.frames import FrameSource
    from comity.connect.outbox import Outbox
    from comity.connect.quarantine import SetAside
    from comity.errors import ComityError
    from comity.pipeline.stream import StreamRun
    from comity.run.totals import StreamTotals
    from comity.storage.access import StorageAccess

_MOST_NAMED = 3


def run_stream(
    request: RunRequest, pace: StreamPace, observer: Observer | None = None, measured: MetricsOutput | None = None
) -> StreamTotals:
    """Deliver until interrupted, or until nothing new is there. The next call on the same folder goes on from here."""
    observer = observer or Silent()
    check_tables(request, on_spark=True)
    sources = streamed_frames(request.sources.frames, request.folder)
    with secrets_hidden(sources), ExitStack() as stack:
        watched, folders, accounts = stack.enter_context(opened(request, observer, measured))
        stream = stack.enter_context(closing(_stream(request, watched, accounts, sources)))
        stream.check_notes()
        if noted_in(request.out, NEXT) is not None:
            hint = "go on with --engine local, begin anew with --overwrite, or choose another folder"
            reason = "a stream in one process has worked on this folder"
            raise Misuse(reason, code="other-engine", place=Place(str(request.out)), hint=hint)
        landed = stack.enter_context(landing(request, watched, accounts.measured))
        spark = start_spark(request.spark, observer)
        accounts.start()
        if pace.until_empty:
            landed.wait_for_ends()
        begin = partial(
            stream.start,
            spark,
            folders,
            landed=landed.folders,
            trigger_s=pace.trigger_s,
            until_empty=pace.until_empty,
            files_per_batch=pace.files_per_batch,
        )
        query = on_spark(spark, begin, accounts.stop)
        request.remember()
        log(
            "stream started",
            federation=request.federation.name,
            sources=len(request.sources.paths) + len(landed.landings) + len(sources),
        )

        def look() -> None:
            landed.look_after()
            landed.follow(watched.current)  # also when no batch comes, since a source was asked for nothing
            stream.look_around()

        if not wait_for(query, stream, meanwhile=look, stopping=accounts.stop):
            observer.stopped()
        elif pace.until_empty:
            on_spark(spark, partial(stream.finish, spark), accounts.stop)
    log("stream stopped", batches=accounts.totals.batches, records=accounts.totals.records)
    return accounts.totals


@contextmanager
def claimed_for_stream(request: RunRequest) -> Iterator[Outbox | None]:
    """The folder for results, ours while the block runs, and the outbox, which has ended before others may have it."""
    with ExitStack() as stack:
        outbox = stack.enter_context(sending(request))
        stack.enter_context(claimed_folder(request.out, overwrite=request.overwrite, goes_on=True))
        if outbox is not None:
            stack.callback(outbox.finish)
        yield outbox


def _stream(
    request: RunRequest, watched: WatchedFederation, accounts: Accounts, sources: tuple[FrameSource, ...]
) -> StreamRun:
    from comity.connect.target import TableTarget
    from comity.connect.topics.target import TopicTarget
    from comity.pipeline.checkpoint import plan_id, stream_id
    from comity.pipeline.stream import StreamRun

    target, checkpoint = target_of(request, goes_on=True), request.out / CHECKPOINT
    if isinstance(target, TableTarget):
        target.stream = partial(stream_id, checkpoint)
    if isinstance(target, TableTarget | TopicTarget):
        target.plan = partial(plan_id, checkpoint)
    stream = StreamRun(
        watched,
        target=target,
        out=request.out,
        on_batch=accounts.take,
        results=request.results,
        on_unknown=lambda files: accounts.observer.warning(not_read(files)),
        owners=request.sources.owners(request.out),
        sources=sources,
        access=request.sources.access,
        on_set_aside=lambda file: accounts.observer.warning(set_aside(file)),
        on_end=accounts.end,
    )
    accounts.remembered = stream.remembered
    return stream


@contextmanager
def opened(
    request: RunRequest, observer: Observer, measured: MetricsOutput | None
) -> Iterator[tuple[WatchedFederation, list[str], Accounts]]:
    """The federation, the folders of its events and the accounts of a stream, whose results folder is claimed."""
    watched = watched_federation(request.federation.address or request.folder, observer, request.sources.access)
    folders = request.sources.folders
    check_folders(folders, request.sources.access)
    with claimed_for_stream(request) as outbox:
        yield watched, folders, Accounts(outbox, watched.current, observer, measured or MetricsOutput())


def watched_federation(
    folder: Path | str, observer: Observer, access: StorageAccess | None = None
) -> WatchedFederation:
    """The federation as its files say at each time; what they say wrong, and what is gone, is logged and told."""

    def report_fault(error: ComityError) -> None:
        log("federation not changed", error=str(error))
        observer.fault(error)

    def report_removed(removed: Removed) -> None:
        names = {"domains": removed.domains, "contracts": removed.contracts, "profiles": removed.profiles}
        log("federation files removed", level=WARNING, files=[str(path) for path in removed.files], **names)
        observer.warning(Notice(str(removed), "files-removed"))

    watched = WatchedFederation(folder, report_fault, report_removed, access=access)
    watched.current()
    return watched


def not_read(files: list[Path]) -> Notice:
    """Which files in the folders of a stream are not read."""
    names = ", ".join(file.name for file in files[:_MOST_NAMED])
    more = f" and {len(files) - _MOST_NAMED:,} more" if len(files) > _MOST_NAMED else ""
    known = f"read are files {', '.join(SUFFIXES)} that are not empty"
    return Notice(f"not read: {names}{more} in {files[0].parent} ({known})", "files-not-read")


def set_aside(file: SetAside) -> Notice:
    """Which file could not be read to its end."""
    where = "" if file.line is None else f" from {file.line:,} on"
    return Notice(f"set aside: {file.file}{where}: {file.reason} [{file.code}]", "file-set-aside")


@contextmanager
def landing(request: RunRequest, watched: WatchedFederation, measured: MetricsOutput) -> Iterator[AskedSources]:
    """Live sources, asked for what is wanted, and kept in folders that the stream reads, while the block runs."""
    live, out = request.sources.live, request.out
    with asked_sources(live, request.folder, out, lambda: compile_plan(watched.current())) as sources:
        measured.watch(sources)
        yield sources
