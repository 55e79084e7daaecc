"""`comity.run` and `comity.open`: a federation over events, in a few lines of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Literal, overload

from comity.connect.folder import Results
from comity.engine import LiveEngine, Notification
from comity.engine import run as run_plan
from comity.engine.live import EnginePace
from comity.errors import Misuse
from comity.event.formats.jsonlines import Rejected
from comity.event.types import EventType
from comity.federation import Federation
from comity.plan import Plan, compile_plan
from comity.plan.compile import PlanCompiler
from comity.plan.loading import FederationLike, federation_of
from comity.plan.period import Period, during, read_period
from comity.run.frames import refuse_frames
from comity.run.observer import Observer, Silent
from comity.run.request import Engine, RunRequest, SparkOptions
from comity.run.session import LiveSession
from comity.run.sources import EventSources, Given, event_sources, stored_files
from comity.run.stored import StoredRun, events_of, pushed, run_stored
from comity.storage.access import StorageAccess

Events = str | Path | Iterable[Given | Path]


@overload
def run(
    federation: FederationLike,
    events: Events | None = None,
    *,
    out: None = None,
    engine: Literal["local", "spark"] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    observer: Observer | None = None,
) -> Iterator[Notification | Rejected]: ...


@overload
def run(
    federation: FederationLike,
    events: Events | None = None,
    *,
    out: str | Path,
    engine: Literal["local", "spark"] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    overwrite: bool = False,
    results: Literal["jsonl", "parquet"] = "jsonl",
    master: str | None = None,
    spark_config: Mapping[str, str] | None = None,
    observer: Observer | None = None,
) -> StoredRun: ...


def run(
    federation: FederationLike,
    events: Events | None = None,
    *,
    out: str | Path | None = None,
    engine: Literal["local", "spark"] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    overwrite: bool = False,
    results: Literal["jsonl", "parquet"] = "jsonl",
    master: str | None = None,
    spark_config: Mapping[str, str] | None = None,
    observer: Observer | None = None,
) -> Iterator[Notification | Rejected] | StoredRun:
    """Run a federation over stored events: gives what comes of them, one by one; or, with `out`, writes it there.

    The federation is a folder, a mapping that says the same (see `load`), a `Federation`, or a compiled plan. Events
    are paths, or events at hand: `Event`, dicts of CloudEvents, JSON texts; without any, the sources of the domains are
    read. `since` and `until` are times, or texts like 2026-01-31. Results in a folder are as `comity run` writes them,
    and go to the sinks of the federation, too; Spark needs such a folder.

    >>> fire = {"id": "1", "source": "/", "type": "north.Fire", "time": "2026-01-31T12:00:00Z", "data": {"heat": 41}}
    >>> north = {"types": {"Fire": {"attributes": {"heat": "float degC"}}}}
    >>> hot = {"domain": "north", "on": "Fire", "where": "heat > 100 degF"}
    >>> [one.profile for one in run({"domains": {"north": north}, "profiles": {"hot": hot}}, [fire])]
    ['hot']
    """
    runner = _engine(engine)
    period = read_period(since, until)
    if out is None:
        if runner is Engine.SPARK:
            raise Misuse("Spark needs a folder for results", code="no-out", hint="pass out=FOLDER")
        return _outcomes(federation, events, period, observer or Silent())
    if isinstance(federation, Plan):
        hint = "pass the federation that it was compiled from"
        raise Misuse("a plan has no sinks, which results in a folder go to", code="bad-usage", hint=hint)
    found = federation_of(federation)
    folder = found.folder or Path()
    spark = SparkOptions(master, spark_config or {})
    sources = _sources(found, events, StorageAccess.of(spark.config))
    request = RunRequest(folder, found, sources, Path(out).resolve(), overwrite, Results(results), spark=spark)
    return run_stored(request, runner, period, observer)


def open(
    federation: FederationLike,
    *,
    lateness: timedelta | None = None,
    memory: timedelta | None = None,
    snapshot: bytes | None = None,
) -> LiveSession:
    """A federation that lives in this process: push events, and get what comes of them at once.

    `lateness` is how far events may be out of order and still be part of patterns, `memory` how old they may be, and
    how long they are remembered; by default the limits `late_after_s` and `live_memory_s`. With a `snapshot` of an
    earlier session it goes on from there.

    >>> north = {"types": {"Fire": {"attributes": {"heat": "float degC"}}}}
    >>> hot = {"domain": "north", "on": "Fire", "where": "heat > 40"}
    >>> with open({"domains": {"north": north}, "profiles": {"hot": hot}}) as session:
    ...     fire = {"id": "1", "source": "/", "type": "north.Fire", "time": "2026-01-31T12:00:00Z"}
    ...     [one.event.data for one in session.push({**fire, "data": {"heat": 41}})]
    [{'heat': 41.0}]
    """
    usual = EnginePace.live()
    pace = EnginePace(usual.lateness if lateness is None else lateness, usual.memory if memory is None else memory)
    compiler = PlanCompiler()
    if isinstance(federation, Plan):
        found, plan = None, federation
    else:
        found = federation_of(federation)
        plan = compiler.compile(found)
    engine = LiveEngine(plan, pace) if snapshot is None else LiveEngine.restore(plan, snapshot, pace)
    return LiveSession(engine, found, compiler)


def _engine(name: str | None) -> Engine:
    try:
        return Engine(name or Engine.LOCAL)
    except ValueError:
        hint = "it is local or spark"
        raise Misuse(f"there is no engine {name!r}", code="bad-usage", hint=hint) from None


def _outcomes(
    given: FederationLike, events: Events | None, period: Period, observer: Observer
) -> Iterator[Notification | Rejected]:
    find_type: Callable[[str], EventType | None]
    access = StorageAccess.of({})
    if isinstance(given, Plan):
        plan = given
        types = {one.qualified_name: one for one in (*plan.types, *plan.abstract_types)}
        if events is None:
            hint = "pass events, or the federation"
            raise Misuse("a plan does not say where events come from", code="no-events", hint=hint)
        sources, find_type, folder = _named(events, access), types.get, Path()
    else:
        federation = federation_of(given)
        plan, find_type, folder = compile_plan(federation), federation.find_type, federation.folder or Path()
        sources = _sources(federation, events, access)
    if sources.live:
        names = ", ".join(f"{spec.domain}/{spec.name}" for spec in sources.live)
        hint = "pass out=FOLDER, in which they are kept, or events"
        raise Misuse(f"these sources are no files: {names}", code="live-source", hint=hint)
    refuse_frames(sources.frames, "pass out=FOLDER and engine='spark', or events")
    files = stored_files(sources, folder, observer)
    return run_plan(during(plan, period), chain(events_of(files, find_type), pushed(sources.given)))


def _sources(federation: Federation, events: Events | None, access: StorageAccess) -> EventSources:
    if events is None:
        return event_sources(federation, federation.folder or Path(), None, access)
    return _named(events, access)


def _named(events: Events, access: StorageAccess) -> EventSources:
    """Paths, or events at hand. A text is a path, unless it begins as JSON does."""
    if isinstance(events, str | Path):
        events = [str(events)]
    if isinstance(events, list | tuple) and events and all(_is_path(one) for one in events):
        return EventSources(tuple(map(str, events)), (), access=access)
    return EventSources((), (), given=events)  # type: ignore[arg-type]


def _is_path(given: object) -> bool:
    return isinstance(given, Path) or (isinstance(given, str) and not given.lstrip().startswith("{"))
