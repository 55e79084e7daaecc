"""Federations over streaming DataFrames, on a Spark session that the caller has: what `comity.spark.stream` offers.

Each batch that Spark hands over is one as those of files are: workers leave out what was delivered before, write the
rest, and one commit lets it count. So whatever source the caller reads (a topic, a table, a folder), each notification
is published once, across restarts and crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from comity.connect.destination import Destination, check_delta
from comity.connect.folder import CHECKPOINT, Results
from comity.errors import ComityError, Misuse
from comity.federation.model import Federation
from comity.federation.watch import WatchedFederation
from comity.limits import limited
from comity.pattern.bounds import check_bounded
from comity.pipeline.batches import attempt_folder
from comity.pipeline.checkpoint import sync_checkpoint
from comity.pipeline.failure import spark_failures
from comity.pipeline.given import EventColumns, GivenEvents
from comity.pipeline.guest import is_remote, our_settings
from comity.pipeline.laps import Laps
from comity.pipeline.stream import LEFT_OUT, CurrentFederation, StreamRun
from comity.pipeline.tables import tables_of, typed_files_of
from comity.plan.loading import federation_of
from comity.plan.stages import Summary
from comity.storage.access import NO_ACCESS, StorageAccess


@dataclass(frozen=True, slots=True)
class FixedFederation:
    """A federation that does not change while it runs."""

    federation: Federation

    def current(self) -> Federation:
        return self.federation


@dataclass
class FrameStream(StreamRun):
    """Takes the batches of a streaming DataFrame."""

    columns: EventColumns = field(default_factory=EventColumns, kw_only=True)

    def begin(self, events: DataFrame, trigger: dict[str, str | bool]) -> StreamingQuery:
        """Begin, or go on where an earlier stream on the same results folder ended."""
        self._check_folder()
        if self._pattern_batches.states.ends.unpublished is not None:
            self.finish(events.sparkSession)
        with spark_failures():
            writer = events.writeStream.foreachBatch(self._take_frame)
            query = writer.option("checkpointLocation", str(self.out / CHECKPOINT)).trigger(**trigger)  # type: ignore[arg-type]
            return query.start()

    def take_frame(self, batch: DataFrame, number: int) -> Summary:
        """Take one batch; doing it again changes nothing."""
        spark = batch.sparkSession
        if self._to.is_counted(number):
            self.on_batch(number, LEFT_OUT)
            return LEFT_OUT
        laps, work = Laps(), attempt_folder(self.out, number)
        plan = self._current(spark).plan
        with our_settings(spark, plan.types):
            tables = GivenEvents.of(batch, self.columns).tables(one.qualified_name for one in plan.types)
            summary = self._take_tables(spark, tables, number, work, laps)
        done = replace(summary, seconds=laps.seconds)
        self._clear(work)
        self.on_batch(number, done)
        return done

    def _take_frame(self, batch: DataFrame, number: int) -> None:
        sync_checkpoint(self.out / CHECKPOINT, number)
        with limited(**asdict(self._bounds)):  # Spark calls from a thread of its own
            try:
                self.take_frame(batch, number)
            except ComityError as error:
                self.fault = error
                raise


@dataclass(slots=True)
class DeliveringQuery:
    """A stream that runs, and the folder that it has."""

    query: StreamingQuery
    _stream: FrameStream
    _spark: SparkSession

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for its end, which comes by `stop`, by `until_empty` or by a failure, which is raised.

        Gives whether it came in this time.
        """
        try:
            with spark_failures():
                if timeout_s is None:
                    self.query.awaitTermination()
                elif not self.query.awaitTermination(timeout_s):  # type: ignore[arg-type]
                    return False
        except BaseException as error:
            self._stream.close()
            if self._stream.fault is not None:
                raise self._stream.fault from error
            raise
        return True

    def finish(self) -> None:
        """Wait for the end, and report what composite profiles waited for, since nothing more comes."""
        self.wait()
        self._stream.finish(self._spark)
        self._stream.close()

    def stop(self) -> None:
        """End it after its batch, and leave the folder to others."""
        self.query.stop()
        self._stream.close()

    def __enter__(self) -> DeliveringQuery:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


@dataclass(frozen=True, slots=True)
class EventStream:
    """A federation over a streaming DataFrame; `to_folder` says where what comes of it goes."""

    events: DataFrame
    federation: CurrentFederation
    columns: EventColumns

    def to_folder(
        self,
        out: str | Path,
        *,
        results: Results | str = Results.JSONL,
        typed: bool = False,
        trigger_s: float = 1.0,
        until_empty: bool = False,
        on_batch: Callable[[int, Summary], None] = lambda number, summary: None,
    ) -> DeliveringQuery:
        """Begin to deliver into a folder as `comity run --stream` does, which all workers must share.

        With `typed` and Parquet an attribute is a column; `until_empty` ends it when all is read that is there;
        `on_batch` is told what each batch did.
        """
        if results == Results.DELTA:
            return self.to_table(out, typed=typed, trigger_s=trigger_s, until_empty=until_empty, on_batch=on_batch)
        to = Destination.of(str(out), Results(results), NO_ACCESS, typed=typed, is_stream=True)
        stream = FrameStream(
            self.federation,
            out=to.folder,
            on_batch=on_batch,
            results=Results(results),
            target=typed_files_of(to, lambda: self.federation.current().domains),
            columns=self.columns,
        )
        return self._begun(stream, trigger_s, until_empty=until_empty)

    def to_table(
        self,
        place: str | Path,
        *,
        typed: bool = False,
        state: str | Path | None = None,
        trigger_s: float = 1.0,
        until_empty: bool = False,
        on_batch: Callable[[int, Summary], None] = lambda number, summary: None,
    ) -> DeliveringQuery:
        """Begin to deliver into Delta tables as `comity run --stream --results delta` does.

        The place is a folder, or an address such as `s3a://bucket/results`; `state` is then the folder of the driver in
        which the stream keeps its position. With `typed` each profile has a table, an attribute a column.
        """
        check_delta()
        access = StorageAccess.of(dict(self.events.sparkSession.sparkContext.getConf().getAll()))
        folder = None if state is None else Path(state)
        to = Destination.of(str(place), Results.DELTA, access, typed=typed, state=folder, is_stream=True)
        stream = FrameStream(
            self.federation, out=to.folder, on_batch=on_batch, target=tables_of(to), columns=self.columns
        )
        return self._begun(stream, trigger_s, until_empty=until_empty)

    def _begun(self, stream: FrameStream, trigger_s: float, *, until_empty: bool) -> DeliveringQuery:
        trigger: dict[str, str | bool] = (
            {"availableNow": True} if until_empty else {"processingTime": f"{trigger_s} seconds"}
        )
        spark = self.events.sparkSession
        try:
            return DeliveringQuery(stream.begin(self.events, trigger), stream, spark)
        except BaseException:
            stream.close()
            raise


def stream(
    events: DataFrame, federation: str | Path | Mapping[str, Any] | Federation, **columns: Unpack[EventColumns]
) -> EventStream:
    """What comes of the events of a streaming DataFrame; columns are named as for `deliver`.

    A federation that is given as a folder is read again when its files change.
    """
    if not events.isStreaming:
        hint = "take comity.spark.deliver, or read it with spark.readStream"
        raise Misuse("this DataFrame is no stream", code="not-streaming", hint=hint)
    if is_remote(events.sparkSession):
        hint = "run the job on a classic session; batches (comity.spark.deliver) work under Spark Connect"
        raise Misuse("streams need a classic session of Spark", code="classic-session", hint=hint)
    folder = Path(federation) if isinstance(federation, str | Path) else None
    given: CurrentFederation
    if folder is not None and folder.is_dir():
        given = WatchedFederation(folder)
    else:
        given = FixedFederation(federation_of(federation))
        check_bounded(one.bound for one in given.current().composites.values())
    GivenEvents.of(events, columns).tables(one.qualified_name for one in given.current().local_types())
    return EventStream(events, given, columns)
