"""What a profile would have sent over stored events, perhaps with another filter, or if it were there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from comity.connect.claim import claimed_folder
from comity.connect.folder import REJECTED
from comity.connect.staged import staged_results
from comity.errors import Misuse
from comity.event.places import event_files_at
from comity.federation import Federation, load
from comity.federation.change import add, written
from comity.federation.new_profile import NewProfile
from comity.plan import Summary, compile_plan
from comity.plan.backtest import Tally, backtest_plan
from comity.plan.period import Period
from comity.run.request import HERE, Engine, SparkOptions
from comity.run.sources import StoredFiles
from comity.run.stored import ALWAYS, files_here, files_on_spark
from comity.storage.access import StorageAccess

if TYPE_CHECKING:
    from comity.run.observer import Observer


@dataclass(frozen=True, slots=True)
class BacktestRequest:
    """A profile, events, and where its notifications are kept, if they are."""

    federation: Federation
    profile: str
    events: str
    period: Period = ALWAYS
    bucket_s: int | None = None
    """The length of the intervals that are counted; None chooses one that fits."""
    out: Path | None = None
    overwrite: bool = False
    """Whether results of an earlier run are replaced."""
    spark: SparkOptions = HERE


def run_backtest(request: BacktestRequest, engine: Engine, observer: Observer) -> tuple[Tally, Summary]:
    """Run over the events; what can be refused is refused before the folder for results is touched."""
    plan = backtest_plan(compile_plan(request.federation), request.profile, request.period)
    tally = Tally(plan, request.profile, request.bucket_s, request.period.until)
    access = StorageAccess.of(request.spark.config)
    files = StoredFiles.of(event_files_at(request.events, access), access=access)
    out = request.out
    claimed = claimed_folder(out, overwrite=request.overwrite) if out else nullcontext()
    with claimed, _working_folder(out) as folder:
        if engine is Engine.LOCAL:
            with observer.working(f"reading {request.events}"):
                summary = files_here(plan, files, folder, request.federation)
        else:
            summary = files_on_spark(plan, files, folder, request.spark, observer)
        _tally(tally, folder, out)
    return tally, summary


def with_profile(folder: Path, profile: str, domain: str | None, on: str | None, where: str | None) -> Federation:
    """The federation, with the profile as these say where they are given; its files stay as they are."""
    if domain is None and on is None and where is None:
        return load(folder)
    known = written(folder, profile)
    if known is None:
        if domain is None or on is None:
            hint = "a profile that is in no file needs --domain and --on"
            raise Misuse(f"there is no profile {profile[:60]!r}", code="unknown-profile", hint=hint)
        known = NewProfile(profile, domain, on)
    parameters = known.parameters if on is None else {}  # they are about the operands of the pattern that there was
    tried = replace(
        known,
        domain=domain or known.domain,
        on=on or known.on,
        where=(known.where if where is None else where).strip(),
        parameters=parameters,
    )
    return add(folder, [tried], replacing=True).federation


def _tally(tally: Tally, folder: Path, out: Path | None) -> None:
    """Count what a runner wrote into a folder, and keep it in another one, if there is one."""
    names = tally.plan.subscribers
    with nullcontext() if out is None else staged_results(out, [*names, REJECTED]) as kept:
        for name in names:
            for line in _lines(folder / name):
                sent = tally.take(line)
                if kept is not None and sent is not None:
                    kept.put(name, sent)
        if kept is not None:
            for line in _lines(folder / REJECTED):
                kept.put(REJECTED, line)


@contextmanager
def _working_folder(out: Path | None) -> Iterator[Path]:
    """A folder that is gone afterwards, on the disk of the results: the workers of a cluster have to see it, too."""
    folder = Path(tempfile.mkdtemp(prefix=".backtest-", dir=out.resolve() if out else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _lines(folder: Path) -> Iterator[bytes]:
    for path in sorted(folder.glob("part-*.jsonl")):
        with path.open("rb") as stream:
            yield from (line.rstrip(b"\n") for line in stream)
