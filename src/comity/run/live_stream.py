"""A stream in this process: growing folders of files, batch by batch, through the live engine.

A batch is the files that are new. What comes of them is staged and published under the number of the batch; then, in a
transaction of the notes beside the results, it counts: which files it was, what was delivered, and where the engine
stands. After a crash before that, the batch is done again from where the engine stood before it, and takes the place of
what was published. Files of live sources are ours, and go when their batch counts.
"""

from __future__ import annotations

import json
import time
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

from comity.connect.commits import first_day
from comity.connect.delivered import Delivered
from comity.connect.folder import CHECKPOINT, LATE, REJECTED, Results, landed_source
from comity.connect.growing import PassedOver, lag_s
from comity.connect.notification import identity_of, notification_line
from comity.connect.published import stored_keys
from comity.connect.quarantine import Quarantine, SetAside
from comity.connect.staged import StagedResults, staged_results
from comity.engine.live import Counts, EnginePace, LiveEngine
from comity.engine.outcome import LateEvent, Notification, Outcome
from comity.errors import Misuse, Place
from comity.event.formats.jsonlines import Rejected, encode
from comity.event.formats.table import is_event_file, is_file_fault
from comity.event.owners import ANYBODY, Owners
from comity.event.places import read_or_reject
from comity.event.reasons import ReasonCounts
from comity.event.window import Window
from comity.federation.model import Federation
from comity.federation.watch import WatchedFederation
from comity.limits import limits
from comity.plan import Summary
from comity.plan.compile import PlanCompiler

NEXT, STATE, READ = "live batch", "live engine", "live file "
BY_ARRIVAL = "by arrival"
"""The names of notes: the number of the next batch, the snapshot of the engine, and each file that was read."""


@dataclass(slots=True)
class LiveStream:
    """A federation on a stream. `on_batch` is told what each batch did, after it counts."""

    federation: WatchedFederation
    out: Path
    folders: Sequence[Path]
    landed: Sequence[Path] = ()
    """Folders whose files are ours."""
    results: Results = Results.JSONL
    owners: Owners = ANYBODY
    files_per_batch: int = 100
    on_batch: Callable[[int, Summary], None] = lambda number, summary: None
    on_end: Callable[[int, Summary], None] = lambda number, summary: None
    on_unknown: Callable[[list[Path]], None] = lambda files: None
    on_set_aside: Callable[[SetAside], None] = lambda file: None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    timer: Callable[[], float] = time.monotonic
    delivered: Delivered = field(init=False)
    _number: int = field(default=0, init=False)
    _read: set[str] = field(init=False)
    _gone: set[str] = field(default_factory=set, init=False)
    """Files that were read, and are not there any more."""
    _known: Federation | None = field(default=None, init=False)
    _compiler: PlanCompiler = field(default_factory=PlanCompiler, init=False)
    _engine: LiveEngine = field(init=False)
    _passed_over: PassedOver = field(init=False)
    _quarantine: Quarantine = field(init=False)
    _busy_at: float = field(init=False)

    def __post_init__(self) -> None:
        if (self.out / CHECKPOINT).exists():
            hint = "go on with --engine spark, begin anew with --overwrite, or choose another folder"
            reason = "a stream on Spark has worked on this folder"
            raise Misuse(reason, code="other-engine", place=Place(str(self.out)), hint=hint)
        self.out.mkdir(parents=True, exist_ok=True)
        self.delivered = Delivered(self.out)
        self._passed_over, self._busy_at = PassedOver(self.on_unknown), self.timer()
        self._quarantine = Quarantine(self.out, self.on_set_aside)
        self._known = federation = self.federation.current()
        if self.delivered.noted("taken over") is None:
            self.delivered.take(stored_keys(self.out, federation.domains))
            self.delivered.note("taken over", "yes")
        if self.delivered.noted(BY_ARRIVAL) is None:  # what was noted before stands by the days of its events
            self.delivered.date_all(self._today)
            self.delivered.note(BY_ARRIVAL, "yes")
        self._number = int(self.delivered.noted(NEXT) or 0)
        self._read = set(self.delivered.notes(READ))
        self._remove_landed(self._read)  # after a crash between counting and removing
        plan, pace, saved = self._compiler.compile(federation), self._pace(), self.delivered.noted(STATE)
        self._engine = (
            LiveEngine(plan, pace, remembered=self)
            if saved is None
            else LiveEngine.restore(plan, b64decode(saved), pace, remembered=self)
        )

    def close(self) -> None:
        """Let go of the notes."""
        self.delivered.close()

    def is_new(self, notification: Notification) -> bool:
        """Whether it was not delivered yet; from now on it was, if its batch comes to count."""
        return self.delivered.is_new(identity_of(_line(notification)).key, self._today, self._number)

    def new_files(self) -> list[str]:
        """The files that were not read yet, the oldest first."""
        self._passed_over.look(map(str, self.folders))
        there: dict[str, int] = {}
        for folder in (*self.folders, *self.landed):
            for file in folder.iterdir() if folder.is_dir() else ():
                if is_event_file(file):
                    there[str(file.resolve())] = _changed_ns(file)
        self._gone = self._read.difference(there)
        return sorted((file for file in there if file not in self._read), key=lambda file: (there[file], file))

    def take_next(self, files: Sequence[str]) -> list[str]:
        """Deliver the first of some files as a batch; gives those that are left."""
        some, rest = files[: self.files_per_batch], files[self.files_per_batch :]
        federation = self._current()
        window = Window.around(self.clock())
        types = {file: self.owners.types(file, federation.find_type) for file in some}
        records = (one for file, own in types.items() for one in read_or_reject(file, own, window=window))
        self._publish(self._engine.take_all(records), some, self.on_batch)
        self._busy_at = self.timer()
        return list(rest)

    def idle(self) -> None:
        """Let time go on while nothing comes: from the newest event on, as fast as the clock."""
        newest = self._engine.newest
        if newest is None or not self._engine.plan.patterns:
            return
        now = newest + timedelta(seconds=self.timer() - self._busy_at)
        self._publish(self._engine.advance_all(now), (), self.on_batch)

    def finish(self) -> None:
        """Report what closes because nothing more comes; should more come, it goes on as if it had not ended."""
        self._current()
        self._publish(self._engine.finish_all(), (), self.on_end)

    def _pace(self) -> EnginePace:
        return EnginePace(timedelta(seconds=limits().late_after_s), None)  # whoever reads the files looks at their age

    def _current(self) -> Federation:
        """The federation as its files say now; the engine takes up what changed."""
        federation = self.federation.current()
        if federation is not self._known:
            self._engine.change(self._compiler.compile(federation))
            self._known = federation
        return federation

    def _publish(
        self,
        outcomes: Iterable[Outcome],
        files: Sequence[str],
        on_done: Callable[[int, Summary], None],
    ) -> None:
        """Publish what comes of a batch, and let it count."""
        started, number, before = time.monotonic(), self._number, self._counts()
        tally = _Tally()
        with self.delivered.batch(number):  # what is told is noted while it is taken, and must not count before
            outcomes = iter(outcomes)
            first = next(outcomes, None)
            if first is None and not files:
                return
            names = [*self._engine.plan.subscribers, REJECTED, *([LATE] if self._engine.plan.patterns else [])]
            with staged_results(self.out, names, self.results, number) as staged:
                for outcome in outcomes if first is None else chain((first,), outcomes):
                    self._put(outcome, staged, tally)
            self._note(files)
        self._number += 1
        self._read, self._gone = (self._read - self._gone) | set(files), set()
        self._remove_landed(files)
        self._quarantine.forget(number)
        on_done(number, self._summary(tally, before, files, time.monotonic() - started))

    def _put(self, outcome: Outcome, staged: StagedResults, tally: _Tally) -> None:
        if isinstance(outcome, Notification):
            tally.delivered[outcome.profile] += 1
            staged.put(outcome.subscriber, _line(outcome))
        elif isinstance(outcome, LateEvent):
            staged.put(LATE, encode(outcome.event))
        else:
            line = json.dumps(_refused(outcome), ensure_ascii=False).encode()
            if is_file_fault(tally.reasons.take(_refused(outcome))):
                self._quarantine.take(self._number, line)
            staged.put(REJECTED, line)

    def _note(self, files: Iterable[str]) -> None:
        for file in files:
            self.delivered.note(f"{READ}{file}", str(self._number))
        for file in self._gone:  # of files that were read no more is remembered than there are
            self.delivered.unnote(f"{READ}{file}")
        self.delivered.note(STATE, b64encode(self._engine.snapshot()).decode())
        self.delivered.note(NEXT, str(self._number + 1))
        self.delivered.forget_before(first_day(self.clock().date(), limits().remember_days))

    @property
    def _today(self) -> str:
        return self.clock().date().isoformat()

    def _remove_landed(self, files: Iterable[str]) -> None:
        """Remove those that are ours."""
        landed = {folder.resolve() for folder in self.landed}
        for file in map(Path, files):
            if file.parent in landed:
                file.unlink(missing_ok=True)

    def _counts(self) -> Counts:
        counts = self._engine.counts
        return Counts(counts.records, counts.rejected, counts.matched, counts.late)

    def _summary(self, tally: _Tally, before: Counts, files: Sequence[str], seconds: float) -> Summary:
        now = self._counts()
        return Summary(
            now.records - before.records,
            tally.reasons.total,
            {name: tally.delivered[name] for name in self._engine.plan.profiles},
            now.late - before.late,
            now.matched - before.matched,
            dict(tally.reasons.counts),
            tally.reasons.examples,
            seconds={"match": seconds},
            lag_s=lag_s(files),
        )


@dataclass(slots=True)
class _Tally:
    """What a batch did."""

    delivered: Counter[str] = field(default_factory=Counter)
    reasons: ReasonCounts = field(default_factory=ReasonCounts)


def _line(notification: Notification) -> bytes:
    return notification_line(encode(notification.event), notification.profile)


def _refused(record: Rejected) -> dict[str, object]:
    origin = landed_source(record.source_file)
    return {**record.as_dict(), **({"origin": origin} if origin else {})}


def _changed_ns(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:  # it was taken away just now
        return 0
