"""A federation over stored events, in this process or on Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from comity.connect.claim import claimed_folder
from comity.connect.folder import Results
from comity.engine import run_into_folder
from comity.engine.live import Pushed
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected
from comity.event.places import read_or_reject
from comity.event.window import Window
from comity.logs import log
from comity.plan import Plan, Summary, compile_plan
from comity.plan.period import Period, during
from comity.run.choice import Estimate
from comity.run.ending import on_spark
from comity.run.frames import refuse_frames, secrets_hidden, stored_frames
from comity.run.observer import Observer, Silent
from comity.run.request import Engine, RunRequest
from comity.run.sinks import log_summary, sending, sent
from comity.run.sources import Given, StoredFiles, kept_events, stored_files, with_kept
from comity.run.spark import start_spark, tasks_told
from comity.run.tables import check_tables, removed_if_passing, target_of

if TYPE_CHECKING:
    from comity.connect.frames import FrameSource
    from comity.connect.target import Target
    from comity.event.types import EventType
    from comity.federation import Federation
    from comity.run.request import SparkOptions

ALWAYS = Period()


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a run over stored events did."""

    plan: Plan
    summary: Summary
    out: Path | str
    """The folder; the address, if the results are in a store."""
    seconds: float
    engine: Engine
    about_engine: str | None = None
    """Why this engine was chosen, or that the other one would have been quicker."""


def run_stored(
    request: RunRequest,
    engine: Engine | None = Engine.SPARK,
    period: Period = ALWAYS,
    observer: Observer | None = None,
) -> StoredRun:
    """Run over stored events, by the engine that is quicker for so many of them if none is given. What can be refused
    is refused before the folder for results is touched.
    """
    observer = observer or Silent()
    federation, out = request.federation, request.out
    if engine is None and (request.target_is_no_folder or request.is_typed or request.sources.frames):
        engine = Engine.SPARK  # the only one that writes columns with types, and that reads such sources
    if engine is not Engine.SPARK:
        refuse_frames(request.sources.frames)
    check_tables(request, on_spark=engine is not Engine.LOCAL)
    plan = during(compile_plan(federation), period)
    files = stored_files(request.sources, request.folder, observer)
    frames = stored_frames(request.sources.frames, request.folder, observer, alone=not files.paths)
    with removed_if_passing(request), sending(request) as outbox, claimed_folder(out, overwrite=request.overwrite):
        target = target_of(request)
        files = with_kept(files, request.sources, request.folder, out, plan)
        given = request.sources.given
        estimate = Estimate.of(files)
        is_chosen, engine = engine is None, engine or estimate.quicker
        if engine is Engine.SPARK:
            files = replace(files, paths=[*files.paths, *kept_events(given, out)])
        counted = {"files": len(files.paths), "profiles": len(plan.profiles)}
        log("run started", federation=federation.name, engine=engine.value, **counted)
        started = time.monotonic()
        if engine is Engine.SPARK:
            with secrets_hidden(frames):
                summary = files_on_spark(
                    plan, files, out, request.spark, observer, results=request.results, target=target, frames=frames
                )
        else:
            summary = files_here(plan, files, out, federation, given, results=request.results)
        request.remember()
        summary = sent(outbox, summary)
    seconds = time.monotonic() - started
    log_summary("run done", summary, seconds=round(seconds, 3))
    slow = estimate.after_spark(seconds) if engine is Engine.SPARK and not frames else None
    return StoredRun(
        plan,
        summary,
        request.shown if request.is_remote else out,
        seconds,
        engine,
        estimate.reason() if is_chosen else slow,
    )


def files_here(
    plan: Plan,
    files: StoredFiles,
    out: Path,
    federation: Federation,
    given: Iterable[Given] = (),
    *,
    results: Results = Results.JSONL,
) -> Summary:
    """Carry out the plan over files, and then over events at hand, in this process."""
    events = chain(events_of(files, federation.find_type), pushed(given))
    return run_into_folder(plan, events, out, results=results)


def events_of(files: StoredFiles, find_type: Callable[[str], EventType | None]) -> Iterator[Event | Rejected]:
    """The events of files, each of a type of those whose file it is."""
    window = Window.of_history(datetime.now(UTC))
    for file in files.paths:
        types = files.owners.types(file, find_type)
        yield from read_or_reject(file, types, window=window, access=files.access)


def pushed(given: Iterable[Given]) -> Iterator[Pushed]:
    """Events at hand, as the engine takes them."""
    return (one.encode(errors="surrogatepass") if isinstance(one, str) else one for one in given)


def files_on_spark(
    plan: Plan,
    files: StoredFiles,
    out: Path,
    options: SparkOptions,
    observer: Observer,
    *,
    results: Results = Results.JSONL,
    target: Target | None = None,
    frames: Sequence[FrameSource] = (),
) -> Summary:
    """Carry out the plan over files, and over sources that Spark reads by itself, on Spark."""
    from comity.pipeline.run import run_on_spark  # Spark's own library takes a second to load

    spark = start_spark(options, observer, files=None if frames else files)
    run = partial(
        run_on_spark, results=results, owners=files.owners, target=target, sources=frames, access=files.access
    )
    with tasks_told(spark, files, observer):
        return on_spark(spark, lambda: run(plan, files.paths, out, spark))
