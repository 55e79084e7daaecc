"""The Spark runner on a stream: growing folders of events, delivered once, across restarts and changes of profiles.

Spark says which files are new, as numbered batches, and the same batch again after a crash. A batch is then a run over
its files: the workers decode and match, and Spark writes what is wanted into a staging folder. From there on this
process takes over: it leaves out what earlier batches delivered, publishes the rest under the number of the batch (so
that doing it again replaces it), and notes what was delivered.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from pyarrow.dataset import dataset
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from comity.connect.delivered import Delivered
from comity.connect.folder import LATE, REJECTED, Results
from comity.connect.growing import lag_s
from comity.connect.notification import identity_of
from comity.connect.published import stored_keys
from comity.connect.staged import staged_results
from comity.errors import ComityError
from comity.event.formats.table import is_file_fault
from comity.event.owners import ANYBODY, Owners
from comity.event.reasons import ReasonCounts
from comity.event.times import format_timestamp, parse_timestamp
from comity.event.window import Window
from comity.federation.model import Federation
from comity.federation.watch import WatchedFederation
from comity.limits import limits
from comity.pipeline.batches import FileBatches, attempt_folder
from comity.pipeline.deliver import is_wanted, observe_hits
from comity.pipeline.detect.batches import PatternBatches, late_lines
from comity.pipeline.detect.extract import staged_figures
from comity.pipeline.detect.federation import remove_staged
from comity.pipeline.detect.state import Progress
from comity.pipeline.doubts import NO_DOUBTS, Doubts
from comity.pipeline.failure import letting_go, spark_failures
from comity.pipeline.quarantine import Quarantine, SetAside
from comity.pipeline.read import Inputs
from comity.pipeline.run import PreparedPlan, Tables, candidates_beside, kept
from comity.plan.compile import compile_plan
from comity.plan.stages import Summary

_NEWEST = "newest"


@dataclass(slots=True)
class StreamRun:
    """A federation on a stream. `on_batch` is told what each batch did, after it was published and before it counts."""

    federation: WatchedFederation
    out: Path
    on_batch: Callable[[int, Summary], None] = lambda number, summary: None
    results: Results = Results.JSONL
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    on_unknown: Callable[[list[Path]], None] = lambda files: None
    """Told once of files that nobody reads."""
    owners: Owners = ANYBODY
    """Whose sources the folders are."""
    on_set_aside: Callable[[SetAside], None] = lambda file: None
    """Told of files that could not be read to their ends."""
    on_end: Callable[[int, Summary], None] = lambda number, summary: None
    """Told what was reported because the stream ended after a batch, when it is published."""
    quarantine: Quarantine = field(init=False)
    _prepared: PreparedPlan | None = field(default=None, init=False)
    _known: Federation | None = field(default=None, init=False)
    _delivered: Delivered | None = field(default=None, init=False)
    _batches: FileBatches | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.quarantine = Quarantine(self.out, self.on_set_aside)

    def start(
        self,
        spark: SparkSession,
        folders: Sequence[Path],
        *,
        landed: Sequence[Path] = (),
        trigger_s: float,
        until_empty: bool,
        files_per_batch: int,
    ) -> StreamingQuery:
        """Begin, or go on where an earlier run on the same results folder ended.

        Files in `landed` folders are ours: they are removed when they are done with.
        """
        self._batches = FileBatches(self.out, self.take_batch, self.check_notes, self.on_unknown, self._end_again)
        return self._batches.start(
            spark,
            folders,
            landed=landed,
            trigger_s=trigger_s,
            until_empty=until_empty,
            files_per_batch=files_per_batch,
        )

    @property
    def fault(self) -> ComityError | None:
        """What made a batch fail, if that was not Spark, whose own failure says it only in a long text."""
        return None if self._batches is None else self._batches.fault

    def look_around(self) -> None:
        """Tell of files in the folders that nobody reads."""
        if self._batches is not None:
            self._batches.look_around()

    def take_batch(self, spark: SparkSession, files: Sequence[str], number: int, doubts: Doubts = NO_DOUBTS) -> None:
        """Deliver one batch of files; doing it again changes nothing."""
        started = time.monotonic()
        prepared = self._current(spark)
        compiled = time.monotonic()
        staging = attempt_folder(self.out, number)
        summary, reports = self._match(prepared, Inputs.of(files, doubts), staging, number)
        matched = time.monotonic()
        summary = self._publish(summary, staging, prepared, reports, number)
        if prepared.plan.patterns:
            self._patterns.states.forget_before(number)
        shutil.rmtree(staging, ignore_errors=True)
        remove_staged(candidates_beside(staging))
        done = time.monotonic()
        seconds = {"compile": compiled - started, "match": matched - compiled, "publish": done - matched}
        told = {name: summary.delivered.get(name, 0) for name in prepared.plan.profiles}
        self.on_batch(number, replace(summary, seconds=seconds, delivered=told, lag_s=lag_s(files)))

    def finish(self, spark: SparkSession) -> None:
        """Report what closes because nothing more comes, as for stored events; `on_end` is told.

        Should the stream go on later, it does so as if it had not ended, and what was reported is not reported again.
        """
        prepared, last = self._current(spark), self._patterns.states.last_batch
        if not prepared.plan.patterns or last is None:
            return
        work = candidates_beside(attempt_folder(self.out, last))
        prepared.patterns.compiled = self._patterns.states.after(last).compiled
        with spark_failures():
            files = self._patterns.finish(work, prepared.patterns.shared, spark)
        delivered: Counter[str] = Counter()
        with (
            self._patterns.ending(prepared.patterns.found(files)) as (number, new),
            staged_results(self.out, prepared.plan.subscribers, self.results, number, at_end=True) as staged,
        ):
            for to, profile, line in prepared.patterns.notifications(new):
                delivered[profile] += 1
                staged.put(to, line)
        remove_staged(work)
        self.on_end(number, Summary(0, 0, dict(delivered)))

    def _end_again(self, spark: SparkSession) -> None:
        """Publish what was reported at an end, if a crash came in between."""
        if self._patterns.states.ends.unpublished is not None:
            self.finish(spark)

    def check_notes(self) -> int | None:
        """The last batch that there are notes of; raises `Permanent` if some of them cannot be read."""
        self._patterns.states.check()
        return self.delivered.last_batch

    @property
    def delivered(self) -> Delivered:
        """What was delivered; of results that were there before the stream, what is in them."""
        if self._delivered is None:
            self.out.mkdir(parents=True, exist_ok=True)
            self._delivered = Delivered(self.out)
            if self._delivered.noted("taken over") is None:
                self._delivered.take(stored_keys(self.out, self.federation.current().domains))
                self._delivered.note("taken over", "yes")
        return self._delivered

    def close(self) -> None:
        """Let go of what the stream holds."""
        if self._batches is not None:
            self._batches.close()
            self._batches = None
        if self._delivered is not None:
            self._delivered.close()
            self._delivered = None
        if self._prepared is not None:
            with letting_go():
                self._prepared.close()
            self._prepared = None

    def _current(self, spark: SparkSession) -> PreparedPlan:
        """The plan as the files of the federation say now; prepared anew only when they changed."""
        federation = self.federation.current()
        if self._prepared is None or federation is not self._known:
            if self._prepared is not None:
                self._prepared.close()
            self._prepared, self._known = PreparedPlan(compile_plan(federation), spark), federation
        return self._prepared

    @property
    def _patterns(self) -> PatternBatches:
        return PatternBatches(self.out, limits().late_after_s * 1_000_000)

    def _match(self, prepared: PreparedPlan, inputs: Inputs, staging: Path, number: int) -> tuple[Summary, list[str]]:
        """Stage the outcomes of the files: `to` and `line`, each notification once; and the files of reports."""
        window = Window.around(self.clock())
        tables = Tables.of(prepared.spark, inputs, self.owners)
        hits = prepared.hits(tables, window)
        before = self._patterns.before(number, prepared.spark) if prepared.plan.patterns else None
        found = self._write(hits, prepared, staging, before, "overwrite")
        if found["doubtful"]:
            for rows in tables.rows:
                self._write(prepared.doubtful_hits(rows, window), prepared, staging, before, "append")
        newest = found["newest"]
        if newest is not None:
            self._seen(newest.replace(tzinfo=UTC) if newest.tzinfo is None else newest)
        records = int(found["counted"]) + tables.row_count
        summary = Summary(records, 0, late=int(found["late"]), matched=int(found["matched"]))
        if before is None:
            return summary, []
        candidates, shared = candidates_beside(staging), prepared.patterns.shared
        seen = staged_figures(str(candidates)).with_times(*prepared.row_times(tables, window))
        return summary, self._patterns.detect(number, before, seen, candidates, shared, prepared.spark)

    def _write(
        self, hits: DataFrame, prepared: PreparedPlan, staging: Path, before: Progress | None, mode: str
    ) -> dict[str, Any]:
        """Stage outcomes, and candidates if there are patterns."""
        if before is None:
            return _write_outcomes(hits, prepared, staging, self._late_before(), mode)
        prepared.patterns.compiled = before.compiled
        with kept(hits) as found:
            prepared.patterns.stage(found, candidates_beside(staging), before.buckets, before.watermark, mode)
            return _write_outcomes(found, prepared, staging, self._late_before(), mode)

    def _late_before(self) -> datetime | None:
        newest = parse_timestamp(self.delivered.noted(_NEWEST) or "")
        return None if newest is None else newest - timedelta(seconds=limits().late_after_s)

    def _seen(self, newest: datetime) -> None:
        before = parse_timestamp(self.delivered.noted(_NEWEST) or "")
        if before is None or newest > before:
            self.delivered.note(_NEWEST, format_timestamp(newest))

    def _publish(
        self, summary: Summary, staging: Path, prepared: PreparedPlan, reports: Sequence[str], number: int
    ) -> Summary:
        """Publish what no earlier batch delivered."""
        names = [*prepared.plan.subscribers, REJECTED, *([LATE] if prepared.plan.patterns else [])]
        told = self._patterns.told(number) if prepared.plan.patterns else frozenset()
        new = (one for one in prepared.patterns.found(reports) if one.id not in told)
        reported = ((to, line) for to, _, line in prepared.patterns.notifications(new))
        delivered: Counter[str] = Counter()
        reasons = ReasonCounts()
        with self.delivered.batch(number):
            with staged_results(self.out, names, self.results, number) as staged:
                for line in late_lines(candidates_beside(staging)):
                    staged.put(LATE, line)
                for to, line in chain(_staged_lines(staging), reported):
                    if to == REJECTED:
                        if is_file_fault(reasons.take(json.loads(line))):
                            self.quarantine.take(number, line)
                    elif (profile := self._new_profile(line, number)) is not None:
                        delivered[profile] += 1
                    else:
                        continue
                    staged.put(to, line)
            oldest = Window.around(self.clock()).earliest
            self.delivered.forget_before(oldest.date().isoformat())
        return replace(
            summary,
            rejected=reasons.total,
            delivered=dict(delivered),
            rejected_by_code=dict(reasons.counts),
            rejected_examples=reasons.examples,
        )

    def _new_profile(self, line: bytes, number: int) -> str | None:
        """The profile of a notification that was not delivered yet."""
        found = identity_of(line)
        return found.profile if self.delivered.is_new(found.key, found.day, number) else None


def _write_outcomes(
    hits: DataFrame, prepared: PreparedPlan, staging: Path, late_before: datetime | None, mode: str
) -> dict[str, Any]:
    """Write `to` and `line`, each notification once; gives what was counted on the way."""
    seen = Observation()
    is_late = F.lit(False) if late_before is None else F.col("time") < F.lit(late_before)
    late = F.count(F.when(is_wanted() & is_late, True)).alias("late")
    newest = F.max(F.when(is_wanted(), F.col("time"))).alias("newest")
    fresh = prepared.deliver(observe_hits(hits, seen, late, newest))
    fresh.select("to", "line").write.mode(mode).parquet(str(staging))
    return dict(seen.get)


def _staged_lines(staging: Path) -> Iterator[tuple[str, bytes]]:
    files = sorted(str(path) for path in staging.glob("*.parquet"))
    for batch in dataset(files, format="parquet").to_batches() if files else ():
        for to, line in zip(batch.column("to").to_pylist(), batch.column("line").to_pylist(), strict=True):
            yield to, line.encode()
