"""What a streaming DataFrame is delivered into, on a Spark session that the caller has: `comity.spark.stream`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Unpack

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from comity.connect.destination import Destination, check_delta
from comity.connect.folder import CHECKPOINT, Results
from comity.connect.target import Target
from comity.connect.topics.place import SCHEME, check_client
from comity.errors import ComityError, Misuse
from comity.federation.model import Federation
from comity.federation.receivers import receivers
from comity.federation.watch import WatchedFederation
from comity.limits import Limits, limits
from comity.pattern.bounds import check_bounded
from comity.pipeline.at_server import AtServer, fault_in
from comity.pipeline.failure import spark_failures
from comity.pipeline.frame_stream import FixedFederation, FrameStream
from comity.pipeline.given import EventColumns, GivenEvents, check_domain
from comity.pipeline.guest import check_settings, is_remote
from comity.pipeline.stream import CurrentFederation
from comity.pipeline.tables import tables_of, topics_of, typed_files_of
from comity.plan.loading import federation_of
from comity.plan.stages import Summary
from comity.storage.access import StorageAccess
from comity.storage.lookup import full_name

OnBatch = Callable[[int, Summary], None]


def _tell_nobody(number: int, summary: Summary) -> None:
    """What batches do is nobody's concern."""


@dataclass(frozen=True, slots=True)
class DeliveryPlan:
    """What a stream is to do, as data that can be sent to a server."""

    federation: Path | Federation
    """A folder that is watched, or one that stays as it is."""
    columns: EventColumns
    domain: str | None
    out: str
    results: Results
    typed: bool = False
    state: Path | None = None
    on_batch: OnBatch = _tell_nobody
    kafka: Mapping[str, str] | None = field(default=None, repr=False)
    """Settings of the client, for topics."""
    bounds: Limits = field(default_factory=limits)

    def destination(self, access: StorageAccess) -> Destination:
        """Where it goes; raises `Misuse` for what cannot be."""
        return Destination.of(
            self.out, self.results, access, typed=self.typed, state=self.state, is_stream=True, kafka=self.kafka
        )

    def open(self, spark: SparkSession) -> FrameStream:
        """What takes its batches, in the process of the driver or beside it."""
        access = _access(spark)
        to = self.destination(access)
        federation = _current(self.federation)
        return FrameStream(
            federation,
            out=to.folder,
            on_batch=self.on_batch,
            results=Results.JSONL if to.is_elsewhere else self.results,
            target=_target(to, federation),
            columns=self.columns,
            domain=self.domain,
        )


def _target(to: Destination, federation: CurrentFederation) -> Target | None:
    """What is no folder of JSON Lines or Parquet."""
    if to.topics is not None:
        return topics_of(to, lambda: receivers(federation.current()))
    return tables_of(to) if to.tables is not None else typed_files_of(to, lambda: federation.current().domains)


class BatchTaker(Protocol):
    """Takes the batches of a stream, wherever that is."""

    def take(self, batch: DataFrame, number: int) -> None:
        """Take one."""

    def fault_of(self, error: BaseException) -> ComityError | None:
        """What made a batch fail, if Spark's error comes of that."""

    def claim(self, spark: SparkSession) -> None:
        """Begin, or go on where an earlier stream ended; refused if another one is at work there."""

    def finish(self, spark: SparkSession) -> None:
        """Report what composite profiles waited for, since nothing more comes."""

    def close(self) -> None:
        """Leave the folder to others."""


@dataclass(slots=True)
class TakenHere:
    """The batches are taken in this process, which is the driver."""

    stream: FrameStream

    @property
    def take(self) -> Callable[[DataFrame, int], None]:
        return self.stream.take

    def fault_of(self, error: BaseException) -> ComityError | None:
        return self.stream.fault

    def claim(self, spark: SparkSession) -> None:
        self.stream.claim(spark)

    def finish(self, spark: SparkSession) -> None:
        self.stream.finish(spark)

    def close(self) -> None:
        self.stream.close()


@dataclass(slots=True)
class TakenAtServer:
    """The batches are taken beside the driver of a server, by a process that Spark starts there for the query."""

    plan: DeliveryPlan

    @property
    def take(self) -> Callable[[DataFrame, int], None]:
        return AtServer(self.plan.open, self.plan.bounds).take

    def fault_of(self, error: BaseException) -> ComityError | None:
        return fault_in(str(error))

    def claim(self, spark: SparkSession) -> None:
        """What can be refused is refused before there is a query; the folder is its own from the first batch on."""
        AtServer(self.plan.open, self.plan.bounds).run(spark, claim_for_a_moment)

    def finish(self, spark: SparkSession) -> None:
        AtServer(self.plan.open, self.plan.bounds).run(spark, finish_at_once)

    def close(self) -> None:
        """The process at the server ended with the query."""


def claim_for_a_moment(stream: FrameStream, spark: SparkSession) -> None:
    """Claim the folder of a stream, and let it go."""
    stream.claim(spark)


def finish_at_once(stream: FrameStream, spark: SparkSession) -> None:
    """Report what is left of a stream that has ended."""
    stream.claim(spark)
    stream.finish(spark)


@dataclass(slots=True)
class DeliveringQuery:
    """A stream that runs, and the folder that it has."""

    query: StreamingQuery
    _taker: BatchTaker
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
            self._taker.close()
            fault = self._taker.fault_of(error.__cause__ or error)
            if fault is not None:
                raise fault from error
            raise
        return True

    def finish(self) -> None:
        """Wait for the end, and report what composite profiles waited for, since nothing more comes."""
        self.wait()
        self._taker.finish(self._spark)
        self._taker.close()

    def stop(self) -> None:
        """End it after its batch, and leave the folder to others."""
        self.query.stop()
        self._taker.close()

    def __enter__(self) -> DeliveringQuery:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


@dataclass(frozen=True, slots=True)
class StreamDelivery:
    """A stream and where it goes; `start` begins it."""

    events: DataFrame
    plan: DeliveryPlan
    trigger_s: float
    until_empty: bool

    def start(self) -> DeliveringQuery:
        """Begin, or go on where an earlier stream into the same place ended."""
        spark = self.events.sparkSession
        taker: BatchTaker
        if is_remote(spark):
            types = _current(self.plan.federation).current().local_types()
            check_settings(spark, types)
            taker = TakenAtServer(self.plan)
        else:
            taker = TakenHere(self.plan.open(spark))
        try:
            taker.claim(spark)
            return DeliveringQuery(self._begun(taker), taker, spark)
        except BaseException:
            taker.close()
            raise

    def _begun(self, taker: BatchTaker) -> StreamingQuery:
        checkpoint = self.plan.destination(_access(self.events.sparkSession)).folder / CHECKPOINT
        trigger: dict[str, str | bool] = (
            {"availableNow": True} if self.until_empty else {"processingTime": f"{self.trigger_s} seconds"}
        )
        with spark_failures():
            writer = self.events.writeStream.foreachBatch(taker.take)
            return writer.option("checkpointLocation", str(checkpoint)).trigger(**trigger).start()  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class EventStream:
    """A federation over a streaming DataFrame; `to_folder`, `to_table` and `to_kafka` say where its results go."""

    events: DataFrame
    federation: Path | Federation
    columns: EventColumns
    domain: str | None

    def to_folder(
        self,
        out: str | Path,
        *,
        results: Results | str = Results.JSONL,
        typed: bool = False,
        trigger_s: float = 1.0,
        until_empty: bool = False,
        on_batch: OnBatch = _tell_nobody,
    ) -> StreamDelivery:
        """Into a folder as `comity run --stream` does, which all workers must share.

        With `typed` and Parquet an attribute is a column; `until_empty` ends it when all is read that is there;
        `on_batch` is told what each batch did.
        """
        form = Results(results)
        if form is Results.KAFKA:
            raise Misuse("topics are no folder", code="bad-usage", hint="take to_kafka(servers, topic, state=…)")
        if form is Results.DELTA:
            return self.to_table(out, typed=typed, trigger_s=trigger_s, until_empty=until_empty, on_batch=on_batch)
        plan = self._plan(full_name(str(out)), form, typed=typed, on_batch=on_batch)
        return self._into(plan, trigger_s, until_empty=until_empty)

    def to_table(
        self,
        place: str | Path,
        *,
        typed: bool = False,
        state: str | Path | None = None,
        trigger_s: float = 1.0,
        until_empty: bool = False,
        on_batch: OnBatch = _tell_nobody,
    ) -> StreamDelivery:
        """Into Delta tables as `comity run --stream --results delta` does.

        The place is a folder, or an address such as `s3a://bucket/results`; `state` is then the folder of the driver in
        which the stream keeps its position. With `typed` each profile has a table, an attribute a column.
        """
        check_delta()
        folder = None if state is None else Path(state).resolve()
        plan = self._plan(full_name(str(place)), Results.DELTA, typed=typed, state=folder, on_batch=on_batch)
        return self._into(plan, trigger_s, until_empty=until_empty)

    def to_kafka(
        self,
        servers: str,
        topic: str,
        *,
        state: str | Path,
        config: Mapping[str, str] | None = None,
        trigger_s: float = 1.0,
        until_empty: bool = False,
        on_batch: OnBatch = _tell_nobody,
    ) -> StreamDelivery:
        """Into topics as `comity run --stream --results kafka` does, written by the workers.

        In `topic` the name of the subscriber takes the place of `{subscriber}`. `config` has settings of the client
        `librdkafka`; `state` is the folder, shared with the workers, in which the stream keeps its position.
        """
        check_client()
        address = f"{SCHEME}://{servers}/{topic}"
        plan = self._plan(address, Results.KAFKA, typed=False, state=Path(state).resolve(), on_batch=on_batch)
        return self._into(replace(plan, kafka=config), trigger_s, until_empty=until_empty)

    def _plan(
        self, out: str, results: Results, *, typed: bool, on_batch: OnBatch, state: Path | None = None
    ) -> DeliveryPlan:
        return DeliveryPlan(self.federation, self.columns, self.domain, out, results, typed, state, on_batch)

    def _into(self, plan: DeliveryPlan, trigger_s: float, *, until_empty: bool) -> StreamDelivery:
        plan.destination(_access(self.events.sparkSession))
        return StreamDelivery(self.events, plan, trigger_s, until_empty)


def stream(
    events: DataFrame,
    federation: str | Path | Mapping[str, Any] | Federation,
    *,
    domain: str | None = None,
    **columns: Unpack[EventColumns],
) -> EventStream:
    """What comes of the events of a streaming DataFrame; columns are named as for `deliver`, and so is a domain.

    A federation that is given as a folder is read again when its files change; not under Spark Connect, where it is
    sent to the server as it is.
    """
    if not events.isStreaming:
        hint = "take comity.spark.deliver, or read it with spark.readStream"
        raise Misuse("this DataFrame is no stream", code="not-streaming", hint=hint)
    folder = Path(federation) if isinstance(federation, str | Path) else None
    is_watched = folder is not None and folder.is_dir() and not is_remote(events.sparkSession)
    given = folder.resolve() if folder is not None and is_watched else federation_of(federation)
    current = _current(given).current()
    check_bounded(one.bound for one in current.composites.values())
    check_domain(domain, current.domains)
    GivenEvents.of(events, columns).tables(one.qualified_name for one in current.local_types())
    return EventStream(events, given, columns, domain)


def _current(given: Path | Federation) -> CurrentFederation:
    return WatchedFederation(given) if isinstance(given, Path) else FixedFederation(given)


def _access(spark: SparkSession) -> StorageAccess:
    """How stores are reached, as the session is told."""
    if is_remote(spark):
        return StorageAccess.of(spark.conf.getAll)
    return StorageAccess.of(dict(spark.sparkContext.getConf().getAll()))
