"""Federations over streaming DataFrames: each batch that Spark hands over, taken.

Each batch that Spark hands over is one as those of files are: workers leave out what was delivered before, write the
rest, and one commit lets it count. So whatever source the caller reads (a topic, a table, a folder), each notification
is published once, across restarts and crashes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from comity.connect.folder import CHECKPOINT
from comity.errors import ComityError
from comity.federation.model import Federation
from comity.limits import limited
from comity.pipeline.batches import attempt_folder
from comity.pipeline.checkpoint import sync_checkpoint
from comity.pipeline.given import EventColumns, GivenEvents
from comity.pipeline.guest import our_settings
from comity.pipeline.laps import Laps
from comity.pipeline.stream import LEFT_OUT, StreamRun
from comity.plan.stages import Summary


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
    domain: str | None = field(default=None, kw_only=True)
    """Whose source it is; None for one that may have events of all domains."""

    def claim(self, spark: SparkSession) -> None:
        """Take the folder for this stream, and do what an earlier one on it had begun to do when it ended."""
        self._check_folder()
        if self._pattern_batches.states.ends.unpublished is not None:
            self.finish(spark)

    def take_frame(self, batch: DataFrame, number: int) -> Summary:
        """Take one batch; doing it again changes nothing."""
        spark = batch.sparkSession
        if self._to.is_counted(number):
            self.on_batch(number, LEFT_OUT)
            return LEFT_OUT
        laps, work = Laps(), attempt_folder(self.out, number)
        plan = self._current(spark).plan
        with our_settings(spark, plan.types):
            given = GivenEvents.of(batch, self.columns)
            tables = given.tables((one.qualified_name for one in plan.types), self.domain)
            summary = self._take_tables(spark, tables, number, work, laps)
        done = replace(summary, seconds=laps.seconds)
        self._clear(work)
        self.on_batch(number, done)
        return done

    def take(self, batch: DataFrame, number: int) -> None:
        """Take a batch that Spark hands over."""
        sync_checkpoint(self.out / CHECKPOINT, number)
        with self._taking, limited(**asdict(self._bounds)):  # Spark calls from a thread of its own
            try:
                self.take_frame(batch, number)
            except ComityError as error:
                self.fault = error
                raise
