"""The Spark runner on a stream: growing folders of events, delivered once, across restarts and changes of profiles.

Spark says which files are new, as numbered batches, and the same batch again after a crash. A batch is then a run over
its files: the workers decode and match, and Spark writes what is wanted into a staging folder. From there on this
process takes over: it leaves out what earlier batches delivered, publishes the rest under the number of the batch (so
that doing it again replaces it), and notes what was delivered.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from pathlib import Path
from typing import Any, BinaryIO

from pyarrow.dataset import dataset
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from comity.connect.delivered import Delivered
from comity.connect.folder import REJECTED, Results, lock_folder
from comity.connect.notification import first_code, identity_of
from comity.connect.port import Message
from comity.connect.published import published_batches, read_messages
from comity.connect.staged import staged_results
from comity.errors import Misuse, Place
from comity.event.times import format_timestamp, parse_timestamp
from comity.event.window import Window
from comity.federation.model import Federation
from comity.federation.watch import WatchedFederation
from comity.limits import Limits, limited, limits
from comity.pipeline.deliver import deliver, observe_hits
from comity.pipeline.failure import spark_failures
from comity.pipeline.read import Inputs
from comity.pipeline.run import PreparedPlan, Tables
from comity.pipeline.wrap import plain_path
from comity.plan.compile import compile_plan
from comity.plan.stages import Summary

CHECKPOINT = ".checkpoint"
EVENT_FILES = "*.{jsonl,jsonl.gz,csv,csv.gz,parquet}"
_BINARY_FILE = "path string, modificationTime timestamp, length bigint, content binary"
_NEWEST = "newest"


@dataclass(slots=True)
class StreamRun:
    """A federation on a stream. `on_batch` is told what each batch did, after it was published and before it counts."""

    federation: WatchedFederation
    out: Path
    on_batch: Callable[[int, Summary], None] = lambda number, summary: None
    results: Results = Results.JSONL
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _prepared: PreparedPlan | None = field(default=None, init=False)
    _known: Federation | None = field(default=None, init=False)
    _delivered: Delivered | None = field(default=None, init=False)
    _lock: BinaryIO | None = field(default=None, init=False)
    _bounds: Limits = field(default_factory=limits, init=False)

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
        for folder in folders:
            if not folder.is_dir():
                raise Misuse("a stream is read from a folder", code="not-a-folder", place=Place(str(folder)))
        self._check_folder()
        with spark_failures():
            new = [_new_files(spark, folder, files_per_batch) for folder in folders]
            new += [_new_files(spark, folder, files_per_batch, cleanSource="delete") for folder in landed]
            writer = reduce(DataFrame.union, new).writeStream.foreachBatch(self._take_files)
            trigger = {"availableNow": True} if until_empty else {"processingTime": f"{trigger_s} seconds"}
            return writer.option("checkpointLocation", str(self.out / CHECKPOINT)).trigger(**trigger).start()

    def _check_folder(self) -> None:
        """Nobody else may be working on the results, and what they say about batches must fit the checkpoint."""
        self._lock = lock_folder(self.out)
        if self.delivered.last_batch is not None and not (self.out / CHECKPOINT).is_dir():
            hint = "put it back, or begin anew with --overwrite or in another folder"
            reason = "there are results of a stream, but not its checkpoint"
            raise Misuse(reason, code="no-checkpoint", place=Place(str(self.out)), hint=hint)

    def _take_files(self, paths: DataFrame, number: int) -> None:
        files = [plain_path(row["path"]) for row in paths.collect()]
        with limited(**asdict(self._bounds)):  # Spark calls from a thread of its own
            self.take_batch(paths.sparkSession, [file for file in files if file is not None], number)

    def take_batch(self, spark: SparkSession, files: Sequence[str], number: int) -> None:
        """Deliver one batch of files; doing it again changes nothing."""
        started = time.monotonic()
        prepared = self._current(spark)
        compiled = time.monotonic()
        staging = self.out / f".work-{number}"
        summary = self._match(prepared, files, staging)
        matched = time.monotonic()
        summary = self._publish(summary, staging, prepared.plan.subscribers, number)
        shutil.rmtree(staging, ignore_errors=True)
        done = time.monotonic()
        seconds = {"compile": compiled - started, "match": matched - compiled, "publish": done - matched}
        lag_s = max((time.time() - _changed_at(file) for file in files), default=None)
        told = {name: summary.delivered.get(name, 0) for name in prepared.plan.profiles}
        self.on_batch(number, replace(summary, seconds=seconds, delivered=told, lag_s=lag_s))

    @property
    def delivered(self) -> Delivered:
        """What was delivered; of results that were there before the stream, what is in them."""
        if self._delivered is None:
            self.out.mkdir(parents=True, exist_ok=True)
            self._delivered = Delivered(self.out)
            if self._delivered.noted("taken over") is None:
                self._delivered.take(_keys_of(self.out, self.federation.current().domains))
                self._delivered.note("taken over", "yes")
        return self._delivered

    def close(self) -> None:
        """Let go of what the stream holds."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        if self._delivered is not None:
            self._delivered.close()
            self._delivered = None
        if self._prepared is not None:
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

    def _match(self, prepared: PreparedPlan, files: Sequence[str], staging: Path) -> Summary:
        """Stage the outcomes of the files: `to` and `line`, each notification once."""
        inputs = Inputs.of(files)
        window = Window.around(self.clock())
        tables = Tables.of(prepared.spark, inputs)
        hits = prepared.hits(tables, window)
        found = _write_outcomes(hits, prepared, staging, self._late_before(), "overwrite")
        if found["doubtful"]:
            for rows, _ in tables.rows:
                _write_outcomes(prepared.doubtful_hits(rows, window), prepared, staging, self._late_before(), "append")
        newest = found["newest"]
        if newest is not None:
            self._seen(newest.replace(tzinfo=UTC) if newest.tzinfo is None else newest)
        records = int(found["counted"]) + tables.row_count
        return Summary(records, 0, late=int(found["late"]), matched=int(found["matched"]))

    def _late_before(self) -> datetime | None:
        newest = parse_timestamp(self.delivered.noted(_NEWEST) or "")
        return None if newest is None else newest - timedelta(seconds=limits().late_after_s)

    def _seen(self, newest: datetime) -> None:
        before = parse_timestamp(self.delivered.noted(_NEWEST) or "")
        if before is None or newest > before:
            self.delivered.note(_NEWEST, format_timestamp(newest))

    def _publish(self, summary: Summary, staging: Path, subscribers: Sequence[str], number: int) -> Summary:
        """Publish what no earlier batch delivered."""
        delivered: Counter[str] = Counter()
        codes: Counter[str] = Counter()
        with self.delivered.batch(number):
            with staged_results(self.out, [*subscribers, REJECTED], self.results, number) as staged:
                for to, line in _staged_lines(staging):
                    if to == REJECTED:
                        codes[first_code(line)] += 1
                    elif (profile := self._new_profile(line, number)) is not None:
                        delivered[profile] += 1
                    else:
                        continue
                    staged.put(to, line)
            oldest = Window.around(self.clock()).earliest
            self.delivered.forget_before(oldest.date().isoformat())
        return replace(summary, rejected=codes.total(), delivered=dict(delivered), rejected_by_code=dict(codes))

    def _new_profile(self, line: bytes, number: int) -> str | None:
        """The profile of a notification that was not delivered yet."""
        found = identity_of(line)
        return found.profile if self.delivered.is_new(found.key, found.day, number) else None


def _new_files(spark: SparkSession, folder: Path, files_per_batch: int, **options: str) -> DataFrame:
    """The paths of new files, of whatever form; their content is read by the batch."""
    reader = spark.readStream.format("binaryFile").schema(_BINARY_FILE).option("maxFilesPerTrigger", files_per_batch)
    # Spark passes over files that are a week older than the newest one it saw, without a word.
    reader = reader.option("maxFileAge", f"{limits().max_age_days + 1}d")
    return reader.option("pathGlobFilter", EVENT_FILES).options(**options).load(str(folder)).select("path")


def _write_outcomes(
    hits: DataFrame, prepared: PreparedPlan, staging: Path, late_before: datetime | None, mode: str
) -> dict[str, Any]:
    """Write `to` and `line`, each notification once; gives what was counted on the way."""
    seen = Observation()
    fresh = deliver(observe_hits(hits, seen, late_before), prepared.outcome)
    fresh.select("to", "line").write.mode(mode).parquet(str(staging))
    return dict(seen.get)


def _staged_lines(staging: Path) -> Iterator[tuple[str, bytes]]:
    files = sorted(str(path) for path in staging.glob("*.parquet"))
    for batch in dataset(files, format="parquet").to_batches() if files else ():
        for to, line in zip(batch.column("to").to_pylist(), batch.column("line").to_pylist(), strict=True):
            yield to, line.encode()


def _changed_at(file: str) -> float:
    try:
        return Path(file).stat().st_mtime
    except OSError:  # it may be on another machine's disk
        return time.time()


def _keys_of(out: Path, subscribers: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The keys and days of the notifications that a run left in its results folder."""
    for subscriber in subscribers:
        for batch in published_batches(out, subscriber):
            if batch.series == "part":
                for message in read_messages(batch.files, subscriber):
                    if isinstance(message, Message):
                        found = identity_of(message.line)
                        yield found.key, found.day
